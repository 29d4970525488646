//! The cost of encrypting a page: the machine's own OpenSSL, called page by page as a database calls it, and timed.
//! Knows no Python and no database.
//!
//! `library` finds libcrypto at run time (no headers, no link); `cipher` encrypts, decrypts and authenticates one page;
//! `task` says what can be measured; `ring` holds the pages; `meter` checks every cell, then times them in passes;
//! `copying` times what some databases do beside.
//!
//! The keys are drawn for a measurement and guard nothing.

pub mod cipher;
pub mod copying;
pub mod library;
pub mod meter;
pub mod ring;
pub mod task;

/// Why something could not be measured: `kind` is `library`, `cipher`, `tag`, `wrong` or `plan`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// `library`: no libcrypto. `cipher`: it refuses. `tag`: a page does not match its tag. `wrong`: it answers with
    /// other bytes than it must. `plan`: the request cannot be met.
    pub kind: &'static str,
    /// The expected and the actual value.
    pub message: String,
}

impl Fault {
    pub(crate) fn new(kind: &'static str, message: impl Into<String>) -> Self {
        Self { kind, message: message.into() }
    }
}

impl std::fmt::Display for Fault {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{}: {}", self.kind, self.message)
    }
}

impl std::error::Error for Fault {}
