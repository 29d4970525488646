//! The load loop: N connections under a fixed, seeded set of operations.
//!
//! What operation k of a trial does depends on (seed, stream, k) alone, so every twin is given the same work. A
//! transaction's time runs from the start of its first statement (or, in an open loop, from when it was due) to the
//! end of its last; a statement's, from its start to its last row. Draws ahead of the first statement are the loop's
//! own and stand outside.

use crate::baton::Baton;
use crate::client::{Client, ClientError};
use crate::draw::Rng;
use crate::latency::{Histograms, Recorder, Totals};
use crate::pace::{wait_until, Arrivals, Pace};
use crate::process::{
    cores, cpu_seconds, monotonic_ns, thread_cpu_ns, thread_delay_ns, thread_delay_since, Stalls, Standstill, Tree,
    Watch,
};
use crate::script::{compile, is_true, Kind, Program, Step};
use crate::value::Value;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::ops::Range;
use std::panic::resume_unwind;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicU8, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread::Builder;

/// One transaction type as the workload gives it.
#[derive(Clone, Debug, Deserialize)]
pub struct Transaction {
    /// Its name.
    pub name: String,
    /// Its share of the mix, relative to the others'.
    pub weight: f64,
    /// Its script.
    pub text: String,
}

/// Compiled transaction types with their shares.
pub struct Mix {
    /// The compiled scripts.
    pub programs: Vec<Program>,
    thresholds: Vec<u64>,
    first_span: Vec<usize>,
    constants: Vec<Vec<(usize, Value)>>,
}

impl Mix {
    /// Compiles transactions. `constants` are variables that hold throughout (`rows_orders`, `scale`).
    ///
    /// # Errors
    /// The first script fault, as `name, line N: what`.
    pub fn new(transactions: &[Transaction], constants: &BTreeMap<String, Constant>) -> Result<Self, String> {
        let total: f64 = transactions.iter().map(|t| t.weight).sum();
        if transactions.is_empty() || !total.is_finite() || total <= 0.0 {
            return Err("a mix needs at least one transaction with a weight above 0".into());
        }
        let mut mix =
            Self { programs: Vec::new(), thresholds: Vec::new(), first_span: Vec::new(), constants: Vec::new() };
        let mut below = 0.0;
        let mut span = transactions.len();
        for transaction in transactions {
            let program = compile(&transaction.name, &transaction.text)
                .map_err(|(line, why)| format!("{}, line {line}: {why}", transaction.name))?;
            below += transaction.weight / total;
            mix.thresholds.push((below * u64::MAX as f64) as u64);
            mix.first_span.push(span);
            span += program.statements.len();
            mix.constants.push(constants_of(&program, constants));
            mix.programs.push(program);
        }
        if let Some(last) = mix.thresholds.last_mut() {
            *last = u64::MAX;
        }
        Ok(mix)
    }

    /// Number of spans: transaction types first, then every statement of each in order.
    #[must_use]
    pub fn span_count(&self) -> usize {
        self.programs.len() + self.programs.iter().map(|p| p.statements.len()).sum::<usize>()
    }

    /// The names of the spans, `tx:NAME` and `stmt:NAME/N` with N from 1.
    #[must_use]
    pub fn span_names(&self) -> Vec<String> {
        let transactions = self.programs.iter().map(|p| format!("tx:{}", p.name));
        let statements =
            self.programs.iter().flat_map(|p| (1..=p.statements.len()).map(move |n| format!("stmt:{}/{n}", p.name)));
        transactions.chain(statements).collect()
    }

    fn draw(&self, rng: &mut Rng) -> usize {
        if self.programs.len() == 1 {
            return 0;
        }
        let bits = rng.bits();
        self.thresholds.iter().position(|t| bits <= *t).unwrap_or(0)
    }
}

fn constants_of(program: &Program, constants: &BTreeMap<String, Constant>) -> Vec<(usize, Value)> {
    let known = |name: &String| constants.get(name).copied();
    program.slots.iter().filter_map(|(name, slot)| known(name).map(|value| (*slot, value.into()))).collect()
}

/// A variable that holds throughout. Whole numbers are kept whole: a key may be larger than a double can tell apart.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(untagged)]
pub enum Constant {
    /// A whole number, written without a point.
    Int(i64),
    /// Any other number; one that is whole becomes an integer too.
    Real(f64),
}

impl From<Constant> for Value {
    fn from(constant: Constant) -> Self {
        match constant {
            Constant::Int(value) => Self::Int(value),
            Constant::Real(value) if value.fract() == 0.0 && value.abs() < 9e15 => Self::Int(value as i64),
            Constant::Real(value) => Self::Real(value),
        }
    }
}

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
    /// Share of each statement's own thread-CPU time to spin away on top (0: none).
    #[serde(default)]
    pub planted: f64,
    /// How often a transaction is tried before a retryable failure counts as an error.
    #[serde(default = "ten")]
    pub max_tries: u32,
    /// Whether the first error that cannot be retried ends the trial.
    #[serde(default = "yes")]
    pub stop_on_error: bool,
}

fn one() -> u64 {
    1
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

/// What one trial did. Times, totals and CPU are of the recorded operations; the discarded ones are only counted.
#[derive(Clone, Debug, Serialize)]
pub struct Outcome {
    /// Transactions finished and recorded.
    pub operations: u64,
    /// Transactions finished, those at the heads of slices included.
    pub executed_operations: u64,
    /// Wall time of the loop.
    pub elapsed_ns: u64,
    /// CPU seconds of this process in user mode while recording.
    pub cpu_user_seconds: f64,
    /// CPU seconds of this process in the kernel while recording.
    pub cpu_system_seconds: f64,
    /// CPU seconds of the watched processes (none: 0), in user mode and in the kernel, while recording.
    #[serde(skip)]
    pub watched_cpu_seconds: (f64, f64),
    /// How long the loop's threads were ready to run and had no CPU, while recording.
    pub run_delay_ns: Option<u64>,
    /// The same of the watched processes' threads.
    #[serde(skip)]
    pub watched_delay_ns: Option<u64>,
    /// What kept tasks of the machine waiting while recording, see [`Stalls::shares`].
    pub pressure: BTreeMap<String, f64>,
    #[serde(skip)]
    stalls: Stalls,
    /// Whether this process or a watched one stood still, other twins' turns included.
    pub standstill: Standstill,
    /// Exact totals by span, in the order of [`Mix::span_names`].
    #[serde(skip)]
    pub totals: Vec<Totals>,
    /// Rows fetched.
    pub rows: u64,
    /// Failed transactions by kind.
    pub errors: BTreeMap<String, u64>,
    /// Tries repeated, by kind.
    pub retries: BTreeMap<String, u64>,
    /// The first error's text.
    pub first_error: Option<String>,
    /// Open loop: operations that no connection was free for when they fell due.
    pub late_starts: u64,
    /// Open loop: the most operations due and not begun.
    pub backlog_max: u64,
    /// CPU time spun on purpose.
    pub planted_cpu_ns: u64,
    /// Wall time of that, within the measured spans.
    pub planted_elapsed_ns: u64,
    /// What ended it.
    pub stopped_by: Stop,
}

/// The connections of one twin, with what each has learned for its planted cost.
pub struct Loop<C> {
    connections: Vec<(C, Plant)>,
    /// The processes of a server, whose CPU time is read beside this process's.
    watched: Option<Tree>,
    /// The `stat` of the block device that a server's files lie on.
    device: Option<PathBuf>,
    /// Stack of each connection's thread; none: as the system has it.
    stack_bytes: Option<usize>,
    /// How long this trial has run, other twins' turns not counted.
    used_ns: u64,
}

impl<C: Client> Loop<C> {
    /// A loop over these connections, a thread each.
    pub fn new(clients: impl IntoIterator<Item = C>) -> Self {
        let connections = clients.into_iter().map(|client| (client, Plant::default())).collect();
        Self { connections, watched: None, device: None, stack_bytes: None, used_ns: 0 }
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

    /// Runs one trial and gathers times in `histograms`; in slices, each when the baton comes round, if there are turns.
    ///
    /// # Errors
    /// The baton file cannot be used.
    pub fn run(
        &mut self,
        mix: &Mix,
        trial: &Trial,
        turns: Option<&Turns>,
        histograms: &Histograms,
        stop: &AtomicBool,
    ) -> Result<Outcome, String> {
        let watch = Watch::begin(self.watched.as_ref());
        let mut outcome = self.turns(mix, trial, turns, histograms, stop)?;
        outcome.standstill = watch.end();
        outcome.pressure = outcome.stalls.shares();
        Ok(outcome)
    }

    fn turns(
        &mut self,
        mix: &Mix,
        trial: &Trial,
        turns: Option<&Turns>,
        histograms: &Histograms,
        stop: &AtomicBool,
    ) -> Result<Outcome, String> {
        let spans = mix.span_count();
        self.connections.iter_mut().for_each(|(_, plant)| plant.begin(trial.planted, spans));
        let mut sum = Outcome::none(spans);
        self.used_ns = 0;
        let Some(turns) = turns else {
            for slice in 0..trial.slices.max(1) {
                self.slice(mix, trial, slice, histograms, stop, &mut sum);
            }
            return Ok(sum);
        };
        let baton = Baton::open(&turns.path).map_err(|error| format!("baton {}: {error}", turns.path))?;
        let mine = turns.order.iter().enumerate().filter(|(_, who)| **who == turns.participant);
        for (slice, (turn, _)) in mine.enumerate() {
            if !baton.wait_for(turns.participant, turn, stop) {
                // Whoever leaves takes everyone along: a turn given to one who has gone would never come back.
                baton.abort();
                sum.stopped_by = Stop::Signal;
                return Ok(sum);
            }
            self.slice(mix, trial, slice as u64, histograms, stop, &mut sum);
            if sum.stopped_by != Stop::Count {
                baton.abort();
                return Ok(sum);
            }
            match turns.order.get(turn + 1) {
                Some(next) => baton.give(*next, turn + 1),
                None => baton.finish(),
            }
        }
        baton.wait_for_end(stop);
        Ok(sum)
    }

    fn slice(
        &mut self,
        mix: &Mix,
        trial: &Trial,
        slice: u64,
        histograms: &Histograms,
        stop: &AtomicBool,
        sum: &mut Outcome,
    ) {
        let slices = trial.slices.max(1);
        let from = trial.operations * slice / slices;
        let to = trial.operations * (slice + 1) / slices;
        let recorded_from = (from + trial.discard).min(to);
        if recorded_from > from {
            let head = self.range(mix, trial, from..recorded_from, false, histograms, stop);
            sum.add_unrecorded(&head);
        }
        if sum.stopped_by == Stop::Count && to > recorded_from {
            let stalls = Stalls::now(self.device.as_deref());
            let watched = self.watched.as_ref().map(|tree| (tree.delays(), tree.cpu()));
            let before = cpu_seconds();
            let mut part = self.range(mix, trial, recorded_from..to, true, histograms, stop);
            let after = cpu_seconds();
            if let (Some(tree), Some((delays, cpu))) = (&self.watched, watched) {
                part.watched_cpu_seconds = tree.cpu().since(&cpu);
                part.watched_delay_ns = tree.delays().since(&delays);
            }
            part.stalls = Stalls::now(self.device.as_deref()).since(&stalls);
            part.cpu_user_seconds += after.0 - before.0;
            part.cpu_system_seconds = after.1 - before.1;
            sum.add(&part);
        }
    }

    fn range(
        &mut self,
        mix: &Mix,
        trial: &Trial,
        range: Range<u64>,
        recording: bool,
        histograms: &Histograms,
        stop: &AtomicBool,
    ) -> Outcome {
        let part = Part { range, recording, deadline_ns: trial.deadline_ns.saturating_sub(self.used_ns) };
        let shared = Shared::new(self.connections.len(), mix, trial, part, histograms, stop);
        let workers: Vec<Worker<'_>> = match self.connections.as_mut_slice() {
            // One connection needs no second thread, and so no wake-up.
            [(client, plant)] => vec![Worker::new(&shared, 0, plant).work(client)],
            many => std::thread::scope(|scope| {
                let stack_bytes = self.stack_bytes;
                let threads: Vec<_> = many
                    .iter_mut()
                    .enumerate()
                    .map(|(number, (client, plant))| {
                        let shared = &shared;
                        builder(stack_bytes)
                            .spawn_scoped(scope, move || Worker::new(shared, number, plant).work(client))
                            .expect("the system gives every connection a thread")
                    })
                    .collect();
                threads.into_iter().map(|thread| thread.join().unwrap_or_else(|panic| resume_unwind(panic))).collect()
            }),
        };
        let elapsed_ns = monotonic_ns() - shared.started_ns;
        let outcome = shared.outcome(&workers, elapsed_ns);
        drop(workers);
        self.used_ns += elapsed_ns;
        outcome
    }
}

fn builder(stack_bytes: Option<usize>) -> Builder {
    match stack_bytes {
        Some(bytes) => Builder::new().stack_size(bytes),
        None => Builder::new(),
    }
}

impl Outcome {
    fn none(spans: usize) -> Self {
        Self {
            operations: 0,
            executed_operations: 0,
            elapsed_ns: 0,
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
            late_starts: 0,
            backlog_max: 0,
            planted_cpu_ns: 0,
            planted_elapsed_ns: 0,
            stopped_by: Stop::Count,
        }
    }

    /// Adds what every part counts, recorded or not.
    fn add_unrecorded(&mut self, part: &Self) {
        self.executed_operations += part.operations;
        part.errors.iter().for_each(|(kind, n)| *self.errors.entry(kind.clone()).or_insert(0) += n);
        part.retries.iter().for_each(|(kind, n)| *self.retries.entry(kind.clone()).or_insert(0) += n);
        self.first_error = self.first_error.take().or_else(|| part.first_error.clone());
        if self.stopped_by == Stop::Count {
            self.stopped_by = part.stopped_by;
        }
    }

    fn add(&mut self, part: &Self) {
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
        self.late_starts += part.late_starts;
        self.backlog_max = self.backlog_max.max(part.backlog_max);
        self.planted_cpu_ns += part.planted_cpu_ns;
        self.planted_elapsed_ns += part.planted_elapsed_ns;
    }
}

/// A stretch of a trial's operations.
struct Part {
    range: Range<u64>,
    recording: bool,
    /// What is left of the trial's time.
    deadline_ns: u64,
}

struct Shared<'a> {
    mix: &'a Mix,
    trial: &'a Trial,
    part: Part,
    histograms: &'a Histograms,
    stop: &'a AtomicBool,
    halted: AtomicU8,
    next: AtomicU64,
    arrivals: Option<Mutex<Arrivals>>,
    spin: bool,
    started_ns: u64,
}

impl<'a> Shared<'a> {
    fn new(
        connections: usize,
        mix: &'a Mix,
        trial: &'a Trial,
        part: Part,
        histograms: &'a Histograms,
        stop: &'a AtomicBool,
    ) -> Self {
        let arrivals = (trial.pace != Pace::Closed).then(|| {
            Mutex::new(Arrivals::new(trial.pace, trial.seed, trial.stream, part.range.end - part.range.start))
        });
        Self {
            mix,
            trial,
            next: AtomicU64::new(part.range.start),
            part,
            histograms,
            stop,
            halted: AtomicU8::new(Stop::Count as u8),
            arrivals,
            spin: connections < cores(),
            started_ns: monotonic_ns(),
        }
    }

    /// The next operation's number and, in an open loop, when it is due (clock time).
    fn take(&self, worker: &mut Worker<'_>) -> Option<(u64, Option<u64>)> {
        let Some(arrivals) = &self.arrivals else {
            let index = self.next.fetch_add(1, Ordering::Relaxed);
            return (index < self.part.range.end).then_some((index, None));
        };
        let arrival = {
            let mut arrivals = arrivals.lock().unwrap_or_else(PoisonError::into_inner);
            arrivals.take(monotonic_ns() - self.started_ns)?
        };
        worker.late_starts += u64::from(arrival.backlog > 0);
        worker.backlog_max = worker.backlog_max.max(arrival.backlog);
        Some((self.part.range.start + arrival.index, Some(self.started_ns + arrival.due_ns)))
    }

    fn halt(&self, why: Stop) {
        let _ = self.halted.compare_exchange(Stop::Count as u8, why as u8, Ordering::Relaxed, Ordering::Relaxed);
    }

    fn go_on(&self, now_ns: u64) -> bool {
        if self.stop.load(Ordering::Relaxed) {
            self.halt(Stop::Signal);
        } else if now_ns.saturating_sub(self.started_ns) > self.part.deadline_ns {
            self.halt(Stop::Deadline);
        }
        self.halted.load(Ordering::Relaxed) == Stop::Count as u8
    }

    fn outcome(&self, workers: &[Worker<'_>], elapsed_ns: u64) -> Outcome {
        let mut totals = vec![Totals::default(); self.mix.span_count()];
        let mut errors = BTreeMap::new();
        let mut retries = BTreeMap::new();
        for worker in workers {
            for (sum, part) in totals.iter_mut().zip(&worker.recorder.totals) {
                sum.count += part.count;
                sum.total_ns += part.total_ns;
            }
            worker.errors.iter().for_each(|(kind, n)| *errors.entry(kind.clone()).or_insert(0) += n);
            worker.retries.iter().for_each(|(kind, n)| *retries.entry(kind.clone()).or_insert(0) += n);
        }
        let sum = |of: fn(&Worker<'_>) -> u64| workers.iter().map(of).sum();
        let operations = sum(|w| w.operations);
        Outcome {
            operations,
            executed_operations: operations,
            elapsed_ns,
            // What was spun before operations fell due is in the process's CPU time, and is taken off it.
            cpu_user_seconds: -(sum(|w| w.spun_ns) as f64) * 1e-9,
            cpu_system_seconds: 0.0,
            watched_cpu_seconds: (0.0, 0.0),
            run_delay_ns: workers.iter().map(|w| w.run_delay_ns).sum(),
            watched_delay_ns: None,
            pressure: BTreeMap::new(),
            stalls: Stalls::default(),
            standstill: Standstill::default(),
            totals,
            rows: sum(|w| w.rows),
            errors,
            retries,
            first_error: workers.iter().find_map(|w| w.first_error.clone()),
            late_starts: sum(|w| w.late_starts),
            backlog_max: workers.iter().map(|w| w.backlog_max).max().unwrap_or(0),
            planted_cpu_ns: sum(|w| w.plant.cpu_ns - w.plant_before.0),
            planted_elapsed_ns: sum(|w| w.plant.elapsed_ns - w.plant_before.1),
            stopped_by: match self.halted.load(Ordering::Relaxed) {
                1 => Stop::Deadline,
                2 => Stop::Signal,
                3 => Stop::Error,
                _ => Stop::Count,
            },
        }
    }
}

struct Worker<'a> {
    shared: &'a Shared<'a>,
    recorder: Recorder<'a>,
    slots: Vec<Vec<Value>>,
    op_slots: Vec<Option<usize>>,
    errors: BTreeMap<String, u64>,
    retries: BTreeMap<String, u64>,
    first_error: Option<String>,
    rows: u64,
    late_starts: u64,
    backlog_max: u64,
    operations: u64,
    /// Time spun while waiting for an operation to fall due: CPU time of the loop's, not of the database's.
    spun_ns: u64,
    /// How long its thread was ready to run and had no CPU; nothing where it records nothing.
    run_delay_ns: Option<u64>,
    plant: &'a mut Plant,
    /// CPU and elapsed ns that were planted before this worker began.
    plant_before: (u64, u64),
}

/// When a transaction's parts happened.
struct Times {
    first_ns: Option<u64>,
    last_ns: u64,
    /// Whether anything but the last statement may have passed since `last_ns`.
    stale: bool,
}

impl<'a> Worker<'a> {
    fn new(shared: &'a Shared<'a>, number: usize, plant: &'a mut Plant) -> Self {
        let programs = &shared.mix.programs;
        let fill = |(program, constants): (&Program, &Vec<(usize, Value)>)| {
            let mut slots = vec![Value::Null; program.slot_count];
            constants.iter().for_each(|(slot, value)| slots[*slot] = value.clone());
            if let Some(slot) = program.slots.get("client") {
                slots[*slot] = Value::Int(number as i64);
            }
            slots
        };
        Self {
            shared,
            recorder: Recorder::new(shared.histograms, shared.mix.span_count()),
            slots: programs.iter().zip(&shared.mix.constants).map(fill).collect(),
            op_slots: programs.iter().map(|p| p.slots.get("op").copied()).collect(),
            errors: BTreeMap::new(),
            retries: BTreeMap::new(),
            first_error: None,
            rows: 0,
            late_starts: 0,
            backlog_max: 0,
            operations: 0,
            spun_ns: 0,
            run_delay_ns: None,
            plant_before: (plant.cpu_ns, plant.elapsed_ns),
            plant,
        }
    }

    fn work<C: Client>(mut self, client: &mut C) -> Self {
        let shared = self.shared;
        let mut now_ns = shared.started_ns;
        let waited_ns = if shared.part.recording { thread_delay_ns() } else { None };
        while shared.go_on(now_ns) {
            let Some((index, due_ns)) = shared.take(&mut self) else { break };
            if let Some(due_ns) = due_ns {
                self.spun_ns += wait_until(due_ns, monotonic_ns, shared.spin);
            }
            now_ns = self.operation(client, index, due_ns);
            self.recorder.settle();
        }
        self.recorder.flush();
        self.run_delay_ns = thread_delay_since(waited_ns);
        self
    }

    /// One transaction with its retries. Returns the time at its end.
    fn operation<C: Client>(&mut self, client: &mut C, index: u64, due_ns: Option<u64>) -> u64 {
        let trial = self.shared.trial;
        let mut times = Times { first_ns: due_ns, last_ns: 0, stale: true };
        for attempt in 1.. {
            let mut rng = Rng::new(trial.seed, trial.stream, index);
            let which = self.shared.mix.draw(&mut rng);
            if let Some(slot) = self.op_slots[which] {
                self.slots[which][slot] = Value::Int((trial.first_op + index) as i64);
            }
            match self.transaction(client, which, &mut rng, &mut times) {
                Ok(()) => {
                    let first_ns = times.first_ns.unwrap_or(times.last_ns);
                    self.operations += 1;
                    if self.shared.part.recording {
                        self.recorder.record(which, times.last_ns.saturating_sub(first_ns));
                    }
                    return times.last_ns;
                }
                Err(error) => {
                    client.abandon();
                    times.stale = true;
                    if error.retryable && attempt < trial.max_tries && !self.shared.stop.load(Ordering::Relaxed) {
                        *self.retries.entry(error.kind).or_insert(0) += 1;
                        continue;
                    }
                    self.fail(which, error);
                    break;
                }
            }
        }
        monotonic_ns()
    }

    fn fail(&mut self, which: usize, error: ClientError) {
        let name = &self.shared.mix.programs[which].name;
        self.first_error.get_or_insert_with(|| format!("{name}: {}", error.message));
        *self.errors.entry(error.kind).or_insert(0) += 1;
        if self.shared.trial.stop_on_error {
            self.shared.halt(Stop::Error);
        }
    }

    #[inline]
    fn transaction<C: Client>(
        &mut self,
        client: &mut C,
        which: usize,
        rng: &mut Rng,
        times: &mut Times,
    ) -> Result<(), ClientError> {
        let program = &self.shared.mix.programs[which];
        let mut at = 0;
        while let Some(step) = program.steps.get(at) {
            at += 1;
            if let Step::Run(statement) = step {
                self.statement(client, (which, *statement), times)?;
                continue;
            }
            times.stale = true;
            let slots = &mut self.slots[which];
            match step {
                Step::Run(_) => unreachable!("handled above"),
                Step::Set(slot, expression) => {
                    slots[*slot] = expression.evaluate(slots, rng).map_err(script_error)?;
                }
                Step::Unless(condition, target) => {
                    if !is_true(&condition.evaluate(slots, rng).map_err(script_error)?) {
                        at = *target;
                    }
                }
                Step::Jump(target) => at = *target,
                Step::LoopStart(slot, count) => {
                    slots[*slot] = Value::Int(count.integer(slots, rng).map_err(script_error)?);
                }
                Step::LoopTest(slot, target) => match &mut slots[*slot] {
                    Value::Int(left) if *left > 0 => *left -= 1,
                    _ => at = *target,
                },
            }
        }
        Ok(())
    }

    #[inline]
    fn statement<C: Client>(
        &mut self,
        client: &mut C,
        at: (usize, usize),
        times: &mut Times,
    ) -> Result<(), ClientError> {
        let mix = self.shared.mix;
        let program = &mix.programs[at.0];
        let start_ns = if times.stale { monotonic_ns() } else { times.last_ns };
        times.first_ns.get_or_insert(start_ns);
        let slots = &mut self.slots[at.0];
        let statement = &program.statements[at.1];
        let span = mix.first_span[at.0] + at.1;
        let mut run = || match statement.kind {
            Kind::Connect => client.connect(&mix.programs).map(|()| 0),
            _ => client.execute(at, statement, program.writes, slots),
        };
        let (rows, last_ns) = if self.plant.share > 0.0 {
            self.plant.around(span, start_ns, run)
        } else {
            let rows = run();
            (rows, monotonic_ns())
        };
        self.rows += rows?;
        times.last_ns = last_ns;
        times.stale = false;
        if self.shared.part.recording {
            self.recorder.record(span, last_ns - start_ns);
        }
        Ok(())
    }
}

fn script_error(message: String) -> ClientError {
    ClientError { kind: "script".into(), message, retryable: false }
}

/// A planted cost: spins for a share of the statements' own thread-CPU time.
///
/// The thread's CPU clock is a system call, dear beside a short statement, and dearer in a real loop than in a tight one;
/// reading it twice a statement would plant a cost nobody asked for. So it is read for one execution in many, which
/// tells what part of the statement's elapsed time is CPU time, and every execution spins for the planted share of that
/// part of its own elapsed time, some twenty microseconds at once. What was spun is timed by the clock that the loop reads
/// anyway.
#[derive(Default)]
struct Plant {
    share: f64,
    clock_ns: u64,
    sampled: Vec<Sampled>,
    owed_ns: f64,
    cpu_ns: u64,
    elapsed_ns: u64,
}

/// What is known of one statement: CPU and elapsed time of the executions that were sampled.
#[derive(Clone, Copy, Default)]
struct Sampled {
    cpu_ns: u64,
    elapsed_ns: u64,
    skip: u32,
}

impl Plant {
    /// One execution in so many is sampled, and the first.
    const EVERY: u32 = 128;
    /// What is owed is gathered until it is worth a spin. Each spin costs the statements around it something that
    /// no clock here sees (probably branch prediction): with spins of a fraction of a microsecond behind every statement,
    /// planted twins of the order-entry mix read some 2 points more CPU than was spun (docs/measurements.md).
    const LEAST_NS: f64 = 20_000.0;
    /// A spin that overshoots by this much was preempted.
    const PREEMPTED_NS: u64 = 50_000;

    /// Gets ready for a trial. What was learned of the statements in earlier ones stays.
    fn begin(&mut self, share: f64, spans: usize) {
        self.share = share;
        self.sampled.resize(spans, Sampled::default());
        if share > 0.0 && self.clock_ns == 0 {
            self.clock_ns = clock_cost();
        }
    }

    /// Runs a statement that began at `start_ns` and spins behind it. Returns its result and the time after the spin.
    fn around<T>(&mut self, span: usize, start_ns: u64, statement: impl FnOnce() -> T) -> (T, u64) {
        let is_sample = self.sampled[span].skip == 0;
        let before = if is_sample { thread_cpu_ns() } else { 0 };
        let result = statement();
        let own_cpu_ns = if is_sample { (thread_cpu_ns() - before).saturating_sub(self.clock_ns) } else { 0 };
        let end_ns = monotonic_ns();
        let mut own_ns = end_ns - start_ns;
        let sampled = &mut self.sampled[span];
        if is_sample {
            let clocks_ns = 2 * self.clock_ns;
            own_ns = own_ns.saturating_sub(clocks_ns);
            *sampled = Sampled {
                cpu_ns: sampled.cpu_ns + own_cpu_ns,
                elapsed_ns: sampled.elapsed_ns + own_ns,
                skip: Self::EVERY,
            };
            self.owed_ns -= clocks_ns as f64;
            self.cpu_ns += clocks_ns;
            self.elapsed_ns += clocks_ns;
        }
        sampled.skip -= 1;
        let cpu_part = (sampled.cpu_ns as f64 / sampled.elapsed_ns.max(1) as f64).min(1.0);
        self.owed_ns += own_ns as f64 * cpu_part * self.share;
        (result, if self.owed_ns < Self::LEAST_NS { end_ns } else { self.spin(end_ns) })
    }

    /// Spins from `start_ns` (just read) until nothing is owed. Returns the time then.
    fn spin(&mut self, start_ns: u64) -> u64 {
        let wanted = self.owed_ns.max(0.0) as u64;
        let mut now_ns = start_ns;
        while now_ns - start_ns < wanted {
            now_ns = monotonic_ns();
        }
        let spun = now_ns - start_ns;
        // If the core was taken away meanwhile, the wall clock ran on but no more CPU time than wanted was spent.
        let cpu = if spun > wanted + Self::PREEMPTED_NS { wanted } else { spun };
        self.cpu_ns += cpu;
        self.elapsed_ns += spun;
        self.owed_ns -= cpu as f64;
        now_ns
    }
}

/// What one reading of the thread's CPU clock costs, ns: the least mean of a few batches.
fn clock_cost() -> u64 {
    const CALLS: u64 = 256;
    let batch = |_| {
        let start = monotonic_ns();
        (0..CALLS).for_each(|_| {
            std::hint::black_box(thread_cpu_ns());
        });
        (monotonic_ns() - start) / CALLS
    };
    (0..4).map(batch).min().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::Noop;
    use crate::script::Statement;

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
    }

    fn go<C: Client>(clients: impl IntoIterator<Item = C>, mix: &Mix, trial: &Trial) -> (Outcome, Vec<C>) {
        let histograms = Histograms::new(mix.span_count());
        let mut all = Loop::new(clients);
        let outcome = all.run(mix, trial, None, &histograms, &AtomicBool::new(false)).unwrap();
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

    #[test]
    fn an_error_ends_the_trial_and_says_why() {
        let mix = mix(&[("a", 1.0, "SELECT 1;")]);
        let (outcome, _) = go([Probe { fail_hard: true, ..Probe::default() }], &mix, &trial(5));
        assert_eq!(outcome.stopped_by, Stop::Error);
        assert_eq!(outcome.first_error.as_deref(), Some("a: disk"));
        assert_eq!(outcome.errors["full"], 1);
    }

    #[test]
    fn a_deadline_and_a_signal_end_a_trial() {
        let mix = mix(&[("a", 1.0, "SELECT 1;")]);
        let mut orders = trial(u64::MAX);
        orders.deadline_ns = 20_000_000;
        assert_eq!(go([Noop::default()], &mix, &orders).0.stopped_by, Stop::Deadline);
        let histograms = Histograms::new(mix.span_count());
        let mut all = Loop::new([Noop::default()]);
        let stopped = all.run(&mix, &orders, None, &histograms, &AtomicBool::new(true)).unwrap();
        assert_eq!((stopped.stopped_by, stopped.operations), (Stop::Signal, 0));
    }

    #[test]
    fn an_open_loop_counts_from_the_due_time() {
        let mix = mix(&[("a", 1.0, "SELECT 1;")]);
        let mut orders = trial(50);
        orders.pace = Pace::Constant(10_000.0);
        // Each operation takes 1 ms and one falls due every 0.1 ms: the 50th waits for about 45 ms.
        let (outcome, _) = go([Probe { sleep_ns: 1_000_000, ..Probe::default() }], &mix, &orders);
        let mean_ms = outcome.totals[0].total_ns as f64 / 50.0 / 1e6;
        let service_ms = outcome.totals[1].total_ns as f64 / 50.0 / 1e6;
        assert!(mean_ms > 15.0 * service_ms.min(1.4), "waiting shows: {mean_ms} of which service {service_ms}");
        assert!(outcome.late_starts >= 45, "{}", outcome.late_starts);
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
        // Then the few that are sampled may tell of less CPU than the others took, too.
        if span < 1.05 * (own + outcome.planted_elapsed_ns as f64) {
            assert!((0.4..0.6).contains(&realised), "{realised}");
        }
    }

    #[test]
    fn the_cpu_of_a_watched_process_stands_beside_the_loops_own() {
        let mix = mix(&[("a", 1.0, "SELECT 1;")]);
        let mut all = Loop::new([Probe { burn_ns: 1_000_000, ..Probe::default() }]);
        let histograms = Histograms::new(mix.span_count());
        let run =
            |all: &mut Loop<Probe>| all.run(&mix, &trial(50), None, &histograms, &AtomicBool::new(false)).unwrap();
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
        let histograms = Histograms::new(mix.span_count());
        let mut all = Loop::new((0..50).map(|_| Probe::default())).with_stacks(256 << 10);
        assert_eq!(all.run(&mix, &trial(500), None, &histograms, &AtomicBool::new(false)).unwrap().operations, 500);
    }

    #[test]
    fn slices_do_the_same_work_and_leave_their_heads_unrecorded() {
        let mix = mix(&[("a", 1.0, "\\set x random(1, :rows_t)\nSELECT :x;")]);
        let (whole, clients) = go([Probe::default()], &mix, &trial(1000));
        let mut orders = trial(1000);
        (orders.slices, orders.discard) = (7, 10);
        let (sliced, sliced_clients) = go([Probe::default()], &mix, &orders);
        assert_eq!(clients[0].sum, sliced_clients[0].sum);
        assert_eq!((whole.operations, whole.executed_operations), (1000, 1000));
        assert_eq!((sliced.operations, sliced.executed_operations), (930, 1000));
        assert_eq!(sliced.totals[0].count, 930);
    }
}
