//! One connection: opened and logged in, its statements prepared, one exchange a statement.

use super::exchange::{closed, no_rows, parsed, Exchange};
use super::opening::open;
use super::preparing::{describe, prepare_program};
use super::statement::{Parse, Prepared};
use crate::failure::{failure, out_of_protocol};
use crate::options::Options;
use crate::session::{Kept, Rows, Session};
use bytes::BytesMut;
use fallible_iterator::FallibleIterator;
use postgres_protocol::message::backend::{self, Message};
use postgres_protocol::message::frontend;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;
use tdelta_core::breaker::Breaker;
use tdelta_core::client::{Client, ClientError};
use tdelta_core::data::{Table, TableChecksum};
use tdelta_core::script::{Program, Statement};
use tdelta_core::value::Value;

/// A connection to a PostgreSQL server.
pub struct Connection {
    options: Arc<Options>,
    pub(super) exchange: Exchange,
    /// Whether the server knows any of our statements by name.
    has_named: bool,
    /// By program and statement; none for `\connect`, which has no SQL.
    statements: Vec<Vec<Option<Prepared>>>,
    breaker: Breaker,
}

impl Connection {
    fn connected(options: Arc<Options>, breaker: Breaker) -> Result<Self, ClientError> {
        let mut wire = open(&options)?;
        wire.guard_by(&breaker);
        let exchange = Exchange { wire: Some(wire), in_transaction: false };
        let statements = Vec::new();
        let mut connection = Self { options: options.clone(), exchange, has_named: false, statements, breaker };
        options.setup.iter().try_for_each(|sql| connection.run(sql))?;
        Ok(connection)
    }

    /// Runs SQL as it is, without preparing it; everything arrives as text.
    pub(super) fn simple(&mut self, sql: &str, take: impl FnMut(u8, &[u8]) -> bool) -> Result<(), ClientError> {
        self.exchange.run(|out| frontend::query(sql, out), take, no_rows)
    }

    /// Runs a query in binary and gives each row with what describes it to `take`.
    fn fetch(&mut self, sql: &str, mut take: impl FnMut(&Prepared, &[u8]) -> bool) -> Result<(), ClientError> {
        let made = describe(&mut self.exchange, &[Parse::query(sql)]).map_err(|(_, error)| error)?;
        let Some(prepared) = made.first() else { return Err(out_of_protocol("no description of a query")) };
        let compose = |out: &mut BytesMut| {
            prepared.write(&[], out);
            Ok(())
        };
        self.exchange.run(compose, |tag, body| tag != backend::DATA_ROW_TAG || take(prepared, body), no_rows)
    }

    /// How long what follows may take.
    fn limit(&mut self, time: Option<Duration>) -> Result<(), ClientError> {
        self.exchange.wire.as_mut().map_or(Ok(()), |wire| wire.limit(time))
    }

    /// The result of [`Session::rows`].
    fn kept(&mut self, sql: &str) -> Result<Rows, ClientError> {
        let (mut names, mut rows) = (Vec::new(), Kept::default());
        let mut excess = None;
        let done = self.simple(sql, |tag, body| match parsed(tag, body) {
            Some(Message::RowDescription(body)) => {
                rows = Kept::default();
                body.fields().map(|field| Ok(field.name().to_owned())).collect().map(|found| names = found).is_ok()
            }
            Some(Message::DataRow(body)) => {
                let text = |range: Option<Range<usize>>| {
                    Ok(range.map(|range| String::from_utf8_lossy(&body.buffer()[range]).into_owned()))
                };
                let row: Result<Vec<_>, _> = body.ranges().map(text).collect();
                row.is_ok_and(|row| {
                    row.len() == names.len() && rows.push(row).map_err(|error| excess = Some(error)).is_ok()
                })
            }
            _ => true,
        });
        excess.map_or(done, Err)?;
        Ok((names, rows.into_rows()))
    }

    fn close(&mut self) {
        if let Some(mut wire) = self.exchange.wire.take() {
            frontend::terminate(&mut wire.out);
            // The server ends the session as well when the socket is closed; this way it does not log a complaint.
            let _ = wire.send();
        }
        self.statements.clear();
        self.has_named = false;
        self.exchange.in_transaction = false;
    }
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
        let all: Result<_, _> =
            programs.iter().enumerate().map(|(n, p)| prepare_program(&mut self.exchange, n, p)).collect();
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
        let wire = self.exchange.wire.as_mut().ok_or_else(closed)?;
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
        self.exchange.send(take, no_rows)?;
        match rows {
            0 if keeps => Err(failure("no_row", "\\gset expected one row and found none".into())),
            rows => Ok(rows),
        }
    }

    fn connect(&mut self, programs: &[Program]) -> Result<(), ClientError> {
        self.close();
        let mut anew = Self::connected(self.options.clone(), self.breaker.clone())?;
        anew.limit(None)?;
        anew.prepare(programs)?;
        *self = anew;
        Ok(())
    }

    fn abandon(&mut self) {
        if self.exchange.in_transaction && self.exchange.wire.is_some() {
            // A rollback fails only where the server has gone, which the next statement tells.
            let _ = self.run("ROLLBACK");
        }
    }

    fn is_remote(&self) -> bool {
        true
    }

    fn breaker(&self) -> Option<Breaker> {
        Some(self.breaker.clone())
    }

    fn take_counters(&mut self) -> BTreeMap<String, i64> {
        BTreeMap::new()
    }
}

impl Session for Connection {
    fn open(options: Arc<Options>) -> Result<Self, ClientError> {
        let mut connection = Self::connected(options.clone(), Breaker::default())?;
        connection.require_in_force(&options)?;
        connection.limit(None)?;
        Ok(connection)
    }

    fn run(&mut self, sql: &str) -> Result<(), ClientError> {
        self.simple(sql, |_, _| true)
    }

    fn rows(&mut self, sql: &str) -> Result<Rows, ClientError> {
        let limit = self.options.answer_timeout();
        if limit.is_some() {
            self.limit(limit)?;
        }
        let rows = self.kept(sql);
        if limit.is_some() {
            self.limit(None)?;
        }
        rows
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
