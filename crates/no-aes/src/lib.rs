//! `libno_aes.so`: preloaded into one process (`LD_PRELOAD`), it hides the CPU's AES instructions from every library
//! there that asks the CPUID instruction what the CPU can do. SQLite3 Multiple Ciphers does; OpenSSL has a variable of
//! its own for that (`OPENSSL_ia32cap`). What is hidden is what that variable hides: AES-NI and PCLMULQDQ, and
//! their wide forms VAES and VPCLMULQDQ. Nothing else of the answer changes.
//!
//! The instruction is replaced by one of the same length that is invalid (UD2), in every library that is loaded now or by a
//! later `dlopen`, and a handler of SIGILL answers at exactly these places. The two bytes also occur inside other
//! instructions, so they are replaced only where decoding a function from its start (as the unwind table has it) arrives
//! at them.
//!
//! A program's own handler of that signal is remembered, shown to whoever reads it, and called for signals that are not ours.
//!
//! # Limits
//!
//! - Constructors of libraries that are there at start may run before this one does, and those of a library that is
//!   opened run before `dlopen` returns: what they ask is answered truthfully. SQLite3 Multiple Ciphers
//!   asks when it first needs to know. The C library, its loader and the vDSO are not patched.
//! - Only what comes through the C library is seen: `dlmopen` makes a namespace without this library, and a raw
//!   `rt_sigaction` (or `sigset`, `sigignore`) takes the handler away.
//! - A thread that blocks the signal and then asks is ended by the kernel, as for every fault that it blocks.
//! - A library that was patched is never unloaded.
//! - Code of the program that is made at run time is not patched; it is not seen at all.
//! - The caller of the C library's `dlopen` is this library, so a name without a slash is not searched along the
//!   caller's own RUNPATH.
#![cfg(all(target_arch = "x86_64", target_os = "linux"))]
// A test has neither what is put in front of the C library nor the constructor, and so does not use all they use.
#![cfg_attr(test, allow(dead_code))]

mod actions;
mod code;
mod cpuid;
mod frames;
#[cfg(not(test))]
mod interpose;
mod memory;
mod objects;
mod patching;
mod real;
mod sites;
mod trap;

/// Takes hold of the process, before its `main`.
extern "C" fn start() {
    if memory::is_writable() && trap::install() {
        patching::patch_new_objects();
    }
}

/// The loader runs what it finds here. Not in a test, whose process must stay as it is.
#[cfg(not(test))]
#[used]
#[link_section = ".init_array"]
static START: extern "C" fn() = start;
