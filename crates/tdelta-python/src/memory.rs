//! Memory that is not to be had ends the process with a sentence, where Rust would abort it.
//!
//! The allocator says it: `std`'s hook for failed allocations is not stable, and what it calls next aborts in any case. What
//! asks whether there is room (`try_reserve`) is ended, too.

use pyo3::prelude::*;
use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::OnceLock;

/// The message on standard error.
static WORDS: OnceLock<String> = OnceLock::new();

const NO_WORDS: &str = "error: there is no memory left\n";

/// The exit code: the environment's fault. A process that started this one knows it by that.
const ENVIRONMENT: libc::c_int = 2;

/// Sets the text that this process writes to standard error before it ends because memory ran out. Only the first call counts.
#[pyfunction]
pub fn without_memory(words: String) {
    let _ = WORDS.set(words);
}

struct Speaking;

#[global_allocator]
static ALLOCATOR: Speaking = Speaking;

// SAFETY: the system's allocator, which never answers null here.
unsafe impl GlobalAlloc for Speaking {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as the caller promises.
        had(unsafe { System.alloc(layout) })
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as the caller promises.
        had(unsafe { System.alloc_zeroed(layout) })
    }

    #[inline]
    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: as the caller promises.
        had(unsafe { System.realloc(memory, layout, size) })
    }

    #[inline]
    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: as the caller promises.
        unsafe { System.dealloc(memory, layout) }
    }
}

#[inline]
fn had(memory: *mut u8) -> *mut u8 {
    if memory.is_null() {
        leave();
    }
    memory
}

/// Ends the process. Whoever keeps a run's folder removes it.
#[cold]
fn leave() -> ! {
    let words = WORDS.get().map_or(NO_WORDS, String::as_str);
    // SAFETY: so many bytes are there.
    unsafe { libc::write(libc::STDERR_FILENO, words.as_ptr().cast(), words.len()) };
    // SAFETY: no preconditions.
    unsafe { libc::_exit(ENVIRONMENT) }
}
