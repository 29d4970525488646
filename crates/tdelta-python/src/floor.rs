//! `tdelta cipher-cost`: a plan comes in, the batches of a pass go out. The GIL is released while pages are timed.

use crate::{parse, values, NativeError, STOP};
use pyo3::prelude::*;
use tdelta_floor::copying::copies_ns;
use tdelta_floor::meter::{Meter, Plan};
use tdelta_floor::Fault;

fn refused(fault: Fault) -> PyErr {
    NativeError::new_err((fault.kind, fault.message))
}

/// Pages of encryption by the machine's own OpenSSL, checked and ready to be timed.
#[pyclass(name = "FloorMeter", module = "tdelta._native", unsendable)]
pub(crate) struct PyFloorMeter {
    meter: Meter,
}

#[pymethods]
impl PyFloorMeter {
    #[new]
    fn new(py: Python<'_>, plan: &str) -> PyResult<Self> {
        let plan: Plan = parse("plan", plan)?;
        let meter = py.detach(|| Meter::new(&plan)).map_err(refused)?;
        Ok(Self { meter })
    }

    /// Which library is measured, and what it sees of the CPU.
    fn facts<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let library = self.meter.library();
        values::value(py, &serde_json::json!({ "version": library.version(), "cpu": library.cpu() }))
    }

    /// One batch of every cell; fewer after `request_stop`.
    fn run_pass<'py>(&mut self, py: Python<'py>, index: u64) -> PyResult<Bound<'py, PyAny>> {
        let meter = &mut self.meter;
        let batches = py.detach(|| meter.pass(index, &STOP)).map_err(refused)?;
        values::value(py, &batches)
    }
}

/// CPU time of copying a page from a buffer into a ring's frames, ns, for each pass.
#[pyfunction]
pub(crate) fn page_copies_ns(py: Python<'_>, page_bytes: usize, ring_bytes: usize, passes: usize) -> Vec<f64> {
    py.detach(|| copies_ns(page_bytes, ring_bytes, passes))
}
