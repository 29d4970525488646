//! The border between Python and Rust: plans come in as JSON, times and counters go out as values of Python's. There is no
//! call for each operation, except of clients that are Python's own (`dbapi`); the GIL is released for as long as a trial, a
//! load or a checksum takes.
//!
//! The same shared object is a Python module (`tdelta._native`) and a SQLite extension (`sqlite3_tdelta_init`).

mod dbapi;
mod exposure;
mod floor;
mod memory;
mod panics;
mod quantiles;
mod rows;
mod scan;
mod twin;
mod values;

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
use tdelta_core::load::{digest, Constant, Loop, Mix, Transaction, Trial};
use tdelta_core::process::{monotonic_ns, Tree, Usage, Watch};
use tdelta_sqlite::bare::PointSelects;
use tdelta_sqlite::{initialise, is_initialised, Options};

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

fn mix_of(transactions: &str, constants: &str) -> PyResult<Mix> {
    let transactions: Vec<Transaction> = parse("transactions", transactions)?;
    let constants: BTreeMap<String, Constant> = parse("constants", constants)?;
    Mix::new(&transactions, &constants).map_err(PyValueError::new_err)
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

/// Runs the mix on a client that does nothing: what is left is the loop's own cost. See `values::report`.
#[pyfunction]
fn loop_cost<'py>(py: Python<'py>, transactions: &str, constants: &str, trial: &str) -> PyResult<Bound<'py, PyDict>> {
    let trial: Trial = parse("trial", trial)?;
    let mut noop = Loop::new([Noop::default()]);
    noop.keep(mix_of(transactions, constants)?);
    let outcome = py.detach(|| noop.run(&trial, &STOP)).map_err(native)?;
    let recorded = noop.recorded().ok_or_else(|| NativeError::new_err(("order", "a trial of nothing")))?;
    values::report(py, &outcome, &serde_json::Value::Null, recorded)
}

/// Bytes that a trial's histograms take at most on this machine, of so many transaction types and statements.
#[pyfunction]
fn histograms_bytes(spans: usize) -> usize {
    Histograms::most_bytes(spans)
}

/// The checksums of the rows that a plan generates, without any database.
#[pyfunction]
fn plan_checksums<'py>(py: Python<'py>, plan: &str, seed: u64, threads: usize) -> PyResult<Bound<'py, PyDict>> {
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
    values::checksums(py, &sums)
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

/// The digest of the first operations of a trial, each done once.
#[pyfunction]
fn operations_digest(py: Python<'_>, operations: u64) -> u64 {
    py.detach(|| digest(0..operations))
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

/// Resources that this process used so far, by the names that measurements have.
#[pyfunction]
fn process_usage(py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
    values::value(py, &Usage::now())
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

    /// Ends; what was seen, nothing a second time.
    fn end<'py>(&mut self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let watch = self.watch.take();
        values::value(py, &py.detach(|| watch.map(Watch::end).unwrap_or_default()))
    }
}

/// Whether a SQLite library has loaded this module as an extension.
#[pyfunction]
fn library_loaded() -> bool {
    is_initialised()
}

#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("NativeError", module.py().get_type::<NativeError>())?;
    module.add_class::<twin::PyTwin>()?;
    module.add_class::<twin::PyFeed>()?;
    module.add_class::<twin::PySqliteTwin>()?;
    module.add_class::<twin::PyServerTwin>()?;
    module.add_class::<twin::PyDbApiTwin>()?;
    module.add_class::<PyBare>()?;
    module.add_class::<PyWatch>()?;
    module.add_function(wrap_pyfunction!(process_usage, module)?)?;
    module.add_class::<exposure::PyExposure>()?;
    module.add_class::<floor::PyFloorMeter>()?;
    module.add_function(wrap_pyfunction!(floor::page_copies_ns, module)?)?;
    module.add_function(wrap_pyfunction!(loop_cost, module)?)?;
    module.add_function(wrap_pyfunction!(histograms_bytes, module)?)?;
    module.add_function(wrap_pyfunction!(plan_checksums, module)?)?;
    module.add_function(wrap_pyfunction!(rows::write_csv, module)?)?;
    module.add_function(wrap_pyfunction!(histogram_summary, module)?)?;
    module.add_function(wrap_pyfunction!(histogram_merge, module)?)?;
    module.add_function(wrap_pyfunction!(histogram_of, module)?)?;
    module.add_function(wrap_pyfunction!(operations_digest, module)?)?;
    panics::register(module)?;
    module.add_function(wrap_pyfunction!(memory::without_memory, module)?)?;
    quantiles::register(module)?;
    module.add_function(wrap_pyfunction!(request_stop, module)?)?;
    module.add_function(wrap_pyfunction!(clear_stop, module)?)?;
    module.add_function(wrap_pyfunction!(clock, module)?)?;
    module.add_function(wrap_pyfunction!(library_loaded, module)?)?;
    module.add_function(wrap_pyfunction!(scan::search_files, module)?)?;
    module.add_function(wrap_pyfunction!(scan::search_bytes, module)?)?;
    module.add_function(wrap_pyfunction!(scan::byte_statistics, module)?)?;
    Ok(())
}
