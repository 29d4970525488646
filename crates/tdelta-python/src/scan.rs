//! The Python side of the scanner: paths and byte strings in, counts out, the GIL free but for a tick now and then.

use crate::{values, NativeError};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use std::path::PathBuf;
use tdelta_core::scan::{search, statistics, Needles};

/// The largest block of which statistics are made, bytes: a thread's buffer is 64 of them.
const LARGEST_BLOCK_BYTES: usize = 1 << 20;

/// Searches files for byte strings: a list with an item for each file.
#[pyfunction]
#[pyo3(signature = (paths, needles, threads, tick=None))]
pub fn search_files<'py>(
    py: Python<'py>,
    paths: Vec<PathBuf>,
    needles: Vec<Vec<u8>>,
    threads: usize,
    tick: Option<Py<PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let needles = Needles::new(needles).map_err(PyValueError::new_err)?;
    values::value(py, &watched(py, tick, |watch| search(&paths, &needles, threads, watch))?)
}

/// Counts byte strings in memory, in their order.
#[pyfunction]
pub fn search_bytes(py: Python<'_>, content: &[u8], needles: Vec<Vec<u8>>) -> PyResult<Vec<u64>> {
    let needles = Needles::new(needles).map_err(PyValueError::new_err)?;
    let mut counts = vec![0; needles.count()];
    py.detach(|| needles.each_in(content, content.len(), |needle, _| counts[needle] += 1));
    Ok(counts)
}

/// Tells what kind of bytes files hold: a list with an item for each file.
#[pyfunction]
#[pyo3(signature = (paths, block_bytes, threads, tick=None))]
pub fn byte_statistics<'py>(
    py: Python<'py>,
    paths: Vec<PathBuf>,
    block_bytes: usize,
    threads: usize,
    tick: Option<Py<PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    if !(1..=LARGEST_BLOCK_BYTES).contains(&block_bytes) {
        let expected = format!("block_bytes: expected 1 to {LARGEST_BLOCK_BYTES}, found {block_bytes}");
        return Err(PyValueError::new_err(expected));
    }
    values::value(py, &watched(py, tick, |watch| statistics(&paths, block_bytes, threads, watch))?)
}

/// Runs `work` without the GIL. About ten times a second signals are checked and `tick` receives the bytes read so far;
/// an exception of either ends the work and is raised.
fn watched<T: Send>(
    py: Python<'_>,
    tick: Option<Py<PyAny>>,
    work: impl FnOnce(&mut dyn FnMut(u64) -> bool) -> Option<T> + Send,
) -> PyResult<T> {
    let mut raised = None;
    let done = py.detach(|| {
        work(&mut |bytes| {
            let told = Python::attach(|py| {
                py.check_signals()?;
                tick.as_ref().map_or(Ok(()), |tick| tick.call1(py, (bytes,)).map(drop))
            });
            told.map_err(|error| raised = Some(error)).is_ok()
        })
    });
    match (done, raised) {
        (_, Some(error)) => Err(error),
        (Some(done), None) => Ok(done),
        (None, None) => Err(NativeError::new_err(("order", "the reading ended before its end"))),
    }
}
