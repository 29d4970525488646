//! The C library's own functions, never those by which this library stands before it.

use std::ffi::{c_char, c_int, c_void, CStr};
use std::sync::atomic::{AtomicUsize, Ordering};

/// A function that is behind one of ours, looked up once.
pub struct Next {
    name: &'static CStr,
    address: AtomicUsize,
}

impl Next {
    /// Of this name.
    pub const fn new(name: &'static CStr) -> Self {
        Self { name, address: AtomicUsize::new(0) }
    }

    /// Where it is; 0 where there is none. The first call takes the loader's lock.
    pub fn address(&self) -> usize {
        let known = self.address.load(Ordering::Acquire);
        if known != 0 {
            return known;
        }
        // SAFETY: looks up a name.
        let found = unsafe { libc::dlsym(libc::RTLD_NEXT, self.name.as_ptr()) } as usize;
        self.address.store(found, Ordering::Release);
        found
    }
}

type Dlopen = unsafe extern "C" fn(*const c_char, c_int) -> *mut c_void;

/// `sigaction`.
pub type Sigaction = unsafe extern "C" fn(c_int, *const libc::sigaction, *mut libc::sigaction) -> c_int;

static DLOPEN: Next = Next::new(c"dlopen");
static SIGACTION: Next = Next::new(c"sigaction");

/// dlopen(3); null where there is none.
pub fn dlopen(name: *const c_char, flags: c_int) -> *mut c_void {
    match DLOPEN.address() {
        0 => std::ptr::null_mut(),
        // SAFETY: the address of that function; the arguments are its own.
        address => unsafe { std::mem::transmute::<usize, Dlopen>(address)(name, flags) },
    }
}

/// sigaction(2), found before the handler is installed.
pub fn sigaction() -> Option<Sigaction> {
    // SAFETY: the address of that function, or null, which is `None`.
    unsafe { std::mem::transmute::<usize, Option<Sigaction>>(SIGACTION.address()) }
}
