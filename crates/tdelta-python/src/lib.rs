//! The border between Python and Rust: plans come in as JSON, times and counters go out as JSON and bytes. There is no
//! call for each operation; the GIL is released for as long as a trial, a load or a checksum takes.
//!
//! The same shared object is a Python module (`tdelta._native`) and a SQLite extension (`sqlite3_tdelta_init`).

mod exposure;
mod rows;
mod scan;
mod server;

use pyo3::create_exception;
use pyo3::exceptions::{PyException, PyValueError};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::{PyBytes, PyDict};
use rusqlite::ffi;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::os::raw::{c_char, c_int};
use std::sync::atomic::{AtomicBool, Ordering};
use tdelta_core::client::{ClientError, Noop};
use tdelta_core::data::{Plan, TableChecksum};
use tdelta_core::latency::{encode, merge, tally, Histograms};
use tdelta_core::load::{Constant, Loop, Mix, Outcome, Transaction, Trial, Turns};
use tdelta_core::process::{cpu_seconds, monotonic_ns, thread_delay_ns, Tree, Usage, Watch};
use tdelta_sqlite::bare::PointSelects;
use tdelta_sqlite::{initialise, is_initialised, Options, Twin};

mod floor;

create_exception!(_native, NativeError, PyException, "What a database or a plan answered: (kind, message).");

/// Set by `request_stop`; every loop of this process looks at it after each operation.
static STOP: AtomicBool = AtomicBool::new(false);

/// The entry point by which a SQLite library loads this module.
///
/// # Safety
/// Called by SQLite only.
#[no_mangle]
pub unsafe extern "C" fn sqlite3_tdelta_init(
    db: *mut ffi::sqlite3,
    message: *mut *mut c_char,
    api: *mut ffi::sqlite3_api_routines,
) -> c_int {
    // SAFETY: SQLite passes its own, valid arguments.
    unsafe { initialise(db, message, api) }
}

fn native(error: ClientError) -> PyErr {
    NativeError::new_err((error.kind, error.message))
}

fn parse<'a, T: Deserialize<'a>>(what: &str, json: &'a str) -> PyResult<T> {
    // serde's message may quote the input, and options hold a key: name the place, not the text.
    serde_json::from_str(json).map_err(|error| {
        let place = format!("line {}, column {}", error.line(), error.column());
        PyValueError::new_err(format!("{what}: not the expected JSON ({:?}) at {place}", error.classify()))
    })
}

fn dump(value: &impl serde::Serialize) -> PyResult<String> {
    serde_json::to_string(value).map_err(|error| PyValueError::new_err(error.to_string()))
}

fn mix_of(transactions: &str, constants: &str) -> PyResult<Mix> {
    let transactions: Vec<Transaction> = parse("transactions", transactions)?;
    let constants: BTreeMap<String, Constant> = parse("constants", constants)?;
    Mix::new(&transactions, &constants).map_err(PyValueError::new_err)
}

fn checksums_json(sums: &BTreeMap<String, TableChecksum>) -> PyResult<String> {
    let plain: BTreeMap<_, _> =
        sums.iter().map(|(table, s)| (table, (s.rows, format!("{:016x}{:016x}", s.sum, s.xor)))).collect();
    dump(&plain)
}

/// The trial's outcome with totals by span name, process usage and counters, and a payload for each histogram.
fn report<'py>(
    py: Python<'py>,
    outcome: &Outcome,
    extra: serde_json::Value,
    mix: &Mix,
    histograms: &Histograms,
) -> PyResult<(String, Bound<'py, PyDict>)> {
    let names = mix.span_names();
    let spans: BTreeMap<_, _> =
        names.iter().zip(&outcome.totals).map(|(name, t)| (name, (t.count, t.total_ns))).collect();
    let document = serde_json::json!({ "outcome": outcome, "spans": spans, "extra": extra });
    let payloads = PyDict::new(py);
    for (span, name) in names.iter().enumerate() {
        if outcome.totals[span].count > 0 {
            payloads.set_item(name, PyBytes::new(py, &encode(&histograms.merged(span))))?;
        }
    }
    Ok((dump(&document)?, payloads))
}

/// A twin of the SQLite family, driven through the library that loaded this module.
#[pyclass(name = "SqliteTwin", module = "tdelta._native", unsendable)]
struct PyTwin {
    twin: Option<Twin>,
}

impl PyTwin {
    fn twin(&mut self) -> PyResult<&mut Twin> {
        self.twin.as_mut().ok_or_else(|| NativeError::new_err(("closed", "this twin is closed")))
    }
}

#[pymethods]
impl PyTwin {
    #[new]
    fn new(py: Python<'_>, options: &str, connections: usize) -> PyResult<Self> {
        if !is_initialised() {
            return Err(NativeError::new_err(("library", "no SQLite library has loaded this module yet")));
        }
        let options: Options = parse("options", options)?;
        let twin = py.detach(|| Twin::open(&options, connections)).map_err(native)?;
        Ok(Self { twin: Some(twin) })
    }

    /// Runs one SQL statement; its first value as text.
    fn text(&mut self, py: Python<'_>, sql: &str) -> PyResult<String> {
        let twin = self.twin()?;
        py.detach(|| twin.text(sql)).map_err(native)
    }

    /// Runs one SQL statement in which `:key` stands for the key; no message of its failure holds the key.
    fn keyed(&mut self, py: Python<'_>, sql: &str, key: &str) -> PyResult<()> {
        let twin = self.twin()?;
        py.detach(|| twin.keyed(sql, key)).map_err(native)
    }

    /// Sets how many bytes the pages of one schema keep back, from its next VACUUM on.
    fn reserve(&mut self, schema: &str, reserved_bytes: u8) -> PyResult<()> {
        self.twin()?.reserve(schema, reserved_bytes).map_err(native)
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

    #[pyo3(signature = (trial, turns=None, checkpoint=true))]
    fn trial<'py>(
        &mut self,
        py: Python<'py>,
        trial: &str,
        turns: Option<&str>,
        checkpoint: bool,
    ) -> PyResult<(String, Bound<'py, PyDict>)> {
        let trial: Trial = parse("trial", trial)?;
        let turns: Option<Turns> = turns.map(|json| parse("turns", json)).transpose()?;
        let twin = self.twin()?;
        let (outcome, extra) = py
            .detach(|| -> Result<_, ClientError> {
                let before = Usage::now();
                let (mut outcome, counters) = twin.trial(&trial, turns.as_ref(), &STOP)?;
                let files = twin.file_sizes();
                let cpu_before = cpu_seconds();
                let checkpoint_ns = if checkpoint { twin.checkpoint()? } else { 0 };
                let cpu_after = cpu_seconds();
                // What the trial left in the log is its own cost: the recorded operations' share of it.
                let share = outcome.operations as f64 / outcome.executed_operations.max(1) as f64;
                outcome.cpu_user_seconds += share * (cpu_after.0 - cpu_before.0);
                outcome.cpu_system_seconds += share * (cpu_after.1 - cpu_before.1);
                let usage = Usage::now().since(&before);
                let extra = serde_json::json!({
                    "usage": usage, "counters": counters, "files": files, "checkpoint_ns": checkpoint_ns,
                });
                Ok((outcome, extra))
            })
            .map_err(native)?;
        let (mix, histograms) = twin
            .recorded()
            .ok_or_else(|| NativeError::new_err(("order", "a trial before its transactions are prepared")))?;
        report(py, &outcome, extra, mix, histograms)
    }

    /// Runs one trial with every statement metered by itself; what each cost is in the report's `extra.costs`.
    fn trace<'py>(&mut self, py: Python<'py>, trial: &str) -> PyResult<(String, Bound<'py, PyDict>)> {
        let trial: Trial = parse("trial", trial)?;
        let twin = self.twin()?;
        let (outcome, costs) = py
            .detach(|| {
                let found = twin.trace(&trial, &STOP)?;
                twin.checkpoint().map(|_| found)
            })
            .map_err(native)?;
        let (mix, histograms) = twin
            .recorded()
            .ok_or_else(|| NativeError::new_err(("order", "a trace before its transactions are prepared")))?;
        report(py, &outcome, serde_json::json!({ "costs": costs }), mix, histograms)
    }

    fn close(&mut self, py: Python<'_>) {
        let twin = self.twin.take();
        py.detach(move || drop(twin));
    }
}

/// The bare loop that the load loop is measured against.
#[pyclass(name = "BarePointSelects", module = "tdelta._native", unsendable)]
struct PyBare {
    bare: PointSelects,
}

#[pymethods]
impl PyBare {
    #[new]
    fn new(options: &str, sql: &str) -> PyResult<Self> {
        if !is_initialised() {
            return Err(NativeError::new_err(("library", "no SQLite library has loaded this module yet")));
        }
        let options: Options = parse("options", options)?;
        Ok(Self { bare: PointSelects::open(&options, sql).map_err(native)? })
    }

    fn run(&mut self, py: Python<'_>, seed: u64, rows: i64, operations: u64) -> PyResult<u64> {
        let bare = &mut self.bare;
        py.detach(|| bare.run(seed, rows, operations)).map_err(native)
    }
}

/// Runs the mix on a client that does nothing: what is left is the loop's own cost.
#[pyfunction]
fn loop_cost<'py>(
    py: Python<'py>,
    transactions: &str,
    constants: &str,
    trial: &str,
) -> PyResult<(String, Bound<'py, PyDict>)> {
    let mix = mix_of(transactions, constants)?;
    let trial: Trial = parse("trial", trial)?;
    let histograms = Histograms::new(mix.span_count());
    let outcome = py
        .detach(|| Loop::new([Noop::default()]).run(&mix, &trial, None, &histograms, &STOP))
        .map_err(PyValueError::new_err)?;
    report(py, &outcome, serde_json::Value::Null, &mix, &histograms)
}

/// The checksums of the rows that a plan generates, without any database.
#[pyfunction]
fn plan_checksums(py: Python<'_>, plan: &str, seed: u64, threads: usize) -> PyResult<String> {
    let plan = Plan::from_json(plan).map_err(PyValueError::new_err)?;
    let sums = py.detach(|| {
        let sum_of = |table: &tdelta_core::data::Table| {
            let mut sum = TableChecksum::default();
            let Ok(()) = table.generate(seed, threads, |chunk| {
                chunk.rows().for_each(|row| sum.add_row(row.iter().map(Into::into)));
                Ok::<(), std::convert::Infallible>(())
            });
            (table.name.clone(), sum)
        };
        plan.tables.iter().map(sum_of).collect()
    });
    checksums_json(&sums)
}

/// Merges histogram payloads: (count, mean ns, largest ns, the values at the quantiles).
#[pyfunction]
fn histogram_summary(
    py: Python<'_>,
    payloads: Vec<PyBackedBytes>,
    quantiles: Vec<f64>,
) -> PyResult<(u64, f64, u64, Vec<u64>)> {
    py.detach(|| {
        let all = merge(payloads.iter().map(|payload| &payload[..]))?;
        let values = quantiles.iter().map(|q| all.value_at_quantile(*q)).collect();
        Ok((all.len(), all.mean(), all.max(), values))
    })
    .map_err(|why: String| PyValueError::new_err(why))
}

/// Merges histogram payloads into one, so that a long run's can be added up a few at a time.
#[pyfunction]
fn histogram_merge<'py>(py: Python<'py>, payloads: Vec<PyBackedBytes>) -> PyResult<Bound<'py, PyBytes>> {
    let merged = py
        .detach(|| merge(payloads.iter().map(|payload| &payload[..])).map(|all| encode(&all)))
        .map_err(PyValueError::new_err)?;
    Ok(PyBytes::new(py, &merged))
}

/// The histogram payload of times (ns) that another program measured, each seen as often as its count says.
#[pyfunction]
fn histogram_of(py: Python<'_>, times_ns: Vec<u64>, counts: Vec<u64>) -> PyResult<Bound<'_, PyBytes>> {
    if times_ns.len() != counts.len() {
        return Err(PyValueError::new_err(format!("{} times, but {} counts", times_ns.len(), counts.len())));
    }
    let payload = py.detach(|| encode(&tally(times_ns.into_iter().zip(counts))));
    Ok(PyBytes::new(py, &payload))
}

/// Ends the trial that runs in this process, if any, and every later one until `clear_stop`.
#[pyfunction]
fn request_stop() {
    STOP.store(true, Ordering::Relaxed);
}

/// Lets trials run again.
#[pyfunction]
fn clear_stop() {
    STOP.store(false, Ordering::Relaxed);
}

/// The monotonic clock, ns, as the load loop reads it.
#[pyfunction]
#[pyo3(name = "monotonic_ns")]
fn clock() -> u64 {
    monotonic_ns()
}

/// Watches whether this process, or one of some others, stands still.
#[pyclass(name = "Watch", module = "tdelta._native")]
struct PyWatch {
    watch: Option<Watch>,
}

#[pymethods]
impl PyWatch {
    #[new]
    fn new(processes: Vec<u32>) -> Self {
        Self { watch: Some(Watch::begin(Some(&Tree::new(&processes)))) }
    }

    /// Ends; what was seen as JSON, nothing a second time.
    fn end(&mut self, py: Python<'_>) -> PyResult<String> {
        let watch = self.watch.take();
        dump(&py.detach(|| watch.map(Watch::end).unwrap_or_default()))
    }
}

/// How long the calling thread was ready to run and had no CPU so far, ns; nothing where the kernel does not tell.
#[pyfunction]
fn thread_run_delay_ns() -> Option<u64> {
    thread_delay_ns()
}

/// Whether a SQLite library has loaded this module as an extension.
#[pyfunction]
fn library_loaded() -> bool {
    is_initialised()
}

#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("NativeError", module.py().get_type::<NativeError>())?;
    module.add_class::<PyTwin>()?;
    module.add_class::<server::PyServerTwin>()?;
    module.add_class::<PyBare>()?;
    module.add_class::<PyWatch>()?;
    module.add_function(wrap_pyfunction!(thread_run_delay_ns, module)?)?;
    module.add_class::<exposure::PyExposure>()?;
    module.add_class::<floor::PyFloorMeter>()?;
    module.add_function(wrap_pyfunction!(floor::page_copies_ns, module)?)?;
    module.add_function(wrap_pyfunction!(loop_cost, module)?)?;
    module.add_function(wrap_pyfunction!(plan_checksums, module)?)?;
    module.add_function(wrap_pyfunction!(rows::write_csv, module)?)?;
    module.add_function(wrap_pyfunction!(histogram_summary, module)?)?;
    module.add_function(wrap_pyfunction!(histogram_merge, module)?)?;
    module.add_function(wrap_pyfunction!(histogram_of, module)?)?;
    module.add_function(wrap_pyfunction!(request_stop, module)?)?;
    module.add_function(wrap_pyfunction!(clear_stop, module)?)?;
    module.add_function(wrap_pyfunction!(clock, module)?)?;
    module.add_function(wrap_pyfunction!(library_loaded, module)?)?;
    module.add_function(wrap_pyfunction!(scan::search_files, module)?)?;
    module.add_function(wrap_pyfunction!(scan::search_bytes, module)?)?;
    module.add_function(wrap_pyfunction!(scan::byte_statistics, module)?)?;
    Ok(())
}
