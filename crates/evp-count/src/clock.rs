//! How long a call takes: the monotonic clock before and behind it, which costs some 25 ns, and what that is by itself.
//!
//! A thread's CPU clock would leave out what other threads have of the CPU meanwhile, but is a system call of some
//! 500 ns, as long as a short call of a cipher. So `counts` leaves calls out that another thread interrupted.

use std::cell::Cell;

const PASSES: u64 = 2_000;

thread_local! {
    /// Whether a call is being timed: what it calls in turn is part of it.
    static IS_WITHIN: Cell<bool> = const { Cell::new(false) };
}

fn now_ns() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: a system call on a structure of our own.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// A call that is being timed.
pub struct Timer {
    began_ns: u64,
}

impl Timer {
    /// Begins; None within another call of this thread.
    pub fn begin() -> Option<Self> {
        if IS_WITHIN.replace(true) {
            return None;
        }
        Some(Self { began_ns: now_ns() })
    }

    /// Ends it: nanoseconds since it began.
    pub fn end(self) -> u64 {
        let ns = now_ns().saturating_sub(self.began_ns);
        IS_WITHIN.set(false);
        ns
    }
}

/// The time of a call that does nothing, by this clock, picoseconds: the mean of the faster half, so without interruptions.
pub fn own_ps() -> u64 {
    let mut found: Vec<u64> = (0..PASSES).filter_map(|_| Timer::begin().map(Timer::end)).collect();
    found.sort_unstable();
    found.truncate(found.len() / 2);
    found.iter().sum::<u64>() * 1000 / found.len().max(1) as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::{Duration, Instant};

    #[test]
    fn a_call_takes_as_long_as_was_planted_and_one_that_does_nothing_hardly_anything() {
        let own_ns = own_ps() / 1000;
        assert!(own_ns < 2_000, "{own_ns}");
        // One of them is not interrupted between the two clocks.
        let off_ns = (0..200).map(|_| {
            let timer = Timer::begin().unwrap();
            let began = Instant::now();
            while began.elapsed() < Duration::from_micros(200) {}
            let planted_ns = began.elapsed().as_nanos() as u64;
            (timer.end() - own_ns).abs_diff(planted_ns)
        });
        assert!(off_ns.min().unwrap() < 20_000, "at least that of 200,000 ns");
    }

    #[test]
    fn what_a_call_calls_in_turn_is_part_of_it() {
        let outer = Timer::begin().unwrap();
        assert!(Timer::begin().is_none());
        outer.end();
        assert!(Timer::begin().is_some_and(|timer| timer.end() < 1_000_000_000));
    }
}
