//! When an operation is due. Closed loop: as soon as a connection is free. Open loop: at an arrival rate, whatever the
//! database does, so that a stall delays the operations behind it and is seen in their times.

use crate::draw::Rng;
use crate::load::Segment;
use serde::Deserialize;
use std::collections::VecDeque;
use std::ops::Range;
use std::time::Duration;

/// How operations are paced.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Default)]
#[serde(rename_all = "lowercase", tag = "kind", content = "rate")]
pub enum Pace {
    /// One after another on each connection.
    #[default]
    Closed,
    /// With exponential gaps, so many a second on average.
    Poisson(f64),
}

/// An operation handed to a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// Its number in the trial.
    pub index: u64,
    /// When it is due, ns since the trial began.
    pub due_ns: u64,
    /// Operations that were due by now and are not begun, this one included (0: it is not due yet).
    pub backlog: u64,
}

/// The arrivals of one trial, the same for every twin: gaps come from the seed. Those of a segment fall due when they
/// would among all.
#[derive(Debug)]
pub struct Arrivals {
    pace: Pace,
    rng: Rng,
    segment: Segment,
    /// Places within the segment: the next to be drawn, the next to be taken, the one after the last.
    drawn: u64,
    taken: u64,
    end: u64,
    /// The operation that the next gap lies ahead of.
    at: u64,
    last_due_ns: f64,
    waiting: VecDeque<u64>,
}

const GAPS: u64 = 0x0a1d;

impl Arrivals {
    /// Arrivals of a range of operations at the given pace, as far as they are a segment's.
    #[must_use]
    pub fn new(pace: Pace, seed: u64, stream: u64, range: Range<u64>, segment: Segment) -> Self {
        let (first, end) = (segment.below(range.start), segment.below(range.end));
        Self {
            pace,
            rng: Rng::new(seed ^ GAPS, stream, 0),
            segment,
            drawn: first,
            taken: first,
            end,
            at: range.start,
            last_due_ns: 0.0,
            waiting: VecDeque::new(),
        }
    }

    /// The next operation, or `None` after the last. Keeps no more in memory than the backlog.
    pub fn take(&mut self, now_ns: u64) -> Option<Arrival> {
        if self.taken == self.end {
            return None;
        }
        while self.drawn < self.end && self.waiting.back().is_none_or(|due| *due <= now_ns) {
            let due = self.draw();
            self.waiting.push_back(due);
        }
        let due_ns = self.waiting.pop_front()?;
        let backlog = if due_ns <= now_ns { 1 + self.waiting.partition_point(|due| *due <= now_ns) as u64 } else { 0 };
        self.taken += 1;
        Some(Arrival { index: self.segment.nth(self.taken - 1), due_ns, backlog })
    }

    fn draw(&mut self) -> u64 {
        let operation = self.segment.nth(self.drawn);
        while self.at <= operation {
            self.last_due_ns += match self.pace {
                Pace::Closed => 0.0,
                Pace::Poisson(rate) => -(1.0 - self.rng.unit()).ln() * 1e9 / rate,
            };
            self.at += 1;
        }
        self.drawn += 1;
        self.last_due_ns as u64
    }
}

/// Sleeps until `due_ns` of the monotonic clock `now`. The last stretch is spun where `spin` says that a core is free
/// for it, since a sleep overshoots by some fifty microseconds. Returns how long was spun.
pub fn wait_until(due_ns: u64, now: impl Fn() -> u64, spin: bool) -> u64 {
    const OVERSHOOT_NS: u64 = 80_000;
    let margin = if spin { OVERSHOOT_NS } else { 0 };
    let left = due_ns.saturating_sub(now());
    if left > margin {
        std::thread::sleep(Duration::from_nanos(left - margin));
    }
    let awake_ns = now();
    let mut now_ns = awake_ns;
    while now_ns < due_ns {
        std::hint::spin_loop();
        now_ns = now();
    }
    now_ns - awake_ns
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(pace: Pace) -> Vec<u64> {
        let mut arrivals = Arrivals::new(pace, 1, 2, 0..10_000, Segment::default());
        std::iter::from_fn(|| arrivals.take(0)).map(|a| a.due_ns).collect()
    }

    #[test]
    fn poisson_gaps_have_the_mean_and_spread_of_an_exponential() {
        let due = all(Pace::Poisson(1000.0));
        let gaps: Vec<f64> = due.windows(2).map(|w| (w[1] - w[0]) as f64 / 1e6).collect();
        let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
        let variance = gaps.iter().map(|g| (g - mean).powi(2)).sum::<f64>() / gaps.len() as f64;
        assert!((mean - 1.0).abs() < 0.05, "{mean}");
        assert!((variance - 1.0).abs() < 0.1, "{variance}");
        assert_eq!(due, all(Pace::Poisson(1000.0)), "the same seed draws the same arrivals");
    }

    #[test]
    fn operations_of_a_segment_fall_due_when_they_would_among_all() {
        let of = |segment: Segment| -> Vec<(u64, u64)> {
            let mut arrivals = Arrivals::new(Pace::Poisson(1000.0), 1, 2, 7..1000, segment);
            std::iter::from_fn(|| arrivals.take(0)).map(|a| (a.index, a.due_ns)).collect()
        };
        let whole = of(Segment::default());
        let mut parts: Vec<_> =
            [(0, 1), (1, 3)].iter().flat_map(|(from, to)| of(Segment { from: *from, to: *to, of: 3 })).collect();
        parts.sort_unstable();
        assert_eq!(parts, whole);
        assert_eq!((whole[0].0, whole.len()), (7, 993));
    }

    #[test]
    fn a_stall_shows_as_backlog() {
        let due = all(Pace::Poisson(1e6));
        let mut arrivals = Arrivals::new(Pace::Poisson(1e6), 1, 2, 0..10_000, Segment::default());
        let first = arrivals.take(due[49]).unwrap();
        assert_eq!((first.index, first.due_ns, first.backlog), (0, due[0], 50));
        assert_eq!(arrivals.take(due[49]).unwrap().backlog, 49);
        assert_eq!(arrivals.take(0).unwrap().backlog, 0);
    }
}
