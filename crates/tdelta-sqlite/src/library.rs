//! Taking over the API table of the host library.

use rusqlite::ffi;
use std::os::raw::{c_char, c_int};
use std::sync::atomic::{AtomicBool, Ordering};

static INITIALISED: AtomicBool = AtomicBool::new(false);

/// Takes the API table from the library that is loading this module. Answers `SQLITE_OK_LOAD_PERMANENTLY`, so that the
/// table outlives the connection that brought it.
///
/// # Safety
/// To be called by SQLite as an extension's entry point, with its own arguments.
pub unsafe fn initialise(
    db: *mut ffi::sqlite3,
    message: *mut *mut c_char,
    api: *mut ffi::sqlite3_api_routines,
) -> c_int {
    // SAFETY: the caller is SQLite, which hands an entry point valid pointers.
    let code = unsafe { rusqlite::Connection::extension_init2(db, message, api, |_| Ok(true)) };
    if code == ffi::SQLITE_OK_LOAD_PERMANENTLY {
        INITIALISED.store(true, Ordering::Release);
    }
    code
}

/// Whether a library has loaded this module. Nothing else here may be called before.
#[must_use]
pub fn is_initialised() -> bool {
    INITIALISED.load(Ordering::Acquire)
}
