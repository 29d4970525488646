//! One client of a MySQL or PostgreSQL server under tdelta's load loop: tdelta's own, or the crate `mysql` or `postgres`.
//!
//!     rivals own|crate '{"protocol": …}' CONNECTIONS '[{"name": …, "weight": …, "text": …}]' '{"scale": …}'
//!
//! Connects, prepares, then answers each line of its standard input (a trial's orders, as JSON) with a line of JSON.

use serde::Deserialize;
use std::collections::BTreeMap;
use std::io::{stdin, stdout, BufRead, Write};
use std::sync::atomic::AtomicBool;
use std::sync::Arc;
use tdelta_core::client::{Client, ClientError};
use tdelta_core::load::{Loop, Mix, Trial};
use tdelta_core::script::{with_marks, Kind, Program, Statement};
use tdelta_core::value::Value;
use tdelta_servers::{mysql as own_mysql, postgres as own_postgres, Options, Protocol, Session};

/// As `tdelta-servers` has it.
const STACK_BYTES: usize = 256 << 10;

type Fault = Box<dyn std::error::Error>;

/// The part of the options that a crate's connection needs.
#[derive(Clone, Deserialize)]
struct Place {
    protocol: Protocol,
    socket: Option<String>,
    host: Option<String>,
    port: Option<u16>,
    user: String,
    database: Option<String>,
}

fn refused(error: impl std::fmt::Display) -> ClientError {
    ClientError { kind: "sql".into(), message: error.to_string(), retryable: false }
}

/// Statements prepared, by program and statement.
type Prepared<S> = Vec<Vec<S>>;

fn prepared<S>(
    programs: &[Program],
    mut prepare: impl FnMut(&Statement) -> Result<S, ClientError>,
) -> Result<Prepared<S>, ClientError> {
    programs.iter().map(|program| program.statements.iter().map(&mut prepare).collect()).collect()
}

/// The crate `mysql`.
struct MysqlCrate {
    connection: mysql::Conn,
    statements: Prepared<Option<mysql::Statement>>,
}

impl MysqlCrate {
    fn open(place: &Place) -> Result<Self, ClientError> {
        let options = mysql::OptsBuilder::new()
            .socket(place.socket.clone())
            .user(Some(place.user.clone()))
            .db_name(place.database.clone())
            .prefer_socket(true);
        Ok(Self { connection: mysql::Conn::new(options).map_err(refused)?, statements: Vec::new() })
    }
}

fn mysql_value(value: &Value) -> mysql::Value {
    match value {
        Value::Null => mysql::Value::NULL,
        Value::Int(number) => mysql::Value::Int(*number),
        Value::Real(number) => mysql::Value::Double(*number),
        Value::Text(text) => mysql::Value::Bytes(text.clone().into_bytes()),
        Value::Blob(bytes) => mysql::Value::Bytes(bytes.clone()),
    }
}

impl Client for MysqlCrate {
    fn prepare(&mut self, programs: &[Program]) -> Result<(), ClientError> {
        let connection = &mut self.connection;
        self.statements = prepared(programs, |statement| match statement.kind {
            Kind::Query | Kind::Write => {
                use mysql::prelude::Queryable;
                connection.prep(with_marks(&statement.sql, |_| "?".into())).map(Some).map_err(refused)
            }
            _ => Ok(None),
        })?;
        Ok(())
    }

    fn execute(
        &mut self,
        at: (usize, usize),
        statement: &Statement,
        _write: bool,
        slots: &mut [Value],
    ) -> Result<u64, ClientError> {
        use mysql::prelude::Queryable;
        let Some(handle) = &self.statements[at.0][at.1] else {
            return self.connection.query_drop(&statement.sql).map(|()| 0).map_err(refused);
        };
        let values: Vec<_> = statement.parameters.iter().map(|slot| mysql_value(&slots[*slot])).collect();
        let mut rows = 0;
        for row in self.connection.exec_iter(handle, values).map_err(refused)? {
            std::hint::black_box(row.map_err(refused)?.unwrap());
            rows += 1;
        }
        Ok(rows)
    }

    fn connect(&mut self, _programs: &[Program]) -> Result<(), ClientError> {
        Err(refused("not of this bench"))
    }

    fn abandon(&mut self) {}

    fn take_counters(&mut self) -> BTreeMap<String, i64> {
        BTreeMap::new()
    }
}

/// The crate `postgres`.
struct PostgresCrate {
    connection: postgres::Client,
    statements: Prepared<Option<postgres::Statement>>,
}

impl PostgresCrate {
    fn open(place: &Place) -> Result<Self, ClientError> {
        let mut options = postgres::Config::new();
        options.user(&place.user);
        if let Some(host) = place.socket.as_deref().or(place.host.as_deref()) {
            // A socket's path is the folder's and the port's.
            options.host(host.rsplit_once("/.s.PGSQL.").map_or(host, |(folder, _)| folder));
        }
        if let Some(port) = place.port {
            options.port(port);
        }
        if let Some(database) = &place.database {
            options.dbname(database);
        }
        Ok(Self { connection: options.connect(postgres::NoTls).map_err(refused)?, statements: Vec::new() })
    }
}

/// A value bound as the server's parameter type wants it, as the native client does.
fn postgres_value(value: &Value, wanted: &postgres::types::Type) -> Box<dyn postgres::types::ToSql + Sync + Send> {
    use postgres::types::Type;
    match value {
        Value::Null => Box::new(None::<i64>),
        Value::Int(number) if *wanted == Type::INT4 => Box::new(*number as i32),
        Value::Int(number) if *wanted == Type::INT2 => Box::new(*number as i16),
        Value::Int(number) => Box::new(*number),
        Value::Real(number) => Box::new(*number),
        Value::Text(text) => Box::new(text.clone()),
        Value::Blob(bytes) => Box::new(bytes.clone()),
    }
}

impl Client for PostgresCrate {
    fn prepare(&mut self, programs: &[Program]) -> Result<(), ClientError> {
        let connection = &mut self.connection;
        self.statements = prepared(programs, |statement| match statement.kind {
            Kind::Query | Kind::Write => {
                connection.prepare(&with_marks(&statement.sql, |n| format!("${n}"))).map(Some).map_err(refused)
            }
            _ => Ok(None),
        })?;
        Ok(())
    }

    fn execute(
        &mut self,
        at: (usize, usize),
        statement: &Statement,
        _write: bool,
        slots: &mut [Value],
    ) -> Result<u64, ClientError> {
        use postgres::fallible_iterator::FallibleIterator;
        let Some(handle) = &self.statements[at.0][at.1] else {
            return self.connection.batch_execute(&statement.sql).map(|()| 0).map_err(refused);
        };
        let wanted = handle.params();
        let values: Vec<_> =
            statement.parameters.iter().zip(wanted).map(|(slot, of)| postgres_value(&slots[*slot], of)).collect();
        let borrowed = values.iter().map(|value| value.as_ref() as &(dyn postgres::types::ToSql + Sync));
        let mut answered = self.connection.query_raw(handle, borrowed).map_err(refused)?;
        let mut rows = 0;
        while let Some(row) = answered.next().map_err(refused)? {
            std::hint::black_box(row);
            rows += 1;
        }
        Ok(rows)
    }

    fn connect(&mut self, _programs: &[Program]) -> Result<(), ClientError> {
        Err(refused("not of this bench"))
    }

    fn abandon(&mut self) {}

    fn take_counters(&mut self) -> BTreeMap<String, i64> {
        BTreeMap::new()
    }
}

/// Opens the connections, prepares, and answers orders until there are no more.
fn serve<C: Client>(
    connections: usize,
    open: impl Fn() -> Result<C, ClientError>,
    mix: Mix,
) -> Result<(), Fault> {
    let opened = (0..connections).map(|_| {
        let mut client = open()?;
        client.prepare(&mix.programs)?;
        Ok(client)
    });
    let opened: Result<Vec<C>, ClientError> = opened.collect();
    let mut all = Loop::new(opened.map_err(|error| error.message)?).with_stacks(STACK_BYTES);
    all.keep(mix);
    println!("{{\"connections\": {connections}}}");
    for line in stdin().lock().lines() {
        let trial: Trial = serde_json::from_str(&line?)?;
        let outcome = all.run(&trial, &AtomicBool::new(false)).map_err(|error| error.message)?;
        let mut out = stdout().lock();
        serde_json::to_writer(&mut out, &outcome)?;
        writeln!(out)?;
        out.flush()?;
    }
    Ok(())
}

fn main() -> Result<(), Fault> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [which, options, connections, transactions, constants] = &arguments[..] else {
        return Err("expected: own|crate OPTIONS CONNECTIONS TRANSACTIONS CONSTANTS".into());
    };
    let connections = connections.parse()?;
    let transactions: Vec<tdelta_core::load::Transaction> = serde_json::from_str(transactions)?;
    let mix = Mix::new(&transactions, &serde_json::from_str(constants)?)?;
    let place: Place = serde_json::from_str(options)?;
    let own: Arc<Options> = Arc::new(serde_json::from_str(options)?);
    match (which.as_str(), place.protocol) {
        ("own", Protocol::Mysql) => serve(connections, || own_mysql::Connection::open(own.clone()), mix),
        ("own", Protocol::Postgres) => serve(connections, || own_postgres::Connection::open(own.clone()), mix),
        (_, Protocol::Mysql) => serve(connections, || MysqlCrate::open(&place), mix),
        (_, Protocol::Postgres) => serve(connections, || PostgresCrate::open(&place), mix),
    }
}
