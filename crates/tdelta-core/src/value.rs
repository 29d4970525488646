//! One SQL value, as generated, bound, fetched and hashed.

/// A SQL value. Text is UTF-8; there is no date type (times are integers or text, as the workload says).
#[derive(Clone, Debug, PartialEq, Default)]
pub enum Value {
    /// SQL NULL.
    #[default]
    Null,
    /// A 64-bit integer.
    Int(i64),
    /// A double.
    Real(f64),
    /// Text.
    Text(String),
    /// Bytes.
    Blob(Vec<u8>),
}
