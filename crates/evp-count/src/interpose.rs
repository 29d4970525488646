//! The functions that this library puts in front of OpenSSL's: those that start a cipher, hand it data and end it, MACs, random
//! bytes, and contexts.

use crate::clock::Timer;
use crate::counts::{self, Call, Kind, Phase};
use crate::evp::{self, Function};
use std::ffi::{c_int, c_uchar, c_uint, c_void, CStr};

type Pointer = *const c_void;
type Nothing = ();

/// The return type of functions without a result.
const NOTHING: Nothing = ();

/// Counts a call on a context; a start where a key or an initialization vector came with it.
fn cipher(context: Pointer, phase: Phase, starts: bool, bytes: c_int, ns: u64) {
    // SAFETY: the caller's context, which OpenSSL has just used.
    match unsafe { evp::started(context) } {
        Some((cipher, number, encrypts)) => {
            let call = Call { encrypts, phase, starts, bytes: u64::try_from(bytes).unwrap_or(0), ns };
            // SAFETY: the context's own cipher.
            counts::count(Kind::Cipher, number, &call, |write| write(unsafe { evp::name(cipher, number) }.to_bytes()));
        }
        None => other(Kind::Context, phase, 0, ns),
    }
}

/// Counts a call that belongs to no one cipher.
fn other(kind: Kind, phase: Phase, bytes: usize, ns: u64) {
    let name: &[u8] = match kind {
        Kind::Mac => b"HMAC",
        Kind::Random => b"random bytes",
        Kind::Context | Kind::Cipher => b"contexts",
    };
    let call = Call { encrypts: true, phase, starts: false, bytes: bytes as u64, ns };
    counts::count(kind, 0, &call, |write| write(name));
}

/// Functions of OpenSSL's names and arguments that call OpenSSL's and note how long that took; they answer with failure
/// where there is none. What OpenSSL calls by itself meanwhile is part of that.
macro_rules! interposed {
    ($($name:ident($($arg:ident: $type:ty),* $(,)?) -> $answers:ty, $failure:expr, |$ns:ident, $answer:ident| $note:expr;)*) => {$(
        #[doc = concat!("`", stringify!($name), "`, timed.")]
        ///
        /// # Safety
        /// As OpenSSL's function of this name.
        #[no_mangle]
        #[allow(non_snake_case)]
        pub unsafe extern "C" fn $name($($arg: $type),*) -> $answers {
            type Next = unsafe extern "C" fn($($type),*) -> $answers;
            const NAME: &CStr = match CStr::from_bytes_with_nul(concat!(stringify!($name), "\0").as_bytes()) {
                Ok(name) => name,
                Err(_) => panic!("a name ends in zero"),
            };
            static NEXT: Function = Function::new(&[NAME]);
            let address = NEXT.address();
            if address == 0 {
                return $failure;
            }
            // SAFETY: the address of a function of this type.
            let next = unsafe { std::mem::transmute::<usize, Next>(address) };
            let timer = if counts::is_open() { Timer::begin() } else { None };
            // SAFETY: the arguments are the caller's own.
            let $answer = unsafe { next($($arg),*) };
            if let Some(timer) = timer {
                let $ns = timer.end();
                $note;
            }
            $answer
        }
    )*};
}

/// Whether a call started its cipher: it worked, and a key or an initialization vector came with it.
fn starts(answer: c_int, key: Pointer, vector: Pointer) -> bool {
    answer == 1 && !(key.is_null() && vector.is_null())
}

interposed! {
    EVP_CipherInit(context: Pointer, of: Pointer, key: Pointer, vector: Pointer, encrypts: c_int) -> c_int, 0,
        |ns, answer| cipher(context, Phase::Init, starts(answer, key, vector), 0, ns);
    EVP_EncryptInit(context: Pointer, of: Pointer, key: Pointer, vector: Pointer) -> c_int, 0,
        |ns, answer| cipher(context, Phase::Init, starts(answer, key, vector), 0, ns);
    EVP_DecryptInit(context: Pointer, of: Pointer, key: Pointer, vector: Pointer) -> c_int, 0,
        |ns, answer| cipher(context, Phase::Init, starts(answer, key, vector), 0, ns);
    EVP_CipherInit_ex(context: Pointer, of: Pointer, engine: Pointer, key: Pointer, vector: Pointer, encrypts: c_int) -> c_int, 0,
        |ns, answer| cipher(context, Phase::Init, starts(answer, key, vector), 0, ns);
    EVP_EncryptInit_ex(context: Pointer, of: Pointer, engine: Pointer, key: Pointer, vector: Pointer) -> c_int, 0,
        |ns, answer| cipher(context, Phase::Init, starts(answer, key, vector), 0, ns);
    EVP_DecryptInit_ex(context: Pointer, of: Pointer, engine: Pointer, key: Pointer, vector: Pointer) -> c_int, 0,
        |ns, answer| cipher(context, Phase::Init, starts(answer, key, vector), 0, ns);
    EVP_CipherInit_ex2(context: Pointer, of: Pointer, key: Pointer, vector: Pointer, encrypts: c_int, settings: Pointer) -> c_int, 0,
        |ns, answer| cipher(context, Phase::Init, starts(answer, key, vector), 0, ns);
    EVP_EncryptInit_ex2(context: Pointer, of: Pointer, key: Pointer, vector: Pointer, settings: Pointer) -> c_int, 0,
        |ns, answer| cipher(context, Phase::Init, starts(answer, key, vector), 0, ns);
    EVP_DecryptInit_ex2(context: Pointer, of: Pointer, key: Pointer, vector: Pointer, settings: Pointer) -> c_int, 0,
        |ns, answer| cipher(context, Phase::Init, starts(answer, key, vector), 0, ns);

    EVP_CipherUpdate(context: Pointer, into: Pointer, written: Pointer, from: Pointer, length: c_int) -> c_int, 0,
        |ns, answer| cipher(context, Phase::Update, false, length, ns);
    EVP_EncryptUpdate(context: Pointer, into: Pointer, written: Pointer, from: Pointer, length: c_int) -> c_int, 0,
        |ns, answer| cipher(context, Phase::Update, false, length, ns);
    EVP_DecryptUpdate(context: Pointer, into: Pointer, written: Pointer, from: Pointer, length: c_int) -> c_int, 0,
        |ns, answer| cipher(context, Phase::Update, false, length, ns);
    EVP_Cipher(context: Pointer, into: Pointer, from: Pointer, length: c_uint) -> c_int, 0,
        |ns, answer| cipher(context, Phase::Update, false, c_int::try_from(length).unwrap_or(0), ns);

    EVP_CipherFinal(context: Pointer, into: Pointer, written: Pointer) -> c_int, 0,
        |ns, answer| cipher(context, Phase::Final, false, 0, ns);
    EVP_EncryptFinal(context: Pointer, into: Pointer, written: Pointer) -> c_int, 0,
        |ns, answer| cipher(context, Phase::Final, false, 0, ns);
    EVP_DecryptFinal(context: Pointer, into: Pointer, written: Pointer) -> c_int, 0,
        |ns, answer| cipher(context, Phase::Final, false, 0, ns);
    EVP_CipherFinal_ex(context: Pointer, into: Pointer, written: Pointer) -> c_int, 0,
        |ns, answer| cipher(context, Phase::Final, false, 0, ns);
    EVP_EncryptFinal_ex(context: Pointer, into: Pointer, written: Pointer) -> c_int, 0,
        |ns, answer| cipher(context, Phase::Final, false, 0, ns);
    EVP_DecryptFinal_ex(context: Pointer, into: Pointer, written: Pointer) -> c_int, 0,
        |ns, answer| cipher(context, Phase::Final, false, 0, ns);

    EVP_CIPHER_CTX_new() -> Pointer, std::ptr::null(),
        |ns, answer| other(Kind::Context, Phase::Init, 0, ns);
    EVP_CIPHER_CTX_free(context: Pointer) -> Nothing, NOTHING,
        |ns, answer| other(Kind::Context, Phase::Init, 0, ns);
    EVP_CIPHER_CTX_reset(context: Pointer) -> c_int, 0,
        |ns, answer| other(Kind::Context, Phase::Init, 0, ns);

    HMAC_Init_ex(context: Pointer, key: Pointer, length: c_int, digest: Pointer, engine: Pointer) -> c_int, 0,
        |ns, answer| other(Kind::Mac, Phase::Init, 0, ns);
    HMAC_Update(context: Pointer, from: Pointer, length: usize) -> c_int, 0,
        |ns, answer| other(Kind::Mac, Phase::Update, length, ns);
    HMAC_Final(context: Pointer, into: Pointer, length: Pointer) -> c_int, 0,
        |ns, answer| other(Kind::Mac, Phase::Final, 0, ns);
    HMAC(digest: Pointer, key: Pointer, key_length: c_int, from: Pointer, length: usize, into: Pointer, written: Pointer) -> Pointer, std::ptr::null(),
        |ns, answer| other(Kind::Mac, Phase::Update, length, ns);
    EVP_MAC_init(context: Pointer, key: Pointer, length: usize, settings: Pointer) -> c_int, 0,
        |ns, answer| other(Kind::Mac, Phase::Init, 0, ns);
    EVP_MAC_update(context: Pointer, from: Pointer, length: usize) -> c_int, 0,
        |ns, answer| other(Kind::Mac, Phase::Update, length, ns);
    EVP_MAC_final(context: Pointer, into: Pointer, written: Pointer, room: usize) -> c_int, 0,
        |ns, answer| other(Kind::Mac, Phase::Final, 0, ns);

    RAND_bytes(into: *mut c_uchar, length: c_int) -> c_int, 0,
        |ns, answer| other(Kind::Random, Phase::Update, usize::try_from(length).unwrap_or(0), ns);
}
