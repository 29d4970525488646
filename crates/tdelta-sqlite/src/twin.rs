//! A twin: one database file with its connections, and what is done to it outside of trials.

use crate::connection::{Connection, Options, ThreadMeter, WriteQueue};
use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;
use std::sync::Arc;
use tdelta_core::client::{Client, ClientError};
use tdelta_core::data::{Chunk, Plan, Table, TableChecksum};
use tdelta_core::load::{Loop, Mix, Prepared, Trial};
use tdelta_core::process::monotonic_ns;
use tdelta_core::twin::{trial_within, Measured, Metered, Tables};

/// An open twin.
pub struct Twin {
    path: String,
    connections: Loop<Connection>,
}

impl Twin {
    /// Opens `connections` connections to one file.
    ///
    /// # Errors
    /// An error of SQLite.
    pub fn open(options: &Options, connections: usize) -> Result<Self, ClientError> {
        let (queue, shared) = (WriteQueue::new(), Arc::new(options.clone()));
        let opened: Result<Vec<_>, _> =
            (0..connections.max(1)).map(|_| Connection::open(shared.clone(), queue.clone())).collect();
        Ok(Self { path: options.path.clone(), connections: Loop::new(opened?) })
    }

    fn first(&mut self) -> &mut Connection {
        self.connections.first()
    }

    /// Runs one statement with the key in place of `:key`.
    ///
    /// # Errors
    /// An error of SQLite without its text, which might quote the key.
    pub fn keyed(&mut self, sql: &str, key: &str) -> Result<(), ClientError> {
        self.first().run_keyed(sql, key)
    }

    /// Sets how many bytes the pages of `schema` keep back, from its next rebuild on.
    ///
    /// # Errors
    /// An error of SQLite.
    pub fn reserve(&mut self, schema: &str, bytes: u8) -> Result<(), ClientError> {
        self.first().reserve(schema, bytes)
    }

    /// Moves the write-ahead log into the database file. Returns ns; 0 where a `\connect` has failed, which the trial tells.
    fn checkpoint(connection: &mut Connection) -> Result<u64, ClientError> {
        if !connection.is_open() {
            return Ok(0);
        }
        let start = monotonic_ns();
        connection.run("PRAGMA wal_checkpoint(TRUNCATE)")?;
        Ok(monotonic_ns() - start)
    }
}

/// The sizes of the files of a database now.
fn file_sizes(path: &str) -> BTreeMap<String, u64> {
    let size = |suffix: &str| std::fs::metadata(format!("{path}{suffix}")).map_or(0, |m| m.len());
    [("database", ""), ("wal", "-wal"), ("journal", "-journal")]
        .map(|(name, suffix)| (name.to_owned(), size(suffix)))
        .into()
}

impl tdelta_core::twin::Twin for Twin {
    fn text(&mut self, sql: &str) -> Result<String, ClientError> {
        self.first().text(sql)
    }

    /// In one order and one transaction.
    fn load(
        &mut self,
        plan: &Plan,
        seed: u64,
        threads: usize,
        tables: &[String],
        indexes: &[String],
    ) -> Result<(), ClientError> {
        let db = self.first();
        db.run("BEGIN EXCLUSIVE")?;
        tables.iter().try_for_each(|sql| db.run(sql))?;
        for table in &plan.tables {
            let insert = db.prepare_one(&insert_into(table))?;
            table.generate(seed, threads, |chunk: &Chunk| {
                for row in chunk.rows() {
                    row.iter().enumerate().try_for_each(|(column, value)| insert.bind(column + 1, value))?;
                    insert.step()?;
                    insert.reset();
                }
                Ok::<(), ClientError>(())
            })?;
        }
        indexes.iter().try_for_each(|sql| db.run(sql))?;
        db.run("COMMIT")?;
        db.run("ANALYZE")
    }

    fn checksums(&mut self, tables: &Tables) -> Result<BTreeMap<String, TableChecksum>, ClientError> {
        let mut sums = BTreeMap::new();
        for (table, columns) in tables {
            let mut sum = TableChecksum::default();
            let sql = format!("SELECT {} FROM {}", quoted_list(columns), quoted(table));
            self.first().query(&sql, |row| {
                sum.add_row((0..row.columns()).map(|column| row.column(column)));
                Ok(())
            })?;
            sums.insert(table.clone(), sum);
        }
        Ok(sums)
    }

    fn prepare(&mut self, mix: Mix) -> Result<(), ClientError> {
        self.connections.clients().try_for_each(|c| c.prepare(&mix.programs))?;
        self.connections.keep(mix);
        Ok(())
    }

    fn trial(&mut self, trial: &Trial, settle: bool, stop: &AtomicBool) -> Result<Measured, ClientError> {
        let files = || Ok(file_sizes(&self.path));
        let settled = |connections: &mut Loop<_>| if settle { Self::checkpoint(connections.first()) } else { Ok(0) };
        trial_within(&mut self.connections, (trial, stop), files, settled)
    }

    fn trace(&mut self, trial: &Trial, stop: &AtomicBool) -> Result<Metered, ClientError> {
        let found = self.connections.trace(ThreadMeter, trial, stop)?;
        Self::checkpoint(self.first()).map(|_| found)
    }

    fn recorded(&self) -> Option<&Prepared> {
        self.connections.recorded()
    }
}

fn insert_into(table: &Table) -> String {
    let marks: Vec<String> = (1..=table.columns.len()).map(|n| format!("?{n}")).collect();
    format!("INSERT INTO {} ({}) VALUES ({})", quoted(&table.name), quoted_list(&table.columns), marks.join(", "))
}

fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

fn quoted_list(names: &[String]) -> String {
    names.iter().map(|name| quoted(name)).collect::<Vec<_>>().join(", ")
}
