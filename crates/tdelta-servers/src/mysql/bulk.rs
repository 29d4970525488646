//! Many rows at once: as a stream of lines, or, where the server takes none, in statements of many rows.

use super::reply::{expect_done, reply, Dialect, Done, Reply};
use super::wire::Wire;
use crate::failure::{failure, out_of_protocol};
use mysql_common::constants::Command;
use std::ops::Range;
use tdelta_core::client::ClientError;
use tdelta_core::data::{Chunk, Table};
use tdelta_core::value::Value;

/// A statement of many rows is no longer than this, well under any server's `max_allowed_packet`.
const STATEMENT_BYTES: usize = 512 << 10;

/// The rows of `range` as a stream of lines.
///
/// The lines are said to be binary, so that the server takes every byte as it is, text (which is UTF-8 on both sides)
/// and bytes alike. Delimiters are written as hexadecimal literals, which no SQL mode reads differently.
pub fn stream(
    wire: &mut Wire,
    dialect: Dialect,
    table: &Table,
    seed: u64,
    range: Range<u64>,
) -> Result<Done, ClientError> {
    let sql = format!(
        "LOAD DATA LOCAL INFILE 'rows' INTO TABLE {} CHARACTER SET binary FIELDS TERMINATED BY X'09' ESCAPED BY X'5C' \
         LINES TERMINATED BY X'0A' ({})",
        quoted(&table.name),
        quoted_list(&table.columns)
    );
    wire.command(Command::COM_QUERY as u8).extend_from_slice(sql.as_bytes());
    wire.send()?;
    match reply(wire, dialect)? {
        Reply::WantsData => {}
        _ => return Err(out_of_protocol("no request for rows")),
    }
    let mut lines = Vec::new();
    table.generate_range(seed, range, |chunk| {
        lines.clear();
        chunk.rows().for_each(|row| put_line(&mut lines, row));
        wire.send_data(&lines)
    })?;
    wire.answer();
    wire.send()?;
    expect_done(wire, dialect)
}

fn put_line(lines: &mut Vec<u8>, row: &[Value]) {
    for (at, value) in row.iter().enumerate() {
        if at > 0 {
            lines.push(b'\t');
        }
        match value {
            Value::Null => lines.extend_from_slice(b"\\N"),
            Value::Int(_) | Value::Real(_) => lines.extend_from_slice(digits(value).as_bytes()),
            Value::Text(text) => put_escaped(lines, text.as_bytes()),
            Value::Blob(bytes) => put_escaped(lines, bytes),
        }
    }
    lines.push(b'\n');
}

fn put_escaped(lines: &mut Vec<u8>, bytes: &[u8]) {
    for byte in bytes {
        match byte {
            b'\\' => lines.extend_from_slice(b"\\\\"),
            b'\t' => lines.extend_from_slice(b"\\t"),
            b'\n' => lines.extend_from_slice(b"\\n"),
            0 => lines.extend_from_slice(b"\\0"),
            other => lines.push(*other),
        }
    }
}

/// A number's digits; a double's are the fewest that come back as the same double.
fn digits(value: &Value) -> String {
    match value {
        Value::Int(v) => v.to_string(),
        Value::Real(v) => format!("{v:e}"),
        _ => String::new(),
    }
}

/// The rows of `range` in statements of many rows, each given to `run`.
pub fn statements(
    table: &Table,
    seed: u64,
    range: Range<u64>,
    mut run: impl FnMut(&str) -> Result<(), ClientError>,
) -> Result<(), ClientError> {
    let head = format!("INSERT INTO {} ({}) VALUES ", quoted(&table.name), quoted_list(&table.columns));
    let mut sql = head.clone();
    table.generate_range(seed, range, |chunk: &Chunk| {
        for row in chunk.rows() {
            if sql.len() > head.len() {
                sql.push(',');
            }
            put_tuple(&mut sql, row);
            if sql.len() > STATEMENT_BYTES {
                run(&sql)?;
                sql.truncate(head.len());
            }
        }
        Ok(())
    })?;
    match sql.len() > head.len() {
        true => run(&sql),
        false => Ok(()),
    }
}

fn put_tuple(sql: &mut String, row: &[Value]) {
    for (at, value) in row.iter().enumerate() {
        sql.push(if at == 0 { '(' } else { ',' });
        match value {
            Value::Null => sql.push_str("NULL"),
            Value::Int(_) | Value::Real(_) => sql.push_str(&digits(value)),
            // Hexadecimal, which no SQL mode reads differently.
            Value::Text(text) => put_hex(sql, "_utf8mb4 X'", text.as_bytes()),
            Value::Blob(bytes) => put_hex(sql, "X'", bytes),
        }
    }
    sql.push(')');
}

fn put_hex(sql: &mut String, prefix: &str, bytes: &[u8]) {
    sql.push_str(prefix);
    let digit = |half: u8| char::from(b"0123456789ABCDEF"[usize::from(half)]);
    bytes.iter().for_each(|byte| sql.extend([digit(byte >> 4), digit(byte & 15)]));
    sql.push('\'');
}

/// The fault of a load, whose rows the server may have changed or left out without an error.
pub fn check(table: &Table, range: &Range<u64>, done: &Done, warning: Option<String>) -> Result<(), ClientError> {
    let wanted = range.end - range.start;
    match (done.affected_rows == wanted, warning) {
        (true, None) => Ok(()),
        (_, warning) => Err(failure(
            "load",
            format!(
                "{}: expected {wanted} rows taken as they are, found {} taken and {} warnings{}",
                table.name,
                done.affected_rows,
                done.warnings,
                warning.map(|text| format!(", the first: {text}")).unwrap_or_default()
            ),
        )),
    }
}

/// A name as MySQL quotes it.
pub fn quoted(name: &str) -> String {
    format!("`{}`", name.replace('`', "``"))
}

/// Names, quoted, with commas between them.
pub fn quoted_list(names: &[String]) -> String {
    names.iter().map(|name| quoted(name)).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_escapes_what_would_end_a_value_or_a_line() {
        let mut lines = Vec::new();
        let row =
            [Value::Null, Value::Int(-7), Value::Real(0.1), Value::Text("a\tb\n\\N".into()), Value::Blob(vec![0, 255])];
        put_line(&mut lines, &row);
        assert_eq!(lines, b"\\N\t-7\t1e-1\ta\\tb\\n\\\\N\t\\0\xff\n");
    }

    #[test]
    fn a_tuple_is_read_alike_in_every_sql_mode() {
        let mut sql = String::new();
        put_tuple(&mut sql, &[Value::Null, Value::Int(1), Value::Text("é'\\".into()), Value::Blob(vec![0, 255])]);
        assert_eq!(sql, "(NULL,1,_utf8mb4 X'C3A9275C',X'00FF')");
    }

    #[test]
    fn doubles_come_back_as_they_were() {
        for value in [0.1, -1e300, 5e-324, f64::MAX, 1.0 / 3.0, 0.0] {
            assert_eq!(digits(&Value::Real(value)).parse::<f64>().unwrap(), value);
        }
    }

    #[test]
    fn statements_hold_every_row_once_and_stay_short() {
        let plan = tdelta_core::data::Plan::from_json(
            r#"{"tables": [{"name": "t", "rows": 30000, "columns": [{"name": "id", "distribution": "serial"},
                {"name": "x", "distribution": "text", "min": 40, "max": 40}]}]}"#,
        )
        .unwrap();
        let (mut rows, mut all) = (0, 0);
        statements(&plan.tables[0], 1, 5..30_000, |sql| {
            assert!(sql.len() < 2 * STATEMENT_BYTES);
            rows += sql.matches('(').count() - 1;
            all += 1;
            Ok(())
        })
        .unwrap();
        assert_eq!(rows, 29_995);
        assert!(all > 1);
    }

    #[test]
    fn names_are_quoted() {
        assert_eq!(quoted_list(&["a".into(), "b`c".into()]), "`a`, `b``c`");
    }
}
