//! The Python side of an exposure.

use crate::{native, parse};
use pyo3::prelude::*;
use tdelta_sqlite::{is_initialised, Exposure, Options};

/// An extra connection to a twin's file that holds rows in every kind of file until it is closed.
#[pyclass(name = "SqliteExposure", module = "tdelta._native", unsendable)]
pub struct PyExposure {
    exposure: Option<Exposure>,
}

#[pymethods]
impl PyExposure {
    #[new]
    fn new(py: Python<'_>, options: &str, statements: Vec<String>, cursors: Vec<String>) -> PyResult<Self> {
        if !is_initialised() {
            return Err(crate::NativeError::new_err(("library", "no SQLite library has loaded this module yet")));
        }
        let options: Options = parse("options", options)?;
        let exposure = py.detach(|| Exposure::open(options, &statements, &cursors)).map_err(native)?;
        Ok(Self { exposure: Some(exposure) })
    }

    fn close(&mut self, py: Python<'_>) {
        let exposure = self.exposure.take();
        py.detach(move || drop(exposure));
    }
}
