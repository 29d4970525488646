//! Counts of response times that take memory for the different ones alone, and never more than 8 KiB.
//!
//! Times that are equal in a histogram of three digits are counted together. A span that has seen too many
//! different ones is counted half as finely from then on, as often as need be; its number and total stay exact elsewhere.

use super::LONGEST_NS;
use hdrhistogram::Histogram;

/// Different times that are kept.
const MOST: usize = 512;
/// Their size.
pub(super) const MOST_BYTES: usize = MOST * size_of::<(u64, u32)>();
/// Leading binary digits that a histogram of three decimal ones keeps.
const FINEST_BITS: u32 = 11;

/// How often each time was seen.
pub(super) struct Few {
    bits: u32,
    /// The shortest of those that are counted together, and how many there were; the shortest first.
    counts: Vec<(u64, u32)>,
}

impl Default for Few {
    fn default() -> Self {
        Self { bits: FINEST_BITS, counts: Vec::new() }
    }
}

impl Few {
    /// Counts one time; longer ones than `LONGEST_NS` as that.
    pub(super) fn record(&mut self, ns: u64) {
        let shortest = shortest(ns.min(LONGEST_NS), self.bits);
        match self.counts.binary_search_by_key(&shortest, |(ns, _)| *ns) {
            Ok(at) => self.counts[at].1 = self.counts[at].1.saturating_add(1),
            Err(_) if self.counts.len() == MOST => {
                self.coarsen();
                self.record(ns);
            }
            Err(at) => self.counts.insert(at, (shortest, 1)),
        }
    }

    /// Counts together what differs in the last binary digit that was kept.
    fn coarsen(&mut self) {
        self.bits -= 1; // 42 octaves at 4 bits are 320 different times, so there is an end to it
        let counts = std::mem::take(&mut self.counts);
        for (ns, count) in counts {
            let shortest = shortest(ns, self.bits);
            match self.counts.last_mut().filter(|(last, _)| *last == shortest) {
                Some((_, sum)) => *sum = sum.saturating_add(count),
                None => self.counts.push((shortest, count)),
            }
        }
    }

    /// Forgets all and keeps the memory.
    pub(super) fn reset(&mut self) {
        self.bits = FINEST_BITS;
        self.counts.clear();
    }

    /// Adds everything to a histogram: what was counted together by the middle of it.
    pub(super) fn add_to(&self, all: &mut Histogram<u32>) {
        for (ns, count) in &self.counts {
            all.saturating_record_n(ns + ((1 << dropped(*ns, self.bits)) >> 1), *count);
        }
    }
}

/// How many binary digits at the end of a time are not kept.
fn dropped(ns: u64, bits: u32) -> u32 {
    (u64::BITS - ns.leading_zeros()).saturating_sub(bits)
}

fn shortest(ns: u64, bits: u32) -> u64 {
    let dropped = dropped(ns, bits);
    ns >> dropped << dropped
}

#[cfg(test)]
mod tests {
    use super::super::histogram;
    use super::*;

    #[test]
    fn times_are_counted_together_as_a_histogram_does() {
        let whole = histogram();
        for exponent in 0..42 {
            for ns in [1 << exponent, (1 << exponent) + 1, (2 << exponent) - 1, 3 << exponent >> 1] {
                assert_eq!(shortest(ns, FINEST_BITS), whole.lowest_equivalent(ns), "{ns}");
            }
        }
    }

    #[test]
    fn very_many_different_times_take_no_more_room_and_stay_near_where_they_were() {
        let mut few = Few::default();
        let mut whole = histogram();
        let times = (0..200_000u64).map(|n| 10_000 + n * n % 9_999_991);
        for ns in times {
            few.record(ns);
            whole.record(ns).unwrap();
        }
        assert!(few.counts.capacity() <= MOST, "{}", few.counts.capacity());
        assert!(few.counts.windows(2).all(|two| two[0].0 < two[1].0));
        let mut back = histogram();
        few.add_to(&mut back);
        assert_eq!(back.len(), 200_000);
        for quantile in [0.01, 0.5, 0.99, 1.0] {
            let (found, wanted) = (back.value_at_quantile(quantile) as f64, whole.value_at_quantile(quantile) as f64);
            assert!((found / wanted - 1.0).abs() < 0.02, "{quantile}: {found} {wanted}");
        }
    }

    #[test]
    fn even_times_of_all_lengths_come_to_an_end() {
        let mut few = Few::default();
        for exponent in 0..42 {
            for step in 0..64u64 {
                few.record((1 << exponent) + (step << exponent >> 6));
            }
        }
        assert!(few.counts.len() <= MOST);
        assert_eq!(few.counts.iter().map(|(_, count)| u64::from(*count)).sum::<u64>(), 42 * 64);
        few.reset();
        few.record(2_049);
        assert_eq!(few.counts, [(2_048, 1)]);
    }
}
