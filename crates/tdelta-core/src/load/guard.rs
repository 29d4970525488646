//! Ends statements that do not finish: some time after the trial's time is up, or after a request to stop.
//!
//! A separate thread checks four times a second, so that no statement pays for it.

use super::trial::{Stop, Trial};
use crate::breaker::Breaker;
use crate::process::monotonic_ns;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicU8, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};
use std::thread::{scope, Builder};
use std::time::Duration;

const LOOK: Duration = Duration::from_millis(250);
const STACK_BYTES: usize = 128 << 10;
/// How long the operations that are under way may go on after a word to stop: theirs will not count.
const STOP_PATIENCE_NS: u64 = 1_000_000_000;

/// Until when operations may go on, and whether they were broken off.
pub(super) struct Limit {
    until_ns: AtomicU64,
    broken: AtomicU8,
}

impl Limit {
    pub fn new() -> Self {
        Self { until_ns: AtomicU64::new(u64::MAX), broken: AtomicU8::new(Stop::Count as u8) }
    }

    /// Operations are under way, until that moment at the latest.
    pub fn begin(&self, until_ns: u64) {
        self.until_ns.store(until_ns, Ordering::Relaxed);
    }

    /// So much of the time was not theirs.
    pub fn extend(&self, ns: u64) {
        let _ =
            self.until_ns.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |until| Some(until.saturating_add(ns)));
    }

    /// None are under way.
    pub fn rest(&self) {
        self.begin(u64::MAX);
    }

    /// Why they were broken off; nothing where they were not.
    pub fn broken(&self) -> Option<Stop> {
        [Stop::Deadline, Stop::Signal].into_iter().find(|why| *why as u8 == self.broken.load(Ordering::Relaxed))
    }
}

/// When the operations of a stretch are broken off that has `left_ns` of its trial's time.
pub(super) fn until_ns(trial: &Trial, left_ns: u64) -> u64 {
    monotonic_ns().saturating_add(left_ns).saturating_add(trial.patience_ns)
}

/// Does `work`, whose operations are broken off by these breakers where the limit or a word to stop says so.
pub(super) fn guarded<R>(breakers: &[Breaker], limit: &Limit, stop: &AtomicBool, work: impl FnOnce() -> R) -> R {
    if breakers.is_empty() {
        return work();
    }
    let over = Over(Mutex::new(false), Condvar::new());
    scope(|scope| {
        let builder = Builder::new().name("tdelta-guard".into()).stack_size(STACK_BYTES);
        // Without a thread to be had there is no guard: whoever waits for this process has a limit, too.
        let _ = builder.spawn_scoped(scope, || over.watch(breakers, limit, stop));
        let _ending = Ending(&over);
        work()
    })
}

struct Over(Mutex<bool>, Condvar);

/// Ends the guard, also where the work panics.
struct Ending<'a>(&'a Over);

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        *self.0 .0.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.0 .1.notify_all();
    }
}

impl Over {
    fn watch(&self, breakers: &[Breaker], limit: &Limit, stop: &AtomicBool) {
        let mut stopped_ns = None;
        let mut over = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        while !*over {
            (over, _) = self.1.wait_timeout(over, LOOK).unwrap_or_else(PoisonError::into_inner);
            let now_ns = monotonic_ns();
            if stop.load(Ordering::Relaxed) {
                stopped_ns.get_or_insert(now_ns);
            }
            let why = match stopped_ns {
                Some(since_ns) if now_ns - since_ns >= STOP_PATIENCE_NS => Stop::Signal,
                _ if now_ns >= limit.until_ns.load(Ordering::Relaxed) => Stop::Deadline,
                _ => continue,
            };
            if !*over {
                limit.broken.store(why as u8, Ordering::Relaxed);
                breakers.iter().for_each(Breaker::break_off);
            }
        }
    }
}
