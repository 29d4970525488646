//! Seeded draws. Every random number of the load and of the data comes from here, and from nothing but its seed.
//!
//! The generator is xoshiro256++ (Blackman and Vigna, 2019), seeded through SplitMix64 as its authors advise. A fresh
//! generator costs four multiplications, so each operation and each row gets one of its own: what the k-th operation
//! does depends on (seed, stream, k) and not on which thread runs it.

/// SplitMix64's output function: a bijective mixer of 64 bits (Steele, Lea and Flood, 2014).
#[inline]
#[must_use]
pub fn mix64(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// A fixed bijection of `0..size` (`size` at least 1) that scatters neighbours; `index` is taken modulo `size`.
///
/// It spreads a Zipf distribution's ranks over a key range, in data and scripts, so that hot keys do not share pages. Four
/// Feistel rounds on the next even number of bits, walked until they land inside (Black and Rogaway, 2002).
#[must_use]
pub fn permute(index: u64, size: u64) -> u64 {
    let mut x = index % size;
    let half = (64 - (size - 1).leading_zeros()).div_ceil(2).max(1);
    let mask = (1u64 << half) - 1;
    loop {
        let (mut left, mut right) = (x >> half, x & mask);
        for round in 0..4u64 {
            let mixed = left ^ (mix64(right.wrapping_add(round << 40).wrapping_add(0x007d_e17a)) & mask);
            (left, right) = (right, mixed);
        }
        x = (left << half) | right;
        if x < size {
            return x;
        }
    }
}

/// A generator for item `index` of stream `stream` under `seed`.
#[derive(Clone, Debug)]
pub struct Rng {
    s: [u64; 4],
}

/// 2^64 over the golden ratio, by which SplitMix64 steps.
pub(crate) const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

impl Rng {
    /// The generator of item `index` of `stream`.
    #[inline]
    #[must_use]
    pub fn new(seed: u64, stream: u64, index: u64) -> Self {
        let mut state = mix64(seed.wrapping_add(GOLDEN))
            ^ mix64(stream.wrapping_mul(0xd6e8_feb8_6659_fd93).wrapping_add(GOLDEN.wrapping_mul(2)));
        state = mix64(state).wrapping_add(index.wrapping_mul(GOLDEN));
        let mut next = || {
            state = state.wrapping_add(GOLDEN);
            mix64(state)
        };
        Self { s: [next(), next(), next(), next()] }
    }

    /// 64 random bits.
    #[inline]
    pub fn bits(&mut self) -> u64 {
        let result = self.s[0].wrapping_add(self.s[3]).rotate_left(23).wrapping_add(self.s[0]);
        let t = self.s[1] << 17;
        self.s[2] ^= self.s[0];
        self.s[3] ^= self.s[1];
        self.s[1] ^= self.s[2];
        self.s[0] ^= self.s[3];
        self.s[2] ^= t;
        self.s[3] = self.s[3].rotate_left(45);
        result
    }

    /// A uniform double in [0, 1).
    #[inline]
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// A uniform integer in `lo..=hi` (Lemire's multiply-shift; its bias, below 2^-32 for spans under 2^32, is left in).
    #[inline]
    pub fn between(&mut self, lo: i64, hi: i64) -> i64 {
        debug_assert!(lo <= hi);
        let span = (hi.wrapping_sub(lo) as u64).wrapping_add(1);
        if span == 0 {
            return self.bits() as i64;
        }
        let high = ((u128::from(self.bits()) * u128::from(span)) >> 64) as u64;
        lo.wrapping_add(high as i64)
    }

    /// A Gaussian on `lo..=hi`, as pgbench draws it: centred, standard deviation range/(2·`width`), cut at the ends.
    pub fn gaussian(&mut self, lo: i64, hi: i64, width: f64) -> i64 {
        let z = loop {
            let u = 1.0 - self.unit();
            let v = self.unit();
            let z = (-2.0 * u.ln()).sqrt() * (std::f64::consts::TAU * v).sin();
            if (-width..width).contains(&z) {
                break z;
            }
        };
        let share = (z + width) / (2.0 * width);
        lo + (((hi - lo + 1) as f64) * share) as i64
    }

    /// A truncated exponential on `lo..=hi`, as pgbench draws it: small values are the frequent ones.
    pub fn exponential(&mut self, lo: i64, hi: i64, rate: f64) -> i64 {
        let cut = (-rate).exp();
        let uniform = 1.0 - self.unit();
        let share = -(cut + (1.0 - cut) * uniform).ln() / rate;
        lo + ((((hi - lo + 1) as f64) * share) as i64).min(hi - lo)
    }

    /// A Zipf rank on `lo..=hi` with exponent `s` (1.001..=1000): rank 1 (`lo`) is the most frequent.
    ///
    /// Rejection method of Devroye (1986), X.6.1, as pgbench uses: no table, so no set-up for each range.
    pub fn zipfian(&mut self, lo: i64, hi: i64, s: f64) -> i64 {
        let n = (hi - lo + 1) as f64;
        if n <= 1.0 {
            return lo;
        }
        let b = 2f64.powf(s - 1.0);
        loop {
            let u = 1.0 - self.unit();
            let v = self.unit();
            let x = u.powf(-1.0 / (s - 1.0)).floor();
            if !(1.0..=n).contains(&x) {
                continue;
            }
            let t = (1.0 + 1.0 / x).powf(s - 1.0);
            if v * x * (t - 1.0) / (b - 1.0) <= t / b {
                return lo + x as i64 - 1;
            }
        }
    }

    /// Lower-case letters and digits, `length` of them: 36 symbols, about 5.17 bits each.
    pub fn text(&mut self, length: usize) -> String {
        let mut out = String::with_capacity(length);
        self.text_into(length, &mut out);
        out
    }

    /// [`Rng::text`], added to the end of `out`.
    pub fn text_into(&mut self, length: usize, out: &mut String) {
        const SYMBOLS: &[u8; 36] = b"abcdefghijklmnopqrstuvwxyz0123456789";
        let mut left = 0u32;
        let mut pool = 0u64;
        for _ in 0..length {
            if left == 0 {
                pool = self.bits();
                left = 8;
            }
            out.push(SYMBOLS[((pool & 0xff) as usize * 36) >> 8] as char);
            pool >>= 8;
            left -= 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_item_draws_the_same_and_another_item_does_not() {
        let drawn = |index| {
            let mut rng = Rng::new(1, 2, index);
            [(); 8].map(|()| rng.bits())
        };
        assert_eq!(drawn(3), drawn(3));
        assert_ne!(drawn(3), drawn(4));
    }

    #[test]
    fn a_permutation_is_one() {
        for size in [1, 2, 3, 10, 100, 1000] {
            let mut all: Vec<u64> = (0..size).map(|index| permute(index, size)).collect();
            all.sort_unstable();
            assert_eq!(all, (0..size).collect::<Vec<_>>());
            assert_eq!(permute(size + 1, size), permute(1 % size, size));
        }
    }

    #[test]
    fn integers_are_within_their_range_whatever_their_distribution() {
        for seed in 0..300 {
            let mut rng = Rng::new(seed, 0, 0);
            assert!((1..=50).contains(&rng.zipfian(1, 50, 1.001)), "an exponent near one does not overflow");
            for high in [1, 2, 9_999] {
                let drawn = [rng.gaussian(1, high, 2.5), rng.exponential(1, high, 3.0), rng.zipfian(1, high, 1.1)];
                assert!(drawn.iter().all(|value| (1..=high).contains(value)), "{drawn:?} of {high}");
            }
            assert!((-5..=i64::MAX - 7).contains(&rng.between(-5, i64::MAX - 7)));
        }
    }

    #[test]
    fn the_first_rank_is_the_most_frequent() {
        let mut rng = Rng::new(5, 0, 0);
        let mut counts = [0; 101];
        (0..2000).for_each(|_| counts[rng.zipfian(1, 100, 1.2) as usize] += 1);
        assert!(counts[1] > counts[2] && counts[2] > counts[50]);
    }

    #[test]
    fn a_text_is_as_long_as_asked_and_of_letters_and_digits() {
        for length in [0, 1, 7, 8, 9, 40] {
            let text = Rng::new(3, 0, 0).text(length);
            assert_eq!(text.len(), length);
            assert!(text.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit()));
        }
    }
}
