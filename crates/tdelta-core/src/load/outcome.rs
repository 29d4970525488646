//! The outcome of a trial, or of a part of one.

use super::trial::Stop;
use crate::draw::{mix64, GOLDEN};
use crate::latency::Totals;
use crate::process::{Stalls, Standstill, Usage};
use serde::Serialize;
use std::collections::BTreeMap;
use std::ops::Range;

/// The outcome of one trial. Times, totals and CPU are of the recorded operations; the discarded ones are only counted.
#[derive(Clone, Debug, Serialize)]
pub struct Outcome {
    /// Transactions finished and recorded.
    pub operations: u64,
    /// Transactions finished, those at the head included.
    pub total_operations: u64,
    /// Which operations were finished, see [`digest`].
    pub operations_digest: u64,
    /// Wall time of the loop.
    pub elapsed_ns: u64,
    /// When the loop began and ended by the monotonic clock, what it did not record included.
    pub began_ns: u64,
    /// See `began_ns`.
    pub ended_ns: u64,
    /// CPU seconds of this process in user mode while recording.
    pub cpu_user_seconds: f64,
    /// CPU seconds of this process in the kernel while recording.
    pub cpu_system_seconds: f64,
    /// CPU seconds of the watched processes (none: 0), in user mode and in the kernel, while recording.
    #[serde(skip)]
    pub watched_cpu_seconds: (f64, f64),
    /// How long the threads that do the statements were ready to run and had no CPU, while recording: the loop's own, or
    /// all of the process's (see [`Client::is_spread`](crate::client::Client::is_spread)).
    pub run_delay_ns: Option<u64>,
    /// The same of the watched processes' threads.
    #[serde(skip)]
    pub watched_delay_ns: Option<u64>,
    /// Resources that kept tasks of the machine waiting while recording, see [`Stalls::shares`].
    pub pressure: BTreeMap<String, f64>,
    #[serde(skip)]
    pub(super) stalls: Stalls,
    /// Whether this process or a watched one stood still, the unrecorded head included.
    pub standstill: Standstill,
    /// Exact totals by span, in the order of [`Mix::span_names`].
    #[serde(skip)]
    pub totals: Vec<Totals>,
    /// Rows fetched, also by tries that were abandoned.
    pub rows: u64,
    /// Failed transactions by kind.
    pub errors: BTreeMap<String, u64>,
    /// Tries repeated, by kind.
    pub retries: BTreeMap<String, u64>,
    /// The first error's text.
    pub first_error: Option<String>,
    /// Open loop: operations that no connection was free for when they fell due.
    pub queued_operations: u64,
    /// Open loop: the most operations due and not begun.
    pub backlog_max: u64,
    /// How long a connection waited for chunks of operations, on average over all.
    pub waited_ns: u64,
    /// CPU time spun on purpose.
    pub planted_cpu_ns: u64,
    /// Wall time of that, within the measured spans.
    pub planted_elapsed_ns: u64,
    /// The reason of its end.
    pub stopped_by: Stop,
    /// Whether operations that were under way had to be broken off: connections to servers are then closed.
    #[serde(skip)]
    pub is_broken: bool,
    /// The time for making caches cold ahead of operations, recorded or not. Its time and CPU time are in no other figure.
    #[serde(skip)]
    pub apart: Apart,
}

/// The work between operations, which belongs to none.
#[derive(Clone, Copy, Debug, Default)]
pub struct Apart {
    /// Wall time.
    pub elapsed_ns: u64,
    /// Resources that the process used.
    pub usage: Usage,
    /// How long threads were ready to run and had no CPU.
    pub run_delay_ns: u64,
}

impl Apart {
    pub(super) fn add(&mut self, other: &Self) {
        self.elapsed_ns += other.elapsed_ns;
        self.usage = self.usage.and(&other.usage);
        self.run_delay_ns += other.run_delay_ns;
    }
}

/// A digest of some operations of a trial, by their numbers within it. Those of several parts add up (modulo 2^64) to that
/// of the whole if each operation was done once in all; else they do by a chance of 2^-64.
#[must_use]
pub fn digest(operations: Range<u64>) -> u64 {
    operations.map(digest_of).fold(0, u64::wrapping_add)
}

/// That of one operation.
#[inline]
pub(super) fn digest_of(index: u64) -> u64 {
    mix64(index.wrapping_add(GOLDEN))
}

impl Outcome {
    pub(super) fn none(spans: usize) -> Self {
        Self {
            operations: 0,
            total_operations: 0,
            operations_digest: 0,
            elapsed_ns: 0,
            began_ns: 0,
            ended_ns: 0,
            cpu_user_seconds: 0.0,
            cpu_system_seconds: 0.0,
            watched_cpu_seconds: (0.0, 0.0),
            run_delay_ns: Some(0),
            watched_delay_ns: Some(0),
            pressure: BTreeMap::new(),
            stalls: Stalls::default(),
            standstill: Standstill::default(),
            totals: vec![Totals::default(); spans],
            rows: 0,
            errors: BTreeMap::new(),
            retries: BTreeMap::new(),
            first_error: None,
            queued_operations: 0,
            backlog_max: 0,
            waited_ns: 0,
            planted_cpu_ns: 0,
            planted_elapsed_ns: 0,
            stopped_by: Stop::Count,
            is_broken: false,
            apart: Apart::default(),
        }
    }

    /// Adds what every part counts, recorded or not.
    pub(super) fn add_unrecorded(&mut self, part: &Self) {
        self.total_operations += part.operations;
        self.operations_digest = self.operations_digest.wrapping_add(part.operations_digest);
        self.apart.add(&part.apart);
        part.errors.iter().for_each(|(kind, n)| *self.errors.entry(kind.clone()).or_insert(0) += n);
        part.retries.iter().for_each(|(kind, n)| *self.retries.entry(kind.clone()).or_insert(0) += n);
        self.first_error = self.first_error.take().or_else(|| part.first_error.clone());
        if self.stopped_by == Stop::Count {
            self.stopped_by = part.stopped_by;
        }
    }

    pub(super) fn add(&mut self, part: &Self) {
        self.add_unrecorded(part);
        self.operations += part.operations;
        self.elapsed_ns += part.elapsed_ns;
        self.cpu_user_seconds += part.cpu_user_seconds;
        self.cpu_system_seconds += part.cpu_system_seconds;
        self.watched_cpu_seconds.0 += part.watched_cpu_seconds.0;
        self.watched_cpu_seconds.1 += part.watched_cpu_seconds.1;
        let both = |a: Option<u64>, b: Option<u64>| Some(a? + b?);
        self.run_delay_ns = both(self.run_delay_ns, part.run_delay_ns);
        self.watched_delay_ns = both(self.watched_delay_ns, part.watched_delay_ns);
        self.stalls.add(&part.stalls);
        for (sum, part) in self.totals.iter_mut().zip(&part.totals) {
            sum.count += part.count;
            sum.total_ns += part.total_ns;
        }
        self.rows += part.rows;
        self.queued_operations += part.queued_operations;
        self.backlog_max = self.backlog_max.max(part.backlog_max);
        self.waited_ns += part.waited_ns;
        self.planted_cpu_ns += part.planted_cpu_ns;
        self.planted_elapsed_ns += part.planted_elapsed_ns;
    }
}
