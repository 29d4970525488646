//! A client of any driver that keeps to Python's DB-API 2.0 (PEP 249), for engines whose best client is Python's. The one
//! loop drives it as it does the native ones: here is only how a statement becomes calls of Python's.
//!
//! The GIL is held while a statement is handed over and its rows are taken, and by nobody between statements; a driver
//! that lets go of it while the engine works lets the other connections in. Who waits for it sleeps: that time is elapsed
//! time and no CPU time. Texts of statements are made once, and so are the bound methods that are called.

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};
use pyo3::IntoPyObjectExt;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;
use std::sync::Arc;
use tdelta_core::client::{Client, ClientError};
use tdelta_core::data::{Chunk, Plan, Table, TableChecksum};
use tdelta_core::load::{Loop, Mix, Prepared, Trial};
use tdelta_core::process::{monotonic_ns, process_cpu_ns, Usage};
use tdelta_core::script::{with_marks, Kind, Program, Statement};
use tdelta_core::trace::{Meter, Reading};
use tdelta_core::twin::{trial_within, Measured, Metered, Tables};
use tdelta_core::value::Value;

/// How a driver is spoken to.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Style {
    /// How parameters are written: PEP 249's `paramstyle`, or `dollar` (`$1`).
    parameters: Marks,
    /// Whether transactions begin by themselves and end by methods of the cursor's `connection`, as PEP 249 has it; else
    /// they are statements like others.
    #[serde(default)]
    ends_by_methods: bool,
    /// The statement that begins a transaction, where the server takes the scripts' `BEGIN` for something else.
    #[serde(default)]
    begin: Option<String>,
    /// After how many rows a load commits: a transaction of all rows would need as much log or undo as there is data.
    #[serde(default = "commit_rows")]
    commit_rows: u64,
    /// Whether the engine works in threads of its own in this process.
    #[serde(default)]
    is_spread: bool,
}

const fn commit_rows() -> u64 {
    100_000
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Marks {
    Qmark,
    Format,
    Numeric,
    Dollar,
    Named,
    Pyformat,
}

impl Marks {
    /// The N-th parameter, from 1.
    fn mark(self, number: usize) -> String {
        match self {
            Self::Qmark => "?".into(),
            Self::Format => "%s".into(),
            Self::Numeric => format!(":{number}"),
            Self::Dollar => format!("${number}"),
            Self::Named => format!(":p{number}"),
            Self::Pyformat => format!("%(p{number})s"),
        }
    }

    /// Whether each mark takes the next value, so that a parameter that comes twice is given twice.
    fn are_places(self) -> bool {
        matches!(self, Self::Qmark | Self::Format)
    }

    fn have_names(self) -> bool {
        matches!(self, Self::Named | Self::Pyformat)
    }

    /// A statement's text with these marks, and the parameters to give, by number from 0.
    fn write(self, sql: &str, parameters: usize) -> (String, Vec<usize>) {
        let is_format = matches!(self, Self::Format | Self::Pyformat) && parameters > 0;
        let text = if is_format { sql.replace('%', "%%") } else { sql.to_owned() };
        let mut places = Vec::new();
        let marked = with_marks(&text, |number| {
            places.push(number - 1);
            self.mark(number)
        });
        (marked, if self.are_places() { places } else { (0..parameters).collect() })
    }
}

/// The Python parts of a twin.
pub struct Given {
    pub style: Style,
    /// Makes a cursor that is ready for use; is given the one that `\connect` is to close, or None.
    pub connect: Py<PyAny>,
    /// Says of an exception of which kind it is, in which words, and whether to try again.
    pub explain: Py<PyAny>,
    pub cool: Option<Py<PyAny>>,
    pub files: Option<Py<PyAny>>,
    pub settle: Option<Py<PyAny>>,
    /// Reads the meters of a server; is given the cursor whose statements are traced.
    pub meter: Option<Py<PyAny>>,
}

/// The error within a call: the driver's own exception, or this client's judgment of an answer.
enum Fault {
    Raised(PyErr),
    Own(ClientError),
}

impl From<PyErr> for Fault {
    fn from(error: PyErr) -> Self {
        Self::Raised(error)
    }
}

fn own(kind: &str, message: String) -> Fault {
    Fault::Own(ClientError { kind: kind.into(), message, retryable: false })
}

impl Given {
    fn explained(&self, py: Python<'_>, fault: Fault) -> ClientError {
        let error = match fault {
            Fault::Own(error) => return error,
            Fault::Raised(error) => error,
        };
        let told = self.explain.bind(py).call1((error.value(py),)).and_then(|told| told.extract());
        let (kind, message, retryable) = told.unwrap_or_else(|other| ("defect".into(), other.to_string(), false));
        ClientError { kind, message, retryable }
    }

    /// Calls one of the functions that were given, if it was.
    fn called<T>(
        &self,
        function: Option<&Py<PyAny>>,
        answer: impl FnOnce(Bound<'_, PyAny>) -> PyResult<T>,
    ) -> Result<Option<T>, ClientError> {
        let Some(function) = function else { return Ok(None) };
        Python::attach(|py| {
            let found = function.bind(py).call0().and_then(answer);
            found.map(Some).map_err(|error| self.explained(py, error.into()))
        })
    }
}

/// One statement as the driver is given it.
struct Written {
    sql: Py<PyString>,
    /// The slots of the values to bind, in order.
    slots: Vec<usize>,
    /// Their names, where parameters have such.
    names: Vec<Py<PyString>>,
    /// Known after the first execution: whether there is a result to fetch, and of `\gset` each column with its slot.
    answers: Option<(bool, Vec<(usize, usize)>)>,
}

impl Written {
    fn new(py: Python<'_>, marks: Marks, statement: &Statement) -> Self {
        let (sql, places) = marks.write(&statement.sql, statement.parameters.len());
        let names = if marks.have_names() { places.len() } else { 0 };
        Self {
            sql: PyString::new(py, &sql).unbind(),
            slots: places.into_iter().map(|place| statement.parameters[place]).collect(),
            names: (1..=names).map(|number| PyString::intern(py, &format!("p{number}")).unbind()).collect(),
            answers: None,
        }
    }

    fn execute(&self, py: Python<'_>, execute: &Bound<'_, PyAny>, slots: &[Value]) -> PyResult<()> {
        let sql = self.sql.bind(py);
        if self.slots.is_empty() {
            return execute.call1((sql,)).map(drop);
        }
        if self.names.is_empty() {
            return execute.call1((sql, tuple(py, self.slots.iter().map(|slot| &slots[*slot]))?)).map(drop);
        }
        let values = PyDict::new(py);
        for (name, slot) in self.names.iter().zip(&self.slots) {
            values.set_item(name, object(py, &slots[*slot])?)?;
        }
        execute.call1((sql, values)).map(drop)
    }
}

fn tuple<'py, 'a>(py: Python<'py>, values: impl ExactSizeIterator<Item = &'a Value>) -> PyResult<Bound<'py, PyTuple>> {
    let made: PyResult<Vec<_>> = values.map(|value| object(py, value)).collect();
    PyTuple::new(py, made?)
}

fn object<'py>(py: Python<'py>, value: &Value) -> PyResult<Bound<'py, PyAny>> {
    match value {
        Value::Null => Ok(py.None().into_bound(py)),
        Value::Int(whole) => whole.into_bound_py_any(py),
        Value::Real(real) => real.into_bound_py_any(py),
        Value::Text(text) => text.into_bound_py_any(py),
        Value::Blob(bytes) => Ok(PyBytes::new(py, bytes).into_any()),
    }
}

/// A fetched value as scripts and checksums have them; a decimal number becomes a double.
fn value_of(found: &Bound<'_, PyAny>) -> PyResult<Value> {
    if found.is_none() {
        return Ok(Value::Null);
    }
    if found.is_instance_of::<PyInt>() {
        return found.extract().map(Value::Int).or_else(|_| found.extract().map(Value::Real));
    }
    if found.is_instance_of::<PyFloat>() {
        return Ok(Value::Real(found.extract()?));
    }
    if let Ok(bytes) = found.cast::<PyBytes>() {
        return Ok(Value::Blob(bytes.as_bytes().to_vec()));
    }
    let text = found.str()?.to_string();
    if found.is_instance_of::<PyString>() {
        return Ok(Value::Text(text));
    }
    Ok(text.parse().map_or(Value::Text(text), Value::Real))
}

/// One connection: a cursor of the driver's.
pub struct Session {
    given: Arc<Given>,
    cursor: Py<PyAny>,
    execute: Py<PyAny>,
    fetchall: Py<PyAny>,
    /// Where the driver has it: what a statement answers may come in parts.
    nextset: Option<Py<PyAny>>,
    statements: Vec<Vec<Option<Written>>>,
    is_in_transaction: bool,
}

impl Session {
    fn open(py: Python<'_>, given: Arc<Given>, old: Option<&Py<PyAny>>) -> PyResult<Self> {
        let cursor = given.connect.bind(py).call1((old,))?;
        let (execute, fetchall) = (cursor.getattr("execute")?.unbind(), cursor.getattr("fetchall")?.unbind());
        let nextset = cursor.getattr_opt("nextset")?.map(Bound::unbind);
        let cursor = cursor.unbind();
        Ok(Self { given, cursor, execute, fetchall, nextset, statements: Vec::new(), is_in_transaction: false })
    }

    /// Runs `work` with the GIL.
    fn with<T>(&mut self, work: impl FnOnce(&mut Self, Python<'_>) -> Result<T, Fault>) -> Result<T, ClientError> {
        Python::attach(|py| work(self, py).map_err(|fault| self.given.explained(py, fault)))
    }

    fn run(&self, py: Python<'_>, sql: &str) -> PyResult<()> {
        self.execute.bind(py).call1((sql,))?;
        drain(py, self.nextset.as_ref())
    }

    fn begin(&mut self, py: Python<'_>, sql: &str) -> PyResult<()> {
        let style = &self.given.style;
        if !style.ends_by_methods {
            self.run(py, style.begin.as_deref().unwrap_or(sql))?;
        }
        self.is_in_transaction = true;
        Ok(())
    }

    fn end(&mut self, py: Python<'_>, method: &str, sql: &str) -> PyResult<()> {
        self.is_in_transaction = false;
        if self.given.style.ends_by_methods {
            return self.cursor.bind(py).getattr("connection")?.call_method0(method).map(drop);
        }
        self.run(py, sql)
    }

    fn statement(
        &mut self,
        py: Python<'_>,
        at: (usize, usize),
        statement: &Statement,
        slots: &mut [Value],
    ) -> Result<u64, Fault> {
        match statement.kind {
            Kind::Begin => return Ok(self.begin(py, &statement.sql).map(|()| 0)?),
            Kind::Commit => return Ok(self.end(py, "commit", &statement.sql).map(|()| 0)?),
            Kind::Rollback => return Ok(self.end(py, "rollback", &statement.sql).map(|()| 0)?),
            Kind::Query | Kind::Write | Kind::Connect => {}
        }
        let Some(Some(written)) = self.statements.get_mut(at.0).and_then(|program| program.get_mut(at.1)) else {
            return Err(own("closed", "the connection is closed: a \\connect before this statement failed".into()));
        };
        let is_alone = statement.kind == Kind::Write && !self.is_in_transaction;
        let commits = is_alone && self.given.style.ends_by_methods;
        written.execute(py, self.execute.bind(py), slots)?;
        if written.answers.is_none() {
            let description = self.cursor.bind(py).getattr("description")?;
            written.answers = Some((!description.is_none(), columns(&description, statement)?));
        }
        let Some((true, into)) = &written.answers else {
            drain(py, self.nextset.as_ref())?;
            if commits {
                self.end(py, "commit", "")?;
            }
            return if statement.into.is_some() { Err(no_row(statement)) } else { Ok(0) };
        };
        let rows = self.fetchall.bind(py).call0()?;
        let count = rows.len()? as u64;
        drain(py, self.nextset.as_ref())?;
        if statement.into.is_some() {
            if count == 0 {
                return Err(no_row(statement));
            }
            let first = rows.get_item(0)?;
            for (column, slot) in into {
                slots[*slot] = value_of(&first.get_item(column)?)?;
            }
        }
        if commits {
            self.end(py, "commit", "")?;
        }
        Ok(if statement.kind == Kind::Query { count } else { 0 })
    }
}

/// Takes all that a statement still answers: the server may go on with it only then, and fail.
fn drain(py: Python<'_>, nextset: Option<&Py<PyAny>>) -> PyResult<()> {
    let Some(nextset) = nextset else { return Ok(()) };
    while nextset.bind(py).call0()?.is_truthy()? {}
    Ok(())
}

fn no_row(statement: &Statement) -> Fault {
    own("no_row", format!("\\gset got no row of: {}", statement.sql))
}

/// Of `\gset`: each column of the result that fills a variable, with the variable's slot. Engines may change a name's case.
fn columns(description: &Bound<'_, PyAny>, statement: &Statement) -> Result<Vec<(usize, usize)>, Fault> {
    let mut found = Vec::new();
    let (false, Some(into)) = (description.is_none(), &statement.into) else { return Ok(found) };
    let names = description.try_iter()?.map(|described| described?.get_item(0)?.extract());
    let names: Vec<String> = names.collect::<PyResult<_>>()?;
    statement.require_declared(names.iter().map(String::as_str)).map_err(|missing| own("sql", missing))?;
    for (column, name) in names.into_iter().enumerate() {
        let same = || into.iter().find(|(known, _)| known.eq_ignore_ascii_case(&name)).map(|(_, slot)| slot);
        found.extend(into.get(&name).or_else(same).map(|slot| (column, *slot)));
    }
    Ok(found)
}

impl Client for Session {
    fn prepare(&mut self, programs: &[Program]) -> Result<(), ClientError> {
        let marks = self.given.style.parameters;
        self.statements = Python::attach(|py| {
            let written = |one: &Statement| (one.kind != Kind::Connect).then(|| Written::new(py, marks, one));
            programs.iter().map(|program| program.statements.iter().map(written).collect()).collect()
        });
        Ok(())
    }

    fn execute(
        &mut self,
        at: (usize, usize),
        statement: &Statement,
        _write: bool,
        slots: &mut [Value],
    ) -> Result<u64, ClientError> {
        self.with(|session, py| session.statement(py, at, statement, slots))
    }

    fn connect(&mut self, programs: &[Program]) -> Result<(), ClientError> {
        self.statements.clear();
        self.with(|session, py| {
            *session = Self::open(py, session.given.clone(), Some(&session.cursor))?;
            Ok(())
        })?;
        self.prepare(programs)
    }

    fn abandon(&mut self) {
        if self.is_in_transaction || self.given.style.ends_by_methods {
            // A rollback fails only where the engine has rolled back by itself.
            let _ = self.with(|session, py| Ok(session.end(py, "rollback", "ROLLBACK")?));
        }
    }

    fn take_counters(&mut self) -> BTreeMap<String, i64> {
        BTreeMap::new()
    }

    fn cool(&mut self) -> Result<(), ClientError> {
        let cooled = self.given.called(self.given.cool.as_ref(), |_| Ok(()))?;
        cooled.ok_or_else(|| ClientError {
            kind: "value".into(),
            message: "this engine's caches cannot be made cold between operations".into(),
            retryable: false,
        })
    }

    fn is_spread(&self) -> bool {
        self.given.style.is_spread
    }

    /// A driver works in threads of this process (DuckDB), or speaks to a server.
    fn is_remote(&self) -> bool {
        !self.given.style.is_spread
    }

    /// Python's state of the thread is made once for all of the part, and not at each statement.
    fn attend<R: Send>(&mut self, part: impl FnOnce(&mut Self) -> R + Send) -> R {
        Python::attach(|py| py.detach(|| part(self)))
    }
}

/// Meters of an engine within this process: its CPU time, and the bytes that it read and wrote by system calls.
struct ProcessMeter;

impl ProcessMeter {
    fn counters() -> BTreeMap<String, i64> {
        let usage = Usage::now();
        [("syscall_read_bytes", usage.syscall_read_bytes), ("syscall_written_bytes", usage.syscall_written_bytes)]
            .map(|(name, bytes)| (name.to_owned(), bytes))
            .into()
    }
}

impl Meter<Session> for ProcessMeter {
    fn before(&mut self, _client: &mut Session) -> Result<Reading, ClientError> {
        let counters = Self::counters();
        Ok(Reading { cpu_ns: process_cpu_ns(), counters })
    }

    fn after(&mut self, _client: &mut Session) -> Result<Reading, ClientError> {
        let cpu_ns = process_cpu_ns();
        Ok(Reading { cpu_ns, counters: Self::counters() })
    }
}

/// Meters of a server that another process is: its CPU time is the counter `cpu_ns`, where it accounts for that.
struct AskedMeter(Arc<Given>);

impl AskedMeter {
    fn reading(&self, session: &Session) -> Result<Reading, ClientError> {
        Python::attach(|py| {
            let read = |meter: &Py<PyAny>| meter.bind(py).call1((session.cursor.bind(py),))?.extract();
            let found: PyResult<Option<BTreeMap<String, i64>>> = self.0.meter.as_ref().map(read).transpose();
            let mut counters = found.map_err(|error| self.0.explained(py, error.into()))?.unwrap_or_default();
            let cpu_ns = counters.remove("cpu_ns").and_then(|time| u64::try_from(time).ok()).unwrap_or(0);
            Ok(Reading { cpu_ns, counters })
        })
    }
}

impl Meter<Session> for AskedMeter {
    fn before(&mut self, client: &mut Session) -> Result<Reading, ClientError> {
        self.reading(client)
    }

    fn after(&mut self, client: &mut Session) -> Result<Reading, ClientError> {
        self.reading(client)
    }
}

/// A twin whose connections are cursors.
pub struct Twin {
    given: Arc<Given>,
    connections: Loop<Session>,
}

impl Twin {
    pub fn open(py: Python<'_>, given: Given, connections: usize) -> Result<Self, ClientError> {
        let given = Arc::new(given);
        let opened: PyResult<Vec<_>> =
            (0..connections.max(1)).map(|_| Session::open(py, given.clone(), None)).collect();
        let opened = opened.map_err(|error| given.explained(py, error.into()))?;
        Ok(Self { given, connections: Loop::new(opened) })
    }

    /// Lets the engine come to rest. Returns ns; 0 where there was nothing to do.
    fn settle(given: &Given) -> Result<u64, ClientError> {
        let start = monotonic_ns();
        let has_worked = given.called(given.settle.as_ref(), |did| did.is_truthy())?;
        Ok(if has_worked == Some(true) { monotonic_ns() - start } else { 0 })
    }

    fn fill(session: &mut Session, table: &Table, seed: u64, threads: usize) -> Result<(), ClientError> {
        let sql = insert_into(table, session.given.style.parameters);
        let mut uncommitted = 0;
        session.with(|session, py| Ok(session.begin(py, "BEGIN")?))?;
        table.generate(seed, threads, |chunk: &Chunk| {
            session.with(|session, py| {
                if uncommitted >= session.given.style.commit_rows {
                    session.end(py, "commit", "COMMIT")?;
                    session.begin(py, "BEGIN")?;
                    uncommitted = 0;
                }
                let rows = PyList::empty(py);
                for row in chunk.rows() {
                    let values = tuple(py, row.iter())?;
                    if session.given.style.parameters.have_names() {
                        let named = PyDict::new(py);
                        for (number, value) in values.iter().enumerate() {
                            named.set_item(format!("p{}", number + 1), value)?;
                        }
                        rows.append(named)?;
                    } else {
                        rows.append(values)?;
                    }
                }
                uncommitted += rows.len() as u64;
                session.cursor.bind(py).call_method1("executemany", (&sql, rows))?;
                Ok(())
            })
        })?;
        session.with(|session, py| Ok(session.end(py, "commit", "COMMIT")?))
    }
}

impl tdelta_core::twin::Twin for Twin {
    fn text(&mut self, sql: &str) -> Result<String, ClientError> {
        self.connections.first().with(|session, py| {
            session.execute.bind(py).call1((sql,))?;
            let rows = session.fetchall.bind(py).call0()?;
            drain(py, session.nextset.as_ref())?;
            if rows.len()? == 0 {
                return Ok(String::new());
            }
            let found = rows.get_item(0)?.get_item(0)?;
            Ok(if found.is_none() { String::new() } else { found.str()?.to_string() })
        })
    }

    /// By `executemany`, a few rows at once, in one order. Where a driver begins transactions by itself, indexes are made
    /// in one, too.
    fn load(
        &mut self,
        plan: &Plan,
        seed: u64,
        threads: usize,
        tables: &[String],
        indexes: &[String],
    ) -> Result<(), ClientError> {
        let session = self.connections.first();
        let all = |session: &mut Session, statements: &[String]| {
            session.with(|session, py| Ok(statements.iter().try_for_each(|sql| session.run(py, sql))?))
        };
        all(session, tables)?;
        plan.tables.iter().try_for_each(|table| Self::fill(session, table, seed, threads))?;
        all(session, indexes)?;
        if session.given.style.ends_by_methods {
            session.with(|session, py| Ok(session.end(py, "commit", "COMMIT")?))?;
        }
        Ok(())
    }

    fn checksums(&mut self, tables: &Tables) -> Result<BTreeMap<String, TableChecksum>, ClientError> {
        const ROWS: usize = 1024;
        let mut sums = BTreeMap::new();
        for (table, columns) in tables {
            let mut sum = TableChecksum::default();
            let listed: Vec<_> = columns.iter().map(|name| quoted(name)).collect();
            self.connections.first().with(|session, py| {
                let sql = format!("SELECT {} FROM {}", listed.join(", "), quoted(table));
                session.execute.bind(py).call1((sql,))?;
                loop {
                    let rows = session.cursor.bind(py).call_method1("fetchmany", (ROWS,))?;
                    for row in rows.try_iter()? {
                        let values: PyResult<Vec<Value>> = row?.try_iter()?.map(|found| value_of(&found?)).collect();
                        sum.add_row(values?.iter().map(Into::into));
                    }
                    if rows.len()? < ROWS {
                        return Ok(());
                    }
                }
            })?;
            sums.insert(table.clone(), sum);
        }
        Ok(sums)
    }

    fn prepare(&mut self, mix: Mix) -> Result<(), ClientError> {
        self.connections.clients().try_for_each(|client| client.prepare(&mix.programs))?;
        self.connections.keep(mix);
        Ok(())
    }

    fn trial(&mut self, trial: &Trial, settle: bool, stop: &AtomicBool) -> Result<Measured, ClientError> {
        let given = &self.given;
        let files = || Ok(given.called(given.files.as_ref(), |sizes| sizes.extract())?.unwrap_or_default());
        let settled = |_: &mut Loop<Session>| if settle { Self::settle(given) } else { Ok(0) };
        trial_within(&mut self.connections, (trial, stop), files, settled)
    }

    fn trace(&mut self, trial: &Trial, stop: &AtomicBool) -> Result<Metered, ClientError> {
        let found = if self.given.meter.is_some() {
            self.connections.trace(AskedMeter(self.given.clone()), trial, stop)?
        } else {
            self.connections.trace(ProcessMeter, trial, stop)?
        };
        Self::settle(&self.given).map(|_| found)
    }

    fn recorded(&self) -> Option<&Prepared> {
        self.connections.recorded()
    }
}

fn insert_into(table: &Table, marks: Marks) -> String {
    let names: Vec<_> = table.columns.iter().map(|name| quoted(name)).collect();
    let values: Vec<_> = (1..=names.len()).map(|number| marks.mark(number)).collect();
    format!("INSERT INTO {} ({}) VALUES ({})", quoted(&table.name), names.join(", "), values.join(", "))
}

fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}
