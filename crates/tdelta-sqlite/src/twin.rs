//! A twin: one database file with its connections, and what is done to it outside of trials.

use crate::connection::{Connection, Options, ThreadMeter, WriteQueue};
use crate::statement::failure;
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::sync::Arc;
use tdelta_core::client::{Client, ClientError};
use tdelta_core::data::{Chunk, Plan, Table, TableChecksum};
use tdelta_core::latency::Histograms;
use tdelta_core::load::{Loop, Mix, Outcome, Trial, Turns};
use tdelta_core::process::monotonic_ns;
use tdelta_core::trace::{Cost, Traced};

/// Sizes of a twin's files, bytes.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct FileSizes {
    /// The database file.
    pub database: u64,
    /// The write-ahead log.
    pub wal: u64,
    /// The rollback journal.
    pub journal: u64,
}

/// An open twin.
pub struct Twin {
    path: String,
    connections: Loop<Connection>,
    mix: Option<(Mix, Histograms)>,
}

impl Twin {
    /// Opens `connections` connections to one file.
    ///
    /// # Errors
    /// What SQLite says.
    pub fn open(options: &Options, connections: usize) -> Result<Self, ClientError> {
        let (queue, shared) = (WriteQueue::new(), Arc::new(options.clone()));
        let opened: Result<Vec<_>, _> =
            (0..connections.max(1)).map(|_| Connection::open(shared.clone(), queue.clone())).collect();
        Ok(Self { path: options.path.clone(), connections: Loop::new(opened?), mix: None })
    }

    fn first(&mut self) -> &mut Connection {
        self.connections.first()
    }

    /// Runs one statement outside of trials: the first column of its first row as text.
    ///
    /// # Errors
    /// What SQLite says.
    pub fn text(&mut self, sql: &str) -> Result<String, ClientError> {
        self.first().text(sql)
    }

    /// Runs one statement in which `:key` stands for the key.
    ///
    /// # Errors
    /// What SQLite says, less its words, which might quote the key.
    pub fn keyed(&mut self, sql: &str, key: &str) -> Result<(), ClientError> {
        self.first().run_keyed(sql, key)
    }

    /// Sets how many bytes the pages of `schema` keep back, from its next rebuild on.
    ///
    /// # Errors
    /// What SQLite says.
    pub fn reserve(&mut self, schema: &str, bytes: u8) -> Result<(), ClientError> {
        self.first().reserve(schema, bytes)
    }

    /// Makes the tables, fills them with the plan's rows in one order, then builds the indexes.
    ///
    /// # Errors
    /// What SQLite says.
    pub fn load(
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

    /// A checksum of each table that does not depend on the order of rows.
    ///
    /// # Errors
    /// What SQLite says.
    pub fn checksums(
        &mut self,
        tables: &[(String, Vec<String>)],
    ) -> Result<BTreeMap<String, TableChecksum>, ClientError> {
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

    /// Compiles and prepares the transactions that trials will run.
    ///
    /// # Errors
    /// A script fault or a statement that SQLite does not take.
    pub fn prepare(&mut self, mix: Mix) -> Result<(), ClientError> {
        self.connections.clients().try_for_each(|c| c.prepare(&mix.programs))?;
        let histograms = Histograms::new(mix.span_count());
        self.mix = Some((mix, histograms));
        Ok(())
    }

    /// Runs one trial. The counters are the trial's own.
    ///
    /// # Errors
    /// If nothing is prepared.
    pub fn trial(
        &mut self,
        trial: &Trial,
        turns: Option<&Turns>,
        stop: &AtomicBool,
    ) -> Result<(Outcome, BTreeMap<String, i64>), ClientError> {
        let Some((mix, histograms)) = &self.mix else {
            return Err(failure("order", "a trial before its transactions are prepared".into()));
        };
        histograms.reset();
        self.connections.clients().for_each(|c| drop(c.take_counters()));
        let outcome = self.connections.run(mix, trial, turns, histograms, stop).map_err(|why| failure("baton", why))?;
        let mut counters = BTreeMap::new();
        for connection in self.connections.clients() {
            for (name, count) in connection.take_counters() {
                *counters.entry(name).or_insert(0) += count;
            }
        }
        Ok((outcome, counters))
    }

    /// Runs one trial on the first connection, with the meters read around every statement; what each cost, by name.
    ///
    /// # Errors
    /// If nothing is prepared.
    pub fn trace(
        &mut self,
        trial: &Trial,
        stop: &AtomicBool,
    ) -> Result<(Outcome, BTreeMap<String, Cost>), ClientError> {
        let Some((mix, histograms)) = &self.mix else {
            return Err(failure("order", "a trace before its transactions are prepared".into()));
        };
        histograms.reset();
        let mut traced = Loop::new([Traced::new(self.connections.first(), ThreadMeter)]);
        let outcome = traced.run(mix, trial, None, histograms, stop).map_err(|why| failure("baton", why))?;
        let costs = traced.first().costs(&mix.programs);
        Ok((outcome, costs))
    }

    /// The prepared mix and the histograms of the last trial.
    #[must_use]
    pub fn recorded(&self) -> Option<(&Mix, &Histograms)> {
        self.mix.as_ref().map(|(mix, histograms)| (mix, histograms))
    }

    /// Moves the write-ahead log into the database file, so that the next trial does not pay for this one. Returns ns;
    /// 0 where a `\connect` has failed, which the trial tells.
    ///
    /// # Errors
    /// What SQLite says.
    pub fn checkpoint(&mut self) -> Result<u64, ClientError> {
        if !self.first().is_open() {
            return Ok(0);
        }
        let start = monotonic_ns();
        self.first().run("PRAGMA wal_checkpoint(TRUNCATE)")?;
        Ok(monotonic_ns() - start)
    }

    /// The sizes of its files now.
    #[must_use]
    pub fn file_sizes(&self) -> FileSizes {
        let size =
            |suffix: &str| std::fs::metadata(Path::new(&format!("{}{suffix}", self.path))).map_or(0, |m| m.len());
        FileSizes { database: size(""), wal: size("-wal"), journal: size("-journal") }
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
