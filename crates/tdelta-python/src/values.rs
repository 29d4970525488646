//! Rust's answers as Python's own values: dicts, lists, numbers, texts, and bytes for histograms. No JSON text.

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList};
use pyo3::IntoPyObjectExt;
use serde::Serialize;
use serde_json::Value as Json;
use std::collections::BTreeMap;
use tdelta_core::data::TableChecksum;
use tdelta_core::latency::encode;
use tdelta_core::load::{Outcome, Prepared};
use tdelta_core::twin::as_json;

/// Any answer as a Python value.
pub fn value<'py>(py: Python<'py>, told: &impl Serialize) -> PyResult<Bound<'py, PyAny>> {
    object(py, &as_json(told))
}

fn object<'py>(py: Python<'py>, json: &Json) -> PyResult<Bound<'py, PyAny>> {
    match json {
        Json::Null => Ok(py.None().into_bound(py)),
        Json::Bool(found) => found.into_bound_py_any(py),
        Json::String(text) => text.into_bound_py_any(py),
        Json::Number(number) => match (number.as_i64(), number.as_u64()) {
            (Some(whole), _) => whole.into_bound_py_any(py),
            (None, Some(whole)) => whole.into_bound_py_any(py),
            (None, None) => number.as_f64().into_bound_py_any(py),
        },
        Json::Array(items) => {
            let list = PyList::empty(py);
            items.iter().try_for_each(|item| list.append(object(py, item)?))?;
            Ok(list.into_any())
        }
        Json::Object(fields) => {
            let dict = PyDict::new(py);
            fields.iter().try_for_each(|(name, field)| dict.set_item(name, object(py, field)?))?;
            Ok(dict.into_any())
        }
    }
}

/// Rows and digest of each table.
pub fn checksums<'py>(py: Python<'py>, sums: &BTreeMap<String, TableChecksum>) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    for (table, sum) in sums {
        dict.set_item(table, (sum.rows, format!("{:016x}{:016x}", sum.sum, sum.xor)))?;
    }
    Ok(dict)
}

/// A trial: its `outcome`, exact totals (count, ns) of its `spans` by name, what is `extra`, and `histograms` of the spans
/// that were met, each an HdrHistogram V2 payload.
pub fn report<'py>(
    py: Python<'py>,
    outcome: &Outcome,
    extra: &Json,
    recorded: &Prepared,
) -> PyResult<Bound<'py, PyDict>> {
    let (spans, histograms) = (PyDict::new(py), PyDict::new(py));
    for (span, name) in recorded.mix.span_names().iter().enumerate() {
        let totals = outcome.totals[span];
        spans.set_item(name, (totals.count, totals.total_ns))?;
        if totals.count > 0 {
            histograms.set_item(name, PyBytes::new(py, &encode(&recorded.histograms.merged(span))))?;
        }
    }
    let report = PyDict::new(py);
    report.set_item("outcome", value(py, outcome)?)?;
    report.set_item("spans", spans)?;
    report.set_item("extra", object(py, extra)?)?;
    report.set_item("histograms", histograms)?;
    Ok(report)
}
