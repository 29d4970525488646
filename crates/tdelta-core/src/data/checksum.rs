//! A checksum of a table that does not depend on the order of its rows.

use xxhash_rust::xxh3::xxh3_64_with_seed;

use crate::draw::mix64;
use crate::value::Value;

/// A SQL value that is only looked at: what a row fetched from an engine, or made here, is hashed as.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ValueRef<'a> {
    /// SQL NULL.
    Null,
    /// A 64-bit integer.
    Int(i64),
    /// A double.
    Real(f64),
    /// Text. Bytes rather than `str`, since an engine may hold text that is not UTF-8.
    Text(&'a [u8]),
    /// Bytes.
    Blob(&'a [u8]),
}

impl<'a> From<&'a Value> for ValueRef<'a> {
    fn from(value: &'a Value) -> Self {
        match value {
            Value::Null => Self::Null,
            Value::Int(i) => Self::Int(*i),
            Value::Real(r) => Self::Real(*r),
            Value::Text(t) => Self::Text(t.as_bytes()),
            Value::Blob(b) => Self::Blob(b),
        }
    }
}

impl ValueRef<'_> {
    /// The tag that keeps types apart, so that `1`, `1.0` and `'1'` are three different values.
    fn tag(&self) -> u64 {
        match self {
            Self::Null => 1,
            Self::Int(_) => 2,
            Self::Real(_) => 3,
            Self::Text(_) => 4,
            Self::Blob(_) => 5,
        }
    }

    /// Folds this value into the hash `state` of the values before it.
    ///
    /// The state and the tag are the seed, the payload the message, so neither the boundary between two values nor
    /// their order can be confused.
    #[inline]
    fn fold(&self, state: u64) -> u64 {
        let seed = mix64(state ^ self.tag().wrapping_mul(0x9e37_79b9_7f4a_7c15));
        match self {
            Self::Null => xxh3_64_with_seed(&[], seed),
            Self::Int(i) => xxh3_64_with_seed(&i.to_le_bytes(), seed),
            // Adding zero makes -0.0 into 0.0: engines do not agree on keeping the sign.
            Self::Real(r) => xxh3_64_with_seed(&(r + 0.0).to_bits().to_le_bytes(), seed),
            Self::Text(bytes) | Self::Blob(bytes) => xxh3_64_with_seed(bytes, seed),
        }
    }
}

/// The properties in which tables with the same rows agree: their number, and the sum and exclusive-or of the rows' hashes.
///
/// A row's hash chains XXH3-64 over its values, each with a tag for its type; the definition is stable, since stores
/// keep checksums. The sum notices a row held twice, which the exclusive-or alone would cancel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TableChecksum {
    /// Rows added.
    pub rows: u64,
    /// Sum of the rows' hashes, modulo 2^64.
    pub sum: u64,
    /// Exclusive-or of the rows' hashes.
    pub xor: u64,
}

impl TableChecksum {
    /// Adds one row, its values in column order.
    pub fn add_row<'a>(&mut self, row: impl IntoIterator<Item = ValueRef<'a>>) {
        let hash = row.into_iter().fold(0, |state, value| value.fold(state));
        self.rows += 1;
        self.sum = self.sum.wrapping_add(hash);
        self.xor ^= hash;
    }

    /// Adds the rows of `other`, e.g. of another thread's share of the table.
    pub fn merge(&mut self, other: &Self) {
        self.rows += other.rows;
        self.sum = self.sum.wrapping_add(other.sum);
        self.xor ^= other.xor;
    }
}
