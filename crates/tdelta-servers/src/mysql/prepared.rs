//! A prepared statement: its parameters bound from the script's variables, its rows walked where they lie.

use super::column::{add_row, owned, walk, walk_text, Column};
use super::error::{error_of, UNPREPARABLE};
use super::reply::{definitions, end_of_definitions, expect_done, reply, row, Dialect, Done, Reply, Row};
use super::wire::Wire;
use crate::failure::{failure, out_of_protocol};
use crate::session::{Kept, Rows};
use mysql_common::constants::{ColumnType, Command};
use mysql_common::io::BufMutExt;
use std::hint::black_box;
use tdelta_core::client::ClientError;
use tdelta_core::data::TableChecksum;
use tdelta_core::script::{with_marks, Statement};
use tdelta_core::value::Value;

const NO_CURSOR: u8 = 0;
const ONE_ITERATION: [u8; 4] = [1, 0, 0, 0];

/// A statement that the server knows, or one that it takes as text only.
pub struct Prepared {
    /// None: it is sent as text, which only a statement without parameters can be.
    id: Option<u32>,
    sql: String,
    /// The variable of each mark, in the order of the marks.
    parameters: Vec<usize>,
    columns: Vec<Column>,
    /// Result column → variable, for `\gset`.
    into: Vec<(usize, usize)>,
    /// The parameters' types as last sent: the server keeps them.
    sent_types: Vec<u8>,
    types: Vec<u8>,
}

impl Prepared {
    /// Prepares a statement of a script.
    pub fn new(wire: &mut Wire, dialect: Dialect, statement: &Statement) -> Result<Self, ClientError> {
        let mut parameters = Vec::new();
        let sql = with_marks(&statement.sql, |number| {
            parameters.push(statement.parameters[number - 1]);
            "?".into()
        });
        let may_be_text = parameters.is_empty() && statement.into.is_none();
        let mut prepared = match Self::of_sql(wire, dialect, sql.clone()) {
            Err(error) if error.kind == UNPREPARABLE && may_be_text => Self::of_text(sql),
            prepared => prepared?,
        };
        let found = prepared.columns.iter().map(|column| column.name.as_str());
        statement.require_declared(found).map_err(|missing| failure("sql", missing))?;
        prepared.parameters = parameters;
        let named = |(at, column): (usize, &Column)| {
            let slot = statement.into.as_ref()?.get(&column.name)?;
            Some((at, *slot))
        };
        prepared.into = prepared.columns.iter().enumerate().filter_map(named).collect();
        Ok(prepared)
    }

    /// Prepares a statement without parameters.
    pub fn of_sql(wire: &mut Wire, dialect: Dialect, sql: String) -> Result<Self, ClientError> {
        wire.command(Command::COM_STMT_PREPARE as u8).extend_from_slice(sql.as_bytes());
        wire.send()?;
        let (id, columns) = prepare_reply(wire, dialect)?;
        Ok(Self { id: Some(id), columns, ..Self::of_text(sql) })
    }

    fn of_text(sql: String) -> Self {
        let (parameters, columns, into) = (Vec::new(), Vec::new(), Vec::new());
        Self { id: None, sql, parameters, columns, into, sent_types: Vec::new(), types: Vec::new() }
    }

    /// Runs it and looks at every column of every row. Returns the number of rows and what stood at the end.
    #[inline]
    pub fn drain(&mut self, wire: &mut Wire, dialect: Dialect, slots: &[Value]) -> Result<(u64, Done), ClientError> {
        self.send(wire, slots)?;
        let (mut rows, mut last) = self.drain_one(wire, dialect)?;
        while last.has_more() {
            let (more, end) = self.drain_one(wire, dialect)?;
            rows += more;
            last = end;
        }
        Ok((rows, last))
    }

    #[inline]
    fn drain_one(&mut self, wire: &mut Wire, dialect: Dialect) -> Result<(u64, Done), ClientError> {
        if let Some(done) = self.begin(wire, dialect)? {
            return Ok((0, done));
        }
        let mut rows = 0;
        loop {
            match row(wire, dialect)? {
                Row::Values(values) => {
                    rows += 1;
                    self.look_at(values)?;
                }
                Row::Last(done) => return Ok((rows, done)),
            }
        }
    }

    #[inline]
    fn look_at(&self, row: &[u8]) -> Result<(), ClientError> {
        match self.id {
            Some(_) => walk(&self.columns, row, |_, value| {
                black_box(value);
            }),
            None => walk_text(row, self.columns.len(), |value| {
                black_box(value);
            }),
        }
    }

    /// Runs it and puts the columns of its first row into the variables they are named after.
    pub fn fetch_into(&mut self, wire: &mut Wire, dialect: Dialect, slots: &mut [Value]) -> Result<Done, ClientError> {
        self.send(wire, slots)?;
        let mut first = None;
        let last = self.each_row(wire, dialect, |columns, values| {
            if first.is_none() {
                first = Some(owned(columns, values)?);
            }
            Ok(())
        })?;
        let Some(mut values) = first else {
            return Err(failure("no_row", "\\gset expected one row and found none".into()));
        };
        for (column, slot) in &self.into {
            let value = values.get_mut(*column).ok_or_else(|| out_of_protocol("fewer columns than it said"))?;
            slots[*slot] = std::mem::take(value);
        }
        Ok(last)
    }

    /// Runs it and adds every row to a checksum.
    pub fn sum_up(&mut self, wire: &mut Wire, dialect: Dialect, sum: &mut TableChecksum) -> Result<Done, ClientError> {
        self.send(wire, &[])?;
        self.each_row(wire, dialect, |columns, values| add_row(sum, columns, values))
    }

    fn each_row(
        &mut self,
        wire: &mut Wire,
        dialect: Dialect,
        mut each: impl FnMut(&[Column], &[u8]) -> Result<(), ClientError>,
    ) -> Result<Done, ClientError> {
        if let Some(done) = self.begin(wire, dialect)? {
            return Ok(done);
        }
        loop {
            match row(wire, dialect)? {
                Row::Values(values) => each(&self.columns, values)?,
                Row::Last(done) => return Ok(done),
            }
        }
    }

    /// Tells the server that it is not needed any more, which answers nothing to that.
    pub fn forget(self, wire: &mut Wire) -> Result<(), ClientError> {
        let Some(id) = self.id else { return Ok(()) };
        wire.command(Command::COM_STMT_CLOSE as u8).extend_from_slice(&id.to_le_bytes());
        wire.send()
    }

    /// Reads the beginning of an answer, with the columns if it has rows.
    #[inline]
    fn begin(&mut self, wire: &mut Wire, dialect: Dialect) -> Result<Option<Done>, ClientError> {
        match reply(wire, dialect)? {
            Reply::Done(done) => Ok(Some(done)),
            Reply::Rows { columns, has_definitions: true } => {
                definitions(wire, dialect, columns, &mut self.columns).map(|()| None)
            }
            Reply::Rows { columns, .. } if columns == self.columns.len() => {
                end_of_definitions(wire, dialect).map(|()| None)
            }
            Reply::Rows { .. } => Err(out_of_protocol("other columns than it said")),
            Reply::WantsData => Err(out_of_protocol("a request for a file")),
        }
    }

    #[inline]
    fn send(&mut self, wire: &mut Wire, slots: &[Value]) -> Result<(), ClientError> {
        let Some(id) = self.id else {
            wire.command(Command::COM_QUERY as u8).extend_from_slice(self.sql.as_bytes());
            return wire.send();
        };
        let out = wire.command(Command::COM_STMT_EXECUTE as u8);
        out.extend_from_slice(&id.to_le_bytes());
        out.push(NO_CURSOR);
        out.extend_from_slice(&ONE_ITERATION);
        if !self.parameters.is_empty() {
            self.bind(out, slots);
        }
        wire.send()
    }

    /// Appends the parameters: which are NULL, their types if they are not those sent last, their values.
    #[inline]
    fn bind(&mut self, out: &mut Vec<u8>, slots: &[Value]) {
        let nulls_at = out.len();
        out.resize(nulls_at + self.parameters.len().div_ceil(8), 0);
        self.types.clear();
        for (at, slot) in self.parameters.iter().enumerate() {
            let value = &slots[*slot];
            if matches!(value, Value::Null) {
                out[nulls_at + at / 8] |= 1 << (at % 8);
            }
            self.types.extend_from_slice(&[type_of(value) as u8, 0]);
        }
        let are_new = self.types != self.sent_types;
        out.push(are_new.into());
        if are_new {
            out.extend_from_slice(&self.types);
            self.sent_types.clone_from(&self.types);
        }
        self.parameters.iter().for_each(|slot| put(out, &slots[*slot]));
    }
}

fn type_of(value: &Value) -> ColumnType {
    match value {
        Value::Null => ColumnType::MYSQL_TYPE_NULL,
        Value::Int(_) => ColumnType::MYSQL_TYPE_LONGLONG,
        Value::Real(_) => ColumnType::MYSQL_TYPE_DOUBLE,
        Value::Text(_) => ColumnType::MYSQL_TYPE_VAR_STRING,
        Value::Blob(_) => ColumnType::MYSQL_TYPE_BLOB,
    }
}

#[inline]
fn put(out: &mut Vec<u8>, value: &Value) {
    match value {
        Value::Null => {}
        Value::Int(v) => out.extend_from_slice(&v.to_le_bytes()),
        Value::Real(v) => out.extend_from_slice(&v.to_le_bytes()),
        Value::Text(v) => out.put_lenenc_str(v.as_bytes()),
        Value::Blob(v) => out.put_lenenc_str(v),
    }
}

/// The number of a prepared statement and its columns.
fn prepare_reply(wire: &mut Wire, dialect: Dialect) -> Result<(u32, Vec<Column>), ClientError> {
    let packet = wire.packet()?;
    let (id, columns, parameters) = match packet {
        [0x00, i0, i1, i2, i3, c0, c1, p0, p1, ..] => {
            (u32::from_le_bytes([*i0, *i1, *i2, *i3]), u16::from_le_bytes([*c0, *c1]), u16::from_le_bytes([*p0, *p1]))
        }
        [0xff, ..] => return Err(error_of(packet)),
        _ => return Err(out_of_protocol("no prepared statement")),
    };
    if parameters > 0 {
        definitions(wire, dialect, parameters.into(), &mut Vec::new())?;
    }
    let mut described = Vec::new();
    if columns > 0 {
        definitions(wire, dialect, columns.into(), &mut described)?;
    }
    Ok((id, described))
}

/// Runs a statement as text and keeps its first result, or none.
pub fn text_query(wire: &mut Wire, dialect: Dialect, sql: &str, keeps: bool) -> Result<(Rows, Done), ClientError> {
    wire.command(Command::COM_QUERY as u8).extend_from_slice(sql.as_bytes());
    wire.send()?;
    let (rows, mut last) = text_result(wire, dialect, keeps)?;
    while last.has_more() {
        (_, last) = text_result(wire, dialect, false)?;
    }
    Ok((rows, last))
}

fn text_result(wire: &mut Wire, dialect: Dialect, keeps: bool) -> Result<(Rows, Done), ClientError> {
    let count = match reply(wire, dialect)? {
        Reply::Done(done) => return Ok(((Vec::new(), Vec::new()), done)),
        Reply::WantsData => {
            // No file was requested: an empty packet says that there is none.
            wire.answer();
            wire.send()?;
            return expect_done(wire, dialect).map(|done| ((Vec::new(), Vec::new()), done));
        }
        Reply::Rows { columns, .. } => columns,
    };
    let mut columns = Vec::new();
    definitions(wire, dialect, count, &mut columns)?;
    let mut rows = Kept::default();
    loop {
        match row(wire, dialect)? {
            Row::Values(_) if !keeps => {}
            Row::Values(values) => {
                let mut cells = Vec::with_capacity(count);
                walk_text(values, count, |cell| {
                    cells.push(cell.map(|text| String::from_utf8_lossy(text).into_owned()))
                })?;
                rows.push(cells)?;
            }
            Row::Last(done) => {
                return Ok(((columns.into_iter().map(|column| column.name).collect(), rows.into_rows()), done));
            }
        }
    }
}
