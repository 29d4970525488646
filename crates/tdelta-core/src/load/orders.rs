//! What a trial is told, and what may end it.

use crate::pace::Pace;
use serde::{Deserialize, Serialize};

/// One trial's orders.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Trial {
    /// The run's seed.
    pub seed: u64,
    /// Which set of operations: the same for every twin in a block, another in every block.
    pub stream: u64,
    /// The number of operations.
    pub operations: u64,
    /// Into how many slices the operations are cut, for turns with the other twins of the block.
    #[serde(default = "one")]
    pub slices: u64,
    /// Operations at the head of each slice that are run and not recorded: after another twin's turn, caches are cold.
    #[serde(default)]
    pub discard: u64,
    /// `:op` of the first operation, unique in the run.
    pub first_op: u64,
    /// Closed or open loop.
    #[serde(default)]
    pub pace: Pace,
    /// The trial is cut off after this long, ns.
    pub deadline_ns: u64,
    /// How long after that an operation that is under way is broken off, ns.
    #[serde(default = "half_a_minute")]
    pub patience_ns: u64,
    /// Share of each statement's own thread-CPU time to spin away on top (0: none).
    #[serde(default)]
    pub planted: f64,
    /// How often a transaction is tried before a retryable failure counts as an error.
    #[serde(default = "ten")]
    pub max_tries: u32,
    /// Whether caches are made cold ahead of every operation, see [`Client::cool`](crate::client::Client::cool).
    #[serde(default)]
    pub cold: bool,
    /// Whether the first error that cannot be retried ends the trial.
    #[serde(default = "yes")]
    pub stop_on_error: bool,
}

fn one() -> u64 {
    1
}

fn half_a_minute() -> u64 {
    30_000_000_000
}

fn ten() -> u32 {
    10
}

fn yes() -> bool {
    true
}

/// What ended a trial.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
#[repr(u8)]
pub enum Stop {
    /// All operations are done.
    Count = 0,
    /// It took too long.
    Deadline = 1,
    /// It was told to.
    Signal = 2,
    /// A statement failed.
    Error = 3,
}

/// Whose turn it is in a block: who of the participants runs at each turn, and which of them this process is.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Turns {
    /// The baton file.
    pub path: String,
    /// This process's number.
    pub participant: usize,
    /// The participant of each turn; each has as many turns as its trial has slices.
    pub order: Vec<usize>,
}
