//! The machine's own libcrypto, found by `dlopen` when it is wanted: tdelta neither ships nor links an OpenSSL, so what
//! is measured is what the programs of this machine use.
//!
//! Only functions that OpenSSL 1.1 and 3 both export are called, so that one path serves both.

use crate::Fault;
use libc::{c_char, c_int, c_uint, c_ulong, c_void, size_t};
use std::ffi::{CStr, CString};

/// Libraries that are tried without a path, in this order.
pub const NAMES: [&str; 2] = ["libcrypto.so.3", "libcrypto.so.1.1"];

const VERSION: c_int = 0; // OPENSSL_VERSION of <openssl/crypto.h>
const CPU_INFO: c_int = 9; // OPENSSL_CPU_INFO, since 3.0
const REASON_BYTES: usize = 256;

macro_rules! functions {
    ($($name:ident: fn($($argument:ty),*) $(-> $result:ty)?;)*) => {
        /// libcrypto's functions by OpenSSL's names; their contracts are OpenSSL's.
        #[allow(non_snake_case)]
        pub(crate) struct Functions {
            $(pub(crate) $name: unsafe extern "C" fn($($argument),*) $(-> $result)?,)*
        }

        impl Functions {
            /// # Safety
            /// `handle` is open, and what it holds is an OpenSSL libcrypto.
            unsafe fn of(handle: *mut c_void) -> Result<Self, String> {
                Ok(Self {
                    $($name: {
                        // SAFETY: the handle is open, and OpenSSL declares the function of this name with these
                        // arguments.
                        unsafe {
                            let address = address(handle, concat!(stringify!($name), "\0"))?;
                            std::mem::transmute::<*mut c_void, unsafe extern "C" fn($($argument),*) $(-> $result)?>(address)
                        }
                    },)*
                })
            }
        }
    };
}

functions! {
    OpenSSL_version: fn(c_int) -> *const c_char;
    ERR_get_error: fn() -> c_ulong;
    ERR_error_string_n: fn(c_ulong, *mut c_char, size_t);
    EVP_get_cipherbyname: fn(*const c_char) -> *const c_void;
    EVP_get_digestbyname: fn(*const c_char) -> *const c_void;
    EVP_CIPHER_CTX_new: fn() -> *mut c_void;
    EVP_CIPHER_CTX_free: fn(*mut c_void);
    EVP_CIPHER_CTX_set_padding: fn(*mut c_void, c_int) -> c_int;
    EVP_CIPHER_CTX_ctrl: fn(*mut c_void, c_int, c_int, *mut c_void) -> c_int;
    EVP_CipherInit_ex: fn(*mut c_void, *const c_void, *mut c_void, *const u8, *const u8, c_int) -> c_int;
    EVP_CipherUpdate: fn(*mut c_void, *mut u8, *mut c_int, *const u8, c_int) -> c_int;
    EVP_CipherFinal_ex: fn(*mut c_void, *mut u8, *mut c_int) -> c_int;
    HMAC_CTX_new: fn() -> *mut c_void;
    HMAC_CTX_free: fn(*mut c_void);
    HMAC_Init_ex: fn(*mut c_void, *const u8, c_int, *const c_void, *mut c_void) -> c_int;
    HMAC_Update: fn(*mut c_void, *const u8, size_t) -> c_int;
    HMAC_Final: fn(*mut c_void, *mut u8, *mut c_uint) -> c_int;
}

/// A libcrypto that is loaded. It stays loaded, since OpenSSL leaves things to be done when the process ends.
#[derive(Clone, Copy)]
pub struct Library {
    functions: &'static Functions,
}

impl Library {
    /// Loads a libcrypto: the one at `path`, else the first of [`NAMES`] that is there.
    ///
    /// # Errors
    /// Of kind `library`: there is none, or what is there is no OpenSSL libcrypto.
    pub fn open(path: Option<&str>) -> Result<Self, Fault> {
        let names = path.map_or_else(|| NAMES.to_vec(), |path| vec![path]);
        let mut found = Vec::new();
        for name in &names {
            match Self::load(name) {
                Ok(library) => return Ok(library),
                Err(reason) => found.push(reason),
            }
        }
        let expected = path.map_or_else(|| names.join(" or "), |path| format!("libcrypto at {path}"));
        Err(Fault::new("library", format!("expected OpenSSL's {expected}, found: {}", found.join("; "))))
    }

    fn load(name: &str) -> Result<Self, String> {
        let file = CString::new(name).map_err(|_| format!("{name:?} is no file name"))?;
        // SAFETY: a valid C string. The library's own initialisers run, as they would in any program that links it.
        let handle = unsafe { libc::dlopen(file.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
        if handle.is_null() {
            return Err(linker_words());
        }
        // SAFETY: the handle is open. A file that lacks one of these names is turned down; one that has them all and
        // means something else by them could not be used as an OpenSSL by anybody.
        let functions = unsafe { Functions::of(handle) }.map_err(|lacking| format!("{name}: {lacking}"))?;
        Ok(Self { functions: Box::leak(Box::new(functions)) })
    }

    pub(crate) fn functions(&self) -> &'static Functions {
        self.functions
    }

    /// Which OpenSSL it is, e.g. `OpenSSL 3.0.19 27 Jan 2026`.
    #[must_use]
    pub fn version(&self) -> String {
        self.words(VERSION)
    }

    /// The CPU's abilities as OpenSSL sees and masks them; since 3.0, before that `not available`.
    #[must_use]
    pub fn cpu(&self) -> String {
        self.words(CPU_INFO)
    }

    fn words(&self, which: c_int) -> String {
        // SAFETY: OpenSSL answers any number with a static string.
        unsafe {
            let text = (self.functions.OpenSSL_version)(which);
            if text.is_null() {
                String::new()
            } else {
                CStr::from_ptr(text).to_string_lossy().into_owned()
            }
        }
    }

    /// OpenSSL's message on the last refusal, as a fault; its queue of errors is empty afterwards.
    pub(crate) fn refusal(&self, kind: &'static str, what: &str) -> Fault {
        let mut reason = None;
        // SAFETY: the buffer has the given length, and OpenSSL ends what it writes with a zero.
        unsafe {
            loop {
                let code = (self.functions.ERR_get_error)();
                if code == 0 {
                    break;
                }
                let mut text = [0 as c_char; REASON_BYTES];
                (self.functions.ERR_error_string_n)(code, text.as_mut_ptr(), REASON_BYTES);
                reason.get_or_insert_with(|| CStr::from_ptr(text.as_ptr()).to_string_lossy().into_owned());
            }
        }
        let reason = reason.unwrap_or_else(|| "without a reason".to_owned());
        Fault::new(kind, format!("{what}: {} refused ({reason})", self.version()))
    }
}

/// The address of a function whose `name` ends in a zero.
///
/// # Safety
/// `handle` is open.
unsafe fn address(handle: *mut c_void, name: &'static str) -> Result<*mut c_void, String> {
    // SAFETY: the handle is open, and the name ends in a zero.
    let found = unsafe { libc::dlsym(handle, name.as_ptr().cast()) };
    if found.is_null() {
        return Err(format!("no OpenSSL libcrypto, it lacks {}", name.trim_end_matches('\0')));
    }
    Ok(found)
}

fn linker_words() -> String {
    // SAFETY: dlerror answers null or a C string that stays until this thread's next call.
    unsafe {
        let text = libc::dlerror();
        if text.is_null() {
            "nothing".to_owned()
        } else {
            CStr::from_ptr(text).to_string_lossy().into_owned()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_library_says_which_openssl_it_is() {
        let library = Library::open(None).unwrap();
        assert!(library.version().starts_with("OpenSSL "), "{}", library.version());
        assert!(!library.cpu().is_empty());
    }

    #[test]
    fn a_library_that_is_not_there_is_told_by_its_name() {
        let fault = Library::open(Some("/nowhere/libcrypto.so.3")).err().unwrap();
        assert_eq!(fault.kind, "library");
        let expected =
            "expected OpenSSL's libcrypto at /nowhere/libcrypto.so.3, found: /nowhere/libcrypto.so.3: cannot";
        assert!(fault.message.starts_with(expected), "{fault}");
    }

    #[test]
    fn another_library_is_turned_down_by_what_it_lacks() {
        let fault = Library::open(Some("libc.so.6")).err().unwrap();
        assert!(fault.message.ends_with("libc.so.6: no OpenSSL libcrypto, it lacks OpenSSL_version"), "{fault}");
    }

    #[test]
    fn a_name_with_a_zero_in_it_is_no_file() {
        assert_eq!(Library::open(Some("lib\0crypto")).err().unwrap().kind, "library");
    }
}
