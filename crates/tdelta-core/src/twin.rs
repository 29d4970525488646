//! A twin as whoever drives it sees it, whatever its engine.

use crate::client::{Client, ClientError};
use crate::data::{Plan, TableChecksum};
use crate::load::{Loop, Mix, Outcome, Prepared, Trial};
use crate::process::{cpu_seconds, Usage};
use crate::trace::Cost;
use serde::Serialize;
use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;

/// Tables with their columns, in the order in which a row is hashed.
pub type Tables = [(String, Vec<String>)];

/// A trial's outcome, and its report beside it.
pub type Measured = (Outcome, serde_json::Value);

/// The costs of a trial's statements, by name, beside its outcome.
pub type Metered = (Outcome, BTreeMap<String, Cost>);

/// A database under one condition, with the connections of its load.
pub trait Twin: Send {
    /// The first value that a statement answers, as text; empty for NULL and no row.
    ///
    /// # Errors
    /// An error of the engine.
    fn text(&mut self, sql: &str) -> Result<String, ClientError>;

    /// Makes the tables, fills them with the plan's rows, then builds the indexes.
    ///
    /// # Errors
    /// An error of the engine.
    fn load(
        &mut self,
        plan: &Plan,
        seed: u64,
        threads: usize,
        tables: &[String],
        indexes: &[String],
    ) -> Result<(), ClientError>;

    /// A checksum of each table that does not depend on the order of rows.
    ///
    /// # Errors
    /// An error of the engine.
    fn checksums(&mut self, tables: &Tables) -> Result<BTreeMap<String, TableChecksum>, ClientError>;

    /// Compiles and prepares the transactions that trials will run.
    ///
    /// # Errors
    /// A script fault or a statement that the engine does not take.
    fn prepare(&mut self, mix: Mix) -> Result<(), ClientError>;

    /// Runs one trial and, if `settle`, brings what it left behind to rest, so that the next one does not pay for it.
    ///
    /// # Errors
    /// If nothing is prepared, or what the engine says beside a trial that went well.
    fn trial(&mut self, trial: &Trial, settle: bool, stop: &AtomicBool) -> Result<Measured, ClientError>;

    /// Runs one trial on the first connection, with the meters read around every statement; what each cost, by name.
    ///
    /// # Errors
    /// If nothing is prepared, or what the engine says.
    fn trace(&mut self, trial: &Trial, stop: &AtomicBool) -> Result<Metered, ClientError>;

    /// The prepared transactions and the histograms of the last trial.
    fn recorded(&self) -> Option<&Prepared>;
}

/// The report on a trial of an engine within this process, beside its outcome.
#[derive(Debug, Serialize)]
struct Within {
    usage: Usage,
    counters: BTreeMap<String, i64>,
    files: BTreeMap<String, u64>,
    #[serde(flatten)]
    checkpoint: Checkpoint,
}

/// The cost of bringing a database to rest after a trial.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Checkpoint {
    /// How long it took.
    #[serde(rename = "checkpoint_ns")]
    pub ns: u64,
    /// Bytes written by system calls meanwhile (`wchar`), which leaves out those of asynchronous I/O.
    #[serde(rename = "checkpoint_syscall_written_bytes")]
    pub syscall_written_bytes: i64,
    /// Bytes that went to the disk or are on their way there.
    #[serde(rename = "checkpoint_device_written_bytes")]
    pub device_written_bytes: i64,
}

impl Checkpoint {
    /// One of so many ns within which all this was used.
    #[must_use]
    pub fn of(ns: u64, used: &Usage) -> Self {
        Self { ns, syscall_written_bytes: used.syscall_written_bytes, device_written_bytes: used.device_written_bytes }
    }
}

/// Runs one trial of an engine within this process, whose CPU time and bytes are the database's.
///
/// # Errors
/// Those of [`Loop::run`], of `files` (sizes by name, before anything is settled) and of `settle` (returns ns).
pub fn trial_within<C: Client>(
    connections: &mut Loop<C>,
    (trial, stop): (&Trial, &AtomicBool),
    files: impl FnOnce() -> Result<BTreeMap<String, u64>, ClientError>,
    settle: impl FnOnce(&mut Loop<C>) -> Result<u64, ClientError>,
) -> Result<Measured, ClientError> {
    connections.clients().for_each(|client| drop(client.take_counters()));
    let before = Usage::now();
    let mut outcome = connections.run(trial, stop)?;
    let mut counters = BTreeMap::new();
    for (name, count) in connections.clients().flat_map(Client::take_counters) {
        *counters.entry(name).or_insert(0) += count;
    }
    let files = files()?;
    let (settling, cpu_before) = (Usage::now(), cpu_seconds());
    let settled_ns = settle(connections)?;
    let cpu_after = cpu_seconds();
    let now = Usage::now();
    let checkpoint = Checkpoint::of(settled_ns, &now.since(&settling));
    // What the trial left in the log is its own cost: the recorded operations' share of it.
    let share = outcome.operations as f64 / outcome.total_operations.max(1) as f64;
    outcome.cpu_user_seconds += share * (cpu_after.0 - cpu_before.0);
    outcome.cpu_system_seconds += share * (cpu_after.1 - cpu_before.1);
    let usage = now.since(&before).since(&outcome.apart.usage);
    Ok((outcome, as_json(&Within { usage, counters, files, checkpoint })))
}

/// As a JSON value.
pub fn as_json(value: &impl Serialize) -> serde_json::Value {
    serde_json::to_value(value).expect("a report has numbers, texts and maps of them by name")
}
