//! What this library puts in front of OpenSSL: every function that starts a cipher.

use crate::evp::Function;
use crate::{counts, evp};
use std::ffi::{c_int, c_void};

type Pointer = *const c_void;

/// Counts what a context was started as, if a key or an initialization vector came with it and it worked.
fn note(context: Pointer, key: Pointer, vector: Pointer, answer: c_int) -> c_int {
    if answer == 1 && counts::is_open() && !(key.is_null() && vector.is_null()) {
        // SAFETY: OpenSSL has just started the context.
        if let Some((cipher, number, encrypts)) = unsafe { evp::started(context) } {
            // SAFETY: the context's own cipher.
            counts::count(number, encrypts, |call| call(unsafe { evp::name(cipher, number) }.to_bytes()));
        }
    }
    answer
}

/// A function of OpenSSL's name and arguments that calls OpenSSL's and notes what came of it; 0, which is OpenSSL's word
/// for failure, where there is none.
macro_rules! starts {
    ($name:ident, $symbol:literal, ($($before:ident),*), ($($after:ident: $type:ty),*)) => {
        #[doc = concat!("`", stringify!($name), "`, counted.")]
        ///
        /// # Safety
        /// As OpenSSL's function of this name.
        #[no_mangle]
        #[allow(non_snake_case)]
        pub unsafe extern "C" fn $name(
            context: Pointer,
            $($before: Pointer,)*
            key: Pointer,
            vector: Pointer,
            $($after: $type),*
        ) -> c_int {
            type Next = unsafe extern "C" fn(Pointer, $(pointer!($before),)* Pointer, Pointer, $($type),*) -> c_int;
            static NEXT: Function = Function::new(&[$symbol]);
            match NEXT.address() {
                0 => 0,
                address => {
                    // SAFETY: the address of a function of this type; the arguments are the caller's own.
                    let next = unsafe { std::mem::transmute::<usize, Next>(address) };
                    // SAFETY: as above.
                    note(context, key, vector, unsafe { next(context, $($before,)* key, vector, $($after),*) })
                }
            }
        }
    };
}

/// The type of every argument before the key.
macro_rules! pointer {
    ($name:ident) => {
        Pointer
    };
}

starts!(EVP_CipherInit, c"EVP_CipherInit", (cipher), (encrypts: c_int));
starts!(EVP_EncryptInit, c"EVP_EncryptInit", (cipher), ());
starts!(EVP_DecryptInit, c"EVP_DecryptInit", (cipher), ());
starts!(EVP_CipherInit_ex, c"EVP_CipherInit_ex", (cipher, engine), (encrypts: c_int));
starts!(EVP_EncryptInit_ex, c"EVP_EncryptInit_ex", (cipher, engine), ());
starts!(EVP_DecryptInit_ex, c"EVP_DecryptInit_ex", (cipher, engine), ());
starts!(EVP_CipherInit_ex2, c"EVP_CipherInit_ex2", (cipher), (encrypts: c_int, settings: Pointer));
starts!(EVP_EncryptInit_ex2, c"EVP_EncryptInit_ex2", (cipher), (settings: Pointer));
starts!(EVP_DecryptInit_ex2, c"EVP_DecryptInit_ex2", (cipher), (settings: Pointer));
