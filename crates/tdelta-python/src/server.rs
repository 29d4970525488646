//! A twin on a server, as Python sees it.

use crate::{checksums_json, dump, mix_of, native, parse, report, NativeError, STOP};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use tdelta_core::data::Plan;
use tdelta_core::load::{Trial, Turns};
use tdelta_servers::{Observed, Options, Rows, Tracing, Twin};

/// A twin on a server, driven by a native client of its protocol.
#[pyclass(name = "ServerTwin", module = "tdelta._native", unsendable)]
pub struct PyServerTwin {
    twin: Option<Box<dyn Twin>>,
}

impl PyServerTwin {
    fn twin(&mut self) -> PyResult<&mut dyn Twin> {
        match &mut self.twin {
            Some(twin) => Ok(twin.as_mut()),
            None => Err(NativeError::new_err(("closed", "this twin is closed"))),
        }
    }
}

#[pymethods]
impl PyServerTwin {
    #[new]
    fn new(py: Python<'_>, options: &str, connections: usize) -> PyResult<Self> {
        let options: Options = parse("options", options)?;
        let twin = py.detach(|| tdelta_servers::open(options, connections)).map_err(native)?;
        Ok(Self { twin: Some(twin) })
    }

    /// Runs one SQL statement; its first value as text.
    fn text(&mut self, py: Python<'_>, sql: &str) -> PyResult<String> {
        let twin = self.twin()?;
        py.detach(|| twin.text(sql)).map_err(native)
    }

    /// Runs one SQL statement; its columns' names, and its rows' values as text.
    fn rows(&mut self, py: Python<'_>, sql: &str) -> PyResult<Rows> {
        let twin = self.twin()?;
        py.detach(|| twin.rows(sql)).map_err(native)
    }

    /// Runs one SQL statement and drops what it answers.
    fn run(&mut self, py: Python<'_>, sql: &str) -> PyResult<()> {
        let twin = self.twin()?;
        py.detach(|| twin.run(sql)).map_err(native)
    }

    /// Says whose CPU time, which counters and which settling belong to a trial.
    fn observe(&mut self, observed: &str) -> PyResult<()> {
        let observed: Observed = parse("observed", observed)?;
        self.twin()?.observe(observed);
        Ok(())
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
        let twin = self.twin()?;
        py.detach(|| twin.load(&plan, seed, threads, &tables, &indexes)).map_err(native)
    }

    fn checksums(&mut self, py: Python<'_>, tables: Vec<(String, Vec<String>)>) -> PyResult<String> {
        let twin = self.twin()?;
        let sums = py.detach(|| twin.checksums(&tables)).map_err(native)?;
        checksums_json(&sums)
    }

    fn prepare(&mut self, py: Python<'_>, transactions: &str, constants: &str) -> PyResult<()> {
        let mix = mix_of(transactions, constants)?;
        let twin = self.twin()?;
        py.detach(|| twin.prepare(mix)).map_err(native)
    }

    #[pyo3(signature = (trial, turns=None, settle=true))]
    fn trial<'py>(
        &mut self,
        py: Python<'py>,
        trial: &str,
        turns: Option<&str>,
        settle: bool,
    ) -> PyResult<(String, Bound<'py, PyDict>)> {
        let trial: Trial = parse("trial", trial)?;
        let turns: Option<Turns> = turns.map(|json| parse("turns", json)).transpose()?;
        let twin = self.twin()?;
        let (outcome, extra) = py.detach(|| twin.trial(&trial, turns.as_ref(), settle, &STOP)).map_err(native)?;
        let (mix, histograms) = twin
            .recorded()
            .ok_or_else(|| NativeError::new_err(("order", "a trial before its transactions are prepared")))?;
        let extra = serde_json::to_value(&extra).map_err(|error| PyValueError::new_err(error.to_string()))?;
        report(py, &outcome, extra, mix, histograms)
    }

    /// Runs one trial with every statement metered by itself; what each cost is in the report's `extra.costs`.
    fn trace<'py>(&mut self, py: Python<'py>, trial: &str, tracing: &str) -> PyResult<(String, Bound<'py, PyDict>)> {
        let trial: Trial = parse("trial", trial)?;
        let tracing: Tracing = parse("tracing", tracing)?;
        let twin = self.twin()?;
        let (outcome, costs) = py.detach(|| twin.trace(&trial, &tracing, &STOP)).map_err(native)?;
        let (mix, histograms) = twin
            .recorded()
            .ok_or_else(|| NativeError::new_err(("order", "a trace before its transactions are prepared")))?;
        report(py, &outcome, serde_json::json!({ "costs": costs }), mix, histograms)
    }

    /// Takes note of what the server used so far: a load of another process is about to begin.
    fn begin_outside(&mut self, py: Python<'_>) -> PyResult<()> {
        let twin = self.twin()?;
        py.detach(|| twin.begin_outside()).map_err(native)
    }

    /// What the server used since then, as JSON; it may come to rest first.
    #[pyo3(signature = (settle=true))]
    fn end_outside(&mut self, py: Python<'_>, settle: bool) -> PyResult<String> {
        let twin = self.twin()?;
        let used = py.detach(|| twin.end_outside(settle, &STOP)).map_err(native)?;
        dump(&used)
    }

    fn close(&mut self, py: Python<'_>) {
        let twin = self.twin.take();
        py.detach(move || drop(twin));
    }
}
