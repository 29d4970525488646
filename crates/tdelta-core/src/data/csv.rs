//! Rows as the text of a file: values separated by commas, a line a row, for an engine that reads files in parallel.
//!
//! NULL is `\N`, bytes are hexadecimal digits, and a double is the shortest text that reads back as the same. Text is
//! quoted where it would be read as something else: around delimiters, and where it is itself `\N`, so the reader must not
//! take a quoted `\N` for NULL. Lines end in `\n` whatever texts hold.

use std::io::{self, Write};

use super::plan::Table;
use crate::value::Value;

impl Table {
    /// Makes every row with `threads` threads and writes them to `out`, in order. Returns the bytes written.
    ///
    /// A few chunks per thread are in memory at once, whatever the table's size; `out` needs no buffer.
    ///
    /// # Errors
    ///
    /// The first of `out`'s, which ends the work.
    pub fn write_csv(&self, seed: u64, threads: usize, out: &mut impl Write) -> io::Result<u64> {
        let mut written = 0;
        let convert = |chunk: &super::Chunk, lines: &mut Vec<u8>| {
            lines.clear();
            chunk.rows().for_each(|row| put_line(lines, row));
        };
        self.generate_as(seed, threads, convert, |lines| {
            written += lines.len() as u64;
            out.write_all(lines)
        })?;
        out.flush()?;
        Ok(written)
    }
}

fn put_line(lines: &mut Vec<u8>, row: &[Value]) {
    let start = lines.len();
    for (at, value) in row.iter().enumerate() {
        if at > 0 {
            lines.push(b',');
        }
        put_value(lines, value);
    }
    if lines.len() == start {
        lines.extend_from_slice(b"\"\""); // an empty line would be no row
    }
    lines.push(b'\n');
}

fn put_value(lines: &mut Vec<u8>, value: &Value) {
    match value {
        Value::Null => lines.extend_from_slice(b"\\N"),
        Value::Int(integer) => lines.extend_from_slice(itoa::Buffer::new().format(*integer).as_bytes()),
        Value::Real(real) => write!(lines, "{real:?}").expect("a vector takes all that is written to it"),
        Value::Text(text) => put_text(lines, text.as_bytes()),
        Value::Blob(bytes) => bytes.iter().for_each(|byte| lines.extend_from_slice(&hexadecimal(*byte))),
    }
}

fn put_text(lines: &mut Vec<u8>, text: &[u8]) {
    if text != b"\\N" && !text.iter().any(|byte| matches!(byte, b',' | b'"' | b'\n' | b'\r')) {
        return lines.extend_from_slice(text);
    }
    lines.push(b'"');
    for &byte in text {
        if byte == b'"' {
            lines.push(b'"');
        }
        lines.push(byte);
    }
    lines.push(b'"');
}

fn hexadecimal(byte: u8) -> [u8; 2] {
    [byte >> 4, byte & 15].map(|digit| b"0123456789ABCDEF"[usize::from(digit)])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{Plan, CHUNK_ROWS};
    use proptest::prelude::*;

    fn lines(rows: &[&[Value]]) -> String {
        let mut lines = Vec::new();
        rows.iter().for_each(|row| put_line(&mut lines, row));
        String::from_utf8(lines).unwrap()
    }

    fn line(row: &[Value]) -> String {
        lines(&[row])
    }

    fn text(text: &str) -> Value {
        Value::Text(text.into())
    }

    /// Reads a file back: NULL where `\N` is not quoted, otherwise the text.
    fn read(file: &str) -> Vec<Vec<Option<String>>> {
        let (mut rows, mut row, mut field) = (Vec::new(), Vec::new(), String::new());
        let (mut is_inside, mut was_quoted) = (false, false);
        let mut rest = file.chars().peekable();
        while let Some(next) = rest.next() {
            match next {
                '"' if is_inside && rest.peek() == Some(&'"') => field.extend(rest.next()),
                '"' => (is_inside, was_quoted) = (!is_inside, true),
                ',' | '\n' if !is_inside => {
                    let found = std::mem::take(&mut field);
                    row.push((was_quoted || found != "\\N").then_some(found));
                    was_quoted = false;
                    if next == '\n' {
                        rows.push(std::mem::take(&mut row));
                    }
                }
                other => field.push(other),
            }
        }
        assert!(!is_inside && row.is_empty() && field.is_empty(), "the last line ends");
        rows
    }

    /// How a value reads back.
    fn told(value: &Value) -> Option<String> {
        match value {
            Value::Null => None,
            Value::Int(integer) => Some(integer.to_string()),
            Value::Real(real) => Some(format!("{real:?}")),
            Value::Text(text) => Some(text.clone()),
            Value::Blob(bytes) => Some(bytes.iter().map(|byte| format!("{byte:02X}")).collect()),
        }
    }

    #[test]
    fn a_line_has_a_text_for_every_kind_of_value() {
        let row = [Value::Int(i64::MIN), Value::Null, Value::Real(0.1), text("a b"), Value::Blob(vec![0, 0xaf, 255])];
        assert_eq!(line(&row), "-9223372036854775808,\\N,0.1,a b,00AFFF\n");
    }

    #[test]
    fn text_is_quoted_where_it_would_be_read_as_something_else() {
        let row = ["a,\"b\"", "x\ny", "x\ry", "\\N", "\\n", "é'", ""].map(text);
        assert_eq!(line(&row), "\"a,\"\"b\"\"\",\"x\ny\",\"x\ry\",\"\\N\",\\n,é',\n");
    }

    #[test]
    fn a_row_of_one_empty_value_is_no_empty_line() {
        assert_eq!(lines(&[&[text("")], &[Value::Blob(Vec::new())], &[text("a")]]), "\"\"\n\"\"\na\n");
    }

    #[test]
    fn a_table_is_written_in_order_whatever_the_threads() {
        let rows = 5 * CHUNK_ROWS + 7;
        let plan = Plan::from_json(&format!(
            r#"{{"tables": [{{"name": "t", "rows": {rows}, "columns": [{{"name": "id", "distribution": "serial"}},
                {{"name": "x", "distribution": "words", "min": 0, "max": 3, "null_share": 0.5}}]}}]}}"#
        ))
        .unwrap();
        let table = &plan.tables[0];
        let mut expected = Vec::new();
        let mut row = Vec::new();
        for index in 0..rows {
            table.row(7, index, &mut row);
            expected.push(row.iter().map(told).collect::<Vec<_>>());
        }
        for threads in [1, 2, 3, 8] {
            let mut file = Vec::new();
            let written = table.write_csv(7, threads, &mut file).unwrap();
            assert_eq!(written, file.len() as u64);
            assert_eq!(read(std::str::from_utf8(&file).unwrap()), expected, "{threads} threads");
        }
    }

    #[test]
    fn a_table_without_rows_is_an_empty_file() {
        let json = r#"{"tables": [{"name": "t", "rows": 0, "columns": [{"name": "id", "distribution": "serial"}]}]}"#;
        let plan = Plan::from_json(json).unwrap();
        let mut file = Vec::new();
        assert_eq!((plan.tables[0].write_csv(1, 4, &mut file).unwrap(), file.len()), (0, 0));
    }

    #[test]
    fn a_full_disk_ends_the_work() {
        let json =
            r#"{"tables": [{"name": "t", "rows": 1000000000, "columns": [{"name": "id", "distribution": "serial"}]}]}"#;
        let plan = Plan::from_json(json).unwrap();
        for threads in [1, 3] {
            let mut full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
            let error = plan.tables[0].write_csv(1, threads, &mut full).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::StorageFull);
        }
    }

    proptest! {
        #[test]
        fn doubles_read_back_as_they_were(bits in any::<u64>()) {
            let real = f64::from_bits(bits);
            prop_assume!(real.is_finite());
            let found: f64 = line(&[Value::Real(real)]).trim().parse().unwrap();
            prop_assert_eq!(found.to_bits(), bits);
        }

        #[test]
        fn texts_read_back_as_they_were(rows in proptest::collection::vec(
            proptest::collection::vec(proptest::option::of("[,\"\n\r\\\\N é]{0,4}"), 2), 0..6)
        ) {
            let values: Vec<Vec<Value>> =
                rows.iter().map(|row| row.iter().map(|t| t.as_deref().map_or(Value::Null, text)).collect()).collect();
            let slices: Vec<&[Value]> = values.iter().map(Vec::as_slice).collect();
            prop_assert_eq!(read(&lines(&slices)), rows);
        }
    }
}
