//! The Python side of the row generator where rows become files: a plan in, bytes written out, the GIL free meanwhile.

use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use tdelta_core::data::Plan;

/// Writes the rows of one table of a plan into a file, which is made or emptied first. Returns its size, bytes.
#[pyfunction]
pub fn write_csv(py: Python<'_>, plan: &str, table: &str, seed: u64, threads: usize, path: PathBuf) -> PyResult<u64> {
    let plan = Plan::from_json(plan).map_err(PyValueError::new_err)?;
    let table =
        plan.table(table).ok_or_else(|| PyValueError::new_err(format!("the data plan has no table {table:?}")))?;
    py.detach(|| File::create(&path).and_then(|mut file| table.write_csv(seed, threads, &mut file)))
        .map_err(|error| os_error(py, &error, &path))
}

/// The system's error about a file, as Python's own `open` and `write` would raise it.
fn os_error(py: Python<'_>, error: &io::Error, path: &Path) -> PyErr {
    let Some(number) = error.raw_os_error() else { return PyOSError::new_err(format!("{}: {error}", path.display())) };
    let said = py.import("os").and_then(|os| os.call_method1("strerror", (number,))?.extract::<String>());
    match said {
        Ok(said) => PyOSError::new_err((number, said, path.as_os_str().to_owned())),
        Err(other) => other,
    }
}
