//! Response times: exact totals, and HDR histograms that do not grow with the number of operations or connections.
//!
//! Every thread gathers its times in a small buffer and empties it into the histograms of the core it runs on, so
//! there is one set for each core (two thousand connections share the sets of two cores) and the lock is taken once in
//! a few hundred operations. Times are nanoseconds; a histogram spans 1 ns to 1 h with three significant digits, which
//! contains the usual 1 µs to 1 h and keeps three digits below a microsecond too. That is an array of 132 KiB: only the
//! first [`WHOLE_SPANS`] spans have one, further ones are counted in [`few`], so that a script of thousands of statements
//! takes megabytes and not gigabytes.

mod few;

use crate::process::cores;
use few::Few;
use hdrhistogram::serialization::{Serializer, V2DeflateSerializer};
use hdrhistogram::{Counter, Histogram};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// One hour, in ns: longer times are recorded as this.
pub const LONGEST_NS: u64 = 3_600_000_000_000;
const DIGITS: u8 = 3;
const BUFFER: usize = 256;
/// So many spans, transaction types first, have a whole histogram on each core: 17 MB of them.
pub const WHOLE_SPANS: usize = 128;
/// Of one histogram with these bounds and digits.
const WHOLE_BYTES: usize = 33 * 1024 * size_of::<u32>();

/// An empty histogram of the range and precision used everywhere.
#[must_use]
pub fn histogram() -> Histogram<u32> {
    Histogram::new_with_bounds(1, LONGEST_NS, DIGITS).expect("the bounds are constants that hdrhistogram accepts")
}

/// Histograms of every span (transaction type or statement), one set for each core.
pub struct Histograms {
    cores: Vec<Mutex<CoreSet>>,
}

/// A core's times by span.
type CoreSet = Vec<Times>;

/// The times of one span on one core.
enum Times {
    /// Made when first needed.
    Whole(Option<Box<Histogram<u32>>>),
    Few(Few),
}

impl Times {
    fn of(span: usize) -> Self {
        if span < WHOLE_SPANS {
            Self::Whole(None)
        } else {
            Self::Few(Few::default())
        }
    }

    fn record(&mut self, ns: u64) {
        match self {
            Self::Whole(counts) => counts.get_or_insert_with(|| Box::new(histogram())).saturating_record(ns),
            Self::Few(counts) => counts.record(ns),
        }
    }

    fn reset(&mut self) {
        match self {
            Self::Whole(counts) => counts.iter_mut().for_each(|counts| counts.reset()),
            Self::Few(counts) => counts.reset(),
        }
    }

    fn add_to(&self, all: &mut Histogram<u32>) {
        match self {
            Self::Whole(counts) => {
                counts.iter().for_each(|counts| all.add(&**counts).expect("all histograms share their bounds"));
            }
            Self::Few(counts) => counts.add_to(all),
        }
    }
}

impl Histograms {
    /// Empty sets for `spans` spans.
    #[must_use]
    pub fn new(spans: usize) -> Self {
        let set = || Mutex::new((0..spans).map(Times::of).collect());
        Self { cores: (0..cores()).map(|_| set()).collect() }
    }

    /// Bytes that the sets of `spans` spans come to take at most.
    #[must_use]
    pub fn most_bytes(spans: usize) -> usize {
        let whole = spans.min(WHOLE_SPANS);
        cores() * (whole * WHOLE_BYTES + (spans - whole) * few::MOST_BYTES)
    }

    fn set_of_this_core(&self) -> MutexGuard<'_, CoreSet> {
        // SAFETY: sched_getcpu has no preconditions; it answers -1 where it is not supported.
        let core = usize::try_from(unsafe { libc::sched_getcpu() }).unwrap_or(0) % self.cores.len();
        // A poisoned lock only says that another thread panicked between two counters; the counts are still counts.
        self.cores[core].lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Empties every histogram and keeps its memory.
    pub fn reset(&self) {
        for core in &self.cores {
            let mut set = core.lock().unwrap_or_else(PoisonError::into_inner);
            set.iter_mut().for_each(Times::reset);
        }
    }

    /// The histogram of one span over all cores.
    #[must_use]
    pub fn merged(&self, span: usize) -> Histogram<u32> {
        let mut all = histogram();
        for core in &self.cores {
            let set = core.lock().unwrap_or_else(PoisonError::into_inner);
            set[span].add_to(&mut all);
        }
        all
    }
}

/// Exact totals of one span.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// How many times.
    pub count: u64,
    /// How long in all, ns.
    pub total_ns: u64,
}

/// One thread's side: exact totals, and times on their way to the histograms.
pub struct Recorder<'a> {
    histograms: &'a Histograms,
    buffer: Vec<(u32, u64)>,
    /// Totals by span.
    pub totals: Vec<Totals>,
}

impl<'a> Recorder<'a> {
    /// A recorder of `spans` spans into `histograms`.
    #[must_use]
    pub fn new(histograms: &'a Histograms, spans: usize) -> Self {
        Self { histograms, buffer: Vec::with_capacity(2 * BUFFER), totals: vec![Totals::default(); spans] }
    }

    /// Records one time.
    #[inline]
    pub fn record(&mut self, span: usize, ns: u64) {
        let totals = &mut self.totals[span];
        totals.count += 1;
        totals.total_ns += ns;
        self.buffer.push((span as u32, ns));
    }

    /// Empties the buffer if it is full. To be called between transactions, so that no measured time contains it.
    #[inline]
    pub fn settle(&mut self) {
        if self.buffer.len() >= BUFFER {
            self.flush();
        }
    }

    /// Empties the buffer into the histograms of the core this thread is on.
    pub fn flush(&mut self) {
        let mut set = self.histograms.set_of_this_core();
        for (span, ns) in self.buffer.drain(..) {
            set[span as usize].record(ns);
        }
    }
}

/// The interchange form: HdrHistogram V2, compressed.
#[must_use]
pub fn encode<T: Counter>(histogram: &Histogram<T>) -> Vec<u8> {
    let mut out = Vec::new();
    V2DeflateSerializer::new().serialize(histogram, &mut out).expect("writing to memory does not fail");
    out
}

/// The histogram of times that another program measured: each pair is a time in ns and how often it was seen.
#[must_use]
pub fn tally(pairs: impl IntoIterator<Item = (u64, u64)>) -> Histogram<u64> {
    let mut all = Histogram::new_with_bounds(1, LONGEST_NS, DIGITS).expect("the bounds of every histogram");
    pairs.into_iter().for_each(|(ns, count)| all.saturating_record_n(ns, count));
    all
}

/// Reads what [`encode`] wrote.
///
/// # Errors
/// Bytes that are no such histogram.
pub fn decode(bytes: &[u8]) -> Result<Histogram<u64>, String> {
    hdrhistogram::serialization::Deserializer::new()
        .deserialize(&mut &*bytes)
        .map_err(|why| format!("not an HdrHistogram V2 payload: {why:?}"))
}

/// Adds payloads of [`encode`] up; none at all are an empty histogram.
///
/// # Errors
/// Bytes that are no such histogram.
pub fn merge<'a>(payloads: impl IntoIterator<Item = &'a [u8]>) -> Result<Histogram<u64>, String> {
    let mut all = Histogram::new_with_bounds(1, LONGEST_NS, DIGITS).expect("the bounds of every histogram");
    for payload in payloads {
        all.add(decode(payload)?).map_err(|why| format!("histograms that cannot be added: {why}"))?;
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn totals_are_exact_and_histograms_keep_three_digits() {
        let histograms = Histograms::new(2);
        let mut recorder = Recorder::new(&histograms, 2);
        for ns in 1..=1000u64 {
            recorder.record(1, ns * 1003);
        }
        recorder.flush();
        assert_eq!(recorder.totals[1], Totals { count: 1000, total_ns: 1003 * 500_500 });
        let merged = histograms.merged(1);
        assert_eq!(merged.len(), 1000);
        let median = merged.value_at_quantile(0.5) as f64;
        assert!((median / 501_500.0 - 1.0).abs() < 2e-3, "{median}");
        assert_eq!(histograms.merged(0).len(), 0);
        histograms.reset();
        assert_eq!(histograms.merged(1).len(), 0);
    }

    #[test]
    fn a_span_past_the_whole_ones_has_the_same_histogram() {
        let last = 2 * WHOLE_SPANS;
        let histograms = Histograms::new(last + 1);
        let mut recorder = Recorder::new(&histograms, last + 1);
        for ns in [0, 1, 999, 2047, 2048, 2049, 1_000_000, 1_000_001, LONGEST_NS - 1, LONGEST_NS, LONGEST_NS + 1] {
            recorder.record(0, ns);
            recorder.record(last, ns);
        }
        recorder.flush();
        assert_eq!(encode(&histograms.merged(last)), encode(&histograms.merged(0)));
        histograms.reset();
        assert_eq!(histograms.merged(last).len(), 0);
    }

    #[test]
    fn ten_thousand_statements_take_a_tenth_of_whole_histograms_at_most() {
        assert_eq!(histogram().distinct_values() * size_of::<u32>(), WHOLE_BYTES);
        assert_eq!(Histograms::most_bytes(WHOLE_SPANS), cores() * WHOLE_SPANS * WHOLE_BYTES);
        assert!(Histograms::most_bytes(10_000) < cores() * 10_000 * WHOLE_BYTES / 10);
    }

    #[test]
    fn what_is_encoded_decodes_to_the_same_counts() {
        let mut h = histogram();
        for ns in [1u64, 999, 1_000_000, LONGEST_NS] {
            h.record(ns).unwrap();
        }
        let back = decode(&encode(&h)).unwrap();
        assert_eq!(back.len(), 4);
        assert!(decode(b"nonsense").is_err());
    }

    #[test]
    fn a_tally_counts_each_time_as_often_as_it_was_seen() {
        let all = decode(&encode(&tally([(1_000, 3), (2_000, 0), (LONGEST_NS * 2, 1)]))).unwrap();
        assert_eq!((all.len(), all.count_at(1_000), all.count_at(2_000)), (4, 3, 0));
        assert_eq!(all.count_at(LONGEST_NS), 1);
    }

    #[test]
    fn merged_payloads_hold_the_counts_of_all_and_merge_again() {
        let payload = |values: &[u64]| {
            let mut h = histogram();
            values.iter().for_each(|ns| h.record(*ns).unwrap());
            encode(&h)
        };
        let (few, many) = (payload(&[1_000, 2_000]), payload(&[3_000; 500]));
        let once = merge([&few[..], &many[..]]).unwrap();
        assert_eq!((once.len(), once.min()), (502, 1_000));
        let again = merge([&encode(&once)[..], &few[..]]).unwrap();
        assert_eq!((again.len(), again.count_at(3_000)), (504, 500));
        assert_eq!(merge([]).unwrap().len(), 0);
        assert!(merge([&few[..], b"nonsense"]).is_err());
    }
}
