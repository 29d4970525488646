//! Taking over the API table of the host library.

use rusqlite::ffi;
use std::mem::{offset_of, zeroed};
use std::os::raw::{c_char, c_int};
use std::sync::atomic::{AtomicBool, Ordering};

/// The oldest SQLite that has `SQLITE_FCNTL_RESERVE_BYTES` (3.32.0: the checksum VFS came with it and needs it).
const OLDEST: c_int = 3_032_000;

/// How much of the table every such library has: what comes behind was added in 3.34.0 or later.
const TABLE_BYTES: usize = offset_of!(ffi::sqlite3_api_routines, txn_state);

static INITIALISED: AtomicBool = AtomicBool::new(false);

/// Takes the API table from the library that is loading this module. Answers `SQLITE_OK_LOAD_PERMANENTLY`, so that the
/// table outlives the connection that brought it.
///
/// # Safety
/// To be called by SQLite as an extension's entry point, with its own arguments.
pub unsafe fn initialise(
    _db: *mut ffi::sqlite3,
    message: *mut *mut c_char,
    api: *mut ffi::sqlite3_api_routines,
) -> c_int {
    // SAFETY: the caller is SQLite, which hands an entry point valid pointers.
    match unsafe { take(api) } {
        Ok(()) => {
            INITIALISED.store(true, Ordering::Release);
            ffi::SQLITE_OK_LOAD_PERMANENTLY
        }
        Err(why) => {
            // SAFETY: as above.
            unsafe { tell(api, message, &why) };
            ffi::SQLITE_ERROR
        }
    }
}

/// Whether a library has loaded this module. Nothing else here may be called before.
#[must_use]
pub fn is_initialised() -> bool {
    INITIALISED.load(Ordering::Acquire)
}

/// Copies the part of the table that this client needs, from libraries older than the bindings, too.
///
/// The bindings refuse a library that is older than the header they were made from, since they would read behind the
/// end of its table. Here they get a table of full length, whose later entries are empty, and a version that they take.
///
/// # Safety
/// `api` is the table of a SQLite library.
unsafe fn take(api: *const ffi::sqlite3_api_routines) -> Result<(), String> {
    // SAFETY: both entries are in every table since SQLite 3.5, and take no arguments.
    let (version, is_threadsafe) = unsafe {
        let (Some(version), Some(threadsafe)) = ((*api).libversion_number, (*api).xthreadsafe) else {
            return Err("the library's table of functions is incomplete".into());
        };
        (version(), threadsafe() != 0)
    };
    if version < OLDEST {
        return Err(format!("expected SQLite {} or newer, found {}", dotted(OLDEST), dotted(version)));
    }
    if !is_threadsafe {
        return Err("expected a SQLite built for threads, found SQLITE_THREADSAFE=0".into());
    }
    // SAFETY: every entry is an optional function pointer, for which zero is none; the library is new enough to have
    // `TABLE_BYTES` of them, as C lays them out.
    let mut table = unsafe {
        let mut table: ffi::sqlite3_api_routines = zeroed();
        let target: *mut ffi::sqlite3_api_routines = &mut table;
        std::ptr::copy_nonoverlapping(api.cast::<u8>(), target.cast::<u8>(), TABLE_BYTES);
        table
    };
    table.libversion_number = Some(version_of_bindings);
    // SAFETY: the table is whole, and is read before this returns.
    unsafe { ffi::rusqlite_extension_init2(&mut table) }.map_err(|error| error.to_string())
}

unsafe extern "C" fn version_of_bindings() -> c_int {
    ffi::SQLITE_VERSION_NUMBER
}

fn dotted(version: c_int) -> String {
    format!("{}.{}.{}", version / 1_000_000, version / 1000 % 1000, version % 1000)
}

/// Hands SQLite a message in memory of its own, which it frees.
///
/// # Safety
/// As for [`initialise`].
unsafe fn tell(api: *const ffi::sqlite3_api_routines, message: *mut *mut c_char, why: &str) {
    // SAFETY: the caller is SQLite; what it allocates holds the text and the NUL at its end, or is null.
    unsafe {
        let Some(malloc) = (*api).malloc.filter(|_| !message.is_null()) else { return };
        let copy = malloc(why.len() as c_int + 1).cast::<u8>();
        if !copy.is_null() {
            std::ptr::copy_nonoverlapping(why.as_ptr(), copy, why.len());
            *copy.add(why.len()) = 0;
            *message = copy.cast();
        }
    }
}
