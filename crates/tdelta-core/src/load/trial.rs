//! One trial: its parameters, and what may end it.

use super::feed::Feed;
use crate::pace::Pace;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// The parameters of one trial.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Trial {
    /// The run's seed.
    pub seed: u64,
    /// Which set of operations: the same for every twin in a block, another in every block.
    pub stream: u64,
    /// The number of operations.
    pub operations: u64,
    /// Operations at the head that are run and not recorded: after another twin's trial, caches are cold.
    #[serde(default)]
    pub discard: u64,
    /// `:op` of the first operation, unique in the run.
    pub first_op: u64,
    /// Which of the operations are this process's.
    #[serde(default)]
    pub segment: Segment,
    /// Where the recorded operations come from; none: they are those of the segment. What is not recorded always is.
    #[serde(skip)]
    pub feed: Option<Arc<Feed>>,
    /// Closed or open loop.
    #[serde(default)]
    pub pace: Pace,
    /// The trial is cut off after this long, ns.
    pub deadline_ns: u64,
    /// How long after that an operation that is under way is broken off, ns.
    #[serde(default = "half_a_minute")]
    pub patience_ns: u64,
    /// Share of each statement's own CPU time, or on a server of its elapsed time, to spin away on top (0: none).
    #[serde(default)]
    pub planted: f64,
    /// How often a transaction is tried before a retryable failure counts as an error. A script may have several, each
    /// of which is tried so often.
    #[serde(default = "ten")]
    pub max_tries: u32,
    /// Whether caches are made cold ahead of every operation, see [`Client::cool`](crate::client::Client::cool).
    #[serde(default)]
    pub cold: bool,
    /// Whether the first error that cannot be retried ends the trial.
    #[serde(default = "yes")]
    pub stop_on_error: bool,
}

/// A process's part of a trial whose operations several processes share.
///
/// Of `of` connections in all, those numbered from `from` up to `to` (not included) are its own, and of the operations
/// those that fall to them when they are dealt out in turn. Operation k is the same, whoever does it; in an open loop it
/// falls due at the same time, too.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Segment {
    /// The first connection.
    pub from: u64,
    /// The one after the last.
    pub to: u64,
    /// The connections of all processes.
    pub of: u64,
}

impl Default for Segment {
    fn default() -> Self {
        Self { from: 0, to: 1, of: 1 }
    }
}

impl Segment {
    /// Whether it has a connection, of those that there are.
    #[must_use]
    pub fn is_valid(&self) -> bool {
        self.from < self.to && self.to <= self.of
    }

    /// How many of its operations lie below operation `limit`.
    #[must_use]
    pub fn below(&self, limit: u64) -> u64 {
        let width = self.to - self.from;
        limit / self.of * width + (limit % self.of).saturating_sub(self.from).min(width)
    }

    /// The index among all operations of this segment's operation `place`; both count from 0.
    #[must_use]
    pub fn nth(&self, place: u64) -> u64 {
        if self.of == 1 {
            return place;
        }
        let width = self.to - self.from;
        place / width * self.of + self.from + place % width
    }
}

fn half_a_minute() -> u64 {
    30_000_000_000
}

fn ten() -> u32 {
    10
}

fn yes() -> bool {
    true
}

/// The reason of a trial's end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
#[repr(u8)]
pub enum Stop {
    /// All operations are done.
    Count = 0,
    /// It took too long.
    Deadline = 1,
    /// A stop was requested.
    Signal = 2,
    /// A statement failed.
    Error = 3,
}

#[cfg(test)]
mod tests {
    use super::Segment;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn segments_of_a_trial_hold_every_operation_once(cuts in prop::collection::vec(1u64..5, 1..6), total in 0u64..200) {
            let of: u64 = cuts.iter().sum();
            let mut from = 0;
            let mut all = Vec::new();
            for width in cuts {
                let segment = Segment { from, to: from + width, of };
                from += width;
                let own: Vec<u64> = (0..segment.below(total)).map(|place| segment.nth(place)).collect();
                prop_assert!(own.windows(2).all(|pair| pair[0] < pair[1]));
                prop_assert!(segment.nth(own.len() as u64) >= total);
                all.extend(own);
            }
            all.sort_unstable();
            prop_assert_eq!(all, (0..total).collect::<Vec<_>>());
        }
    }
}
