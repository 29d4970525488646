//! How long the machine's tasks stood still while a load ran: waiting for a CPU, for memory, for a disk, or because the
//! host gave the CPU to somebody else.
//!
//! Pressure (PSI, `docs.kernel.org/accounting/psi.html`) says during which share of the time some task waited. It misses
//! those that wait for I/O in the background, so the time that requests took on the server's own device stands beside it
//! (`docs.kernel.org/block/stat.html`, `time_in_queue`): divided by the time, the requests in flight on average.

use super::{monotonic_ns, read_own};
use std::collections::BTreeMap;
use std::path::Path;

const KINDS: [&str; 3] = ["cpu", "io", "memory"];
const TIME_IN_QUEUE: usize = 10;
/// Fields of the first line of `/proc/stat`, behind its name: two of an idle CPU, and `steal`. Guest time is within user
/// and nice already.
const IDLE: usize = 3;
const IO_WAIT: usize = 4;
const STEAL: usize = 7;

/// Running totals at one moment, or how much they grew over some stretches of time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Stalls {
    ns: u64,
    stalled_us: BTreeMap<&'static str, u64>,
    queued_ms: Option<u64>,
    ticks: Option<Ticks>,
}

/// Time of all CPUs in the kernel's ticks: what the host stole, what ran here, and all of it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Ticks {
    stolen: u64,
    busy: u64,
    all: u64,
}

impl Stalls {
    /// The totals now; what the kernel does not count is left out. `device` is a block device's `stat`.
    #[must_use]
    pub fn now(device: Option<&Path>) -> Self {
        let stalled = KINDS.iter().filter_map(|kind| {
            let text = read_own(&Path::new("/proc/pressure").join(kind))?;
            Some((*kind, some(&text)?))
        });
        Self {
            ns: monotonic_ns(),
            stalled_us: stalled.collect(),
            queued_ms: device.and_then(|path| queued(&read_own(path)?)),
            ticks: read_own(Path::new("/proc/stat")).and_then(|text| ticks(&text)),
        }
    }

    /// How much grew between an earlier moment and this one, of what was known at both.
    #[must_use]
    pub fn since(&self, before: &Self) -> Self {
        let grown =
            |(kind, total): (&&'static str, &u64)| Some((*kind, total.saturating_sub(*before.stalled_us.get(*kind)?)));
        Self {
            ns: self.ns.saturating_sub(before.ns),
            stalled_us: self.stalled_us.iter().filter_map(grown).collect(),
            queued_ms: self.queued_ms.zip(before.queued_ms).map(|(now, then)| now.saturating_sub(then)),
            ticks: self.ticks.zip(before.ticks).map(|(now, then)| Ticks {
                stolen: now.stolen.saturating_sub(then.stolen),
                busy: now.busy.saturating_sub(then.busy),
                all: now.all.saturating_sub(then.all),
            }),
        }
    }

    /// Adds another stretch of time to these.
    pub fn add(&mut self, stretch: &Self) {
        self.ns += stretch.ns;
        for (kind, us) in &stretch.stalled_us {
            *self.stalled_us.entry(kind).or_default() += us;
        }
        self.queued_ms = match (self.queued_ms, stretch.queued_ms) {
            (Some(a), Some(b)) => Some(a + b),
            (a, b) => a.or(b),
        };
        self.ticks = match (self.ticks, stretch.ticks) {
            (Some(a), Some(b)) => {
                Some(Ticks { stolen: a.stolen + b.stolen, busy: a.busy + b.busy, all: a.all + b.all })
            }
            (a, b) => a.or(b),
        };
    }

    /// Of stretches of time: `cpu_some`, `io_some` and `memory_some` as shares of it, `io_in_flight` as a number of
    /// requests, `steal` and `cpu_busy` as shares of the CPU time of all CPUs (in ticks, coarse for a short stretch).
    #[must_use]
    pub fn shares(&self) -> BTreeMap<String, f64> {
        let elapsed_us = self.ns.max(1) as f64 / 1e3;
        let share = |(kind, us): (&&str, &u64)| (format!("{kind}_some"), (*us as f64 / elapsed_us).min(1.0));
        let mut found: BTreeMap<String, f64> = self.stalled_us.iter().map(share).collect();
        if let Some(queued_ms) = self.queued_ms {
            found.insert("io_in_flight".into(), queued_ms as f64 * 1e3 / elapsed_us);
        }
        if let Some(Ticks { stolen, busy, all }) = self.ticks.filter(|ticks| ticks.all > 0) {
            found.insert("steal".into(), (stolen as f64 / all as f64).min(1.0));
            found.insert("cpu_busy".into(), (busy as f64 / all as f64).min(1.0));
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

/// The ticks of `/proc/stat`; nothing where it has no stolen ones (before Linux 2.6.11).
fn ticks(text: &str) -> Option<Ticks> {
    let fields = text.lines().next()?.strip_prefix("cpu ")?.split_whitespace().take(STEAL + 1);
    let ticks: Vec<u64> = fields.map_while(|field| field.parse().ok()).collect();
    let (stolen, all) = (*ticks.get(STEAL)?, ticks.iter().sum::<u64>());
    Some(Ticks { stolen, busy: all - stolen - ticks[IDLE] - ticks[IO_WAIT], all })
}

#[cfg(test)]
mod tests {
    use super::*;

    const IO: &str =
        "some avg10=0.12 avg60=0.05 avg300=0.01 total=5250000\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=77\n";
    const STAT: &str = "  8422 12 1040 3100 77 0 880 400 0 2900 3600 0 0 0 0 90 100\n";

    fn at(ms: u64, stalled_us: u64, queued_ms: Option<u64>) -> Stalls {
        let stalled_us = BTreeMap::from([("io", stalled_us)]);
        Stalls { ns: ms * 1_000_000, stalled_us, queued_ms, ticks: None }
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
    fn stolen_ticks_are_the_eighth_field_and_guests_time_is_counted_once() {
        let found = ticks("cpu  10 20 30 40 50 60 70 80 900 900\ncpu0 1 2");
        assert_eq!(found, Some(Ticks { stolen: 80, busy: 190, all: 360 }));
        assert_eq!(ticks("cpu  10 20 30\n"), None);
    }

    #[test]
    fn a_share_is_of_the_time_between_and_requests_may_be_several() {
        let found = at(2000, 500_000, Some(5000)).since(&at(1000, 250_000, Some(1000))).shares();
        assert_eq!(found, BTreeMap::from([("io_some".into(), 0.25), ("io_in_flight".into(), 4.0)]));
    }

    #[test]
    fn stretches_add_up_to_shares_of_their_whole_time() {
        let mut sum = Stalls::default();
        sum.add(&Stalls { ticks: Some(Ticks { stolen: 1, busy: 4, all: 10 }), ..at(100, 100_000, Some(10)) });
        sum.add(&Stalls { ticks: Some(Ticks { stolen: 0, busy: 6, all: 30 }), ..at(300, 0, Some(30)) });
        let found = sum.shares();
        assert_eq!((found["io_some"], found["io_in_flight"]), (0.25, 0.1));
        assert_eq!((found["steal"], found["cpu_busy"]), (0.025, 0.25));
    }

    #[test]
    fn what_was_not_told_before_or_after_is_left_out() {
        let found = at(2000, 5, None).since(&at(1000, 5, Some(1000))).shares();
        assert_eq!(found, BTreeMap::from([("io_some".into(), 0.0)]));
        assert!(Stalls::now(Some(Path::new("/nonexistent"))).queued_ms.is_none());
    }

    #[test]
    fn counters_that_are_read_one_after_the_other_never_make_more_than_the_whole() {
        assert_eq!(at(2000, 2_000_000, None).since(&at(1000, 0, None)).shares()["io_some"], 1.0);
    }
}
