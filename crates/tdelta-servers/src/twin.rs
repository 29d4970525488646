//! A twin: connections to one server under load, and one more for questions between trials.

use crate::crew::{share, HANDS};
use crate::failure::failure;
use crate::options::Options;
use crate::session::{Rows, Session};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::sync::Arc;
use std::time::Duration;
use tdelta_core::client::ClientError;
use tdelta_core::data::{Plan, Table, TableChecksum};
use tdelta_core::load::{Loop, Mix, Prepared, Trial};
use tdelta_core::process::{monotonic_ns, Delays, Stalls, Standstill, Tree, Usage, Watch};
use tdelta_core::trace::{Meter, Reading};
use tdelta_core::twin::{as_json, Checkpoint, Measured, Metered, Tables, Twin};

/// Stack of a connection's thread: two thousand of them are to fit small machines.
const STACK_BYTES: usize = 256 << 10;

/// A table is cut into streams of no fewer rows than this.
const LEAST_ROWS_A_STREAM: u64 = 20_000;

/// How often a server that comes to rest is polled.
const SETTLE_EVERY: Duration = Duration::from_millis(20);

/// The statements beside the load, and those that bring the server to rest after it.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Observed {
    /// Processes whose trees are the server.
    #[serde(default)]
    pub watch: Vec<u32>,
    /// Those among them that are the file system under the server (`Tree::on`).
    #[serde(default)]
    pub file_systems: Vec<u32>,
    /// Queries whose rows are a counter's name and its value.
    #[serde(default)]
    pub counters: Vec<String>,
    /// Statements that each connection of the load runs when a trial has ended, so that the counters hold all that it did.
    #[serde(default)]
    pub flush: Vec<String>,
    /// Statements that are run after a trial.
    #[serde(default)]
    pub settle: Vec<String>,
    /// Asked after that until its first value is at most `settle_at_most`.
    #[serde(default)]
    pub settle_query: Option<String>,
    /// See `settle_query`.
    #[serde(default)]
    pub settle_at_most: i64,
    /// How long that may take.
    #[serde(default = "half_a_minute")]
    pub settle_seconds: f64,
    /// The `stat` of the block device that the server's files lie on.
    #[serde(default)]
    pub device: Option<PathBuf>,
}

fn half_a_minute() -> f64 {
    30.0
}

/// How statements are traced one by one.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tracing {
    /// Asked on the connection that is traced: the system's number of the thread that serves it; none where that is
    /// not on this machine.
    #[serde(default)]
    pub thread: Option<String>,
    /// Queries whose rows are a counter's name and its value, run on another connection around every statement.
    #[serde(default)]
    pub counters: Vec<String>,
}

/// Meters of a connection to a server: the CPU time of the thread that serves it, where that is on this machine, and
/// status counters.
struct ServedMeter<'a, S> {
    administrative: &'a mut S,
    queries: &'a [String],
    schedule: Option<PathBuf>,
}

impl<S: Session> ServedMeter<'_, S> {
    fn counters(&mut self) -> Result<BTreeMap<String, i64>, ClientError> {
        let mut all = BTreeMap::new();
        for query in self.queries {
            let (_, rows) = self.administrative.rows(query)?;
            all.extend(rows.into_iter().filter_map(|row| {
                let mut cells = row.into_iter();
                Some((cells.next()??, cells.next()??.parse::<i64>().ok()?))
            }));
        }
        Ok(all)
    }

    /// The thread's time on a CPU, ns: exact while it waits for the next statement; 0 where it is not on this machine.
    fn cpu_ns(&self) -> Result<u64, ClientError> {
        let Some(schedule) = &self.schedule else { return Ok(0) };
        let told = |why: String| failure("trace", format!("{}: {why}", schedule.display()));
        let text = std::fs::read_to_string(schedule).map_err(|error| told(error.to_string()))?;
        let first = text.split_whitespace().next().unwrap_or_default();
        first.parse().map_err(|_| told(format!("expected nanoseconds first, found {first:?}")))
    }
}

impl<S: Session> Meter<S> for ServedMeter<'_, S> {
    fn before(&mut self, _client: &mut S) -> Result<Reading, ClientError> {
        let counters = self.counters()?;
        Ok(Reading { cpu_ns: self.cpu_ns()?, counters })
    }

    /// Counters first: meanwhile the thread finishes what it does behind its answer, and goes to sleep.
    fn after(&mut self, _client: &mut S) -> Result<Reading, ClientError> {
        let counters = self.counters()?;
        Ok(Reading { cpu_ns: self.cpu_ns()?, counters })
    }
}

/// A counter's value, whole where the server's is.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Count {
    /// A whole number.
    Whole(i64),
    /// Any other.
    Real(f64),
}

/// The report on a trial beside its outcome, whose CPU seconds are the server's.
#[derive(Clone, Debug, Serialize)]
pub struct Extra {
    /// CPU seconds of the connections' own process in user mode while recording.
    pub client_cpu_user_seconds: f64,
    /// The same in the kernel.
    pub client_cpu_system_seconds: f64,
    /// By how much the server's counters grew over the trial.
    pub counters: BTreeMap<String, Count>,
    /// Resources that the server's processes used over the trial, coming to rest included.
    pub usage: Usage,
    /// The cost of coming to rest.
    #[serde(flatten)]
    pub checkpoint: Checkpoint,
    /// Sizes of files: a server's are not looked at from here.
    pub files: BTreeMap<String, u64>,
    /// How long the server's threads were ready to run and had no CPU, while recording.
    pub run_delay_ns: Option<u64>,
    /// Resources that kept tasks of the machine waiting while the load ran, see `Stalls::shares`.
    pub pressure: BTreeMap<String, f64>,
    /// Whether the worker or the server stood still meanwhile.
    pub standstill: Standstill,
}

/// The methods of a twin on a server beside those of every twin, whatever its protocol.
pub trait Served: Twin {
    /// All that a statement answers.
    ///
    /// # Errors
    /// An error of the server.
    fn rows(&mut self, sql: &str) -> Result<Rows, ClientError>;

    /// Runs one statement and drops what it answers.
    ///
    /// # Errors
    /// An error of the server.
    fn run(&mut self, sql: &str) -> Result<(), ClientError>;

    /// Says what trials look at from now on.
    fn observe(&mut self, observed: Observed);

    /// Says what traces read from now on.
    fn trace_by(&mut self, tracing: Tracing);

    /// Takes note of what the server used so far: a load that is no loop of this process's is about to begin.
    ///
    /// # Errors
    /// An error of the server.
    fn begin_external_load(&mut self) -> Result<(), ClientError>;

    /// Lets the server come to rest if `settle`, and says what it used since [`Served::begin_external_load`], that included.
    ///
    /// # Errors
    /// If nothing was begun, or what the server says.
    fn end_external_load(&mut self, settle: bool, stop: &AtomicBool) -> Result<Extra, ClientError>;
}

/// The readings at the start of another process's load.
struct ExternalLoad {
    counters: BTreeMap<String, String>,
    usage: Usage,
    stalls: Stalls,
    delays: Delays,
    watch: Watch,
}

/// A twin whose connections are `S`.
pub struct ServerTwin<S> {
    options: Arc<Options>,
    connections: Loop<S>,
    /// For counters, facts and coming to rest: not one of those under load.
    administrative: S,
    observed: Observed,
    tracing: Option<Tracing>,
    server: Tree,
    external: Option<ExternalLoad>,
}

impl<S: Session> ServerTwin<S> {
    /// Opens `connections` connections and one more, a few at a time.
    ///
    /// # Errors
    /// An error of the server.
    pub fn open(options: &Arc<Options>, connections: usize) -> Result<Self, ClientError> {
        let administrative = S::open(options.clone())?;
        let opened = share(HANDS, vec![(); connections.max(1)], |()| S::open(options.clone()))?;
        Ok(Self {
            options: options.clone(),
            connections: Loop::new(opened).with_stacks(STACK_BYTES),
            administrative,
            observed: Observed::default(),
            tracing: None,
            server: Tree::new(&[]),
            external: None,
        })
    }

    /// The counters' present values, by name.
    fn counters(&mut self) -> Result<BTreeMap<String, String>, ClientError> {
        let mut all = BTreeMap::new();
        for query in &self.observed.counters {
            let (_, rows) = self.administrative.rows(query)?;
            all.extend(rows.into_iter().filter_map(|row| {
                let mut cells = row.into_iter();
                Some((cells.next()??, cells.next()??))
            }));
        }
        Ok(all)
    }

    /// Brings the server to rest, so that the next trial does not pay for this one. Returns ns.
    fn settle(&mut self, stop: &AtomicBool) -> Result<u64, ClientError> {
        let start = monotonic_ns();
        let administrative = &mut self.administrative;
        self.observed.settle.iter().try_for_each(|sql| administrative.run(sql))?;
        if let Some(query) = &self.observed.settle_query {
            let patience_ns = (self.observed.settle_seconds * 1e9) as u64;
            while !is_at_most(&administrative.text(query)?, self.observed.settle_at_most)
                && monotonic_ns() - start < patience_ns
                && !stop.load(std::sync::atomic::Ordering::Relaxed)
            {
                std::thread::sleep(SETTLE_EVERY);
            }
        }
        Ok(monotonic_ns() - start)
    }

    /// The readings and work after a trial: the counters' growth, and coming to rest with its CPU time.
    fn afterwards(
        &mut self,
        before: &BTreeMap<String, String>,
        settle: bool,
        stop: &AtomicBool,
    ) -> Result<Afterwards, ClientError> {
        for session in self.connections.clients() {
            self.observed.flush.iter().try_for_each(|sql| session.run(sql))?;
        }
        let counters = growth(before, &self.counters()?);
        let (used, start) = (self.server.usage(), self.server.cpu());
        let settled_ns = if settle { self.settle(stop)? } else { 0 };
        let settling_cpu_seconds = self.server.cpu().since(&start);
        let checkpoint = Checkpoint::of(settled_ns, &self.server.usage().since(&used));
        Ok(Afterwards { counters, checkpoint, settling_cpu_seconds })
    }
}

#[derive(Default)]
struct Afterwards {
    counters: BTreeMap<String, Count>,
    checkpoint: Checkpoint,
    settling_cpu_seconds: (f64, f64),
}

impl<S: Session> Twin for ServerTwin<S> {
    fn text(&mut self, sql: &str) -> Result<String, ClientError> {
        self.administrative.text(sql)
    }

    fn load(
        &mut self,
        plan: &Plan,
        seed: u64,
        threads: usize,
        tables: &[String],
        indexes: &[String],
    ) -> Result<(), ClientError> {
        tables.iter().try_for_each(|sql| self.administrative.run(sql))?;
        let streams = streams(plan, if S::CUTS_TABLES { threads } else { 1 });
        let hands = threads.clamp(1, streams.len().max(1));
        let sessions = share(hands, vec![(); hands], |()| S::open(self.options.clone()))?;
        let free = std::sync::Mutex::new(sessions);
        let locked = || free.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        share(hands, streams, |(table, range)| {
            let Some(mut session) = locked().pop() else {
                return Err(failure("order", "more streams than connections to load by".into()));
            };
            session.load(table, seed, range)?;
            locked().push(session);
            Ok(())
        })?;
        indexes.iter().try_for_each(|sql| self.administrative.run(sql))
    }

    fn checksums(&mut self, tables: &Tables) -> Result<BTreeMap<String, TableChecksum>, ClientError> {
        let sum_of = |(table, columns): &(String, Vec<String>)| {
            self.administrative.checksum(table, columns).map(|sum| (table.clone(), sum))
        };
        tables.iter().map(sum_of).collect()
    }

    fn prepare(&mut self, mix: Mix) -> Result<(), ClientError> {
        let clients = self.connections.clients().collect();
        share(HANDS, clients, |client: &mut S| client.prepare(&mix.programs))?;
        self.connections.keep(mix);
        Ok(())
    }

    fn trial(&mut self, trial: &Trial, settle: bool, stop: &AtomicBool) -> Result<Measured, ClientError> {
        let (counters, usage) = (self.counters()?, self.server.usage());
        let mut outcome = self.connections.run(trial, stop)?;
        let client = (outcome.cpu_user_seconds, outcome.cpu_system_seconds);
        // A server that died under the trial, or does not answer, cannot be read: the trial's own end shows it.
        let after = match (!outcome.is_broken).then(|| self.afterwards(&counters, settle, stop)) {
            None => Afterwards::default(),
            Some(Err(_)) if !outcome.errors.is_empty() => Afterwards::default(),
            Some(after) => after?,
        };
        // What the server still had to do is this trial's cost: the recorded operations' share of it.
        let share = outcome.operations as f64 / outcome.total_operations.max(1) as f64;
        outcome.cpu_user_seconds = outcome.watched_cpu_seconds.0 + share * after.settling_cpu_seconds.0;
        outcome.cpu_system_seconds = outcome.watched_cpu_seconds.1 + share * after.settling_cpu_seconds.1;
        let extra = Extra {
            client_cpu_user_seconds: client.0,
            client_cpu_system_seconds: client.1,
            counters: after.counters,
            usage: self.server.usage().since(&usage),
            checkpoint: after.checkpoint,
            files: BTreeMap::new(),
            run_delay_ns: outcome.watched_delay_ns,
            pressure: outcome.pressure.clone(),
            standstill: outcome.standstill,
        };
        Ok((outcome, as_json(&extra)))
    }

    fn trace(&mut self, trial: &Trial, stop: &AtomicBool) -> Result<Metered, ClientError> {
        let Some(tracing) = &self.tracing else {
            return Err(failure("order", "a trace of a server before its queries were set".into()));
        };
        let first = self.connections.first();
        let thread = tracing.thread.as_ref().map(|query| first.text(query)).transpose()?;
        let schedule = thread.map(|thread| PathBuf::from(format!("/proc/{}/schedstat", thread.trim())));
        let meter = ServedMeter { administrative: &mut self.administrative, queries: &tracing.counters, schedule };
        let found = self.connections.trace(meter, trial, stop)?;
        self.settle(stop)?;
        Ok(found)
    }

    fn recorded(&self) -> Option<&Prepared> {
        self.connections.recorded()
    }
}

impl<S: Session> Served for ServerTwin<S> {
    fn rows(&mut self, sql: &str) -> Result<Rows, ClientError> {
        self.administrative.rows(sql)
    }

    fn run(&mut self, sql: &str) -> Result<(), ClientError> {
        self.administrative.run(sql)
    }

    fn observe(&mut self, observed: Observed) {
        self.server = Tree::new(&observed.watch).on(&observed.file_systems);
        self.connections.watch(Some(self.server.clone()), observed.device.clone());
        self.observed = observed;
    }

    fn trace_by(&mut self, tracing: Tracing) {
        self.tracing = Some(tracing);
    }

    fn begin_external_load(&mut self) -> Result<(), ClientError> {
        self.external = Some(ExternalLoad {
            counters: self.counters()?,
            usage: self.server.usage(),
            watch: Watch::begin(Some(&self.server)),
            delays: self.server.delays(),
            stalls: Stalls::now(self.observed.device.as_deref()),
        });
        Ok(())
    }

    fn end_external_load(&mut self, settle: bool, stop: &AtomicBool) -> Result<Extra, ClientError> {
        let Some(before) = self.external.take() else {
            return Err(failure("order", "the end of a load that was not begun".into()));
        };
        let pressure = Stalls::now(self.observed.device.as_deref()).since(&before.stalls).shares();
        let run_delay_ns = self.server.delays().since(&before.delays);
        let standstill = before.watch.end();
        let after = self.afterwards(&before.counters, settle, stop)?;
        Ok(Extra {
            client_cpu_user_seconds: 0.0,
            client_cpu_system_seconds: 0.0,
            counters: after.counters,
            usage: self.server.usage().since(&before.usage),
            checkpoint: after.checkpoint,
            files: BTreeMap::new(),
            run_delay_ns,
            pressure,
            standstill,
        })
    }
}

/// Ranges of rows that are loaded each by one connection: whole tables where there are enough of them, the longest first.
fn streams(plan: &Plan, threads: usize) -> Vec<(&Table, Range<u64>)> {
    let parts = (threads.max(1)).div_ceil(plan.tables.len().max(1)) as u64;
    let mut all: Vec<_> = plan.tables.iter().flat_map(|table| cut(table, parts)).collect();
    all.sort_by_key(|(_, range)| std::cmp::Reverse(range.end - range.start));
    all
}

fn cut(table: &Table, parts: u64) -> impl Iterator<Item = (&Table, Range<u64>)> {
    let parts = parts.min(table.rows / LEAST_ROWS_A_STREAM).max(1);
    let edge = move |part: u64| (u128::from(table.rows) * u128::from(part) / u128::from(parts)) as u64;
    (0..parts).map(move |part| (table, edge(part)..edge(part + 1))).filter(|(_, range)| !range.is_empty())
}

fn is_at_most(text: &str, limit: i64) -> bool {
    // No answer, or no number, can be waited for in vain only.
    text.trim().parse::<f64>().map_or(true, |value| value <= limit as f64)
}

/// By how much counters grew, of those that are numbers both times.
fn growth(before: &BTreeMap<String, String>, after: &BTreeMap<String, String>) -> BTreeMap<String, Count> {
    let grown = |(name, end): (&String, &String)| {
        let start = before.get(name)?;
        let count = match (start.parse::<i128>(), end.parse::<i128>()) {
            (Ok(start), Ok(end)) => Count::Whole(i64::try_from(end - start).ok()?),
            _ => Count::Real(end.parse::<f64>().ok()? - start.parse::<f64>().ok()?),
        };
        Some((name.clone(), count))
    };
    after.iter().filter_map(grown).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(tables: &[(&str, u64)]) -> Plan {
        let column = serde_json::json!({"name": "id", "distribution": "serial"});
        let tables: Vec<_> = tables
            .iter()
            .map(|(name, rows)| serde_json::json!({"name": name, "rows": rows, "columns": [column]}))
            .collect();
        Plan::from_json(&serde_json::json!({ "tables": tables }).to_string()).unwrap()
    }

    fn texts(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        pairs.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect()
    }

    #[test]
    fn streams_cover_every_row_once_the_longest_first() {
        let plan = plan(&[("small", 100), ("none", 0), ("large", 1_000_001)]);
        let all = streams(&plan, 8);
        let of = |name: &str| all.iter().filter(|(t, _)| t.name == name).map(|(_, r)| r.clone()).collect::<Vec<_>>();
        assert_eq!(of("small"), vec![0..100]);
        assert!(of("none").is_empty());
        let mut large = of("large");
        large.sort_by_key(|range| range.start);
        assert_eq!(large.len(), 3, "eight threads and three tables: three streams each");
        assert_eq!((large[0].start, large[2].end), (0, 1_000_001));
        assert!(large.windows(2).all(|pair| pair[0].end == pair[1].start));
        assert_eq!(all.last().unwrap().0.name, "small");
    }

    #[test]
    fn as_many_tables_as_threads_are_not_cut() {
        let plan = plan(&[("a", 1_000_000), ("b", 1_000_000)]);
        assert_eq!(streams(&plan, 2).len(), 2);
    }

    #[test]
    fn counters_are_differences_of_numbers_by_name() {
        let before = texts(&[("pages", "10"), ("lsn", "18446744073709551610"), ("seconds", "1.5"), ("state", "on")]);
        let after = texts(&[
            ("pages", "25"),
            ("lsn", "18446744073709551615"),
            ("seconds", "2"),
            ("state", "off"),
            ("new", "1"),
        ]);
        let grown = growth(&before, &after);
        let expected = [("lsn", Count::Whole(5)), ("pages", Count::Whole(15)), ("seconds", Count::Real(0.5))];
        assert_eq!(grown, expected.map(|(name, count)| (name.to_owned(), count)).into());
    }

    #[test]
    fn a_server_rests_once_the_value_is_low_enough() {
        assert!(is_at_most("3", 3) && is_at_most(" 2.5 ", 3) && is_at_most("", 0));
        assert!(!is_at_most("4", 3));
    }
}
