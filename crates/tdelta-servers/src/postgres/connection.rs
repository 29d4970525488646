//! One connection: opened and logged in, its statements prepared, one exchange a statement.

use super::fault::{lost, refused_by};
use super::opening::open;
use super::preparing::Wanted;
use super::statement::Prepared;
use super::wire::Wire;
use crate::failure::{failure, out_of_protocol};
use crate::options::Options;
use crate::session::{Rows, Session};
use bytes::BytesMut;
use fallible_iterator::FallibleIterator;
use postgres_protocol::message::backend::{self, Message};
use postgres_protocol::message::frontend;
use std::collections::BTreeMap;
use std::io;
use std::ops::Range;
use std::sync::Arc;
use tdelta_core::client::{Client, ClientError};
use tdelta_core::data::{Table, TableChecksum};
use tdelta_core::script::{Program, Statement};
use tdelta_core::value::Value;

/// ReadyForQuery's word for a connection outside of any transaction.
const IDLE: u8 = b'I';

/// A connection to a PostgreSQL server.
pub struct Connection {
    options: Arc<Options>,
    /// None once the server has gone, or a `\connect` has failed.
    wire: Option<Wire>,
    in_transaction: bool,
    /// Whether the server knows any of our statements by name.
    has_named: bool,
    /// By program and statement; none for `\connect`, which has no SQL.
    statements: Vec<Vec<Option<Prepared>>>,
}

impl Connection {
    fn connected(options: Arc<Options>) -> Result<Self, ClientError> {
        let wire = Some(open(&options)?);
        let mut connection =
            Self { options: options.clone(), wire, in_transaction: false, has_named: false, statements: Vec::new() };
        options.setup.iter().try_for_each(|sql| connection.run(sql))?;
        Ok(connection)
    }

    /// Sends what `compose` writes and reads the answers up to ReadyForQuery; rows and descriptions go to `take`, which says
    /// false of what it cannot read. Where the server wants rows (COPY), `feed` sends them.
    pub(super) fn exchange(
        &mut self,
        compose: impl FnOnce(&mut BytesMut) -> io::Result<()>,
        take: impl FnMut(u8, &[u8]) -> bool,
        feed: impl FnMut(&mut Wire) -> io::Result<()>,
    ) -> Result<(), ClientError> {
        let wire = self.wire.as_mut().ok_or_else(closed)?;
        let composed = compose(&mut wire.out);
        if let Err(error) = composed {
            wire.out.clear();
            return Err(failure("sql", error.to_string()));
        }
        let answer = talk(wire, take, feed);
        self.conclude(answer)
    }

    /// Notes what an exchange ended with; its error, if any.
    #[inline]
    fn conclude(&mut self, answer: Result<Ready, ClientError>) -> Result<(), ClientError> {
        match answer {
            Ok(Ready { in_transaction, fault }) => {
                self.in_transaction = in_transaction;
                fault.map_or(Ok(()), Err)
            }
            Err(error) => {
                self.wire = None;
                self.in_transaction = false;
                Err(error)
            }
        }
    }

    /// Runs SQL as it is, without preparing it; everything arrives as text.
    pub(super) fn simple(&mut self, sql: &str, take: impl FnMut(u8, &[u8]) -> bool) -> Result<(), ClientError> {
        self.exchange(|out| frontend::query(sql, out), take, no_rows)
    }

    /// Runs a query in binary and gives each row with what describes it to `take`.
    fn fetch(&mut self, sql: &str, mut take: impl FnMut(&Prepared, &[u8]) -> bool) -> Result<(), ClientError> {
        let made = self.describe(&[Wanted::query(sql)]).map_err(|(_, error)| error)?;
        let Some(prepared) = made.first() else { return Err(out_of_protocol("no description of a query")) };
        let compose = |out: &mut BytesMut| {
            prepared.write(&[], out);
            Ok(())
        };
        self.exchange(compose, |tag, body| tag != backend::DATA_ROW_TAG || take(prepared, body), no_rows)
    }

    fn close(&mut self) {
        if let Some(mut wire) = self.wire.take() {
            frontend::terminate(&mut wire.out);
            // The server ends the session as well when the socket is closed; this way it does not log a complaint.
            let _ = wire.send();
        }
        self.statements.clear();
        self.has_named = false;
        self.in_transaction = false;
    }
}

/// The server awaits the next statement.
struct Ready {
    in_transaction: bool,
    /// What it said against the last one.
    fault: Option<ClientError>,
}

/// One exchange, as [`Connection::exchange`] says; `Err` if the connection is of no more use.
#[inline]
fn talk(
    wire: &mut Wire,
    mut take: impl FnMut(u8, &[u8]) -> bool,
    mut feed: impl FnMut(&mut Wire) -> io::Result<()>,
) -> Result<Ready, ClientError> {
    let mut fault: Option<ClientError> = None;
    wire.send().or_else(unless_gone)?;
    loop {
        let (tag, body) = match wire.next() {
            Ok(message) => message,
            Err(error) => return Err(fault.unwrap_or_else(|| lost(&error))),
        };
        match tag {
            backend::DATA_ROW_TAG
            | backend::ROW_DESCRIPTION_TAG
            | backend::PARAMETER_DESCRIPTION_TAG
            | backend::NO_DATA_TAG
                if !take(tag, body) =>
            {
                fault.get_or_insert_with(|| out_of_protocol("a row or description that cannot be read"));
            }
            backend::READY_FOR_QUERY_TAG => {
                return Ok(Ready { in_transaction: body.first() != Some(&IDLE), fault });
            }
            backend::ERROR_RESPONSE_TAG => {
                fault.get_or_insert_with(|| refused_by(body));
            }
            backend::COPY_IN_RESPONSE_TAG => feed(wire).or_else(unless_gone)?,
            // BindComplete, CommandComplete and what else says only that things go well; notices; COPY … TO STDOUT.
            _ => {}
        }
    }
}

/// A server that ends a session says why before it closes: what cannot be written to it any more can still be read.
fn unless_gone(error: io::Error) -> Result<(), ClientError> {
    match error.kind() {
        io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset => Ok(()),
        io::ErrorKind::Unsupported => Err(failure("sql", error.to_string())),
        _ => Err(lost(&error)),
    }
}

/// A statement of a script has no rows to send.
pub(super) fn no_rows(_: &mut Wire) -> io::Result<()> {
    Err(io::Error::new(io::ErrorKind::Unsupported, "COPY … FROM STDIN cannot be a statement of a script"))
}

pub(super) fn parsed(tag: u8, body: &[u8]) -> Option<Message> {
    let mut whole = BytesMut::with_capacity(body.len() + 5);
    whole.extend_from_slice(&[tag]);
    whole.extend_from_slice(&(body.len() as u32 + 4).to_be_bytes());
    whole.extend_from_slice(body);
    Message::parse(&mut whole).ok().flatten()
}

fn closed() -> ClientError {
    failure("connection", "the connection is closed: the server ended it, or a \\connect failed".into())
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.close();
    }
}

impl Client for Connection {
    fn prepare(&mut self, programs: &[Program]) -> Result<(), ClientError> {
        self.statements.clear();
        if std::mem::take(&mut self.has_named) {
            self.run("DEALLOCATE ALL")?;
        }
        self.has_named = true;
        let all: Result<_, _> = programs.iter().enumerate().map(|(n, p)| self.prepare_program(n, p)).collect();
        self.statements = all?;
        Ok(())
    }

    #[inline]
    fn execute(
        &mut self,
        at: (usize, usize),
        statement: &Statement,
        _write: bool,
        slots: &mut [Value],
    ) -> Result<u64, ClientError> {
        let Some(Some(prepared)) = self.statements.get(at.0).and_then(|program| program.get(at.1)) else {
            return Err(closed());
        };
        let wire = self.wire.as_mut().ok_or_else(closed)?;
        prepared.write(slots, &mut wire.out);
        let mut rows = 0;
        let keeps = statement.into.is_some();
        let take = |tag: u8, body: &[u8]| {
            if tag != backend::DATA_ROW_TAG {
                return true;
            }
            rows += 1;
            prepared.walk(body) && (!keeps || rows > 1 || prepared.keep(body, slots))
        };
        let answer = talk(wire, take, no_rows);
        self.conclude(answer)?;
        match rows {
            0 if keeps => Err(failure("no_row", "\\gset expected one row and found none".into())),
            rows => Ok(rows),
        }
    }

    fn connect(&mut self, programs: &[Program]) -> Result<(), ClientError> {
        self.close();
        let mut anew = Self::connected(self.options.clone())?;
        anew.prepare(programs)?;
        *self = anew;
        Ok(())
    }

    fn abandon(&mut self) {
        if self.in_transaction && self.wire.is_some() {
            // A rollback fails only where the server has gone, which the next statement tells.
            let _ = self.run("ROLLBACK");
        }
    }

    fn take_counters(&mut self) -> BTreeMap<String, i64> {
        BTreeMap::new()
    }
}

impl Session for Connection {
    fn open(options: Arc<Options>) -> Result<Self, ClientError> {
        Self::connected(options)
    }

    fn run(&mut self, sql: &str) -> Result<(), ClientError> {
        self.simple(sql, |_, _| true)
    }

    fn rows(&mut self, sql: &str) -> Result<Rows, ClientError> {
        let (mut names, mut rows) = (Vec::new(), Vec::new());
        self.simple(sql, |tag, body| match parsed(tag, body) {
            Some(Message::RowDescription(body)) => {
                rows.clear();
                body.fields().map(|field| Ok(field.name().to_owned())).collect().map(|found| names = found).is_ok()
            }
            Some(Message::DataRow(body)) => {
                let text = |range: Option<Range<usize>>| {
                    Ok(range.map(|range| String::from_utf8_lossy(&body.buffer()[range]).into_owned()))
                };
                body.ranges().map(text).collect().map(|row: Vec<_>| rows.push(row)).is_ok()
            }
            _ => true,
        })?;
        Ok((names, rows))
    }

    const CUTS_TABLES: bool = false;

    fn load(&mut self, table: &Table, seed: u64, range: Range<u64>) -> Result<(), ClientError> {
        self.copy(table, seed, range)
    }

    fn checksum(&mut self, table: &str, columns: &[String]) -> Result<TableChecksum, ClientError> {
        let named = self.names(table, columns)?;
        let mut sum = TableChecksum::default();
        let mut readable = true;
        self.fetch(&format!("SELECT {} FROM {}", named.columns, named.table), |prepared, row| {
            sum.add_row(prepared.compared(row).map(|value| {
                readable &= value.is_some();
                value.unwrap_or(tdelta_core::data::ValueRef::Null)
            }));
            readable
        })?;
        Ok(sum)
    }
}
