//! How long the machine's tasks stood still while a load ran: waiting for a CPU, for memory, for a disk.
//!
//! Pressure (PSI, `docs.kernel.org/accounting/psi.html`) says during which share of the time some task waited. It misses
//! those that wait for I/O in the background, so the time that requests took on the server's own device stands beside it
//! (`docs.kernel.org/block/stat.html`, `time_in_queue`): divided by the time, the requests in flight on average.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use tdelta_core::process::monotonic_ns;

const KINDS: [&str; 3] = ["cpu", "io", "memory"];
const TIME_IN_QUEUE: usize = 10;

/// Running totals, as they were at one moment.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Stalls {
    at_ns: u64,
    stalled_us: BTreeMap<&'static str, u64>,
    queued_ms: Option<u64>,
}

impl Stalls {
    /// The totals now; what the kernel does not tell is left out. `device` is a block device's `stat`.
    #[must_use]
    pub fn now(device: Option<&Path>) -> Self {
        let read = |path: PathBuf| std::fs::read_to_string(path).ok();
        let stalled =
            KINDS.iter().filter_map(|kind| Some((*kind, some(&read(Path::new("/proc/pressure").join(kind))?)?)));
        Self {
            at_ns: monotonic_ns(),
            stalled_us: stalled.collect(),
            queued_ms: device.and_then(|path| queued(&read(path.to_owned())?)),
        }
    }

    /// What lies between an earlier moment and this one: `cpu_some`, `io_some` and `memory_some` as shares of the time,
    /// `io_in_flight` as a number of requests.
    #[must_use]
    pub fn since(&self, before: &Self) -> BTreeMap<String, f64> {
        let elapsed_us = (self.at_ns.saturating_sub(before.at_ns)).max(1) as f64 / 1e3;
        let shares = self.stalled_us.iter().filter_map(|(kind, total)| {
            let share = total.saturating_sub(*before.stalled_us.get(kind)?) as f64 / elapsed_us;
            Some((format!("{kind}_some"), share.min(1.0)))
        });
        let mut found: BTreeMap<String, f64> = shares.collect();
        if let (Some(now), Some(then)) = (self.queued_ms, before.queued_ms) {
            found.insert("io_in_flight".into(), now.saturating_sub(then) as f64 * 1e3 / elapsed_us);
        }
        found
    }
}

/// The total of a pressure file's line `some`, µs.
fn some(text: &str) -> Option<u64> {
    text.lines().find_map(|line| line.strip_prefix("some ")?.rsplit_once("total=")?.1.trim().parse().ok())
}

/// The field `time_in_queue` of a device's `stat`, ms.
fn queued(text: &str) -> Option<u64> {
    text.split_whitespace().nth(TIME_IN_QUEUE)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const IO: &str =
        "some avg10=0.12 avg60=0.05 avg300=0.01 total=5250000\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=77\n";
    const STAT: &str = "  8422 12 1040 3100 77 0 880 400 0 2900 3600 0 0 0 0 90 100\n";

    fn at(ms: u64, stalled_us: u64, queued_ms: Option<u64>) -> Stalls {
        Stalls { at_ns: ms * 1_000_000, stalled_us: BTreeMap::from([("io", stalled_us)]), queued_ms }
    }

    #[test]
    fn the_line_some_is_read_and_not_the_line_full() {
        assert_eq!(some(IO), Some(5_250_000));
        assert_eq!(some("full avg10=0.00 total=77\n"), None);
    }

    #[test]
    fn the_time_in_queue_is_the_eleventh_field() {
        assert_eq!(queued(STAT), Some(3600));
        assert_eq!(queued("1 2 3"), None);
    }

    #[test]
    fn a_share_is_of_the_time_between_and_requests_may_be_several() {
        let found = at(2000, 500_000, Some(5000)).since(&at(1000, 250_000, Some(1000)));
        assert_eq!(found, BTreeMap::from([("io_some".into(), 0.25), ("io_in_flight".into(), 4.0)]));
    }

    #[test]
    fn what_was_not_told_before_or_after_is_left_out() {
        assert_eq!(at(2000, 5, None).since(&at(1000, 5, Some(1000))), BTreeMap::from([("io_some".into(), 0.0)]));
        assert!(Stalls::now(Some(Path::new("/nonexistent"))).queued_ms.is_none());
    }

    #[test]
    fn counters_that_are_read_one_after_the_other_never_make_more_than_the_whole() {
        assert_eq!(at(2000, 2_000_000, None).since(&at(1000, 0, None))["io_some"], 1.0);
    }
}
