//! The load loop: N connections under a fixed, seeded set of operations.
//!
//! Operation k of a trial depends on (seed, stream, k) alone, so every twin is given the same work. A
//! transaction's time runs from the start of its first statement (or, in an open loop, from when it was due) to the
//! end of its last; a statement's, from its start to its last row. Draws ahead of the first statement are the loop's
//! own and stand outside.

mod feed;
mod guard;
mod mix;
mod outcome;
mod plant;
mod trial;
mod worker;

pub use feed::Feed;
pub use mix::{Constant, Mix, Transaction};
pub use outcome::{digest, Apart, Outcome};
pub use trial::{Segment, Stop, Trial};

use crate::client::{Client, ClientError};
use crate::latency::Histograms;
use crate::pace::Pace;
use crate::process::{cpu_seconds, monotonic_ns, Stalls, Tree, Waits, Watch};
use crate::trace::{Cost, Meter, Traced};
use guard::{guarded, until_ns, Limit};
use plant::{Clock, Plant};
use std::collections::BTreeMap;
use std::ops::Range;
use std::panic::resume_unwind;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::thread::Builder;
use worker::{Part, Shared, Worker};

/// The connections of one twin with the transactions that trials run, and what each has learned for its planted cost.
pub struct Loop<C> {
    connections: Vec<(C, Plant)>,
    prepared: Option<Prepared>,
    /// The processes of a server, whose CPU time is read beside this process's.
    watched: Option<Tree>,
    /// The `stat` of the block device that a server's files lie on.
    device: Option<PathBuf>,
    /// Stack of each connection's thread; none: as the system has it.
    stack_bytes: Option<usize>,
    /// How long this trial has run.
    used_ns: u64,
}

/// Transactions, and the histograms of their last trial.
pub struct Prepared {
    /// The transactions.
    pub mix: Mix,
    /// By span, in the order of [`Mix::span_names`].
    pub histograms: Histograms,
}

/// The settings of a trial.
#[derive(Clone, Copy)]
struct Run<'a> {
    mix: &'a Mix,
    histograms: &'a Histograms,
    trial: &'a Trial,
    stop: &'a AtomicBool,
    limit: &'a Limit,
}

impl<C: Client> Loop<C> {
    /// A loop over these connections, a thread each.
    pub fn new(clients: impl IntoIterator<Item = C>) -> Self {
        let connections = clients.into_iter().map(|client| (client, Plant::default())).collect();
        Self { connections, prepared: None, watched: None, device: None, stack_bytes: None, used_ns: 0 }
    }

    /// The same with threads of `bytes` of stack each, for clients that need no more than the loop does.
    #[must_use]
    pub fn with_stacks(mut self, bytes: usize) -> Self {
        self.stack_bytes = Some(bytes);
        self
    }

    /// From now on reads the CPU time of these processes beside this one's, and how busy this device is (its `stat`).
    pub fn watch(&mut self, tree: Option<Tree>, device: Option<PathBuf>) {
        (self.watched, self.device) = (tree, device);
    }

    /// The connections.
    pub fn clients(&mut self) -> impl Iterator<Item = &mut C> {
        self.connections.iter_mut().map(|(client, _)| client)
    }

    /// The first connection, for what is done outside of trials.
    ///
    /// # Panics
    /// If there is none.
    pub fn first(&mut self) -> &mut C {
        &mut self.connections[0].0
    }

    /// Says what trials run from now on: the connections have prepared it.
    pub fn keep(&mut self, mix: Mix) {
        self.prepared = Some(Prepared { histograms: Histograms::new(mix.span_count()), mix });
    }

    /// The work of trials, and the histograms of the last one.
    #[must_use]
    pub fn recorded(&self) -> Option<&Prepared> {
        self.prepared.as_ref()
    }

    /// Runs one trial.
    ///
    /// # Errors
    /// Nothing is prepared, or several connections were to be cold.
    pub fn run(&mut self, trial: &Trial, stop: &AtomicBool) -> Result<Outcome, ClientError> {
        if trial.cold && self.connections.len() > 1 {
            let found = self.connections.len();
            return Err(refused("value", format!("one operation at a time can be cold; found {found} connections")));
        }
        if !trial.segment.is_valid() {
            return Err(refused("value", format!("a segment with no connection: {:?}", trial.segment)));
        }
        if trial.feed.is_some() && trial.pace != Pace::Closed {
            return Err(refused("value", "operations in chunks are for a closed loop".into()));
        }
        let prepared = self.take()?;
        prepared.histograms.reset();
        let limit = Limit::new();
        let run = Run { mix: &prepared.mix, histograms: &prepared.histograms, trial, stop, limit: &limit };
        let watch = Watch::begin(self.watched.as_ref());
        let breakers: Vec<_> = self.connections.iter().filter_map(|(client, _)| client.breaker()).collect();
        let ran = guarded(&breakers, &limit, stop, || {
            let began_ns = monotonic_ns();
            let outcome = self.operations(run);
            Ok(Outcome { began_ns, ended_ns: monotonic_ns(), ..outcome })
        });
        self.prepared = Some(prepared);
        let mut outcome = ran?;
        outcome.is_broken = limit.broken().is_some();
        outcome.standstill = watch.end();
        outcome.pressure = outcome.stalls.shares();
        Ok(outcome)
    }

    /// Runs one trial on the first connection, with the meters read around every statement; what each cost, by name.
    ///
    /// # Errors
    /// Nothing is prepared.
    pub fn trace<M: Meter<C>>(
        &mut self,
        meter: M,
        trial: &Trial,
        stop: &AtomicBool,
    ) -> Result<(Outcome, BTreeMap<String, Cost>), ClientError> {
        let prepared = self.take()?;
        let mut traced = Loop::new([Traced::new(self.first(), meter)]);
        traced.prepared = Some(prepared);
        let ran = traced.run(trial, stop);
        let prepared = traced.take()?;
        let costs = traced.first().costs(&prepared.mix.programs);
        self.prepared = Some(prepared);
        Ok((ran?, costs))
    }

    fn take(&mut self) -> Result<Prepared, ClientError> {
        self.prepared.take().ok_or_else(|| refused("order", "a trial before its transactions are prepared".into()))
    }

    fn operations(&mut self, run: Run<'_>) -> Outcome {
        let (trial, spans) = (run.trial, run.mix.span_count());
        let clock = match self.connections.as_slice() {
            [(client, _)] if client.is_spread() => Clock::Process,
            [(client, _), ..] if client.is_spread() => Clock::Thread,
            [(client, _), ..] if client.is_remote() => Clock::Elapsed,
            _ => Clock::Sampled,
        };
        self.connections.iter_mut().for_each(|(_, plant)| plant.begin(trial.planted, spans, clock));
        let mut sum = Outcome::none(spans);
        self.used_ns = 0;
        let recorded_from = trial.discard.min(trial.operations);
        if recorded_from > 0 {
            let head = self.range(run, 0..recorded_from, false);
            sum.add_unrecorded(&head);
        }
        if sum.stopped_by == Stop::Count && trial.operations > recorded_from {
            let stalls = Stalls::now(self.device.as_deref());
            let watched = self.watched.as_ref().map(|tree| (tree.delays(), tree.cpu()));
            let waits = self.first().is_spread().then(|| Waits::now(true));
            let before = cpu_seconds();
            let mut part = self.range(run, recorded_from..trial.operations, true);
            let after = cpu_seconds();
            if let (Some(tree), Some((delays, cpu))) = (&self.watched, watched) {
                part.watched_cpu_seconds = tree.cpu().since(&cpu);
                part.watched_delay_ns = tree.delays().since(&delays);
            }
            if let Some(waits) = waits {
                // Threads of the loop's that ended with the stretch are not among the living.
                let ended_ns = if self.connections.len() > 1 { part.run_delay_ns } else { Some(0) };
                let all_ns = waits.since().zip(ended_ns).map(|(living, ended)| living + ended);
                part.run_delay_ns = all_ns.map(|all| all.saturating_sub(part.apart.run_delay_ns));
            }
            part.stalls = Stalls::now(self.device.as_deref()).since(&stalls);
            part.cpu_user_seconds += after.0 - before.0 - part.apart.usage.cpu_user_seconds;
            part.cpu_system_seconds = after.1 - before.1 - part.apart.usage.cpu_system_seconds;
            sum.add(&part);
        }
        sum
    }

    fn range(&mut self, run: Run<'_>, range: Range<u64>, recording: bool) -> Outcome {
        let part = Part { range, recording, deadline_ns: run.trial.deadline_ns.saturating_sub(self.used_ns) };
        let wanted = self.connections.len();
        run.limit.begin(until_ns(run.trial, part.deadline_ns));
        let shared = Shared::new(wanted, run, part);
        let mut unspawned = None;
        let workers: Vec<Worker<'_>> = match self.connections.as_mut_slice() {
            // One connection needs no second thread, and so no wake-up.
            [(client, plant)] => vec![Worker::new(&shared, 0, plant).work(client)],
            many => std::thread::scope(|scope| {
                let stack_bytes = self.stack_bytes;
                let threads: Vec<_> = many
                    .iter_mut()
                    .enumerate()
                    .map(|(number, (client, plant))| {
                        let worker = Worker::new(&shared, number, plant);
                        builder(stack_bytes).spawn_scoped(scope, move || client.attend(|client| worker.work(client)))
                    })
                    .map_while(|spawned| spawned.map_err(|error| unspawned = Some(error)).ok())
                    .collect();
                if unspawned.is_some() {
                    shared.halt(Stop::Error);
                }
                threads.into_iter().map(|thread| thread.join().unwrap_or_else(|panic| resume_unwind(panic))).collect()
            }),
        };
        run.limit.rest();
        let mut outcome = shared.outcome(&workers, monotonic_ns() - shared.started_ns);
        if let Some(error) = unspawned {
            outcome.errors = BTreeMap::from([("threads".to_owned(), 1)]);
            outcome.first_error = Some(format!("the system does not give {wanted} connections a thread each: {error}"));
        }
        drop(workers);
        self.used_ns += outcome.elapsed_ns;
        outcome
    }
}

fn refused(kind: &str, message: String) -> ClientError {
    ClientError { kind: kind.into(), message, retryable: false }
}

fn builder(stack_bytes: Option<usize>) -> Builder {
    match stack_bytes {
        Some(bytes) => Builder::new().stack_size(bytes),
        None => Builder::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::breaker::{Armed, Breaker};
    use crate::client::Noop;
    use crate::process::{cores, thread_cpu_ns};
    use crate::script::{Kind, Program, Statement};
    use crate::value::Value;
    use std::sync::{mpsc, Arc};

    fn mix(scripts: &[(&str, f64, &str)]) -> Mix {
        let transactions: Vec<_> = scripts
            .iter()
            .map(|(name, weight, text)| Transaction { name: (*name).into(), weight: *weight, text: (*text).into() })
            .collect();
        Mix::new(&transactions, &BTreeMap::from([("rows_t".into(), Constant::Int(1000))])).unwrap()
    }

    fn trial(operations: u64) -> Trial {
        serde_json::from_value(serde_json::json!({
            "seed": 7, "stream": 1, "operations": operations, "first_op": 1, "deadline_ns": 20_000_000_000u64
        }))
        .unwrap()
    }

    /// Sums every bound integer, waits or fails on demand.
    #[derive(Default)]
    struct Probe {
        sum: i64,
        sleep_ns: u64,
        burn_ns: u64,
        fail_busy: u32,
        fail_hard: bool,
        abandoned: u32,
        connected: u32,
        /// Ahead of which sums it was cooled.
        cooled: Vec<i64>,
        spread: bool,
        remote: bool,
    }

    impl Client for Probe {
        fn prepare(&mut self, _: &[Program]) -> Result<(), ClientError> {
            Ok(())
        }
        fn execute(
            &mut self,
            _: (usize, usize),
            statement: &Statement,
            _: bool,
            slots: &mut [Value],
        ) -> Result<u64, ClientError> {
            if self.fail_hard {
                return Err(ClientError { kind: "full".into(), message: "disk".into(), retryable: false });
            }
            if self.fail_busy > 0 {
                self.fail_busy -= 1;
                return Err(ClientError { kind: "busy".into(), message: "locked".into(), retryable: true });
            }
            for slot in &statement.parameters {
                if let Value::Int(v) = slots[*slot] {
                    self.sum = self.sum.wrapping_add(v);
                }
            }
            if self.sleep_ns > 0 {
                std::thread::sleep(std::time::Duration::from_nanos(self.sleep_ns));
            }
            let began = thread_cpu_ns();
            while self.burn_ns > 0 && thread_cpu_ns() - began < self.burn_ns {}
            Ok(1)
        }
        fn connect(&mut self, programs: &[Program]) -> Result<(), ClientError> {
            self.connected += u32::try_from(programs.len()).unwrap_or(u32::MAX);
            Ok(())
        }
        fn abandon(&mut self) {
            self.abandoned += 1;
        }
        fn take_counters(&mut self) -> BTreeMap<String, i64> {
            BTreeMap::new()
        }
        fn cool(&mut self) -> Result<(), ClientError> {
            self.cooled.push(self.sum);
            let began = thread_cpu_ns();
            while thread_cpu_ns() - began < 5_000_000 {}
            std::fs::read("/proc/self/maps").map_err(|error| refused("io", error.to_string()))?;
            if self.fail_hard {
                return Err(refused("io", "no room".into()));
            }
            Ok(())
        }
        fn is_spread(&self) -> bool {
            self.spread
        }
        fn is_remote(&self) -> bool {
            self.remote
        }
    }

    fn go<C: Client>(clients: impl IntoIterator<Item = C>, mix: &Mix, trial: &Trial) -> (Outcome, Vec<C>) {
        let mut all = Loop::new(clients);
        all.keep(mix.clone());
        let outcome = all.run(trial, &AtomicBool::new(false)).unwrap();
        (outcome, all.connections.into_iter().map(|(client, _)| client).collect())
    }

    #[test]
    fn the_same_work_is_done_whatever_the_number_of_connections() {
        let mix = mix(&[
            ("a", 1.0, "\\set x random(1, :rows_t)\nSELECT :x;"),
            ("b", 2.0, "\\set y random(1, 9)\nSELECT :y + :op;"),
        ]);
        let sums: Vec<i64> = [1usize, 2, 5]
            .into_iter()
            .map(|n| {
                let (outcome, clients) = go((0..n).map(|_| Probe::default()), &mix, &trial(3000));
                assert_eq!(outcome.operations, 3000);
                clients.iter().map(|c| c.sum).sum()
            })
            .collect();
        assert_eq!(sums[0], sums[1]);
        assert_eq!(sums[0], sums[2]);
    }

    #[test]
    fn the_same_work_is_done_by_processes_that_are_given_it_in_chunks() {
        let mix = mix(&[("a", 1.0, "\\set x random(1, :rows_t)\nSELECT :x + :op;")]);
        let trial = Trial { discard: 100, ..trial(1000) };
        let (whole, clients) = go([Probe::default()], &mix, &trial);
        let expected = (whole.operations, whole.total_operations, clients[0].sum);
        assert_eq!(whole.operations_digest, digest(0..1000));
        let (mut found, mut digests) = ((0, 0, 0), 0u64);
        for (number, chunks) in [vec![100..130, 400..1000], vec![130..131, 131..400]].into_iter().enumerate() {
            let from = number as u64;
            let feed = Feed::new(chunks);
            feed.complete();
            let segment = Segment { from, to: from + 1, of: 2 };
            let (part, clients) =
                go([Probe::default()], &mix, &Trial { segment, feed: Some(Arc::new(feed)), ..trial.clone() });
            assert_eq!((part.stopped_by, part.waited_ns), (Stop::Count, 0));
            found.0 += part.operations;
            found.1 += part.total_operations;
            found.2 += clients[0].sum;
            digests = digests.wrapping_add(part.operations_digest);
        }
        assert_eq!((found, digests), (expected, whole.operations_digest));
    }

    #[test]
    fn a_connection_that_waits_for_a_chunk_ends_at_the_deadline_and_says_how_long_it_waited() {
        let mix = mix(&[("a", 1.0, "SELECT 1;")]);
        let feed = Some(Arc::new(Feed::new([0..2, 2..3])));
        let (outcome, _) = go([Probe::default()], &mix, &Trial { feed, deadline_ns: 60_000_000, ..trial(10) });
        assert_eq!((outcome.operations, outcome.stopped_by), (3, Stop::Deadline));
        assert!(outcome.ended_ns - outcome.began_ns >= outcome.elapsed_ns, "{outcome:?}");
        assert!(outcome.waited_ns >= 50_000_000 && outcome.waited_ns <= outcome.elapsed_ns, "{outcome:?}");
    }

    #[test]
    fn weights_are_shares() {
        let mix = mix(&[("a", 1.0, "SELECT 1;"), ("b", 3.0, "SELECT 2;")]);
        let (outcome, _) = go([Noop::default()], &mix, &trial(40_000));
        let share = outcome.totals[1].count as f64 / 40_000.0;
        assert!((share - 0.75).abs() < 0.01, "{share}");
    }

    #[test]
    fn a_constant_beyond_the_whole_numbers_of_a_double_reaches_a_statement_exactly() {
        let scripts = [Transaction { name: "a".into(), weight: 1.0, text: "SELECT :max_t;".into() }];
        for (json, bound) in [
            ("{\"max_t\": 9223372036854775807}", i64::MAX),
            ("{\"max_t\": 9007199254740993}", 9_007_199_254_740_993),
            ("{\"max_t\": 1000.0}", 1000),
        ] {
            let constants: BTreeMap<String, Constant> = serde_json::from_str(json).unwrap();
            let (_, clients) = go([Probe::default()], &Mix::new(&scripts, &constants).unwrap(), &trial(1));
            assert_eq!(clients[0].sum, bound);
        }
    }

    #[test]
    fn loops_and_branches_run_as_written() {
        let mix = mix(&[(
            "a",
            1.0,
            "\\set n 3\n\\repeat :n\nSELECT :n;\n\\endrepeat\n\\if :n > 5\nSELECT 1;\n\\elif :n = 3\nSELECT 2;\n\\else\nSELECT 3;\n\\endif",
        )]);
        let (outcome, _) = go([Probe::default()], &mix, &trial(10));
        let counts: Vec<u64> = outcome.totals.iter().map(|t| t.count).collect();
        assert_eq!(counts, [10, 30, 0, 10, 0]);
    }

    #[test]
    fn a_connect_is_timed_as_a_statement_of_its_own_within_its_transaction() {
        let mix = mix(&[("a", 1.0, "\\connect\nSELECT :op;"), ("b", 1e-9, "SELECT 1;")]);
        assert_eq!(mix.span_names()[2..4], ["stmt:a/1", "stmt:a/2"]);
        let (outcome, clients) = go([Probe::default()], &mix, &trial(5));
        assert_eq!((clients[0].connected, clients[0].sum), (2 * 5, 15), "with every program, and the query is run");
        let [whole, _, connects, queries] = outcome.totals[..4] else { panic!("four spans and more") };
        assert_eq!((connects.count, queries.count), (5, 5));
        assert!(whole.total_ns >= connects.total_ns + queries.total_ns);
    }

    #[test]
    fn a_retryable_failure_is_tried_again_and_counted() {
        let mix = mix(&[("a", 1.0, "SELECT :op;")]);
        let (outcome, clients) = go([Probe { fail_busy: 3, ..Probe::default() }], &mix, &trial(5));
        let client = &clients[0];
        assert_eq!(outcome.retries, BTreeMap::from([("busy".to_owned(), 3)]));
        assert!(outcome.errors.is_empty());
        assert_eq!((outcome.operations, client.abandoned, client.sum), (5, 3, 15));
    }

    /// Keeps what is written, as a database would, and fails at some of its calls.
    #[derive(Default)]
    struct Ledger {
        fails_at: Vec<usize>,
        calls: usize,
        pending: Option<Vec<Value>>,
        committed: Vec<Value>,
        read: Vec<Value>,
    }

    impl Client for Ledger {
        fn prepare(&mut self, _: &[Program]) -> Result<(), ClientError> {
            Ok(())
        }
        fn execute(
            &mut self,
            _: (usize, usize),
            statement: &Statement,
            _: bool,
            slots: &mut [Value],
        ) -> Result<u64, ClientError> {
            self.calls += 1;
            if self.fails_at.contains(&self.calls) {
                return Err(ClientError { kind: "busy".into(), message: "locked".into(), retryable: true });
            }
            let values: Vec<Value> = statement.parameters.iter().map(|slot| slots[*slot].clone()).collect();
            match statement.kind {
                Kind::Begin => assert!(self.pending.replace(Vec::new()).is_none(), "no transaction is open"),
                Kind::Commit => self.committed.append(self.pending.as_mut().unwrap()),
                Kind::Write => self.pending.as_mut().unwrap_or(&mut self.committed).extend(values),
                Kind::Query => self.read = values,
                Kind::Rollback | Kind::Connect => {}
            }
            if matches!(statement.kind, Kind::Commit | Kind::Rollback) {
                self.pending = None;
            }
            for slot in statement.into.iter().flat_map(|into| into.values()) {
                slots[*slot] = Value::Int(self.committed.len() as i64);
            }
            Ok(1)
        }
        fn connect(&mut self, _: &[Program]) -> Result<(), ClientError> {
            self.pending = None;
            Ok(())
        }
        fn abandon(&mut self) {
            self.pending = None;
        }
        fn take_counters(&mut self) -> BTreeMap<String, i64> {
            BTreeMap::new()
        }
    }

    const RESUMED: [&str; 5] = [
        // Reads and draws after the COMMIT.
        "\\set a random_string(3, 9)\nBEGIN;\nINSERT INTO t VALUES (:op, :a);\nCOMMIT;\n\\set a random_string(1, 20)\n\
         \\set b random(1, 1000)\nSELECT :a, :b;\n\\set b :b + random(1, 9)\nSELECT :a, :b;",
        // Writes outside a transaction, in a loop that also counts in a variable.
        "\\set i 0\n\\repeat 4\n\\set i :i + 1\nINSERT INTO t VALUES (:op, :i);\n\\set x random(1, 99)\nSELECT :x;\n\\endrepeat\n\
         SELECT :i, :x;",
        // Transactions in a loop, one kind of them undone.
        "\\set n 0\n\\repeat 3\nBEGIN;\n\\set n :n + random(1, 5)\nINSERT INTO t VALUES (:n);\n\\if :n % 2 = 0\nROLLBACK;\n\
         \\else\nDELETE FROM t WHERE a = :n;\nCOMMIT;\n\\endif\n\\endrepeat\nSELECT :n;",
        // A variable from the database, read after one write and used by the next.
        "INSERT INTO t VALUES (:op);\nSELECT a FROM t \\gset p_\nBEGIN;\nINSERT INTO t VALUES (:p_a);\n\\set p_a :p_a * 2\n\
         INSERT INTO t VALUES (:p_a);\nCOMMIT;\nSELECT :p_a;",
        // A connection that is opened anew in a transaction undoes it.
        "INSERT INTO t VALUES (:op);\nBEGIN;\nINSERT INTO t VALUES (0);\n\\connect\nINSERT INTO t VALUES (1 + :op);\nSELECT :op;",
    ];

    #[test]
    fn a_retry_goes_on_after_the_last_commit_with_the_variables_and_draws_of_then() {
        for script in RESUMED {
            let mix = mix(&[("a", 1.0, script)]);
            let (calm, clients) = go([Ledger::default()], &mix, &trial(3));
            let undisturbed = &clients[0];
            assert!(undisturbed.committed.len() >= 3, "{script}");
            for first in 1..=undisturbed.calls {
                for fails_at in [vec![first], vec![first, first + 1], vec![first, first + 3]] {
                    let failing = Ledger { fails_at: fails_at.clone(), ..Ledger::default() };
                    let (outcome, clients) = go([failing], &mix, &trial(3));
                    let reached = fails_at.iter().filter(|call| **call <= clients[0].calls).count() as u64;
                    assert_eq!(clients[0].committed, undisturbed.committed, "{script}, {fails_at:?}");
                    assert_eq!(clients[0].read, undisturbed.read, "{script}, {fails_at:?}");
                    assert_eq!(outcome.retries.values().sum::<u64>(), reached);
                    assert_eq!((outcome.operations, outcome.errors.len()), (3, 0));
                    assert_eq!(outcome.operations_digest, calm.operations_digest);
                    assert_eq!(outcome.totals[0].count, 3);
                }
            }
        }
    }

    #[test]
    fn only_the_statements_of_the_transaction_that_failed_run_once_more() {
        let script = "SELECT 1;\nBEGIN;\nINSERT INTO t VALUES (:op);\nCOMMIT;\nSELECT 2;\nSELECT 3;";
        let mix = mix(&[("a", 1.0, script)]);
        let rerun = |call| {
            let (outcome, _) = go([Ledger { fails_at: vec![call], ..Ledger::default() }], &mix, &trial(1));
            let counts: Vec<u64> = outcome.totals[1..].iter().map(|total| total.count).collect();
            assert_eq!(outcome.rows, counts.iter().sum::<u64>(), "a row of each, those of abandoned tries included");
            counts
        };
        assert_eq!(rerun(3), [2, 2, 1, 1, 1, 1], "at the INSERT");
        assert_eq!(rerun(4), [2, 2, 2, 1, 1, 1], "at the COMMIT");
        assert_eq!(rerun(6), [1, 1, 1, 1, 2, 1], "after it");
    }

    #[test]
    fn each_transaction_of_a_script_has_its_tries() {
        let mix = mix(&[("a", 1.0, "INSERT INTO t VALUES (1);\nINSERT INTO t VALUES (2);")]);
        let failing = |fails_at: Vec<usize>| go([Ledger { fails_at, ..Ledger::default() }], &mix, &trial(1)).0;
        let enough = failing((1..=9).chain(11..=19).collect());
        assert_eq!((enough.operations, enough.retries["busy"], enough.errors.len()), (1, 18, 0));
        let too_few = failing((2..=11).collect());
        assert_eq!((too_few.operations, too_few.retries["busy"], too_few.errors["busy"]), (0, 9, 1));
        assert_eq!(too_few.first_error.unwrap(), "a, line 2: locked");
    }

    #[test]
    fn an_error_ends_the_trial_and_says_why() {
        let mix = mix(&[("a", 1.0, "SELECT 1;")]);
        let (outcome, _) = go([Probe { fail_hard: true, ..Probe::default() }], &mix, &trial(5));
        assert_eq!(outcome.stopped_by, Stop::Error);
        assert_eq!(outcome.first_error.as_deref(), Some("a, line 1: disk"));
        assert_eq!(outcome.errors["full"], 1);
    }

    #[test]
    fn a_deadline_and_a_signal_end_a_trial() {
        let mix = mix(&[("a", 1.0, "SELECT 1;")]);
        let mut orders = trial(u64::MAX);
        orders.deadline_ns = 20_000_000;
        assert_eq!(go([Noop::default()], &mix, &orders).0.stopped_by, Stop::Deadline);
        let mut all = Loop::new([Noop::default()]);
        all.keep(mix);
        let stopped = all.run(&orders, &AtomicBool::new(true)).unwrap();
        assert_eq!((stopped.stopped_by, stopped.operations), (Stop::Signal, 0));
    }

    #[test]
    fn an_open_loop_counts_from_the_due_time() {
        let mix = mix(&[("a", 1.0, "SELECT 1;")]);
        let mut orders = trial(50);
        orders.pace = Pace::Poisson(10_000.0);
        // Each operation takes 1 ms and one falls due every 0.1 ms on average: the 50th waits for about 45 ms.
        let (outcome, _) = go([Probe { sleep_ns: 1_000_000, ..Probe::default() }], &mix, &orders);
        let mean_ms = outcome.totals[0].total_ns as f64 / 50.0 / 1e6;
        let service_ms = outcome.totals[1].total_ns as f64 / 50.0 / 1e6;
        assert!(mean_ms > 15.0 * service_ms.min(1.4), "waiting shows: {mean_ms} of which service {service_ms}");
        assert!(outcome.queued_operations >= 45, "{}", outcome.queued_operations);
        assert!(outcome.backlog_max >= 40, "{}", outcome.backlog_max);
    }

    #[test]
    fn a_planted_cost_is_realised_and_recorded() {
        let mix = mix(&[("a", 1.0, "SELECT 1;")]);
        let mut orders = trial(300);
        orders.planted = 0.5;
        let (outcome, _) = go([Probe { burn_ns: 100_000, ..Probe::default() }], &mix, &orders);
        let own = 300.0 * 100_000.0;
        let realised = outcome.planted_cpu_ns as f64 / own;
        let span = outcome.totals[0].total_ns as f64;
        // Where the core was taken away, the statements that are not sampled seem to have taken CPU meanwhile.
        let statements = span - outcome.planted_elapsed_ns as f64;
        assert!(realised > 0.01, "{realised}");
        assert!(outcome.planted_cpu_ns as f64 <= 0.55 * statements, "{realised} of {own}, {statements} with waiting");
        assert!(span >= own + outcome.planted_cpu_ns as f64, "the planted time lies within what is measured");
        assert!(outcome.planted_elapsed_ns >= outcome.planted_cpu_ns);
        // Then the few sampled ones may have taken less CPU than the others, too.
        if span < 1.05 * (own + outcome.planted_elapsed_ns as f64) {
            assert!((0.4..0.6).contains(&realised), "{realised}");
        }
    }

    #[test]
    fn the_cpu_of_a_watched_process_stands_beside_the_loops_own() {
        let mix = mix(&[("a", 1.0, "SELECT 1;")]);
        let mut all = Loop::new([Probe { burn_ns: 1_000_000, ..Probe::default() }]);
        all.keep(mix);
        let run = |all: &mut Loop<Probe>| all.run(&trial(50), &AtomicBool::new(false)).unwrap();
        assert_eq!(run(&mut all).watched_cpu_seconds, (0.0, 0.0));
        all.watch(Some(Tree::new(&[std::process::id()])), None);
        let (user, system) = run(&mut all).watched_cpu_seconds;
        assert!(user + system >= 0.05, "this very process is watched: {user} {system}");
    }

    #[test]
    fn what_threads_wait_for_a_cpu_lies_within_the_recorded_time_of_all_of_them() {
        let mix = mix(&[("a", 1.0, "SELECT 1;")]);
        let probes = || (0..2 * cores() + 1).map(|_| Probe { burn_ns: 1_000_000, ..Probe::default() });
        let (outcome, _) = go(probes(), &mix, &trial(60 * (2 * cores() as u64 + 1)));
        let Some(delay_ns) = outcome.run_delay_ns else { return }; // a kernel that keeps none
        let all_ns = outcome.elapsed_ns * (2 * cores() as u64 + 1);
        assert!(delay_ns > all_ns / 20, "there are more threads than cores: {delay_ns} of {all_ns}");
        assert!(delay_ns < all_ns, "{delay_ns} of {all_ns}");
        let mut heads = trial(20);
        heads.discard = 20;
        let (unrecorded, _) = go([Probe::default()], &mix, &heads);
        assert_eq!(unrecorded.run_delay_ns, Some(0), "what is not recorded has no delay");
        assert!(unrecorded.pressure.values().all(|share| *share == 0.0));
    }

    #[test]
    fn connections_run_on_small_stacks() {
        let mix = mix(&[("a", 1.0, "SELECT :op;")]);
        let mut all = Loop::new((0..50).map(|_| Probe::default())).with_stacks(256 << 10);
        all.keep(mix);
        assert_eq!(all.run(&trial(500), &AtomicBool::new(false)).unwrap().operations, 500);
    }

    #[test]
    fn what_makes_caches_cold_between_operations_is_in_no_figure_of_theirs() {
        let mix = mix(&[("a", 1.0, "SELECT :op;")]);
        let mut orders = trial(10);
        (orders.cold, orders.discard, orders.deadline_ns) = (true, 2, 40_000_000);
        // Ten times 5 ms would be more than its time. Where the operations themselves wait for a CPU for so long, again.
        let is_whole = |(outcome, _): &(Outcome, Vec<Probe>)| {
            outcome.stopped_by == Stop::Count && outcome.elapsed_ns < orders.deadline_ns
        };
        let (outcome, clients) = (0..50).map(|_| go([Probe::default()], &mix, &orders)).find(is_whole).unwrap();
        assert_eq!(clients[0].cooled, [0, 1, 3, 6, 10, 15, 21, 28, 36, 45], "once ahead of each");
        assert_eq!(outcome.operations, 8);
        assert!(outcome.cpu_user_seconds + outcome.cpu_system_seconds < 0.04, "eight times 5 ms are left out");
        assert!(outcome.apart.elapsed_ns >= 50_000_000, "{:?}", outcome.apart);
        assert!(outcome.apart.usage.syscall_read_bytes > 10_000, "{:?}", outcome.apart);
    }

    #[test]
    fn a_cold_start_that_fails_ends_the_trial_and_only_one_connection_can_be_cold() {
        let mix = mix(&[("a", 1.0, "SELECT :op;")]);
        let mut orders = trial(10);
        orders.cold = true;
        let (outcome, _) = go([Probe { fail_hard: true, ..Probe::default() }], &mix, &orders);
        assert_eq!((outcome.operations, outcome.stopped_by), (0, Stop::Error));
        assert_eq!(outcome.first_error.as_deref(), Some("a cold start: no room"));
        let run = |clients: Vec<Noop>| {
            let mut all = Loop::new(clients);
            all.keep(mix.clone());
            all.run(&orders, &AtomicBool::new(false))
        };
        assert_eq!(run(vec![Noop::default(), Noop::default()]).unwrap_err().kind, "value");
        assert!(run(vec![Noop::default()]).unwrap().first_error.unwrap().contains("cannot make caches cold"));
    }

    #[test]
    fn of_one_connection_whose_engine_has_threads_the_planted_share_is_of_the_processs_cpu_time() {
        let mix = mix(&[("a", 1.0, "SELECT 1;")]);
        let mut orders = trial(20);
        orders.planted = 0.5;
        let is_over = AtomicBool::new(false);
        let [one, several] = std::thread::scope(|scope| {
            scope.spawn(|| {
                while !is_over.load(std::sync::atomic::Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            });
            // A statement that sleeps: what is spun is for what others do meanwhile.
            let sleeping = || Probe { sleep_ns: 4_000_000, spread: true, ..Probe::default() };
            let found = [go([sleeping()], &mix, &orders).0, go([sleeping(), sleeping()], &mix, &orders).0];
            is_over.store(true, std::sync::atomic::Ordering::Relaxed);
            found
        });
        assert!(one.planted_cpu_ns > 4_000_000, "{}", one.planted_cpu_ns);
        let (one, several) = (one.planted_cpu_ns, several.planted_cpu_ns);
        assert!(several < one / 2, "of several, their own threads': {several}, not {one}");
    }

    #[test]
    fn on_a_server_the_planted_share_is_of_the_time_that_statements_take() {
        let mut orders = trial(20);
        orders.planted = 0.5;
        let waiting = || Probe { sleep_ns: 4_000_000, remote: true, ..Probe::default() };
        let (found, _) = go([waiting(), waiting()], &mix(&[("a", 1.0, "SELECT 1;")]), &orders);
        // Half of 80 ms, of which each connection may still owe what is not worth a sleep.
        assert!(found.planted_elapsed_ns > 36_000_000, "{}", found.planted_elapsed_ns);
    }

    /// Its statement ends when it is broken off, and not before.
    #[derive(Default)]
    struct Endless {
        breaker: Breaker,
        began: Option<mpsc::Sender<()>>,
        armed: Option<(Armed, mpsc::Receiver<()>)>,
    }

    impl Client for Endless {
        fn prepare(&mut self, _: &[crate::script::Program]) -> Result<(), ClientError> {
            Ok(())
        }
        fn execute(&mut self, _: (usize, usize), _: &Statement, _: bool, _: &mut [Value]) -> Result<u64, ClientError> {
            let (broken, seen) = mpsc::channel();
            let armed = self.breaker.arm(move || broken.send(()).unwrap_or(()));
            let (_, seen) = self.armed.insert((armed, seen));
            self.began.iter().for_each(|began| began.send(()).unwrap());
            seen.recv().unwrap();
            Err(refused("sql", "interrupted".into()))
        }
        fn connect(&mut self, _: &[crate::script::Program]) -> Result<(), ClientError> {
            Ok(())
        }
        fn abandon(&mut self) {}
        fn take_counters(&mut self) -> BTreeMap<String, i64> {
            BTreeMap::new()
        }
        fn breaker(&self) -> Option<Breaker> {
            Some(self.breaker.clone())
        }
    }

    #[test]
    fn a_statement_without_an_end_is_broken_off_after_the_trials_time_and_named() {
        let mut orders = trial(9);
        // Both have begun by then.
        (orders.deadline_ns, orders.patience_ns) = (1_000_000_000, 1_000_000);
        let mut all = Loop::new([0, 1].map(|_| Endless::default()));
        all.keep(mix(&[("a", 1.0, "\\set n 1\nSELECT :n;")]));
        let outcome = all.run(&orders, &AtomicBool::new(false)).unwrap();
        assert_eq!((outcome.stopped_by, outcome.operations, outcome.is_broken), (Stop::Error, 0, true));
        assert_eq!(outcome.errors, BTreeMap::from([("endless".to_owned(), 2)]));
        assert_eq!(outcome.first_error.unwrap(), "a, line 2: expected it to end within 1 s, and broke it off");
    }

    #[test]
    fn a_word_to_stop_breaks_off_what_goes_on_without_an_error() {
        let stop = &AtomicBool::new(false);
        let (began, begun) = mpsc::channel();
        let outcome = std::thread::scope(|scope| {
            scope.spawn(move || {
                begun.recv().unwrap();
                stop.store(true, std::sync::atomic::Ordering::Relaxed);
            });
            let mut all = Loop::new([Endless { began: Some(began), ..Endless::default() }]);
            all.keep(mix(&[("a", 1.0, "SELECT 1;")]));
            all.run(&trial(9), stop).unwrap()
        });
        assert_eq!((outcome.stopped_by, outcome.operations, outcome.is_broken), (Stop::Signal, 0, true));
        assert_eq!((outcome.errors, outcome.first_error), (BTreeMap::new(), None));
    }

    #[test]
    fn a_loop_without_an_end_and_without_statements_is_broken_off_too() {
        let mut orders = trial(1);
        (orders.deadline_ns, orders.patience_ns) = (400_000_000, 1_000_000); // it has begun by then
        let text = "\\repeat 9223372036854775807\n\\set n 1\n\\endrepeat\nSELECT 1;";
        let mut all = Loop::new([Endless::default()]);
        all.keep(mix(&[("a", 1.0, text)]));
        let outcome = all.run(&orders, &AtomicBool::new(false)).unwrap();
        assert_eq!(outcome.first_error.unwrap(), "a: expected it to end within 0 s, and broke it off");
    }

    #[test]
    fn what_is_done_in_time_is_not_broken_off() {
        let mut all = Loop::new([Endless::default()]);
        all.keep(mix(&[("a", 1.0, "\\if 1 = 2\nSELECT 1;\n\\endif")]));
        let outcome = all.run(&trial(1000), &AtomicBool::new(false)).unwrap();
        assert_eq!((outcome.stopped_by, outcome.operations, outcome.is_broken), (Stop::Count, 1000, false));
    }

    #[test]
    fn nothing_runs_before_it_is_prepared() {
        let mut all = Loop::new([Noop::default()]);
        assert_eq!(all.run(&trial(1), &AtomicBool::new(false)).unwrap_err().kind, "order");
    }

    #[test]
    fn a_thread_that_the_system_does_not_give_ends_the_trial_with_an_error() {
        let mix = mix(&[("a", 1.0, "SELECT 1;")]);
        let mut all = Loop::new((0..3).map(|_| Probe::default()));
        all.stack_bytes = Some(1 << 60);
        all.keep(mix);
        let outcome = all.run(&trial(100), &AtomicBool::new(false)).unwrap();
        assert_eq!((outcome.stopped_by, outcome.operations), (Stop::Error, 0));
        assert_eq!(outcome.errors, BTreeMap::from([("threads".to_owned(), 1)]));
        assert!(outcome.first_error.unwrap().starts_with("the system does not give 3 connections a thread each"));
    }
}
