//! One connection of a twin: opened with its key, its statements prepared, its writers in a fair queue.

use crate::statement::{error_of, failure, Prepared};
use parking_lot::lock_api::{RawMutex as _, RawMutexFair as _};
use parking_lot::RawFairMutex;
use rusqlite::ffi;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::ffi::{c_void, CString};
use std::os::raw::c_int;
use std::sync::Arc;
use tdelta_core::breaker::{Armed, Breaker};
use tdelta_core::client::{Client, ClientError};
use tdelta_core::process::thread_cpu_ns;
use tdelta_core::script::{Kind, Program, Statement};
use tdelta_core::trace::{Meter, Reading};
use tdelta_core::value::Value;

/// How to open a twin's file. `Debug` is left out on purpose: the key must not be printed.
#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Options {
    /// The database file.
    pub path: String,
    /// Make the file if it is not there.
    #[serde(default)]
    pub create: bool,
    /// Pragmas ahead of the key (the cipher and its parameters).
    #[serde(default)]
    pub cipher_pragmas: Vec<String>,
    /// The argument of `PRAGMA key`: a passphrase, or a key in the library's own notation; none for a plain file.
    #[serde(default)]
    pub key: Option<String>,
    /// On creation: bytes to reserve at the end of each page.
    #[serde(default)]
    pub reserve: Option<u8>,
    /// Pragmas once the file can be read (journal mode, synchronous, cache size, …).
    #[serde(default)]
    pub pragmas: Vec<String>,
    /// How long a reader waits for a writer (journal modes in which they exclude each other), ms.
    #[serde(default = "ten_seconds")]
    pub busy_timeout_ms: i32,
}

fn ten_seconds() -> i32 {
    10_000
}

/// Lets writers of one process in by order of arrival.
pub struct WriteQueue(RawFairMutex);

impl WriteQueue {
    /// An empty queue.
    pub fn new() -> Arc<Self> {
        Arc::new(Self(RawFairMutex::INIT))
    }

    fn enter(&self) {
        self.0.lock();
    }

    /// Hands over to the next in line.
    ///
    /// # Safety
    /// The caller has entered.
    unsafe fn leave(&self) {
        // SAFETY: as above.
        unsafe { self.0.unlock_fair() };
    }
}

struct Slot {
    prepared: Prepared,
    /// Result column → variable, for `\gset`.
    into: Vec<(usize, usize)>,
}

/// One open connection.
pub struct Connection {
    /// By program and statement; none for `\connect`, which has no SQL.
    statements: Vec<Vec<Option<Slot>>>,
    queue: Arc<WriteQueue>,
    holds_queue: bool,
    options: Arc<Options>,
    /// Counts of connections that `\connect` has closed, until they are taken.
    counted: BTreeMap<String, i64>,
    breaker: Breaker,
    /// Declared last of what it must outlive: statements are finalized before the connection closes.
    db: Handle,
}

/// A connection of SQLite's, or null once it is closed; while it is open, what it is at can be broken off.
struct Handle(Raw, Option<Armed>);

#[derive(Clone, Copy)]
struct Raw(*mut ffi::sqlite3);

// SAFETY: SQLite is built for threads, and a connection belongs to one thread at a time; only its interruption does not.
unsafe impl Send for Raw {}

impl Raw {
    /// Ends what the connection is at.
    ///
    /// # Safety
    /// It must be open. Whichever thread it belongs to, another may call this.
    unsafe fn interrupt(self) {
        // SAFETY: as above.
        unsafe { ffi::sqlite3_interrupt(self.0) };
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        self.1 = None;
        // SAFETY: closed once, after its statements, and nobody can interrupt it any more; to close null does nothing.
        unsafe { ffi::sqlite3_close(self.0 .0) };
    }
}

impl Handle {
    const CLOSED: Self = Self(Raw(std::ptr::null_mut()), None);

    fn open(options: &Options, breaker: &Breaker) -> Result<Self, ClientError> {
        let path = CString::new(options.path.as_str()).map_err(|_| failure("path", "NUL in a path".into()))?;
        let create = if options.create { ffi::SQLITE_OPEN_CREATE } else { 0 };
        let flags = ffi::SQLITE_OPEN_READWRITE | ffi::SQLITE_OPEN_NOMUTEX | create;
        let mut raw = std::ptr::null_mut();
        // SAFETY: `path` ends in NUL; `raw` is written even on failure, and must be closed then too.
        let code = unsafe { ffi::sqlite3_open_v2(path.as_ptr(), &mut raw, flags, std::ptr::null()) };
        let mut handle = Self(Raw(raw), None);
        if code != ffi::SQLITE_OK {
            let mut error = error_of(raw, code);
            error.message = format!("{}: {}", options.path, error.message);
            return Err(error);
        }
        let open = handle.0;
        // SAFETY: it is open until the handle is dropped, which lets go of this first.
        handle.1 = Some(breaker.arm(move || unsafe { open.interrupt() }));
        Ok(handle)
    }
}

impl Connection {
    /// Opens the file, gives it its key and settings, and reads its schema, which a wrong key cannot.
    ///
    /// # Errors
    /// An error of SQLite; the message never contains the key.
    pub fn open(options: Arc<Options>, queue: Arc<WriteQueue>) -> Result<Self, ClientError> {
        let breaker = Breaker::default();
        let db = Handle::open(&options, &breaker)?;
        let statements = Vec::new();
        let connection = Self { statements, queue, holds_queue: false, options, counted: BTreeMap::new(), breaker, db };
        connection.configure()?;
        Ok(connection)
    }

    fn db(&self) -> *mut ffi::sqlite3 {
        self.db.0 .0
    }

    /// Whether it is open: a `\connect` that failed leaves it closed.
    pub(crate) fn is_open(&self) -> bool {
        !self.db().is_null()
    }

    fn configure(&self) -> Result<(), ClientError> {
        let options = &*self.options;
        // SAFETY: the connection is open.
        unsafe { ffi::sqlite3_busy_timeout(self.db(), options.busy_timeout_ms) };
        options.cipher_pragmas.iter().try_for_each(|pragma| self.run(pragma))?;
        if let Some(key) = &options.key {
            self.run(&format!("PRAGMA key={}", literal(key)))
                .map_err(|_| failure("key", "the library refused the key".into()))?;
        }
        if let Some(reserve) = options.reserve {
            self.reserve("main", reserve)?;
        }
        options.pragmas.iter().try_for_each(|pragma| self.run(pragma))?;
        self.run("SELECT count(*) FROM sqlite_master")
    }

    /// Sets how many bytes the pages of `schema` keep back at their ends: of a new file at once, of one that is there
    /// from its next VACUUM on.
    ///
    /// # Errors
    /// An error of SQLite.
    pub fn reserve(&self, schema: &str, bytes: u8) -> Result<(), ClientError> {
        let schema = CString::new(schema).map_err(|_| failure("schema", "NUL in the name of a schema".into()))?;
        let mut bytes = c_int::from(bytes);
        let argument: *mut c_int = &mut bytes;
        // SAFETY: this file control reads and writes one int; the name ends in NUL.
        let code = unsafe {
            ffi::sqlite3_file_control(
                self.db(),
                schema.as_ptr(),
                ffi::SQLITE_FCNTL_RESERVE_BYTES,
                argument.cast::<c_void>(),
            )
        };
        if code == ffi::SQLITE_OK {
            Ok(())
        } else {
            Err(error_of(self.db(), code))
        }
    }

    /// Runs one statement to its end.
    ///
    /// # Errors
    /// An error of SQLite.
    pub fn run(&self, sql: &str) -> Result<(), ClientError> {
        self.query(sql, |_| Ok(())).map(|_| ())
    }

    /// Runs one statement with the key in place of its last `:key`.
    ///
    /// # Errors
    /// That it failed, and SQLite's code. Its words are left out: they may quote the statement, and so the key.
    pub fn run_keyed(&self, sql: &str, key: &str) -> Result<(), ClientError> {
        let Some(at) = sql.rfind(":key") else {
            return Err(failure("key", "the statement has no place for the key".into()));
        };
        let keyed = format!("{}{}{}", &sql[..at], literal(key), &sql[at + ":key".len()..]);
        self.run(&keyed).map_err(|error| {
            let code = error.message.rfind(" (SQLite code ").map_or("", |start| &error.message[start..]);
            failure(&error.kind, format!("the library refused a statement with a key{code}"))
        })
    }

    /// The first column of the first row as text (numbers in digits; empty for NULL or no row).
    ///
    /// # Errors
    /// An error of SQLite.
    pub fn text(&self, sql: &str) -> Result<String, ClientError> {
        let mut answer = None;
        self.query(sql, |row| {
            answer.get_or_insert_with(|| row.owned(0));
            Ok(())
        })?;
        Ok(match answer.unwrap_or_default() {
            Value::Null => String::new(),
            Value::Int(v) => v.to_string(),
            Value::Real(v) => v.to_string(),
            Value::Text(v) => v,
            Value::Blob(v) => String::from_utf8_lossy(&v).into_owned(),
        })
    }

    /// Runs a query and shows every row to `each`. Returns the number of rows.
    ///
    /// # Errors
    /// An error of SQLite or of `each`.
    pub(crate) fn query(
        &self,
        sql: &str,
        mut each: impl FnMut(&Prepared) -> Result<(), ClientError>,
    ) -> Result<u64, ClientError> {
        let prepared = self.prepare_one(sql)?;
        let mut rows = 0;
        while prepared.step()? {
            each(&prepared)?;
            rows += 1;
        }
        Ok(rows)
    }

    pub(crate) fn prepare_one(&self, sql: &str) -> Result<Prepared, ClientError> {
        Prepared::new(self.db(), sql)
    }

    fn enter(&mut self) {
        if !self.holds_queue {
            self.queue.enter();
            self.holds_queue = true;
        }
    }

    fn leave(&mut self) {
        if self.holds_queue {
            self.holds_queue = false;
            // SAFETY: this connection had entered.
            unsafe { self.queue.leave() };
        }
    }

    fn slot(&self, program: &Program, statement: &Statement) -> Result<Option<Slot>, ClientError> {
        let sql = match statement.kind {
            Kind::Connect => return Ok(None),
            // A deferred transaction that turns into a writer can fail with a stale snapshot: take the lock at once.
            Kind::Begin if program.writes => "BEGIN IMMEDIATE",
            Kind::Begin => "BEGIN",
            _ => &statement.sql,
        };
        let placed = |mut error: ClientError| {
            error.message = format!("{}, line {}: {}", program.name, statement.line, error.message);
            error
        };
        let prepared = self.prepare_one(sql).map_err(placed)?;
        let names: Vec<_> = (0..prepared.columns()).map(|column| prepared.column_name(column)).collect();
        let declared = statement.require_declared(names.iter().map(AsRef::as_ref));
        declared.map_err(|missing| placed(failure("sql", missing)))?;
        let into = statement.into.iter().flat_map(|names| {
            let named = |column: usize| names.get(&prepared.column_name(column)).map(|slot| (column, *slot));
            (0..prepared.columns()).filter_map(named).collect::<Vec<_>>()
        });
        let into = into.collect();
        Ok(Some(Slot { prepared, into }))
    }

    fn run_prepared(&self, at: (usize, usize), statement: &Statement, slots: &mut [Value]) -> Result<u64, ClientError> {
        match self.statements.get(at.0).and_then(|program| program.get(at.1)) {
            Some(Some(slot)) => slot.run(statement, slots),
            _ => Err(failure("closed", "the connection is closed: a \\connect before this statement failed".into())),
        }
    }
}

/// A text as SQL writes it.
fn literal(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.leave();
    }
}

impl Slot {
    #[inline]
    fn run(&self, statement: &Statement, slots: &mut [Value]) -> Result<u64, ClientError> {
        for (index, slot) in statement.parameters.iter().enumerate() {
            self.prepared.bind(index + 1, &slots[*slot])?;
        }
        if statement.into.is_some() {
            return self.fetch_into(slots);
        }
        let rows = self.prepared.drain();
        self.prepared.reset();
        rows
    }

    fn fetch_into(&self, slots: &mut [Value]) -> Result<u64, ClientError> {
        let found = self.prepared.step();
        let values: Vec<(usize, Value)> = match found {
            Ok(true) => self.into.iter().map(|(column, slot)| (*slot, self.prepared.owned(*column))).collect(),
            _ => Vec::new(),
        };
        // Bound text is borrowed from the slots, so the statement lets go of it before they change.
        self.prepared.reset();
        if !found? {
            return Err(failure("no_row", "\\gset expected one row and found none".into()));
        }
        values.into_iter().for_each(|(slot, value)| slots[slot] = value);
        Ok(1)
    }
}

impl Client for Connection {
    fn prepare(&mut self, programs: &[Program]) -> Result<(), ClientError> {
        let mut all = Vec::with_capacity(programs.len());
        for program in programs {
            let slots: Result<Vec<_>, _> = program.statements.iter().map(|s| self.slot(program, s)).collect();
            all.push(slots?);
        }
        self.statements = all;
        Ok(())
    }

    #[inline]
    fn execute(
        &mut self,
        at: (usize, usize),
        statement: &Statement,
        write: bool,
        slots: &mut [Value],
    ) -> Result<u64, ClientError> {
        let alone = match statement.kind {
            Kind::Begin if write => {
                self.enter();
                false
            }
            Kind::Write if !self.holds_queue => {
                self.enter();
                true
            }
            _ => false,
        };
        let result = self.run_prepared(at, statement, slots);
        if alone || (result.is_ok() && matches!(statement.kind, Kind::Commit | Kind::Rollback)) {
            self.leave();
        }
        result
    }

    fn connect(&mut self, programs: &[Program]) -> Result<(), ClientError> {
        self.leave();
        self.counted = self.take_counters();
        self.statements.clear();
        self.db = Handle::CLOSED; // closes the old one, as an application does before it opens the next
        self.db = Handle::open(&self.options, &self.breaker)?;
        self.configure().and_then(|()| self.prepare(programs)).inspect_err(|_| {
            // Half opened is of no use to any statement.
            self.statements.clear();
            self.db = Handle::CLOSED;
        })
    }

    fn abandon(&mut self) {
        // SAFETY: the connection is open.
        if self.is_open() && unsafe { ffi::sqlite3_get_autocommit(self.db()) } == 0 {
            // A rollback fails only where SQLite has rolled back by itself.
            let _ = self.run("ROLLBACK");
        }
        self.leave();
    }

    fn breaker(&self) -> Option<Breaker> {
        Some(self.breaker.clone())
    }

    fn take_counters(&mut self) -> BTreeMap<String, i64> {
        let mut counted = std::mem::take(&mut self.counted);
        if self.is_open() {
            for (name, counter) in COUNTERS {
                *counted.entry(name.to_owned()).or_insert(0) += self.status(counter, true);
            }
        }
        counted
    }
}

const COUNTERS: [(&str, c_int); 4] = [
    ("cache_hits", ffi::SQLITE_DBSTATUS_CACHE_HIT),
    ("cache_misses", ffi::SQLITE_DBSTATUS_CACHE_MISS),
    ("cache_writes", ffi::SQLITE_DBSTATUS_CACHE_WRITE),
    ("cache_spills", ffi::SQLITE_DBSTATUS_CACHE_SPILL),
];

impl Connection {
    /// A counter of an open connection, which may be set back to 0.
    fn status(&self, counter: c_int, reset: bool) -> i64 {
        let (mut current, mut highest) = (0, 0);
        // SAFETY: the connection is open and both targets are ints.
        unsafe { ffi::sqlite3_db_status(self.db(), counter, &mut current, &mut highest, c_int::from(reset)) };
        i64::from(current)
    }

    /// All counters, left as they are, and how many rows statements have changed.
    fn counters(&self) -> BTreeMap<String, i64> {
        if !self.is_open() {
            return BTreeMap::new();
        }
        let mut found: BTreeMap<_, _> =
            COUNTERS.iter().map(|(name, counter)| ((*name).to_owned(), self.status(*counter, false))).collect();
        // SAFETY: the connection is open.
        let changed = unsafe { ffi::sqlite3_total_changes(self.db()) };
        found.insert("rows_changed".to_owned(), i64::from(changed));
        found
    }
}

/// Meters of a connection in this process: the thread's CPU time, read next to the statement, and SQLite's counters.
pub(crate) struct ThreadMeter;

impl Meter<Connection> for ThreadMeter {
    fn before(&mut self, client: &mut Connection) -> Result<Reading, ClientError> {
        let counters = client.counters();
        Ok(Reading { cpu_ns: thread_cpu_ns(), counters })
    }

    fn after(&mut self, client: &mut Connection) -> Result<Reading, ClientError> {
        let cpu_ns = thread_cpu_ns();
        Ok(Reading { cpu_ns, counters: client.counters() })
    }
}
