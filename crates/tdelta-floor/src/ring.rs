//! Pages in memory, one after the other, as aligned as a buffer pool's.

use std::hint::black_box;
use tdelta_core::draw::Rng;

const ALIGNMENT_BYTES: usize = 4096;
const CACHE_LINE_BYTES: usize = 64;

/// A run of bytes that begins at a page of memory.
pub struct Ring {
    bytes: Vec<u8>,
    start: usize,
    length: usize,
}

impl Ring {
    /// Zeros. They are written here, so that no page of memory is first touched while time is taken.
    #[must_use]
    pub fn zeroed(length: usize) -> Self {
        let mut bytes = vec![0; length + ALIGNMENT_BYTES];
        black_box(bytes.as_mut_slice()).fill(0); // the line above only asks the kernel for zeros
        let start = bytes.as_ptr().align_offset(ALIGNMENT_BYTES);
        Self { bytes, start, length }
    }

    /// Bytes drawn from `rng`.
    #[must_use]
    pub fn drawn(length: usize, rng: &mut Rng) -> Self {
        let mut ring = Self::zeroed(length);
        for chunk in ring.all_mut().chunks_mut(8) {
            chunk.copy_from_slice(&rng.bits().to_le_bytes()[..chunk.len()]);
        }
        ring
    }

    /// Page `index` of `page_bytes`.
    #[inline]
    #[must_use]
    pub fn page(&self, index: usize, page_bytes: usize) -> &[u8] {
        &self.all()[index * page_bytes..(index + 1) * page_bytes]
    }

    /// Page `index` of `page_bytes`, to be written.
    #[inline]
    pub fn page_mut(&mut self, index: usize, page_bytes: usize) -> &mut [u8] {
        &mut self.all_mut()[index * page_bytes..(index + 1) * page_bytes]
    }

    /// Reads a byte of each cache line of the first `length` bytes: another cell has just had the caches to itself.
    pub fn touch(&self, length: usize) {
        let sum = self.all()[..length].iter().step_by(CACHE_LINE_BYTES).fold(0u8, |sum, byte| sum.wrapping_add(*byte));
        black_box(sum);
    }

    fn all(&self) -> &[u8] {
        &self.bytes[self.start..self.start + self.length]
    }

    fn all_mut(&mut self) -> &mut [u8] {
        &mut self.bytes[self.start..self.start + self.length]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_lie_side_by_side_from_the_start_of_a_page_of_memory() {
        let mut ring = Ring::drawn(3 * 4096, &mut Rng::new(1, 0, 0));
        assert_eq!(ring.page(0, 4096).as_ptr() as usize % ALIGNMENT_BYTES, 0);
        let before = ring.page(2, 4096).to_vec();
        ring.page_mut(1, 4096).fill(7);
        assert_eq!(ring.page(1, 4096), [7; 4096]);
        assert_eq!(ring.page(2, 4096), before);
        assert_ne!(ring.page(0, 4096), before);
    }

    #[test]
    fn the_same_seed_draws_the_same_bytes() {
        let drawn = |seed| Ring::drawn(1000, &mut Rng::new(seed, 0, 0)).page(0, 1000).to_vec();
        assert_eq!(drawn(1), drawn(1));
        assert_ne!(drawn(1), drawn(2));
    }
}
