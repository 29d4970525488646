//! One connection to a MySQL-family server.

use super::bulk::{check, quoted, quoted_list, statements, stream};
use super::error::NO_LOCAL_INFILE;
use super::handshake;
use super::prepared::{text_query, Prepared};
use super::reply::{Dialect, Done};
use super::wire::Wire;
use crate::failure::failure;
use crate::options::Options;
use crate::session::{Rows, Session};
use mysql_common::constants::Command;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;
use tdelta_core::breaker::Breaker;
use tdelta_core::client::{Client, ClientError};
use tdelta_core::data::{Table, TableChecksum};
use tdelta_core::script::{Kind, Program, Statement};
use tdelta_core::value::Value;

/// One open connection.
pub struct Connection {
    options: Arc<Options>,
    link: Link,
    /// By program and statement; none for `\connect`, which has no SQL.
    statements: Vec<Vec<Option<Prepared>>>,
    breaker: Breaker,
}

/// The way to the server.
#[derive(Default)]
struct Link {
    /// None once it broke, or a `\connect` failed.
    wire: Option<Wire>,
    dialect: Dialect,
    is_in_transaction: bool,
}

impl Link {
    fn open(options: &Options, breaker: &Breaker) -> Result<Self, ClientError> {
        let (mut wire, dialect) = handshake::connect(options)?;
        wire.stream().guard_by(breaker);
        Ok(Self { wire: Some(wire), dialect, is_in_transaction: false })
    }

    /// How long what follows may take.
    fn limit(&mut self, time: Option<Duration>) -> Result<(), ClientError> {
        self.wire.as_mut().map_or(Ok(()), |wire| wire.stream().limit(time))
    }

    /// Does something over the wire, which is given up if it broke or lost step.
    #[inline]
    fn over<T>(&mut self, act: impl FnOnce(&mut Wire, Dialect) -> Result<T, ClientError>) -> Result<T, ClientError> {
        let Some(wire) = &mut self.wire else {
            let why = "the connection is closed: it broke, or a \\connect before this statement failed";
            return Err(failure("connection", why.into()));
        };
        act(wire, self.dialect).inspect_err(|error| {
            if matches!(error.kind.as_str(), "connection" | "protocol") {
                self.wire = None;
            }
        })
    }

    /// The same with a statement that is run to its end.
    #[inline]
    fn run<T>(
        &mut self,
        act: impl FnOnce(&mut Wire, Dialect) -> Result<(T, Done), ClientError>,
    ) -> Result<T, ClientError> {
        let (result, done) = self.over(act)?;
        self.is_in_transaction = done.in_transaction();
        Ok(result)
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        if let Some(wire) = &mut self.wire {
            wire.command(Command::COM_QUIT as u8);
            let _ = wire.send();
        }
    }
}

impl Connection {
    fn reopen(&mut self) -> Result<(), ClientError> {
        self.link = Link::open(&self.options, &self.breaker)?;
        let options = self.options.clone();
        options.setup.iter().try_for_each(|sql| self.run(sql))
    }

    fn slot(&mut self, program: &Program, statement: &Statement) -> Result<Option<Prepared>, ClientError> {
        if statement.kind == Kind::Connect {
            return Ok(None);
        }
        self.link.over(|wire, dialect| Prepared::new(wire, dialect, statement)).map(Some).map_err(|mut error| {
            error.message = format!("{}, line {}: {}", program.name, statement.line, error.message);
            error
        })
    }

    /// The first of the server's warnings about the last statement.
    fn warning(&mut self, done: &Done) -> Result<Option<String>, ClientError> {
        if done.warnings == 0 {
            return Ok(None);
        }
        let (_, rows) = self.rows("SHOW WARNINGS")?;
        Ok(rows.into_iter().next().and_then(|row| row.into_iter().nth(2).flatten()))
    }
}

impl Session for Connection {
    fn open(options: Arc<Options>) -> Result<Self, ClientError> {
        let breaker = Breaker::default();
        let mut connection = Self { options: options.clone(), link: Link::default(), statements: Vec::new(), breaker };
        connection.reopen()?;
        connection.require_in_force(&options)?;
        connection.link.limit(None)?;
        Ok(connection)
    }

    fn run(&mut self, sql: &str) -> Result<(), ClientError> {
        self.link.run(|wire, dialect| text_query(wire, dialect, sql, false)).map(drop)
    }

    fn rows(&mut self, sql: &str) -> Result<Rows, ClientError> {
        let limit = self.options.answer_timeout();
        if limit.is_some() {
            self.link.limit(limit)?;
        }
        let rows = self.link.run(|wire, dialect| text_query(wire, dialect, sql, true));
        if limit.is_some() {
            self.link.limit(None)?;
        }
        rows
    }

    fn load(&mut self, table: &Table, seed: u64, range: Range<u64>) -> Result<(), ClientError> {
        // Keys of other tables need not be there yet. Without unique checks MariaDB fills an empty table in bulk, and
        // locks it: where others fill it, too, that would only be waiting for each other.
        let is_alone = range == (0..table.rows);
        self.run(&format!("SET SESSION foreign_key_checks=0, unique_checks={}", i32::from(!is_alone)))?;
        let streamed =
            self.link.run(|wire, dialect| stream(wire, dialect, table, seed, range.clone()).map(|done| (done, done)));
        match streamed {
            Ok(done) => {
                let warning = self.warning(&done)?;
                check(table, &range, &done, warning)
            }
            Err(error) if error.kind == NO_LOCAL_INFILE => {
                self.run("BEGIN")?;
                statements(table, seed, range, |sql| self.run(sql))?;
                self.run("COMMIT")
            }
            Err(error) => Err(error),
        }
    }

    fn checksum(&mut self, table: &str, columns: &[String]) -> Result<TableChecksum, ClientError> {
        let sql = format!("SELECT {} FROM {}", quoted_list(columns), quoted(table));
        let mut sum = TableChecksum::default();
        self.link.run(|wire, dialect| {
            let mut all = Prepared::of_sql(wire, dialect, sql)?;
            let done = all.sum_up(wire, dialect, &mut sum)?;
            all.forget(wire)?;
            Ok(((), done))
        })?;
        Ok(sum)
    }
}

impl Client for Connection {
    fn prepare(&mut self, programs: &[Program]) -> Result<(), ClientError> {
        // Those of an earlier mix are let go of: the server has room for so many.
        for prepared in std::mem::take(&mut self.statements).into_iter().flatten().flatten() {
            self.link.over(|wire, _| prepared.forget(wire))?;
        }
        let mut all = Vec::with_capacity(programs.len());
        for program in programs {
            let slots: Result<Vec<_>, _> = program.statements.iter().map(|s| self.slot(program, s)).collect();
            all.push(slots?);
        }
        self.statements = all;
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
        let Some(Some(prepared)) = self.statements.get_mut(at.0).and_then(|program| program.get_mut(at.1)) else {
            return Err(failure(
                "connection",
                "the connection is closed: a \\connect before this statement failed".into(),
            ));
        };
        match statement.into {
            None => self.link.run(|wire, dialect| prepared.drain(wire, dialect, slots)),
            Some(_) => self.link.run(|wire, dialect| prepared.fetch_into(wire, dialect, slots).map(|done| (1, done))),
        }
    }

    fn connect(&mut self, programs: &[Program]) -> Result<(), ClientError> {
        self.statements.clear();
        self.link = Link::default(); // closes the old one, as an application does before it opens the next
        self.reopen()?;
        self.link.limit(None)?;
        self.prepare(programs)
    }

    fn abandon(&mut self) {
        if self.link.is_in_transaction {
            let _ = self.run("ROLLBACK");
        }
    }

    fn is_remote(&self) -> bool {
        true
    }

    fn breaker(&self) -> Option<Breaker> {
        Some(self.breaker.clone())
    }

    /// The engine's counters are read beside the load.
    fn take_counters(&mut self) -> BTreeMap<String, i64> {
        BTreeMap::new()
    }
}
