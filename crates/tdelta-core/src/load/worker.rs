//! One connection's part of a stretch of operations, and what the connections share meanwhile.

use super::guard::Limit;
use super::mix::Mix;
use super::outcome::{digest_of, Apart, Outcome};
use super::plant::Plant;
use super::trial::{Stop, Trial};
use super::{refused, Run};
use crate::client::{Client, ClientError};
use crate::draw::Rng;
use crate::latency::{Histograms, Recorder, Totals};
use crate::pace::{wait_until, Arrivals, Pace};
use crate::process::{cores, monotonic_ns, thread_delay_ns, thread_delay_since, Usage, Waits};
use crate::script::{is_true, Kind, Program, Step};
use crate::value::Value;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicU8, Ordering};
use std::sync::{Mutex, PoisonError};

/// A stretch of a trial's operations.
pub(super) struct Part {
    pub range: Range<u64>,
    pub recording: bool,
    /// The rest of the trial's time.
    pub deadline_ns: u64,
}

pub(super) struct Shared<'a> {
    mix: &'a Mix,
    trial: &'a Trial,
    part: Part,
    histograms: &'a Histograms,
    stop: &'a AtomicBool,
    limit: &'a Limit,
    halted: AtomicU8,
    next: AtomicU64,
    arrivals: Option<Mutex<Arrivals>>,
    spin: bool,
    pub started_ns: u64,
}

impl<'a> Shared<'a> {
    pub fn new(connections: usize, run: Run<'a>, part: Part) -> Self {
        let Run { mix, histograms, trial, stop, limit } = run;
        let arrivals = (trial.pace != Pace::Closed).then(|| {
            Mutex::new(Arrivals::new(trial.pace, trial.seed, trial.stream, part.range.clone(), trial.segment))
        });
        Self {
            mix,
            trial,
            next: AtomicU64::new(trial.segment.below(part.range.start)),
            part,
            histograms,
            stop,
            limit,
            halted: AtomicU8::new(Stop::Count as u8),
            arrivals,
            spin: connections < cores(),
            started_ns: monotonic_ns(),
        }
    }

    /// The next operation's number and, in an open loop, when it is due (clock time).
    fn take(&self, worker: &mut Worker<'_>) -> Option<(u64, Option<u64>)> {
        if let Some(feed) = self.trial.feed.as_deref().filter(|_| self.part.recording) {
            let mut since_ns = None;
            let index = feed.take(|| self.go_on(monotonic_ns()), || since_ns = Some(monotonic_ns()));
            worker.waited_ns += since_ns.map_or(0, |since_ns| monotonic_ns() - since_ns);
            return index.map(|index| (index, None));
        }
        let Some(arrivals) = &self.arrivals else {
            let index = self.trial.segment.nth(self.next.fetch_add(1, Ordering::Relaxed));
            return (index < self.part.range.end).then_some((index, None));
        };
        let arrival = {
            let mut arrivals = arrivals.lock().unwrap_or_else(PoisonError::into_inner);
            arrivals.take(monotonic_ns() - self.started_ns)?
        };
        worker.queued_operations += u64::from(arrival.backlog > 0);
        worker.backlog_max = worker.backlog_max.max(arrival.backlog);
        Some((arrival.index, Some(self.started_ns + arrival.due_ns)))
    }

    pub fn halt(&self, why: Stop) {
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

    pub fn outcome(&self, workers: &[Worker<'_>], elapsed_ns: u64) -> Outcome {
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
        let mut apart = Apart::default();
        workers.iter().for_each(|worker| apart.add(&worker.apart));
        Outcome {
            operations,
            total_operations: operations,
            operations_digest: workers.iter().fold(0, |sum, w| sum.wrapping_add(w.operations_digest)),
            elapsed_ns: elapsed_ns.saturating_sub(apart.elapsed_ns),
            // What was spun before operations fell due is in the process's CPU time, and is taken off it.
            cpu_user_seconds: -(sum(|w| w.spun_ns) as f64) * 1e-9,
            run_delay_ns: workers.iter().map(|w| w.run_delay_ns).sum(),
            watched_delay_ns: None,
            totals,
            rows: sum(|w| w.rows),
            errors,
            retries,
            first_error: workers.iter().find_map(|w| w.first_error.clone()),
            queued_operations: sum(|w| w.queued_operations),
            backlog_max: workers.iter().map(|w| w.backlog_max).max().unwrap_or(0),
            waited_ns: sum(|w| w.waited_ns) / workers.len().max(1) as u64,
            planted_cpu_ns: sum(|w| w.plant.cpu_ns - w.plant_before.0),
            planted_elapsed_ns: sum(|w| w.plant.elapsed_ns - w.plant_before.1),
            stopped_by: match self.halted.load(Ordering::Relaxed) {
                1 => Stop::Deadline,
                2 => Stop::Signal,
                3 => Stop::Error,
                _ => Stop::Count,
            },
            apart,
            ..Outcome::none(0)
        }
    }
}

pub(super) struct Worker<'a> {
    shared: &'a Shared<'a>,
    recorder: Recorder<'a>,
    slots: Vec<Vec<Value>>,
    /// The slots as they were at an operation's last [`Resume`].
    saved: Vec<Vec<Value>>,
    op_slots: Vec<Option<usize>>,
    errors: BTreeMap<String, u64>,
    retries: BTreeMap<String, u64>,
    first_error: Option<String>,
    rows: u64,
    queued_operations: u64,
    backlog_max: u64,
    waited_ns: u64,
    operations: u64,
    operations_digest: u64,
    /// Time spun while waiting for an operation to fall due: CPU time of the loop's, not of the database's.
    spun_ns: u64,
    /// How long its thread was ready to run and had no CPU; nothing where it records nothing.
    run_delay_ns: Option<u64>,
    plant: &'a mut Plant,
    /// CPU and elapsed ns that were planted before this worker began.
    plant_before: (u64, u64),
    /// The time for making caches cold ahead of its operations.
    apart: Apart,
}

/// The step that a script goes on with after a retryable error. Its earlier writes are committed: once more, they would
/// be doubled. A COMMIT that fails counts as not done, so a client may call that error retryable only if nothing was
/// committed; a lost connection never is.
struct Resume {
    step: usize,
    rng: Rng,
    /// Tries since then.
    tries: u32,
}

/// When a transaction's parts happened.
struct Times {
    first_ns: Option<u64>,
    last_ns: u64,
    /// Whether anything but the last statement may have passed since `last_ns`.
    stale: bool,
}

impl<'a> Worker<'a> {
    pub fn new(shared: &'a Shared<'a>, number: usize, plant: &'a mut Plant) -> Self {
        let programs = &shared.mix.programs;
        let fill = |(program, constants): (&Program, &Vec<(usize, Value)>)| {
            let mut slots = vec![Value::Null; program.slot_count];
            constants.iter().for_each(|(slot, value)| slots[*slot] = value.clone());
            if let Some(slot) = program.slots.get("client") {
                slots[*slot] = Value::Int(shared.trial.segment.from as i64 + number as i64);
            }
            slots
        };
        let slots: Vec<_> = programs.iter().zip(&shared.mix.constants).map(fill).collect();
        Self {
            shared,
            recorder: Recorder::new(shared.histograms, shared.mix.span_count()),
            saved: slots.clone(),
            slots,
            op_slots: programs.iter().map(|p| p.slots.get("op").copied()).collect(),
            errors: BTreeMap::new(),
            retries: BTreeMap::new(),
            first_error: None,
            rows: 0,
            queued_operations: 0,
            backlog_max: 0,
            waited_ns: 0,
            operations: 0,
            operations_digest: 0,
            spun_ns: 0,
            run_delay_ns: None,
            plant_before: (plant.cpu_ns, plant.elapsed_ns),
            plant,
            apart: Apart::default(),
        }
    }

    /// Operations one after another until there is none left, or the stretch is halted.
    pub fn work<C: Client>(mut self, client: &mut C) -> Self {
        let shared = self.shared;
        let mut now_ns = shared.started_ns;
        let waited_ns = if shared.part.recording { thread_delay_ns() } else { None };
        while shared.go_on(now_ns - self.apart.elapsed_ns) {
            let Some((index, due_ns)) = shared.take(&mut self) else { break };
            if shared.trial.cold {
                if let Err(error) = self.cool(client) {
                    self.fail(located("a cold start", error));
                    shared.halt(Stop::Error);
                    break;
                }
            }
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

    /// Makes caches cold, and takes note of what that used.
    #[cold]
    fn cool<C: Client>(&mut self, client: &mut C) -> Result<(), ClientError> {
        let (start_ns, usage, waits) = (monotonic_ns(), Usage::now(), Waits::now(client.is_spread()));
        let cooled = client.cool();
        let (usage, run_delay_ns) = (Usage::now().since(&usage), waits.since().unwrap_or(0));
        let elapsed_ns = monotonic_ns() - start_ns;
        self.shared.limit.extend(elapsed_ns);
        self.apart.add(&Apart { elapsed_ns, usage, run_delay_ns });
        cooled
    }

    /// One run of a script with its retries. Returns the time at its end.
    fn operation<C: Client>(&mut self, client: &mut C, index: u64, due_ns: Option<u64>) -> u64 {
        let trial = self.shared.trial;
        let mut times = Times { first_ns: due_ns, last_ns: 0, stale: true };
        let mut rng = Rng::new(trial.seed, trial.stream, index);
        let which = self.shared.mix.draw(&mut rng);
        let mut resume = Resume { step: 0, rng, tries: 0 };
        loop {
            if let Some(slot) = self.op_slots[which] {
                self.slots[which][slot] = Value::Int((trial.first_op + index) as i64);
            }
            match self.script(client, which, &mut resume, &mut times) {
                Ok(()) => {
                    let first_ns = times.first_ns.unwrap_or(times.last_ns);
                    self.operations += 1;
                    self.operations_digest = self.operations_digest.wrapping_add(digest_of(index));
                    if self.shared.part.recording {
                        self.recorder.record(which, times.last_ns.saturating_sub(first_ns));
                    }
                    return times.last_ns;
                }
                Err(error) => {
                    client.abandon();
                    times.stale = true;
                    if let Some(why) = self.shared.limit.broken() {
                        self.break_off(why, error);
                        break;
                    }
                    resume.tries += 1;
                    if error.retryable && resume.tries < trial.max_tries && !self.shared.stop.load(Ordering::Relaxed) {
                        *self.retries.entry(error.kind).or_insert(0) += 1;
                        continue;
                    }
                    self.fail(error);
                    break;
                }
            }
        }
        monotonic_ns()
    }

    /// The error of an operation that was broken off; none after a request to stop.
    #[cold]
    fn break_off(&mut self, why: Stop, mut error: ClientError) {
        let trial = self.shared.trial;
        if why == Stop::Deadline {
            let seconds = trial.deadline_ns.saturating_add(trial.patience_ns) as f64 * 1e-9;
            let place = error.message.split_once(": ").map_or("", |(place, _)| place);
            error.message = format!("{place}: expected it to end within {seconds:.0} s, and broke it off");
            if error.kind != "connection" {
                error.kind = "endless".into();
            }
            self.fail(error);
        }
        self.shared.halt(why);
    }

    fn fail(&mut self, error: ClientError) {
        self.first_error.get_or_insert(error.message);
        *self.errors.entry(error.kind).or_insert(0) += 1;
        if self.shared.trial.stop_on_error {
            self.shared.halt(Stop::Error);
        }
    }

    /// Runs a script from `resume` to its end. Each committed write moves `resume` on.
    #[inline]
    fn script<C: Client>(
        &mut self,
        client: &mut C,
        which: usize,
        resume: &mut Resume,
        times: &mut Times,
    ) -> Result<(), ClientError> {
        let program = &self.shared.mix.programs[which];
        let (mut at, rng) = (resume.step, &mut resume.rng.clone());
        if at > 0 {
            copy(&self.saved[which], &mut self.slots[which]);
        }
        let mut is_in_transaction = false;
        while let Some(step) = program.steps.get(at) {
            at += 1;
            if let Step::Run(statement) = step {
                let done = self.statement(client, (which, *statement), times);
                done.map_err(|error| {
                    let line = program.statements[*statement].line;
                    located(&format!("{}, line {line}", program.name), error)
                })?;
                let kind = program.statements[*statement].kind;
                let is_committed = kind == Kind::Commit || kind == Kind::Write && !is_in_transaction;
                is_in_transaction = match kind {
                    Kind::Begin => true,
                    Kind::Query | Kind::Write => is_in_transaction,
                    Kind::Commit | Kind::Rollback | Kind::Connect => false,
                };
                if is_committed && at < program.steps.len() {
                    copy(&self.slots[which], &mut self.saved[which]);
                    *resume = Resume { step: at, rng: rng.clone(), tries: 0 };
                    times.stale = true;
                }
                continue;
            }
            times.stale = true;
            let slots = &mut self.slots[which];
            let script_error = |message| located(&program.name, refused("script", message));
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
                    _ if self.shared.limit.broken().is_some() => return Err(script_error("\\repeat".into())),
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

/// Copies slots into others of the same number, and allocates only for a text that is longer than any before.
fn copy(from: &[Value], to: &mut [Value]) {
    for pair in to.iter_mut().zip(from) {
        match pair {
            (Value::Text(to), Value::Text(from)) => to.clone_from(from),
            (to, from) => to.clone_from(from),
        }
    }
}

/// The error with where it was met.
#[cold]
fn located(place: &str, mut error: ClientError) -> ClientError {
    error.message = format!("{place}: {}", error.message);
    error
}
