//! A panic is a defect, and no text of Rust's for a user: it is reported in a file that holds no data and no key, and
//! Python says its name.

use std::backtrace::Backtrace;
use std::fs::OpenOptions;
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::panic::{set_hook, PanicHookInfo};
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use pyo3::prelude::*;

static LAST: Mutex<Option<String>> = Mutex::new(None);

/// Installs the hook for this process.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    set_hook(Box::new(report));
    module.add_function(wrap_pyfunction!(panic_report, module)?)
}

/// The file in which the last panic of this process was reported; nothing where there was none, or no room for a file.
#[pyfunction]
fn panic_report() -> Option<String> {
    LAST.lock().unwrap_or_else(PoisonError::into_inner).clone()
}

fn report(info: &PanicHookInfo<'_>) {
    let place = info.location().map_or_else(|| "a place unknown".to_owned(), ToString::to_string);
    // A literal was written by a programmer; what was put together at run time may quote data.
    let said =
        info.payload().downcast_ref::<&'static str>().copied().unwrap_or("(its message may quote data: left out)");
    let version = env!("CARGO_PKG_VERSION");
    let text = format!("tdelta {version}: internal error at {place}\n{said}\n\n{}\n", Backtrace::force_capture());
    let written = write(&text).map(|path| path.display().to_string());
    *LAST.lock().unwrap_or_else(PoisonError::into_inner) = written;
}

/// A file of the user's own, new, among the temporary ones.
fn write(text: &str) -> Option<PathBuf> {
    let now_ns = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos());
    let path = std::env::temp_dir().join(format!("tdelta-error-{}-{now_ns}.txt", std::process::id()));
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path).ok()?;
    file.write_all(text.as_bytes()).ok()?;
    Some(path)
}
