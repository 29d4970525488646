//! The calls of OpenSSL itself: its functions behind ours, and the names of ciphers. Names of version 3 come first,
//! those of 1.1 where they are missing.

use std::ffi::{c_char, c_int, c_void, CStr};
use std::sync::atomic::{AtomicUsize, Ordering};

/// A function of OpenSSL, looked up once, under the first of its names that exists.
pub struct Function {
    names: &'static [&'static CStr],
    address: AtomicUsize,
}

impl Function {
    /// One that goes by these names.
    pub const fn new(names: &'static [&'static CStr]) -> Self {
        Self { names, address: AtomicUsize::new(0) }
    }

    /// Where it is; zero where it is not.
    pub fn address(&self) -> usize {
        let known = self.address.load(Ordering::Acquire);
        if known != 0 {
            return known;
        }
        let found = self.found_in(libc::RTLD_NEXT).or_else(|| self.found_in(loaded()?)).unwrap_or(0);
        self.address.store(found, Ordering::Release);
        found
    }

    fn found_in(&self, library: *mut c_void) -> Option<usize> {
        // SAFETY: looks up names, in a library that is loaded.
        let find = |name: &&CStr| unsafe { libc::dlsym(library, name.as_ptr()) } as usize;
        self.names.iter().map(find).find(|address| *address != 0)
    }
}

/// OpenSSL's library where a module brought it that was opened for its opener alone, as Python's are; the first one.
fn loaded() -> Option<*mut c_void> {
    unsafe extern "C" fn look(one: *mut libc::dl_phdr_info, _size: usize, found: *mut c_void) -> c_int {
        // SAFETY: the loader's own structure, whose name ends in zero; `found` is what is handed over below.
        unsafe {
            let name = (*one).dlpi_name;
            if !name.is_null() && CStr::from_ptr(name).to_bytes().windows(LIBRARY.len()).any(|part| part == LIBRARY) {
                *found.cast::<*const c_char>() = name;
                return 1;
            }
        }
        0
    }
    let mut name: *const c_char = std::ptr::null();
    // SAFETY: `look` is called while this runs, and a library that is loaded is only looked up.
    unsafe {
        libc::dl_iterate_phdr(Some(look), (&raw mut name).cast());
        let library =
            if name.is_null() { std::ptr::null_mut() } else { libc::dlopen(name, libc::RTLD_NOLOAD | libc::RTLD_LAZY) };
        (!library.is_null()).then_some(library)
    }
}

const LIBRARY: &[u8] = b"/libcrypto.so";

type OfContext = unsafe extern "C" fn(*const c_void) -> *const c_void;
type IsEncrypting = unsafe extern "C" fn(*const c_void) -> c_int;
type NumberOf = unsafe extern "C" fn(*const c_void) -> c_int;
type NameOf = unsafe extern "C" fn(*const c_void) -> *const c_char;
type NameOfNumber = unsafe extern "C" fn(c_int) -> *const c_char;

static CIPHER: Function = Function::new(&[c"EVP_CIPHER_CTX_get0_cipher", c"EVP_CIPHER_CTX_cipher"]);
static ENCRYPTING: Function = Function::new(&[c"EVP_CIPHER_CTX_is_encrypting", c"EVP_CIPHER_CTX_encrypting"]);
static NUMBER: Function = Function::new(&[c"EVP_CIPHER_get_nid", c"EVP_CIPHER_nid"]);
static NAME: Function = Function::new(&[c"EVP_CIPHER_get0_name"]);
static SHORT_NAME: Function = Function::new(&[c"OBJ_nid2sn"]);

/// The cipher that a context was started with: its number, and whether it encrypts. None where OpenSSL does not say.
///
/// # Safety
/// `context` is one of OpenSSL's, started.
pub unsafe fn started(context: *const c_void) -> Option<(*const c_void, c_int, bool)> {
    let functions = [CIPHER.address(), ENCRYPTING.address(), NUMBER.address()];
    if context.is_null() || functions.contains(&0) {
        return None;
    }
    // SAFETY: the addresses of functions of these types; the context is the caller's, the cipher what it holds.
    unsafe {
        let cipher = std::mem::transmute::<usize, OfContext>(functions[0])(context);
        if cipher.is_null() {
            return None;
        }
        let encrypts = std::mem::transmute::<usize, IsEncrypting>(functions[1])(context) != 0;
        let number = std::mem::transmute::<usize, NumberOf>(functions[2])(cipher);
        (number != 0).then_some((cipher, number, encrypts))
    }
}

/// The name of a cipher; `?` where OpenSSL has no name for it.
///
/// # Safety
/// `cipher` is one of OpenSSL's, `number` its number.
pub unsafe fn name<'a>(cipher: *const c_void, number: c_int) -> &'a CStr {
    // SAFETY: the addresses of functions of these types; both answer with text that stays, or null.
    let text = unsafe {
        match (NAME.address(), SHORT_NAME.address()) {
            (0, 0) => std::ptr::null(),
            (0, short) => std::mem::transmute::<usize, NameOfNumber>(short)(number),
            (long, _) => std::mem::transmute::<usize, NameOf>(long)(cipher),
        }
    };
    // SAFETY: as OpenSSL promises.
    if text.is_null() {
        c"?"
    } else {
        unsafe { CStr::from_ptr(text) }
    }
}
