//! The functions that this library puts in front of the C library's, and its report about itself.

use crate::actions::{bit, Action};
use crate::patching;
use crate::real::{self, Next};
use crate::trap;
use std::ffi::{c_char, c_int, c_void};

type Signal = unsafe extern "C" fn(c_int, libc::sighandler_t) -> libc::sighandler_t;

static SIGNAL: Next = Next::new(c"signal");
static SYSV_SIGNAL: Next = Next::new(c"__sysv_signal");

/// 0: CPUID is answered truthfully; 1: it is replaced.
#[no_mangle]
pub extern "C" fn no_aes_mode() -> c_int {
    c_int::from(trap::is_installed())
}

/// How many instructions were replaced so far.
#[no_mangle]
pub extern "C" fn no_aes_patched() -> c_int {
    patching::patched() as c_int
}

/// How many places may hold the instruction and were left as they are.
#[no_mangle]
pub extern "C" fn no_aes_unpatched() -> c_int {
    patching::unpatched() as c_int
}

/// How often CPUID was answered in the CPU's place.
#[no_mangle]
pub extern "C" fn no_aes_answered() -> u64 {
    trap::answered()
}

/// `dlopen`: what it brings is patched before the caller can call into it.
///
/// # Safety
/// As dlopen(3).
#[no_mangle]
pub unsafe extern "C" fn dlopen(name: *const c_char, flags: c_int) -> *mut c_void {
    let handle = real::dlopen(name, flags);
    if !handle.is_null() && trap::is_installed() {
        patching::patch_new_objects();
    }
    handle
}

/// `sigaction`: our handler stays, and the program's is remembered.
///
/// # Safety
/// As sigaction(2).
#[no_mangle]
pub unsafe extern "C" fn sigaction(signal: c_int, new: *const libc::sigaction, old: *mut libc::sigaction) -> c_int {
    if !trap::is_ours(signal) {
        // SAFETY: the caller's own arguments.
        return real::sigaction().map_or(-1, |next| unsafe { next(signal, new, old) });
    }
    // SAFETY: null, or the caller's structure.
    let before = trap::exchange(unsafe { new.as_ref() }.map(Action::from_c));
    if !old.is_null() {
        // SAFETY: the caller's structure.
        unsafe { old.write(before.to_c()) };
    }
    0
}

/// `__sigaction`, another name of it.
///
/// # Safety
/// As sigaction(2).
#[no_mangle]
pub unsafe extern "C" fn __sigaction(signal: c_int, new: *const libc::sigaction, old: *mut libc::sigaction) -> c_int {
    // SAFETY: the caller's own arguments.
    unsafe { sigaction(signal, new, old) }
}

/// `signal`, as BSD has it: system calls go on, and the handler stays.
///
/// # Safety
/// As signal(2).
#[no_mangle]
pub unsafe extern "C" fn signal(signal: c_int, handler: libc::sighandler_t) -> libc::sighandler_t {
    // SAFETY: the caller's own arguments.
    unsafe { simple(signal, handler, &SIGNAL, libc::SA_RESTART) }
}

/// `bsd_signal`, another name of it.
///
/// # Safety
/// As signal(2).
#[no_mangle]
pub unsafe extern "C" fn bsd_signal(signal: c_int, handler: libc::sighandler_t) -> libc::sighandler_t {
    // SAFETY: the caller's own arguments.
    unsafe { simple(signal, handler, &SIGNAL, libc::SA_RESTART) }
}

/// `ssignal`, another name of it.
///
/// # Safety
/// As signal(2).
#[no_mangle]
pub unsafe extern "C" fn ssignal(signal: c_int, handler: libc::sighandler_t) -> libc::sighandler_t {
    // SAFETY: the caller's own arguments.
    unsafe { simple(signal, handler, &SIGNAL, libc::SA_RESTART) }
}

/// `sysv_signal`: the handler is for once, and does not hold back the signal.
///
/// # Safety
/// As sysv_signal(3).
#[no_mangle]
pub unsafe extern "C" fn sysv_signal(signal: c_int, handler: libc::sighandler_t) -> libc::sighandler_t {
    // SAFETY: the caller's own arguments.
    unsafe { simple(signal, handler, &SYSV_SIGNAL, libc::SA_RESETHAND | libc::SA_NODEFER) }
}

/// `__sysv_signal`, what `signal` means to a program that asks for System V.
///
/// # Safety
/// As sysv_signal(3).
#[no_mangle]
pub unsafe extern "C" fn __sysv_signal(signal: c_int, handler: libc::sighandler_t) -> libc::sighandler_t {
    // SAFETY: the caller's own arguments.
    unsafe { simple(signal, handler, &SYSV_SIGNAL, libc::SA_RESETHAND | libc::SA_NODEFER) }
}

/// The common part of calls with two arguments.
unsafe fn simple(signal: c_int, handler: libc::sighandler_t, next: &Next, flags: c_int) -> libc::sighandler_t {
    if trap::is_ours(signal) && handler != libc::SIG_ERR {
        let mask = if flags & libc::SA_NODEFER == 0 { bit(signal) } else { 0 };
        return trap::exchange(Some(Action { handler, flags, mask })).handler;
    }
    match next.address() {
        0 => libc::SIG_ERR,
        // SAFETY: the address of a function of this type; the arguments are the caller's own.
        address => unsafe { std::mem::transmute::<usize, Signal>(address)(signal, handler) },
    }
}
