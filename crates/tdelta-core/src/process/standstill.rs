//! Whether a process stood still while it was at work: stopped by a signal, frozen, suspended with its machine.
//!
//! A thread of its own is due every quarter of a second. One that comes late by more than that, and was not waiting for a
//! CPU meanwhile, did not run because nothing of its process did. The clock is CLOCK_BOOTTIME, which goes on while
//! the machine is suspended. Of other processes the state is looked at, which shows a signal's stop (`T`) and a
//! debugger's (`t`), not a cgroup's freezer.

use super::{clock, monotonic_ns, read_own, thread_delay_ns, Tree};
use serde::Serialize;
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

const DUE_NS: u64 = 250_000_000;
/// A pause of a second or more, wherever it begins between two beats, is longer than this by the time it is seen.
const LATE_NS: u64 = 750_000_000;
const STACK_BYTES: usize = 128 << 10;
/// So many of the watched processes are looked at every time: the parents, among them a file system under a server.
const ALWAYS: usize = 16;
/// So many of the others, the next ones each time: up to 128 are all looked at within 0.75 s, and of more a single one
/// is hardly any of the load.
const IN_TURN: usize = 40;

/// Observations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Standstill {
    /// How long this process did not run, although it waited for no CPU: the sum of all pauses that were long enough.
    pub paused_ns: u64,
    /// How much of the time the machine was suspended.
    pub suspended_ns: u64,
    /// Whether a watched process was seen stopped.
    pub stopped: bool,
}

/// The processes that are watched, and where it goes on with those that are looked at in turn.
struct Watched {
    always: Vec<u32>,
    others: Vec<u32>,
    next: usize,
}

impl Watched {
    fn new(mut always: Vec<u32>) -> Self {
        let others = always.split_off(ALWAYS.min(always.len()));
        Self { always, others, next: 0 }
    }

    /// Whether one of those that are looked at now is stopped.
    fn has_stopped(&mut self) -> bool {
        let in_turn: Vec<u32> =
            self.others.iter().cycle().skip(self.next).take(IN_TURN.min(self.others.len())).copied().collect();
        self.next = (self.next + in_turn.len()) % self.others.len().max(1);
        self.always.iter().chain(&in_turn).any(|process| is_stopped(*process))
    }
}

/// Watches from [`Watch::begin`] to [`Watch::end`].
pub struct Watch {
    over: Arc<(Mutex<bool>, Condvar)>,
    thread: Option<JoinHandle<Standstill>>,
}

impl Watch {
    /// Begins; without a thread to be had, nothing will have been seen.
    #[must_use]
    pub fn begin(watched: Option<&Tree>) -> Self {
        let watched = Watched::new(watched.map(Tree::members).unwrap_or_default());
        let over = Arc::new((Mutex::new(false), Condvar::new()));
        let theirs = over.clone();
        let builder = Builder::new().name("tdelta-watch".into()).stack_size(STACK_BYTES);
        // From here on, however late the thread comes: what it waited for a CPU since it was made is in its own count.
        let began = Beat { boot_ns: clock(libc::CLOCK_BOOTTIME), waited_ns: 0 };
        Self { over, thread: builder.spawn(move || beat(&theirs, watched, began)).ok() }
    }

    /// Ends, and says what was seen.
    #[must_use]
    pub fn end(mut self) -> Standstill {
        self.leave()
    }

    fn leave(&mut self) -> Standstill {
        *self.over.0.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.over.1.notify_all();
        self.thread.take().and_then(|thread| thread.join().ok()).unwrap_or_default()
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.leave();
    }
}

/// When a beat was, by all clocks.
#[derive(Clone, Copy)]
struct Beat {
    boot_ns: u64,
    waited_ns: u64,
}

impl Beat {
    fn now() -> Self {
        // The wait first: what comes between the two readings is then no wait.
        let waited_ns = thread_delay_ns().unwrap_or(0);
        Self { boot_ns: clock(libc::CLOCK_BOOTTIME), waited_ns }
    }

    /// How long nothing ran since the last beat, ns; 0 where a busy machine could explain it.
    fn paused_since(&self, last: &Self) -> u64 {
        let without_reason = (self.boot_ns - last.boot_ns).saturating_sub(self.waited_ns - last.waited_ns + DUE_NS);
        if without_reason >= LATE_NS {
            without_reason
        } else {
            0
        }
    }
}

fn beat((lock, changed): &(Mutex<bool>, Condvar), mut watched: Watched, began: Beat) -> Standstill {
    let mut seen = Standstill::default();
    let offset_ns = || clock(libc::CLOCK_BOOTTIME).saturating_sub(monotonic_ns());
    let (began_ns, mut last) = (offset_ns(), began);
    let mut over = lock.lock().unwrap_or_else(PoisonError::into_inner);
    loop {
        if !*over {
            (over, _) =
                changed.wait_timeout(over, Duration::from_nanos(DUE_NS)).unwrap_or_else(PoisonError::into_inner);
        }
        let now = Beat::now();
        seen.paused_ns += now.paused_since(&last);
        seen.stopped |= watched.has_stopped();
        last = now;
        if *over {
            let suspended_ns = offset_ns().saturating_sub(began_ns);
            seen.suspended_ns = if suspended_ns >= LATE_NS { suspended_ns } else { 0 };
            return seen;
        }
    }
}

fn is_stopped(process: u32) -> bool {
    let text = read_own(Path::new(&format!("/proc/{process}/stat")));
    let state = text.as_deref().and_then(|text| text.rsplit_once(") ")?.1.chars().next());
    matches!(state, Some('T' | 't'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};

    fn at(boot_ms: u64, waited_ms: u64) -> Beat {
        Beat { boot_ns: boot_ms * 1_000_000, waited_ns: waited_ms * 1_000_000 }
    }

    /// Sends a signal to a child and waits until its state has changed: a signal is taken when the child next gets a CPU.
    fn signal_and_wait(child: u32, signal: i32, change: i32) {
        let child = child as libc::pid_t;
        // SAFETY: no preconditions; the child has not been waited for, and no status is requested.
        let changed = unsafe {
            libc::kill(child, signal);
            libc::waitpid(child, std::ptr::null_mut(), change)
        };
        assert_eq!(changed, child);
    }

    fn stop(child: u32) {
        signal_and_wait(child, libc::SIGSTOP, libc::WUNTRACED);
    }

    fn go_on(child: u32) {
        signal_and_wait(child, libc::SIGCONT, libc::WCONTINUED);
    }

    #[test]
    fn a_second_without_a_beat_is_a_pause_and_a_wait_for_a_cpu_is_none() {
        let start = at(1000, 50);
        assert_eq!(at(1250, 50).paused_since(&start), 0);
        assert_eq!(at(2000, 50).paused_since(&start), 750_000_000);
        assert_eq!(at(6000, 50).paused_since(&start), 4_750_000_000);
        assert_eq!(at(6000, 4900).paused_since(&start), 0, "it stood in the run queue");
    }

    #[test]
    fn nothing_is_seen_where_nothing_happens() {
        // Not this process: the tree below it has the child that another test stops meanwhile.
        let mut child = Command::new("sleep").arg("30").stdin(Stdio::null()).spawn().unwrap();
        let seen = Watch::begin(Some(&Tree::new(&[child.id()]))).end(); // it looks at its end, too
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(seen, Standstill::default());
    }

    #[test]
    fn all_that_are_watched_are_looked_at_within_three_beats_and_the_parents_at_each() {
        // Of processes that are not there none is stopped: what is looked at is all that can be seen.
        let mut watched = Watched::new((1..=(ALWAYS + 2 * IN_TURN + 10) as u32).map(|n| u32::MAX - n).collect());
        assert_eq!((watched.always.len(), watched.others.len()), (ALWAYS, 2 * IN_TURN + 10));
        let starts: Vec<usize> = (0..4)
            .map(|_| {
                assert!(!watched.has_stopped());
                watched.next
            })
            .collect();
        assert_eq!(starts, [IN_TURN, 2 * IN_TURN, IN_TURN - 10, 2 * IN_TURN - 10]);
        assert!(!Watched::new(Vec::new()).has_stopped());
    }

    #[test]
    fn the_last_one_of_many_that_is_stopped_is_seen() {
        let mut last = Command::new("sleep").arg("30").stdin(Stdio::null()).spawn().unwrap();
        stop(last.id());
        let others = (1..=(ALWAYS + IN_TURN) as u32).map(|n| u32::MAX - n);
        let mut watched = Watched::new(others.chain([last.id()]).collect());
        let seen = [watched.has_stopped(), watched.has_stopped()];
        last.kill().unwrap();
        last.wait().unwrap();
        assert_eq!(seen, [false, true]);
    }

    #[test]
    fn a_watched_process_that_is_stopped_is_seen_and_one_that_goes_on_is_not() {
        let mut child = Command::new("sleep").arg("30").stdin(Stdio::null()).spawn().unwrap();
        let process = child.id();
        let stands = || Watch::begin(Some(&Tree::new(&[process]))).end().stopped; // it looks at its end, too
        let before = stands();
        stop(process);
        let stopped = stands();
        go_on(process);
        let after = stands();
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!((before, stopped, after), (false, true, false));
    }
}
