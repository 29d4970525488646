//! A planted cost, for runs that see whether the instrument finds it.

use std::time::Duration;

use crate::process::{monotonic_ns, process_cpu_ns, thread_cpu_ns};

/// The clock of which a share is planted: a CPU clock, or for servers the time that statements take.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Clock {
    /// The calling thread's, of statements too short for it to be read twice at each: one execution in many is sampled.
    #[default]
    Sampled,
    /// The calling thread's, around every execution.
    Thread,
    /// The process's, around every execution: the engine works in threads of its own, and no other connection does.
    Process,
    /// The wall clock, around every execution: the engine is another process, whose CPU time is not read here.
    Elapsed,
}

impl Clock {
    fn now_ns(self) -> u64 {
        match self {
            Self::Process => process_cpu_ns(),
            Self::Sampled | Self::Thread => thread_cpu_ns(),
            Self::Elapsed => monotonic_ns(),
        }
    }

    /// The time of one reading, ns: the least mean of a few batches.
    fn cost_ns(self) -> u64 {
        const CALLS: u64 = 256;
        let batch = |_| {
            let start = monotonic_ns();
            (0..CALLS).for_each(|_| {
                std::hint::black_box(self.now_ns());
            });
            (monotonic_ns() - start) / CALLS
        };
        (0..4).map(batch).min().unwrap_or(0)
    }
}

/// A planted cost: spins for a share of the statements' own CPU time. A client of a server (`Client::is_remote`) sleeps
/// for a share of their elapsed time instead, most of which is not its CPU time.
///
/// A CPU clock is a system call, expensive beside a short statement, and more so in a real loop than in a tight one; reading it
/// twice a statement would plant an unwanted cost. So it is read for one execution in many, which shows what part
/// of the statement's elapsed time is CPU time, and every execution spins for the planted share of that part of its own
/// elapsed time, some twenty microseconds at once. What was spun is timed by the clock that the loop reads anyway. Of
/// clients whose statements are long (`Client::is_spread`), every execution is read and owes what it took itself.
#[derive(Default)]
pub(super) struct Plant {
    pub share: f64,
    clock: Clock,
    clock_ns: u64,
    sampled: Vec<Sampled>,
    owed_ns: f64,
    pub cpu_ns: u64,
    pub elapsed_ns: u64,
}

/// The samples of one statement: CPU and elapsed time of the executions that were sampled.
#[derive(Clone, Copy, Default)]
struct Sampled {
    cpu_ns: u64,
    elapsed_ns: u64,
    skip: u32,
}

impl Plant {
    /// One execution in so many is sampled, and the first.
    const EVERY: u32 = 128;
    /// The debt grows until it is worth a spin. Each spin costs the statements around it something that
    /// no clock here sees (probably branch prediction): with spins of a fraction of a microsecond behind every statement,
    /// planted twins of the order-entry mix read some 2 points more CPU than was spun (benches/results/truth.md).
    const LEAST_NS: f64 = 20_000.0;
    /// The same for a server's client, which sleeps. A spin would move the server to another CPU, and waking that is slow.
    /// With a spin behind every statement of 200 us, planted twins of MariaDB took 27% more time where 10% were spun.
    const LEAST_ELAPSED_NS: f64 = 2_000_000.0;
    /// A spin that overshoots by this much was preempted.
    const PREEMPTED_NS: u64 = 50_000;

    /// Gets ready for a trial. What was learned of the statements in earlier ones stays.
    pub fn begin(&mut self, share: f64, spans: usize, clock: Clock) {
        self.share = share;
        self.sampled.resize(spans, Sampled::default());
        if share > 0.0 && (self.clock_ns == 0 || self.clock != clock) {
            (self.clock, self.clock_ns) = (clock, clock.cost_ns());
        }
    }

    /// Runs a statement that began at `start_ns` and spins behind it. Returns its result and the time after the spin.
    pub fn around<T>(&mut self, span: usize, start_ns: u64, statement: impl FnOnce() -> T) -> (T, u64) {
        let is_sample = self.clock != Clock::Elapsed && self.sampled[span].skip == 0;
        let before = if is_sample { self.clock.now_ns() } else { 0 };
        let result = statement();
        let own_cpu_ns = if is_sample { (self.clock.now_ns() - before).saturating_sub(self.clock_ns) } else { 0 };
        let end_ns = monotonic_ns();
        let mut own_ns = end_ns - start_ns;
        let sampled = &mut self.sampled[span];
        if is_sample {
            let clocks_ns = 2 * self.clock_ns;
            own_ns = own_ns.saturating_sub(clocks_ns);
            *sampled = Sampled {
                cpu_ns: sampled.cpu_ns + own_cpu_ns,
                elapsed_ns: sampled.elapsed_ns + own_ns,
                skip: if self.clock == Clock::Sampled { Self::EVERY } else { 1 },
            };
            self.owed_ns -= clocks_ns as f64;
            self.cpu_ns += clocks_ns;
            self.elapsed_ns += clocks_ns;
        }
        sampled.skip = sampled.skip.saturating_sub(1);
        let taken_ns = match self.clock {
            Clock::Sampled => own_ns as f64 * (sampled.cpu_ns as f64 / sampled.elapsed_ns.max(1) as f64).min(1.0),
            Clock::Elapsed => own_ns as f64,
            Clock::Thread | Clock::Process => own_cpu_ns as f64,
        };
        self.owed_ns += taken_ns * self.share;
        let least_ns = if self.clock == Clock::Elapsed { Self::LEAST_ELAPSED_NS } else { Self::LEAST_NS };
        (result, if self.owed_ns < least_ns { end_ns } else { self.spin(end_ns) })
    }

    /// Spins, or sleeps beside a server, from `start_ns` (just read) until nothing is owed. Returns the time then.
    fn spin(&mut self, start_ns: u64) -> u64 {
        let wanted = self.owed_ns.max(0.0) as u64;
        let is_asleep = self.clock == Clock::Elapsed;
        if is_asleep {
            std::thread::sleep(Duration::from_nanos(wanted));
        }
        let mut now_ns = monotonic_ns();
        while now_ns - start_ns < wanted {
            now_ns = monotonic_ns();
        }
        let spun = now_ns - start_ns;
        self.elapsed_ns += spun;
        if is_asleep {
            self.owed_ns -= spun as f64;
            return now_ns;
        }
        // If the core was taken away meanwhile, the wall clock ran on but no more CPU time than wanted was spent.
        let cpu = if spun > wanted + Self::PREEMPTED_NS { wanted } else { spun };
        self.cpu_ns += cpu;
        self.owed_ns -= cpu as f64;
        now_ns
    }
}
