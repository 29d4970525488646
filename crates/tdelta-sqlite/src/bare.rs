//! The reference of tdelta's speed: the plainest Rust loop that does the same work on the same library. It draws its
//! parameter, runs one point select, fetches its columns and records the time in one histogram, and nothing more.

use crate::connection::{Connection, Options, WriteQueue};
use crate::statement::Prepared;
use hdrhistogram::Histogram;
use std::hint::black_box;
use std::sync::Arc;
use tdelta_core::client::ClientError;
use tdelta_core::draw::Rng;
use tdelta_core::latency::histogram;
use tdelta_core::process::monotonic_ns;
use tdelta_core::value::Value;

/// The bare loop with its connection.
pub struct PointSelects {
    statement: Prepared,
    times: Histogram<u32>,
    _connection: Connection,
}

impl PointSelects {
    /// Opens the file and prepares `sql`, which takes one parameter.
    ///
    /// # Errors
    /// An error of SQLite.
    pub fn open(options: &Options, sql: &str) -> Result<Self, ClientError> {
        let connection = Connection::open(Arc::new(options.clone()), WriteQueue::new())?;
        let statement = connection.prepare_one(sql)?;
        Ok(Self { statement, times: histogram(), _connection: connection })
    }

    /// Runs `operations` selects with a key uniform on 1…`rows`. Returns the elapsed ns.
    ///
    /// # Errors
    /// An error of SQLite.
    pub fn run(&mut self, seed: u64, rows: i64, operations: u64) -> Result<u64, ClientError> {
        let mut rng = Rng::new(seed, 0, 0);
        let began = monotonic_ns();
        for _ in 0..operations {
            let key = Value::Int(rng.between(1, rows));
            let start = monotonic_ns();
            self.statement.bind(1, &key)?;
            black_box(self.statement.drain()?);
            self.statement.reset();
            self.times.saturating_record(monotonic_ns() - start);
        }
        Ok(monotonic_ns() - began)
    }
}
