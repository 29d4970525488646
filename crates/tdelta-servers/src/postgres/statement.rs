//! A statement to be prepared, and a prepared one: its Bind, Execute and Sync, ready to be filled in, and how its rows are read.

use super::shape::{owned, Shape, BINARY, TEXT};
use crate::failure::failure;
use bytes::{BufMut, BytesMut};
use fallible_iterator::FallibleIterator;
use postgres_protocol::message::backend::{ParameterDescriptionBody, RowDescriptionBody};
use postgres_protocol::message::frontend;
use std::hint::black_box;
use std::io;
use tdelta_core::client::ClientError;
use tdelta_core::data::ValueRef;
use tdelta_core::script::{with_marks, Statement};
use tdelta_core::value::Value;

/// A statement to be prepared.
pub(super) struct Parse<'a> {
    /// Its name on the server; empty for one that is used once.
    pub(super) name: String,
    pub(super) sql: String,
    /// The variable of each parameter.
    pub(super) slots: Vec<usize>,
    /// Where it stands in a script, if it does.
    pub(super) statement: Option<&'a Statement>,
}

impl<'a> Parse<'a> {
    /// A query without parameters, to be run once.
    pub(super) fn query(sql: &str) -> Self {
        Self { name: String::new(), sql: sql.into(), slots: Vec::new(), statement: None }
    }

    /// A parameter for each variable.
    pub(super) fn shared(name: String, statement: &'a Statement) -> Self {
        let sql = with_marks(&statement.sql, |number| format!("${number}"));
        Self { name, sql, slots: statement.parameters.clone(), statement: Some(statement) }
    }

    /// A parameter for each place at which a variable stands.
    pub(super) fn apart(name: String, statement: &'a Statement) -> Self {
        let mut slots = Vec::new();
        let sql = with_marks(&statement.sql, |number| {
            slots.extend(statement.parameters.get(number.wrapping_sub(1)));
            format!("${}", slots.len())
        });
        Self { name, sql, slots, statement: Some(statement) }
    }
}

/// A statement that the server knows by a name.
pub(super) struct Prepared {
    parameters: Vec<Shape>,
    /// The variable of each parameter.
    slots: Vec<usize>,
    columns: Vec<Shape>,
    /// Result column → variable, for `\gset`.
    into: Vec<(usize, usize)>,
    /// A fault of the columns that `\raw` declares.
    missing: Option<String>,
    /// Bind, up to and with the number of parameters; their formats are filled in at each run.
    head: Vec<u8>,
    /// Bind's formats of results, then Execute and Sync.
    tail: Vec<u8>,
    /// How much of `tail` is Bind's.
    bind_tail_bytes: usize,
}

/// Where the parameters' formats begin, from the end of `head`: behind them stands only their number.
const COUNT_BYTES: usize = 2;
const LENGTH_BYTES: usize = 4;
const NULL_LENGTH: i32 = -1;

impl Prepared {
    /// From what the server says of the statement.
    pub(super) fn new(
        parse: &Parse<'_>,
        parameters: &ParameterDescriptionBody,
        row: Option<&RowDescriptionBody>,
    ) -> io::Result<Self> {
        let parameters: Vec<Shape> = parameters.parameters().map(|oid| Ok(Shape::of(oid))).collect()?;
        let fields: Vec<(String, Shape)> = match row {
            Some(body) => body.fields().map(|f| Ok((f.name().to_owned(), Shape::of(f.type_oid())))).collect()?,
            None => Vec::new(),
        };
        let found = fields.iter().map(|(name, _)| name.as_str());
        let missing = parse.statement.and_then(|statement| statement.require_declared(found).err());
        let names = parse.statement.and_then(|statement| statement.into.as_ref());
        let kept = |(column, (name, _)): (usize, &(String, Shape))| Some((column, *names?.get(name)?));
        let into = fields.iter().enumerate().filter_map(kept).collect();
        let columns: Vec<Shape> = fields.into_iter().map(|(_, shape)| shape).collect();
        let head = head(&parse.name, parameters.len());
        let bind_tail_bytes = COUNT_BYTES + 2 * result_formats(&columns).len();
        let tail = tail(&columns)?;
        Ok(Self { parameters, slots: parse.slots.clone(), columns, into, missing, head, tail, bind_tail_bytes })
    }

    /// Whether the server finds as many parameters as there are values for.
    pub(super) fn check(&self) -> Result<(), ClientError> {
        let (expected, found) = (self.slots.len(), self.parameters.len());
        if expected == found {
            return self.missing.clone().map_or(Ok(()), |missing| Err(failure("sql", missing)));
        }
        let why = format!("the script has {expected} parameters here, the server finds {found}: write :name, not $1");
        Err(failure("sql", why))
    }

    /// Appends all that one run takes.
    #[inline]
    pub(super) fn write(&self, variables: &[Value], out: &mut BytesMut) {
        let start = out.len();
        out.extend_from_slice(&self.head);
        let formats = out.len() - COUNT_BYTES - 2 * self.parameters.len();
        for (number, (shape, slot)) in self.parameters.iter().zip(&self.slots).enumerate() {
            let (at, value) = (out.len(), &variables[*slot]);
            out.put_i32(NULL_LENGTH);
            if *value == Value::Null {
                continue;
            }
            let format = shape.write(value, out);
            let length = (out.len() - at - LENGTH_BYTES) as i32;
            out[at..at + LENGTH_BYTES].copy_from_slice(&length.to_be_bytes());
            out[formats + 2 * number..][..2].copy_from_slice(&format.to_be_bytes());
        }
        let bind = out.len() - start - 1 + self.bind_tail_bytes;
        out[start + 1..start + 1 + LENGTH_BYTES].copy_from_slice(&(bind as u32).to_be_bytes());
        out.extend_from_slice(&self.tail);
    }

    /// Looks at every column of a row as an application would; false if the row is not what was described.
    #[inline]
    pub(super) fn walk(&self, row: &[u8]) -> bool {
        let mut cells = Cells::new(row);
        self.columns.iter().all(|shape| match cells.next() {
            Some(None) => true,
            Some(Some(bytes)) => black_box(shape.read(bytes)).is_some(),
            None => false,
        })
    }

    /// Puts the row's columns into the variables that `\gset` names.
    pub(super) fn keep(&self, row: &[u8], slots: &mut [Value]) -> bool {
        let mut cells = Cells::new(row);
        let mut kept = self.into.iter().peekable();
        for (column, shape) in self.columns.iter().enumerate() {
            let Some(cell) = cells.next() else { return false };
            while let Some((_, slot)) = kept.next_if(|(at, _)| *at == column) {
                slots[*slot] = match cell.map(|bytes| shape.compared(bytes)) {
                    None => Value::Null,
                    Some(Some(value)) => owned(value),
                    Some(None) => return false,
                };
            }
        }
        true
    }

    /// The row's values as they are compared between tables; none for one that cannot be read.
    pub(super) fn compared<'a>(&'a self, row: &'a [u8]) -> impl Iterator<Item = Option<ValueRef<'a>>> + 'a {
        let mut cells = Cells::new(row);
        self.columns.iter().map(move |shape| match cells.next()? {
            None => Some(ValueRef::Null),
            Some(bytes) => shape.compared(bytes),
        })
    }
}

/// The cells of a DataRow's body.
struct Cells<'a> {
    rest: &'a [u8],
}

impl<'a> Cells<'a> {
    #[inline]
    fn new(row: &'a [u8]) -> Self {
        Self { rest: row.get(COUNT_BYTES..).unwrap_or_default() }
    }

    /// The next cell, `Some(None)` for NULL; none behind the last.
    #[inline]
    fn next(&mut self) -> Option<Option<&'a [u8]>> {
        let (length, rest) = self.rest.split_first_chunk::<LENGTH_BYTES>()?;
        match usize::try_from(i32::from_be_bytes(*length)) {
            Err(_) => {
                self.rest = rest;
                Some(None)
            }
            Ok(length) => {
                let (cell, rest) = rest.split_at_checked(length)?;
                self.rest = rest;
                Some(Some(cell))
            }
        }
    }
}

/// The formats of results: one for all if they agree.
fn result_formats(columns: &[Shape]) -> Vec<i16> {
    let each: Vec<i16> = columns.iter().map(|shape| shape.format()).collect();
    match each.iter().all(|format| *format == BINARY) {
        true => vec![BINARY],
        false => each,
    }
}

fn head(name: &str, parameters: usize) -> Vec<u8> {
    let mut head = vec![b'B', 0, 0, 0, 0, 0];
    head.extend_from_slice(name.as_bytes());
    head.push(0);
    let count = (parameters as u16).to_be_bytes();
    head.extend_from_slice(&count);
    (0..parameters).for_each(|_| head.extend_from_slice(&TEXT.to_be_bytes()));
    head.extend_from_slice(&count);
    head
}

fn tail(columns: &[Shape]) -> io::Result<Vec<u8>> {
    let mut tail = BytesMut::new();
    let formats = result_formats(columns);
    tail.put_u16(formats.len() as u16);
    formats.iter().for_each(|format| tail.put_i16(*format));
    frontend::execute("", 0, &mut tail)?;
    frontend::sync(&mut tail);
    Ok(tail.to_vec())
}
