//! A twin as Python sees it: what all do, once, and what those of each kind do beside it.

use crate::{dbapi, mix_of, native, parse, values, NativeError, STOP};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::sync::Arc;
use tdelta_core::client::ClientError;
use tdelta_core::data::Plan;
use tdelta_core::load::{Feed, Trial};
use tdelta_core::twin::Twin;
use tdelta_servers::{Rows, Served};
use tdelta_sqlite::is_initialised;

/// A twin by its kind.
enum Held {
    Sqlite(Box<tdelta_sqlite::Twin>),
    Served(Box<dyn Served>),
    DbApi(Box<dbapi::Twin>),
}

/// The methods of every twin.
#[pyclass(name = "Twin", module = "tdelta._native", unsendable, subclass)]
pub struct PyTwin {
    held: Option<Held>,
}

impl PyTwin {
    /// The base of a subclass's new instance.
    fn holding(held: Held) -> Self {
        Self { held: Some(held) }
    }

    fn held(&mut self) -> PyResult<&mut Held> {
        self.held.as_mut().ok_or_else(|| NativeError::new_err(("closed", "this twin is closed")))
    }

    fn twin(&mut self) -> PyResult<&mut dyn Twin> {
        Ok(match self.held()? {
            Held::Sqlite(twin) => twin.as_mut(),
            Held::Served(twin) => twin.as_mut(),
            Held::DbApi(twin) => twin.as_mut(),
        })
    }

    /// Has the twin do something while other threads of Python's may run.
    fn does<T: Send>(
        &mut self,
        py: Python<'_>,
        work: impl FnOnce(&mut dyn Twin) -> Result<T, ClientError> + Send,
    ) -> PyResult<T> {
        let twin = self.twin()?;
        py.detach(|| work(twin)).map_err(native)
    }

    fn report<'py>(
        &mut self,
        py: Python<'py>,
        (outcome, extra): tdelta_core::twin::Measured,
    ) -> PyResult<Bound<'py, PyDict>> {
        let recorded = self.twin()?.recorded();
        let recorded = recorded.ok_or_else(|| NativeError::new_err(("order", "a trial of nothing")))?;
        values::report(py, &outcome, &extra, recorded)
    }
}

#[pymethods]
impl PyTwin {
    /// Runs one SQL statement; its first value as text.
    fn text(&mut self, py: Python<'_>, sql: &str) -> PyResult<String> {
        self.does(py, |twin| twin.text(sql))
    }

    fn load(
        &mut self,
        py: Python<'_>,
        plan: &str,
        seed: u64,
        threads: usize,
        tables: Vec<String>,
        indexes: Vec<String>,
    ) -> PyResult<()> {
        let plan = Plan::from_json(plan).map_err(PyValueError::new_err)?;
        self.does(py, |twin| twin.load(&plan, seed, threads, &tables, &indexes))
    }

    /// Rows and digest of each table.
    fn checksums<'py>(&mut self, py: Python<'py>, tables: Vec<(String, Vec<String>)>) -> PyResult<Bound<'py, PyDict>> {
        let sums = self.does(py, |twin| twin.checksums(&tables))?;
        values::checksums(py, &sums)
    }

    fn prepare(&mut self, py: Python<'_>, transactions: &str, constants: &str) -> PyResult<()> {
        let mix = mix_of(transactions, constants)?;
        self.does(py, |twin| twin.prepare(mix))
    }

    /// Runs one trial, and brings what it left behind to rest if `settle`; see `values::report`. With a feed, the
    /// operations that it records are those that the feed is given.
    #[pyo3(signature = (trial, settle=true, feed=None))]
    fn trial<'py>(
        &mut self,
        py: Python<'py>,
        trial: &str,
        settle: bool,
        feed: Option<PyRef<'py, PyFeed>>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let mut trial: Trial = parse("trial", trial)?;
        trial.feed = feed.map(|feed| Arc::clone(&feed.0));
        let measured = self.does(py, |twin| twin.trial(&trial, settle, &STOP))?;
        self.report(py, measured)
    }

    /// Runs one trial with every statement metered by itself; what each cost is in the report's `extra.costs`.
    fn trace<'py>(&mut self, py: Python<'py>, trial: &str) -> PyResult<Bound<'py, PyDict>> {
        let trial: Trial = parse("trial", trial)?;
        let (outcome, costs) = self.does(py, |twin| twin.trace(&trial, &STOP))?;
        self.report(py, (outcome, serde_json::json!({ "costs": costs })))
    }

    fn close(&mut self, py: Python<'_>) {
        match self.held.take() {
            Some(Held::DbApi(twin)) => drop(twin), // its objects are Python's
            held => py.detach(move || drop(held)),
        }
    }
}

/// The operations of a trial, which are given to it in chunks while it runs.
#[pyclass(name = "Feed", module = "tdelta._native", frozen)]
pub struct PyFeed(Arc<Feed>);

#[pymethods]
impl PyFeed {
    /// Operations from the first of each pair up to its second, which is not included.
    #[new]
    fn new(chunks: Vec<(u64, u64)>) -> Self {
        Self(Arc::new(Feed::new(chunks.into_iter().map(|(first, last)| first..last))))
    }

    fn add(&self, first: u64, last: u64) {
        self.0.add(first..last);
    }

    fn complete(&self) {
        self.0.complete();
    }

    /// Waits until the last chunk is begun; False where no more will come.
    fn wanted(&self, py: Python<'_>) -> bool {
        py.detach(|| self.0.wanted())
    }
}

/// A twin of the SQLite family, driven through the library that loaded this module.
#[pyclass(name = "SqliteTwin", module = "tdelta._native", unsendable, extends = PyTwin)]
pub struct PySqliteTwin;

impl PySqliteTwin {
    fn twin<'a>(base: &'a mut PyRefMut<'_, PyTwin>) -> PyResult<&'a mut tdelta_sqlite::Twin> {
        match base.held()? {
            Held::Sqlite(twin) => Ok(twin),
            _ => unreachable!("made in `new`"),
        }
    }
}

#[pymethods]
impl PySqliteTwin {
    #[new]
    fn new(py: Python<'_>, options: &str, connections: usize) -> PyResult<PyClassInitializer<Self>> {
        if !is_initialised() {
            return Err(NativeError::new_err(("library", "no SQLite library has loaded this module yet")));
        }
        let options: tdelta_sqlite::Options = parse("options", options)?;
        let twin = py.detach(|| tdelta_sqlite::Twin::open(&options, connections)).map_err(native)?;
        Ok(PyClassInitializer::from(PyTwin::holding(Held::Sqlite(Box::new(twin)))).add_subclass(Self))
    }

    /// Runs one SQL statement with the key in place of `:key`; no message of its failure holds the key.
    fn keyed(slf: PyRefMut<'_, Self>, py: Python<'_>, sql: &str, key: &str) -> PyResult<()> {
        let mut base = slf.into_super();
        let twin = Self::twin(&mut base)?;
        py.detach(|| twin.keyed(sql, key)).map_err(native)
    }

    /// Sets how many bytes the pages of one schema keep back, from its next VACUUM on.
    fn reserve(slf: PyRefMut<'_, Self>, schema: &str, reserved_bytes: u8) -> PyResult<()> {
        Self::twin(&mut slf.into_super())?.reserve(schema, reserved_bytes).map_err(native)
    }
}

/// A twin on a server, driven by a native client of its protocol.
#[pyclass(name = "ServerTwin", module = "tdelta._native", unsendable, extends = PyTwin)]
pub struct PyServerTwin;

impl PyServerTwin {
    fn twin<'a>(base: &'a mut PyRefMut<'_, PyTwin>) -> PyResult<&'a mut dyn Served> {
        match base.held()? {
            Held::Served(twin) => Ok(twin.as_mut()),
            _ => unreachable!("made in `new`"),
        }
    }
}

#[pymethods]
impl PyServerTwin {
    #[new]
    fn new(py: Python<'_>, options: &str, connections: usize) -> PyResult<PyClassInitializer<Self>> {
        let options = parse("options", options)?;
        let twin = py.detach(|| tdelta_servers::open(options, connections)).map_err(native)?;
        Ok(PyClassInitializer::from(PyTwin::holding(Held::Served(twin))).add_subclass(Self))
    }

    /// Runs one SQL statement; its columns' names, and its rows' values as text.
    fn rows(slf: PyRefMut<'_, Self>, py: Python<'_>, sql: &str) -> PyResult<Rows> {
        let mut base = slf.into_super();
        let twin = Self::twin(&mut base)?;
        py.detach(|| twin.rows(sql)).map_err(native)
    }

    /// Runs one SQL statement and drops what it answers.
    fn run(slf: PyRefMut<'_, Self>, py: Python<'_>, sql: &str) -> PyResult<()> {
        let mut base = slf.into_super();
        let twin = Self::twin(&mut base)?;
        py.detach(|| twin.run(sql)).map_err(native)
    }

    /// Says whose CPU time, which counters and which settling belong to a trial.
    fn observe(slf: PyRefMut<'_, Self>, observed: &str) -> PyResult<()> {
        Self::twin(&mut slf.into_super())?.observe(parse("observed", observed)?);
        Ok(())
    }

    /// Says what traces read around every statement.
    fn trace_by(slf: PyRefMut<'_, Self>, tracing: &str) -> PyResult<()> {
        Self::twin(&mut slf.into_super())?.trace_by(parse("tracing", tracing)?);
        Ok(())
    }

    /// Takes note of what the server used so far: a load of another process is about to begin.
    fn begin_external_load(slf: PyRefMut<'_, Self>, py: Python<'_>) -> PyResult<()> {
        let mut base = slf.into_super();
        let twin = Self::twin(&mut base)?;
        py.detach(|| twin.begin_external_load()).map_err(native)
    }

    /// Resources that the server used since then; it may come to rest first.
    #[pyo3(signature = (settle=true))]
    fn end_external_load<'py>(slf: PyRefMut<'py, Self>, py: Python<'py>, settle: bool) -> PyResult<Bound<'py, PyAny>> {
        let mut base = slf.into_super();
        let twin = Self::twin(&mut base)?;
        let used = py.detach(|| twin.end_external_load(settle, &STOP)).map_err(native)?;
        values::value(py, &used)
    }
}

/// A twin of an engine whose client is Python's.
#[pyclass(name = "DbApiTwin", module = "tdelta._native", unsendable, extends = PyTwin)]
pub struct PyDbApiTwin;

#[pymethods]
impl PyDbApiTwin {
    #[new]
    #[pyo3(signature = (style, connect, connections, explain, *, cool=None, files=None, settle=None, meter=None))]
    #[allow(clippy::too_many_arguments)] // each is Python's, and given by name
    fn new(
        py: Python<'_>,
        style: &str,
        connect: Py<PyAny>,
        connections: usize,
        explain: Py<PyAny>,
        cool: Option<Py<PyAny>>,
        files: Option<Py<PyAny>>,
        settle: Option<Py<PyAny>>,
        meter: Option<Py<PyAny>>,
    ) -> PyResult<PyClassInitializer<Self>> {
        let given = dbapi::Given { style: parse("style", style)?, connect, explain, cool, files, settle, meter };
        let twin = dbapi::Twin::open(py, given, connections).map_err(native)?;
        Ok(PyClassInitializer::from(PyTwin::holding(Held::DbApi(Box::new(twin)))).add_subclass(Self))
    }
}
