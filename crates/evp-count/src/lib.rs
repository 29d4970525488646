//! `libevp_count.so`: preloaded into a server (`LD_PRELOAD`), it counts and times the calls that it makes of ciphers, MACs
//! and random bytes in OpenSSL, by cipher and direction. What an engine is asked for and what it does to its pages can
//! differ, and what a cipher takes where it is called is not what it takes in a loop; this is what it does and takes.
//!
//! The counts lie in the file that `TDELTA_EVP_COUNTS` names, mapped into memory, so that nothing is lost when the
//! process is killed; processes that inherit the variable add to the same counts. Without it nothing is counted.
//!
//! A start is a call of a function that brings a key or an initialization vector: InnoDB makes one for each page. Every
//! call costs two readings of the clock, so nothing is measured in a process that has this.
//!
//! # Limits
//!
//! - Only calls that go through the dynamic linker are seen: no program that carries OpenSSL within, and nothing that
//!   OpenSSL starts by itself.
//! - Where a module brings OpenSSL for itself alone (`dlopen`), the first library of that name is called.
//! - Time on the clock, not CPU time: a call that another thread interrupted is counted, and its time left out.
//! - More kinds of ciphers than `counts::SLOTS` are counted with the last one.
#![cfg(target_os = "linux")]
// A test has no functions in front of OpenSSL's, and so does not use all they use.
#![cfg_attr(test, allow(dead_code))]

mod clock;
mod counts;
mod evp;
#[cfg(not(test))]
mod interpose;

/// Finds the file, before the program's `main`.
extern "C" fn start() {
    if let Some(path) = std::env::var_os("TDELTA_EVP_COUNTS") {
        counts::open(&path, clock::own_ps());
    }
}

/// The loader runs what it finds here. Not in a test, which opens files of its own.
#[cfg(not(test))]
#[used]
#[link_section = ".init_array"]
static START: extern "C" fn() = start;
