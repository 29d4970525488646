//! The time to copy a page: a database that does not decrypt in place copies each page back to where it belongs.

use crate::ring::Ring;
use std::hint::black_box;
use tdelta_core::process::thread_cpu_ns;

const WALKS_A_PASS: usize = 16;

/// CPU time of copying one page, ns, for each of `passes`. A page that was just written is copied to pages one after
/// another of a ring, as a buffer is to the frames of a cache.
///
/// Nothing where a page has no bytes.
#[must_use]
pub fn copies_ns(page_bytes: usize, ring_bytes: usize, passes: usize) -> Vec<f64> {
    if page_bytes == 0 {
        return Vec::new();
    }
    let frames = (ring_bytes / page_bytes).max(1);
    let mut ring = Ring::zeroed(frames * page_bytes);
    let buffer = Ring::zeroed(page_bytes);
    (0..passes)
        .map(|_| {
            let began = thread_cpu_ns();
            for _ in 0..WALKS_A_PASS {
                for frame in 0..frames {
                    ring.page_mut(frame, page_bytes).copy_from_slice(black_box(buffer.page(0, page_bytes)));
                    black_box(ring.page(frame, page_bytes));
                }
            }
            (thread_cpu_ns() - began) as f64 / (WALKS_A_PASS * frames) as f64
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::copies_ns;

    #[test]
    fn every_pass_takes_time_and_no_page_takes_none() {
        let found = copies_ns(16384, 1 << 20, 5);
        assert_eq!(found.len(), 5);
        assert!(found.iter().all(|ns| *ns > 0.0));
        assert!(copies_ns(0, 1 << 20, 5).is_empty());
    }

    #[test]
    fn a_page_larger_than_the_ring_is_copied_all_the_same() {
        assert_eq!(copies_ns(1 << 16, 1 << 10, 2).len(), 2);
    }
}
