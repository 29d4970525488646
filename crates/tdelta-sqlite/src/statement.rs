//! A prepared statement: bind, step, fetch, reset.

use rusqlite::ffi;
use std::ffi::{CStr, CString};
use std::hint::black_box;
use std::os::raw::c_int;
use tdelta_core::client::ClientError;
use tdelta_core::data::ValueRef;
use tdelta_core::value::Value;

/// A handle to a prepared statement, finalized on drop. It must not outlive its connection.
pub struct Prepared {
    raw: *mut ffi::sqlite3_stmt,
    db: *mut ffi::sqlite3,
}

// SAFETY: SQLite is built for threads, and a connection with its statements belongs to one thread at a time.
unsafe impl Send for Prepared {}

impl Prepared {
    /// Prepares `sql` for many runs.
    pub fn new(db: *mut ffi::sqlite3, sql: &str) -> Result<Self, ClientError> {
        let text = CString::new(sql).map_err(|_| failure("syntax", "the statement has a NUL byte".into()))?;
        let mut raw = std::ptr::null_mut();
        // SAFETY: `db` is open, `text` ends in NUL, `raw` is written by the call.
        let code = unsafe {
            let persistent = ffi::SQLITE_PREPARE_PERSISTENT;
            ffi::sqlite3_prepare_v3(db, text.as_ptr(), -1, persistent, &mut raw, std::ptr::null_mut())
        };
        if code != ffi::SQLITE_OK {
            return Err(error_of(db, code));
        }
        if raw.is_null() {
            return Err(failure("syntax", format!("'{sql}' is no statement")));
        }
        Ok(Self { raw, db })
    }

    /// Binds one parameter, from 1. Text and bytes are not copied: `value` must stay until [`Prepared::reset`].
    #[inline]
    pub fn bind(&self, number: usize, value: &Value) -> Result<(), ClientError> {
        let at = number as c_int;
        // SAFETY: the statement is live and reset; borrowed bytes outlive the run, as the contract says.
        let code = unsafe {
            match value {
                Value::Int(v) => ffi::sqlite3_bind_int64(self.raw, at, *v),
                Value::Real(v) => ffi::sqlite3_bind_double(self.raw, at, *v),
                Value::Text(v) => ffi::sqlite3_bind_text(self.raw, at, v.as_ptr().cast(), v.len() as c_int, None),
                Value::Blob(v) => ffi::sqlite3_bind_blob(self.raw, at, v.as_ptr().cast(), v.len() as c_int, None),
                Value::Null => ffi::sqlite3_bind_null(self.raw, at),
            }
        };
        if code == ffi::SQLITE_OK {
            Ok(())
        } else {
            Err(error_of(self.db, code))
        }
    }

    /// Steps once: whether there is a row.
    #[inline]
    pub fn step(&self) -> Result<bool, ClientError> {
        // SAFETY: the statement is live and belongs to this thread.
        match unsafe { ffi::sqlite3_step(self.raw) } {
            ffi::SQLITE_ROW => Ok(true),
            ffi::SQLITE_DONE => Ok(false),
            code => Err(error_of(self.db, code)),
        }
    }

    /// Steps to the end, fetching every column as an application would. Returns the number of rows.
    #[inline]
    pub fn drain(&self) -> Result<u64, ClientError> {
        let mut rows = 0;
        while self.step()? {
            rows += 1;
            for column in 0..self.columns() {
                black_box(self.column(column));
            }
        }
        Ok(rows)
    }

    /// Makes it ready to run again.
    #[inline]
    pub fn reset(&self) {
        // SAFETY: the statement is live. Its answer repeats the last step's, which was dealt with then.
        unsafe { ffi::sqlite3_reset(self.raw) };
    }

    /// Number of result columns.
    #[inline]
    pub fn columns(&self) -> usize {
        // SAFETY: the statement is live.
        unsafe { ffi::sqlite3_column_count(self.raw) as usize }
    }

    /// The name of a result column, from 0.
    pub fn column_name(&self, column: usize) -> String {
        // SAFETY: the statement is live; the name is copied before anything else is called.
        unsafe {
            let name = ffi::sqlite3_column_name(self.raw, column as c_int);
            if name.is_null() {
                String::new()
            } else {
                CStr::from_ptr(name).to_string_lossy().into_owned()
            }
        }
    }

    /// A column of the current row, borrowed until the next step or reset.
    #[inline]
    pub fn column(&self, column: usize) -> ValueRef<'_> {
        let at = column as c_int;
        // SAFETY: the statement is live and has a row; the bytes stay until the next step, which `&self` users await.
        unsafe {
            match ffi::sqlite3_column_type(self.raw, at) {
                ffi::SQLITE_INTEGER => ValueRef::Int(ffi::sqlite3_column_int64(self.raw, at)),
                ffi::SQLITE_FLOAT => ValueRef::Real(ffi::sqlite3_column_double(self.raw, at)),
                ffi::SQLITE_TEXT => ValueRef::Text(self.bytes(ffi::sqlite3_column_text(self.raw, at), at)),
                ffi::SQLITE_BLOB => ValueRef::Blob(self.bytes(ffi::sqlite3_column_blob(self.raw, at).cast(), at)),
                _ => ValueRef::Null,
            }
        }
    }

    /// A column of the current row, copied.
    pub fn owned(&self, column: usize) -> Value {
        match self.column(column) {
            ValueRef::Null => Value::Null,
            ValueRef::Int(v) => Value::Int(v),
            ValueRef::Real(v) => Value::Real(v),
            ValueRef::Text(v) => Value::Text(String::from_utf8_lossy(v).into_owned()),
            ValueRef::Blob(v) => Value::Blob(v.to_owned()),
        }
    }

    unsafe fn bytes(&self, start: *const u8, column: c_int) -> &[u8] {
        // SAFETY: the caller just fetched `start` for this column, and SQLite tells its length.
        unsafe {
            let length = ffi::sqlite3_column_bytes(self.raw, column) as usize;
            if start.is_null() || length == 0 {
                &[]
            } else {
                std::slice::from_raw_parts(start, length)
            }
        }
    }
}

impl Drop for Prepared {
    fn drop(&mut self) {
        // SAFETY: finalized once; its connection is still open.
        unsafe { ffi::sqlite3_finalize(self.raw) };
    }
}

/// A failure that did not come from the engine.
pub fn failure(kind: &str, message: String) -> ClientError {
    ClientError { kind: kind.into(), message, retryable: false }
}

/// SQLite's message on its last failure on `db`.
pub fn error_of(db: *mut ffi::sqlite3, code: c_int) -> ClientError {
    // SAFETY: `db` is open or null, for both of which sqlite3_errmsg answers with a string of its own.
    let message = unsafe { CStr::from_ptr(ffi::sqlite3_errmsg(db)) }.to_string_lossy().into_owned();
    let primary = code & 0xff;
    ClientError {
        kind: kind_of(primary).into(),
        message: format!("{message} (SQLite code {code})"),
        retryable: matches!(primary, ffi::SQLITE_BUSY | ffi::SQLITE_LOCKED),
    }
}

fn kind_of(primary: c_int) -> &'static str {
    match primary {
        ffi::SQLITE_BUSY => "busy",
        ffi::SQLITE_LOCKED => "locked",
        ffi::SQLITE_CONSTRAINT => "constraint",
        ffi::SQLITE_FULL => "full",
        ffi::SQLITE_IOERR => "io",
        ffi::SQLITE_CORRUPT => "corrupt",
        ffi::SQLITE_NOTADB => "not_a_database",
        ffi::SQLITE_READONLY => "read_only",
        ffi::SQLITE_CANTOPEN => "cannot_open",
        ffi::SQLITE_NOMEM => "out_of_memory",
        _ => "sql",
    }
}
