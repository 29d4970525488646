//! Rows by COPY … FROM STDIN, and the names that a workload's tables go by in the catalog.
//!
//! Text, since every type reads it, doubles exactly. A whole table is emptied and filled in one transaction, which lets the
//! server store rows as frozen: no later reader then has to mark them as committed, which would write the page again and
//! charge the load to whichever trial came first.

use super::connection::Connection;
use super::shape::{write_hex, write_text};
use super::wire::Wire;
use crate::session::Session;
use bytes::{BufMut, BytesMut};
use postgres_protocol::message::backend;
use postgres_protocol::message::frontend;
use std::io;
use std::ops::Range;
use tdelta_core::client::ClientError;
use tdelta_core::data::{Chunk, Table};
use tdelta_core::value::Value;

/// A CopyData message is sent off when it has grown to this.
const COPY_BYTES: usize = 64 * 1024;
const TAG_BYTES: usize = 1;
const LENGTH_BYTES: usize = 4;

/// A table and its columns as SQL writes them.
pub(super) struct Names {
    pub(super) table: String,
    /// Separated by commas.
    pub(super) columns: String,
}

impl Connection {
    /// The names in the catalog: of an unquoted name PostgreSQL keeps the lower case, of a quoted one every letter.
    pub(super) fn names(&mut self, table: &str, columns: &[String]) -> Result<Names, ClientError> {
        let (_, found) = self.rows(&format!(
            "SELECT a.attname, c.relname FROM pg_catalog.pg_class c JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid \
             WHERE pg_catalog.pg_table_is_visible(c.oid) AND c.relname IN ({0}, lower({0})) AND a.attnum > 0 \
             AND NOT a.attisdropped ORDER BY c.relname = {0} DESC",
            literal(table)
        ))?;
        let cell = |row: &[Option<String>], at: usize| row.get(at).cloned().flatten().unwrap_or_default();
        let in_catalog = found.first().map_or_else(|| table.to_owned(), |row| cell(row, 1));
        let known: Vec<String> =
            found.iter().filter(|row| cell(row, 1) == in_catalog).map(|row| cell(row, 0)).collect();
        let as_known = |column: &String| match known.contains(column) {
            true => quoted(column),
            false => quoted(&column.to_lowercase()),
        };
        let columns: Vec<String> = columns.iter().map(as_known).collect();
        Ok(Names { table: quoted(&in_catalog), columns: columns.join(", ") })
    }

    /// Fills a table with generated rows.
    pub(super) fn copy(&mut self, table: &Table, seed: u64, range: Range<u64>) -> Result<(), ClientError> {
        let names = self.names(&table.name, &table.columns)?;
        let copy = format!("COPY {} ({}) FROM STDIN", names.table, names.columns);
        if range != (0..table.rows) {
            return self.stream(&copy, table, seed, range);
        }
        self.run(&format!("BEGIN; TRUNCATE ONLY {}", names.table))?;
        self.stream(&format!("{copy} (FREEZE)"), table, seed, range)?;
        self.run("COMMIT")
    }

    fn stream(&mut self, sql: &str, table: &Table, seed: u64, range: Range<u64>) -> Result<(), ClientError> {
        let feed = |wire: &mut Wire| {
            table.generate_range(seed, range.clone(), |chunk| write_rows(chunk, wire))?;
            frontend::copy_done(&mut wire.out);
            wire.send()
        };
        self.exchange.run(|out| frontend::query(sql, out), |_, _| true, feed)
    }
}

/// Adds rows to the CopyData message in the making, and sends it off whenever it is long enough.
fn write_rows(chunk: &Chunk, wire: &mut Wire) -> io::Result<()> {
    write_message(&mut wire.out, |out| chunk.rows().for_each(|row| write_row(row, out)));
    match wire.out.len() < COPY_BYTES {
        true => Ok(()),
        false => wire.send(),
    }
}

/// Appends one CopyData message.
fn write_message(out: &mut BytesMut, content: impl FnOnce(&mut BytesMut)) {
    let start = out.len();
    out.put_u8(backend::COPY_DATA_TAG);
    out.put_u32(0);
    content(out);
    let length = (out.len() - start - TAG_BYTES) as u32;
    out[start + TAG_BYTES..][..LENGTH_BYTES].copy_from_slice(&length.to_be_bytes());
}

/// Appends a row in COPY's text format.
fn write_row(row: &[Value], out: &mut BytesMut) {
    for (column, value) in row.iter().enumerate() {
        if column > 0 {
            out.put_u8(b'\t');
        }
        match value {
            Value::Null => out.put_slice(b"\\N"),
            Value::Text(text) => write_escaped(text.as_bytes(), out),
            Value::Blob(bytes) => {
                out.put_slice(b"\\\\x");
                write_hex(bytes, out);
            }
            Value::Int(_) | Value::Real(_) => {
                write_text(value, out);
            }
        }
    }
    out.put_u8(b'\n');
}

/// Appends text with what means something to COPY escaped.
fn write_escaped(text: &[u8], out: &mut BytesMut) {
    let mut rest = text;
    while let Some(at) = rest.iter().position(|byte| matches!(byte, b'\\' | b'\t' | b'\n' | b'\r')) {
        out.put_slice(&rest[..at]);
        out.put_slice(match rest[at] {
            b'\t' => b"\\t",
            b'\n' => b"\\n",
            b'\r' => b"\\r",
            _ => b"\\\\",
        });
        rest = &rest[at + 1..];
    }
    out.put_slice(rest);
}

fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

fn literal(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(values: &[Value]) -> String {
        let mut out = BytesMut::new();
        write_row(values, &mut out);
        String::from_utf8(out.to_vec()).unwrap()
    }

    #[test]
    fn a_row_is_written_as_copy_reads_it() {
        let values = [
            Value::Int(-7),
            Value::Null,
            Value::Real(0.1),
            Value::Text("ä\t\\\n\r.".into()),
            Value::Blob(vec![0, 255]),
        ];
        assert_eq!(row(&values), "-7\t\\N\t0.1\tä\\t\\\\\\n\\r.\t\\\\x00ff\n");
    }

    #[test]
    fn a_text_that_looks_like_null_stays_a_text() {
        assert_eq!(row(&[Value::Text("\\N".into())]), "\\\\N\n");
        assert_eq!(row(&[Value::Text(String::new())]), "\n");
    }

    #[test]
    fn doubles_read_back_as_they_were() {
        for double in [0.1, -0.0, 1e300, 5e-324, 123_456_789.123_456_79, f64::MAX] {
            let text = row(&[Value::Real(double)]);
            assert_eq!(text.trim().parse::<f64>().unwrap().to_bits(), double.to_bits(), "{text}");
        }
    }

    #[test]
    fn a_message_knows_its_length() {
        let mut out = BytesMut::from(&b"before"[..]);
        write_message(&mut out, |out| out.put_slice(b"abc"));
        assert_eq!(&out[6..], b"d\0\0\0\x07abc");
    }
}
