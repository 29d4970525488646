//! How values of PostgreSQL's types travel: in binary where that is the cheaper to read and write, else as text.

use bytes::{BufMut, BytesMut};
use postgres_protocol::types;
use postgres_protocol::Oid;
use std::fmt::Write;
use tdelta_core::data::ValueRef;
use tdelta_core::value::Value;

/// The format codes of the protocol.
pub(super) const TEXT: i16 = 0;
pub(super) const BINARY: i16 = 1;

/// The meaning of a type for this client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    Bool,
    Int2,
    Int4,
    Int8,
    Oid,
    Float4,
    Float8,
    Text,
    /// `CHAR(n)`: the server pads it with blanks that are no part of the value.
    Padded,
    Bytes,
    /// As text: exact, and never calculated with here.
    Numeric,
    /// As text, whatever it is.
    Other,
}

impl Shape {
    /// The shape of a type, by its number in `pg_type`, which never changes for these.
    pub(super) fn of(oid: Oid) -> Self {
        match oid {
            16 => Self::Bool,
            17 => Self::Bytes,
            19 | 25 | 114 | 142 | 705 | 1043 => Self::Text,
            20 => Self::Int8,
            21 => Self::Int2,
            23 => Self::Int4,
            26 => Self::Oid,
            700 => Self::Float4,
            701 => Self::Float8,
            1042 => Self::Padded,
            1700 => Self::Numeric,
            _ => Self::Other,
        }
    }

    /// The format of results.
    pub(super) fn format(self) -> i16 {
        match self {
            Self::Numeric | Self::Other => TEXT,
            _ => BINARY,
        }
    }

    /// A value that arrived in [`Shape::format`], borrowed; none if its length is not its type's.
    #[inline]
    pub(super) fn read(self, bytes: &[u8]) -> Option<ValueRef<'_>> {
        Some(match self {
            Self::Int8 => ValueRef::Int(i64::from_be_bytes(bytes.try_into().ok()?)),
            Self::Int4 => ValueRef::Int(i32::from_be_bytes(bytes.try_into().ok()?).into()),
            Self::Int2 => ValueRef::Int(i16::from_be_bytes(bytes.try_into().ok()?).into()),
            Self::Oid => ValueRef::Int(u32::from_be_bytes(bytes.try_into().ok()?).into()),
            Self::Bool => ValueRef::Int((*bytes.first()?).into()),
            Self::Float8 => ValueRef::Real(f64::from_be_bytes(bytes.try_into().ok()?)),
            Self::Float4 => ValueRef::Real(f32::from_be_bytes(bytes.try_into().ok()?).into()),
            Self::Bytes => ValueRef::Blob(bytes),
            Self::Text | Self::Padded | Self::Numeric | Self::Other => ValueRef::Text(bytes),
        })
    }

    /// A value as rows are compared: numbers that travel as text become numbers again, padding goes.
    pub(super) fn compared(self, bytes: &[u8]) -> Option<ValueRef<'_>> {
        match self {
            Self::Numeric => number(bytes),
            Self::Padded => Some(ValueRef::Text(bytes.trim_ascii_end())),
            _ => self.read(bytes),
        }
    }

    /// Appends a parameter of this type and returns the format it is in. What does not fit the type goes as text, and the
    /// server says what it thinks of that.
    #[inline]
    pub(super) fn write(self, value: &Value, out: &mut BytesMut) -> i16 {
        match (self, value) {
            (Self::Int8, Value::Int(v)) => types::int8_to_sql(*v, out),
            (Self::Int4, Value::Int(v)) => match i32::try_from(*v) {
                Ok(v) => types::int4_to_sql(v, out),
                Err(_) => return write_text(value, out),
            },
            (Self::Int2, Value::Int(v)) => match i16::try_from(*v) {
                Ok(v) => types::int2_to_sql(v, out),
                Err(_) => return write_text(value, out),
            },
            (Self::Float8, Value::Int(v)) => types::float8_to_sql(*v as f64, out),
            (Self::Float8, Value::Real(v)) => types::float8_to_sql(*v, out),
            (Self::Text | Self::Padded, Value::Text(v)) => types::text_to_sql(v, out),
            (Self::Bytes, Value::Blob(v)) => types::bytea_to_sql(v, out),
            _ => return write_text(value, out),
        }
        BINARY
    }
}

fn number(text: &[u8]) -> Option<ValueRef<'_>> {
    let text = std::str::from_utf8(text).ok()?;
    text.parse().map(ValueRef::Int).or_else(|_| text.parse().map(ValueRef::Real)).ok()
}

/// Appends a value as the type's input function reads it.
pub(super) fn write_text(value: &Value, out: &mut BytesMut) -> i16 {
    match value {
        Value::Null => {}
        Value::Int(v) => write_number(v, out),
        // Either way the shortest text that reads back as the same double; with an exponent it is no whole number's.
        Value::Real(v) if v.abs() < 1e15 => write_number(v, out),
        Value::Real(v) => write_number(format_args!("{v:e}"), out),
        Value::Text(v) => out.put_slice(v.as_bytes()),
        Value::Blob(v) => {
            out.put_slice(b"\\x");
            write_hex(v, out);
        }
    }
    TEXT
}

pub(super) fn write_number(number: impl std::fmt::Display, out: &mut BytesMut) {
    // Writing to memory that grows does not fail.
    let _ = write!(out, "{number}");
}

pub(super) fn write_hex(bytes: &[u8], out: &mut BytesMut) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    out.reserve(2 * bytes.len());
    for byte in bytes {
        out.put_slice(&[DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]]);
    }
}

/// A value that a script keeps.
pub(super) fn owned(value: ValueRef<'_>) -> Value {
    match value {
        ValueRef::Null => Value::Null,
        ValueRef::Int(v) => Value::Int(v),
        ValueRef::Real(v) => Value::Real(v),
        ValueRef::Text(v) => Value::Text(String::from_utf8_lossy(v).into_owned()),
        ValueRef::Blob(v) => Value::Blob(v.to_owned()),
    }
}
