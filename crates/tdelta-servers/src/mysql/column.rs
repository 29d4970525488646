//! A result's columns: what type each has, and its values in a row as they lie.

use crate::failure::out_of_protocol;
use mysql_common::constants::{ColumnFlags, ColumnType};
use mysql_common::io::ParseBuf;
use mysql_common::packets::Column as Definition;
use tdelta_core::client::ClientError;
use tdelta_core::data::{TableChecksum, ValueRef};
use tdelta_core::value::Value;

/// The "character set" of bytes.
const BINARY: u16 = 63;

/// Names have at most 256 characters each.
const LONGEST_DEFINITION: usize = 64 << 10;

/// One column of a result.
#[derive(Clone, Debug)]
pub struct Column {
    pub name: String,
    kind: Kind,
    /// The packet it was read from, to know it again.
    packet: Vec<u8>,
}

/// How a column's values lie in a row of the binary protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Null,
    Tiny { unsigned: bool },
    Short { unsigned: bool },
    Long { unsigned: bool },
    Longlong { unsigned: bool },
    Float,
    Double,
    Decimal,
    Text,
    Bytes,
    DateTime { is_date: bool },
    Time,
}

impl Column {
    pub fn read(packet: &[u8]) -> Result<Self, ClientError> {
        if packet.len() > LONGEST_DEFINITION {
            return Err(out_of_protocol("a definition of a column of more than 64 KiB"));
        }
        let definition: Definition =
            ParseBuf(packet).parse(()).map_err(|_| out_of_protocol("a column without a type"))?;
        Ok(Self { name: definition.name_str().into_owned(), kind: kind_of(&definition)?, packet: packet.to_vec() })
    }

    #[inline]
    pub fn is_defined_by(&self, packet: &[u8]) -> bool {
        self.packet == packet
    }
}

fn kind_of(definition: &Definition) -> Result<Kind, ClientError> {
    use ColumnType as T;
    let unsigned = definition.flags().contains(ColumnFlags::UNSIGNED_FLAG);
    Ok(match definition.column_type() {
        T::MYSQL_TYPE_NULL => Kind::Null,
        T::MYSQL_TYPE_TINY => Kind::Tiny { unsigned },
        T::MYSQL_TYPE_SHORT | T::MYSQL_TYPE_YEAR => Kind::Short { unsigned },
        T::MYSQL_TYPE_LONG | T::MYSQL_TYPE_INT24 => Kind::Long { unsigned },
        T::MYSQL_TYPE_LONGLONG => Kind::Longlong { unsigned },
        T::MYSQL_TYPE_FLOAT => Kind::Float,
        T::MYSQL_TYPE_DOUBLE => Kind::Double,
        T::MYSQL_TYPE_DECIMAL | T::MYSQL_TYPE_NEWDECIMAL => Kind::Decimal,
        T::MYSQL_TYPE_DATE | T::MYSQL_TYPE_NEWDATE => Kind::DateTime { is_date: true },
        T::MYSQL_TYPE_DATETIME | T::MYSQL_TYPE_TIMESTAMP => Kind::DateTime { is_date: false },
        T::MYSQL_TYPE_TIME => Kind::Time,
        T::MYSQL_TYPE_JSON | T::MYSQL_TYPE_ENUM | T::MYSQL_TYPE_SET => Kind::Text,
        T::MYSQL_TYPE_BIT | T::MYSQL_TYPE_GEOMETRY | T::MYSQL_TYPE_VECTOR => Kind::Bytes,
        T::MYSQL_TYPE_VARCHAR
        | T::MYSQL_TYPE_VAR_STRING
        | T::MYSQL_TYPE_STRING
        | T::MYSQL_TYPE_TINY_BLOB
        | T::MYSQL_TYPE_MEDIUM_BLOB
        | T::MYSQL_TYPE_LONG_BLOB
        | T::MYSQL_TYPE_BLOB => match definition.character_set() {
            BINARY => Kind::Bytes,
            _ => Kind::Text,
        },
        other => return Err(out_of_protocol(&format!("a column of type {other:?}"))),
    })
}

/// Shows every value of a binary row to `each`, borrowed. Dates and times are shown as the bytes that they are sent as.
#[inline]
pub fn walk<'a>(
    columns: &[Column],
    row: &'a [u8],
    mut each: impl FnMut(usize, ValueRef<'a>),
) -> Result<(), ClientError> {
    const FIRST: usize = 1; // behind the 0x00 that begins a row
    const RESERVED_BITS: usize = 2;
    let nulls = FIRST..FIRST + (columns.len() + RESERVED_BITS).div_ceil(8);
    let (Some(nulls), Some(mut rest)) = (row.get(nulls.clone()), row.get(nulls.end..)) else { return Err(too_short()) };
    for (at, column) in columns.iter().enumerate() {
        let bit = at + RESERVED_BITS;
        if nulls[bit / 8] & (1 << (bit % 8)) != 0 {
            each(at, ValueRef::Null);
            continue;
        }
        each(at, column.kind.take(&mut rest).ok_or_else(too_short)?);
    }
    Ok(())
}

/// The values of a binary row, copied; dates and times as SQL writes them.
pub fn owned(columns: &[Column], row: &[u8]) -> Result<Vec<Value>, ClientError> {
    let mut values = Vec::with_capacity(columns.len());
    walk(columns, row, |at, value| values.push(copied(columns[at].kind, value)))?;
    Ok(values)
}

/// Adds a row to a checksum, its values as the generator would have made them.
pub fn add_row(sum: &mut TableChecksum, columns: &[Column], row: &[u8]) -> Result<(), ClientError> {
    if columns.iter().any(|column| matches!(column.kind, Kind::Decimal | Kind::DateTime { .. } | Kind::Time)) {
        sum.add_row(owned(columns, row)?.iter().map(Into::into));
        return Ok(());
    }
    let mut values = Vec::with_capacity(columns.len());
    walk(columns, row, |_, value| values.push(value))?;
    sum.add_row(values);
    Ok(())
}

fn copied(kind: Kind, value: ValueRef<'_>) -> Value {
    match (value, kind) {
        (ValueRef::Null, _) => Value::Null,
        (ValueRef::Int(v), _) => Value::Int(v),
        (ValueRef::Real(v), _) => Value::Real(v),
        (ValueRef::Blob(v), Kind::DateTime { is_date }) => Value::Text(date_time(v, is_date)),
        (ValueRef::Blob(v), Kind::Time) => Value::Text(time(v)),
        (ValueRef::Text(v), Kind::Decimal) => number(&String::from_utf8_lossy(v)),
        (ValueRef::Text(v), _) => Value::Text(String::from_utf8_lossy(v).into_owned()),
        (ValueRef::Blob(v), _) => Value::Blob(v.to_owned()),
    }
}

/// A decimal as the nearest thing that the generator knows.
fn number(text: &str) -> Value {
    let whole = || text.parse().map(Value::Int).ok();
    let real = || text.parse().map(Value::Real).ok();
    whole().or_else(real).unwrap_or_else(|| Value::Text(text.to_owned()))
}

impl Kind {
    /// Takes one value off `rest`; none if it is too short.
    #[inline]
    fn take<'a>(self, rest: &mut &'a [u8]) -> Option<ValueRef<'a>> {
        Some(match self {
            Self::Text => ValueRef::Text(take_lenenc(rest)?),
            Self::Bytes => ValueRef::Blob(take_lenenc(rest)?),
            Self::Decimal => ValueRef::Text(take_lenenc(rest)?),
            Self::Long { unsigned: false } => ValueRef::Int(i32::from_le_bytes(take(rest)?).into()),
            Self::Long { unsigned: true } => ValueRef::Int(u32::from_le_bytes(take(rest)?).into()),
            Self::Longlong { unsigned: false } => ValueRef::Int(i64::from_le_bytes(take(rest)?)),
            Self::Longlong { unsigned: true } => unsigned(u64::from_le_bytes(take(rest)?)),
            Self::Short { unsigned: false } => ValueRef::Int(i16::from_le_bytes(take(rest)?).into()),
            Self::Short { unsigned: true } => ValueRef::Int(u16::from_le_bytes(take(rest)?).into()),
            Self::Tiny { unsigned: false } => ValueRef::Int(i8::from_le_bytes(take(rest)?).into()),
            Self::Tiny { unsigned: true } => ValueRef::Int(u8::from_le_bytes(take(rest)?).into()),
            Self::Double => ValueRef::Real(f64::from_le_bytes(take(rest)?)),
            Self::Float => ValueRef::Real(f32::from_le_bytes(take(rest)?).into()),
            Self::DateTime { .. } | Self::Time => {
                let [length] = take(rest)?;
                ValueRef::Blob(take_bytes(rest, length.into())?)
            }
            Self::Null => ValueRef::Null,
        })
    }
}

/// A value that no signed integer holds is a double, as in SQLite.
fn unsigned<'a>(value: u64) -> ValueRef<'a> {
    i64::try_from(value).map_or(ValueRef::Real(value as f64), ValueRef::Int)
}

#[inline]
fn take<const N: usize>(rest: &mut &[u8]) -> Option<[u8; N]> {
    let (head, tail) = rest.split_first_chunk()?;
    *rest = tail;
    Some(*head)
}

#[inline]
fn take_bytes<'a>(rest: &mut &'a [u8], length: usize) -> Option<&'a [u8]> {
    let (head, tail) = rest.split_at_checked(length)?;
    *rest = tail;
    Some(head)
}

#[inline]
fn take_lenenc<'a>(rest: &mut &'a [u8]) -> Option<&'a [u8]> {
    let [first] = take(rest)?;
    let length = match first {
        0..=0xfa => first.into(),
        0xfc => u16::from_le_bytes(take(rest)?).into(),
        0xfd => {
            let [a, b, c] = take(rest)?;
            u32::from_le_bytes([a, b, c, 0]) as usize
        }
        0xfe => u64::from_le_bytes(take(rest)?) as usize,
        _ => return None,
    };
    take_bytes(rest, length)
}

/// Shows every value of a row of the text protocol to `each`; none for NULL.
pub fn walk_text<'a>(row: &'a [u8], count: usize, mut each: impl FnMut(Option<&'a [u8]>)) -> Result<(), ClientError> {
    const NULL: u8 = 0xfb;
    let mut rest = row;
    for _ in 0..count {
        match rest {
            [NULL, tail @ ..] => {
                rest = tail;
                each(None);
            }
            _ => each(Some(take_lenenc(&mut rest).ok_or_else(too_short)?)),
        }
    }
    Ok(())
}

fn date_time(bytes: &[u8], is_date: bool) -> String {
    let byte = |at: usize| bytes.get(at).copied().unwrap_or(0);
    let date = format!("{:04}-{:02}-{:02}", u16::from_le_bytes([byte(0), byte(1)]), byte(2), byte(3));
    if is_date {
        return date;
    }
    let clock = format!("{date} {:02}:{:02}:{:02}", byte(4), byte(5), byte(6));
    with_micros(clock, &bytes[bytes.len().min(7)..])
}

fn time(bytes: &[u8]) -> String {
    let byte = |at: usize| bytes.get(at).copied().unwrap_or(0);
    let sign = if byte(0) == 1 { "-" } else { "" };
    let days = u64::from(u32::from_le_bytes([byte(1), byte(2), byte(3), byte(4)]));
    let clock = format!("{sign}{:02}:{:02}:{:02}", days * 24 + u64::from(byte(5)), byte(6), byte(7));
    with_micros(clock, &bytes[bytes.len().min(8)..])
}

fn with_micros(clock: String, rest: &[u8]) -> String {
    match rest.first_chunk() {
        Some(micros) => format!("{clock}.{:06}", u32::from_le_bytes(*micros)),
        None => clock,
    }
}

fn too_short() -> ClientError {
    out_of_protocol("a row that is shorter than its columns")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column(kind: Kind) -> Column {
        Column { name: "c".into(), kind, packet: Vec::new() }
    }

    fn seen(kinds: &[Kind], row: &[u8]) -> Result<Vec<Value>, ClientError> {
        owned(&kinds.iter().copied().map(column).collect::<Vec<_>>(), row)
    }

    #[test]
    fn integers_of_every_width_and_sign_are_read() {
        let signed = |b| {
            [
                Kind::Tiny { unsigned: b },
                Kind::Short { unsigned: b },
                Kind::Long { unsigned: b },
                Kind::Longlong { unsigned: b },
            ]
        };
        let row = [vec![0, 0], vec![0xff; 1 + 2 + 4 + 8]].concat();
        assert_eq!(seen(&signed(false), &row).unwrap(), vec![Value::Int(-1); 4]);
        let wide = [Value::Int(255), Value::Int(65535), Value::Int(u32::MAX.into()), Value::Real(u64::MAX as f64)];
        assert_eq!(seen(&signed(true), &row).unwrap(), wide);
    }

    #[test]
    fn nulls_take_no_room() {
        let kinds = [Kind::Text, Kind::Double, Kind::Bytes];
        let row = [&[0, 0b0000_1000, 2, b'h', b'i', 1, 7][..]].concat();
        assert_eq!(seen(&kinds, &row).unwrap(), [Value::Text("hi".into()), Value::Null, Value::Blob(vec![7])]);
    }

    #[test]
    fn the_null_bits_of_many_columns_are_found() {
        let kinds = [Kind::Tiny { unsigned: false }; 7];
        let row = [0, 0b1111_1100, 0b0000_0000, 9];
        let expected: Vec<_> = (0..7).map(|n| if n < 6 { Value::Null } else { Value::Int(9) }).collect();
        assert_eq!(seen(&kinds, &row).unwrap(), expected);
    }

    #[test]
    fn long_texts_are_read_by_their_long_lengths() {
        for (length, prefix) in [(250, vec![250]), (251, vec![0xfc, 251, 0]), (70_000, vec![0xfd, 0x70, 0x11, 0x01])] {
            let row = [vec![0, 0], prefix, vec![b'x'; length]].concat();
            assert_eq!(seen(&[Kind::Text], &row).unwrap(), [Value::Text("x".repeat(length))]);
        }
    }

    #[test]
    fn a_row_cut_short_is_a_fault_and_no_panic() {
        let row = [0, 0, 3, b'a', b'b', b'c', 1, 2, 3, 4];
        let kinds = [Kind::Text, Kind::Long { unsigned: false }];
        assert!(seen(&kinds, &row).is_ok());
        for length in 0..row.len() {
            assert_eq!(seen(&kinds, &row[..length]).unwrap_err().kind, "protocol");
        }
    }

    #[test]
    fn dates_and_times_are_written_as_sql_writes_them() {
        let date = [0xe8, 0x07, 2, 29];
        assert_eq!(date_time(&date, true), "2024-02-29");
        assert_eq!(date_time(&date, false), "2024-02-29 00:00:00");
        assert_eq!(date_time(&[&date[..], &[23, 59, 1]].concat(), false), "2024-02-29 23:59:01");
        assert_eq!(
            date_time(&[&date[..], &[23, 59, 1, 0x40, 0xe2, 1, 0]].concat(), false),
            "2024-02-29 23:59:01.123456"
        );
        assert_eq!(time(&[1, 2, 0, 0, 0, 3, 4, 5]), "-51:04:05");
        assert_eq!(time(&[]), "00:00:00");
    }

    #[test]
    fn a_decimal_is_a_number() {
        assert_eq!(number("12"), Value::Int(12));
        assert_eq!(number("-0.50"), Value::Real(-0.5));
    }

    #[test]
    fn text_rows_tell_null_from_empty() {
        let row = [0, 0xfb, 2, b'h', b'i'];
        let mut values = Vec::new();
        walk_text(&row, 3, |value| values.push(value)).unwrap();
        assert_eq!(values, [Some(&b""[..]), None, Some(b"hi")]);
        assert!(walk_text(&row, 4, |_| ()).is_err());
    }
}
