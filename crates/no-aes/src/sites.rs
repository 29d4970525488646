//! The instructions that were replaced: written by whoever patches, read by the handler.

use crate::code::{CPUID, UD2};
use crate::memory::OwnMemory;
use std::sync::atomic::{AtomicUsize, Ordering};

/// More than a process with every library of a distribution in it would have.
const CAPACITY: usize = 4096;

/// The addresses of the instructions that were replaced; read by signal handlers, so it never moves and never shrinks.
pub static SITES: Sites<CAPACITY> = Sites::new();

/// Replaces one instruction. Only its second byte differs, so whoever runs it meets the one or the other.
pub fn replace<const N: usize>(memory: &OwnMemory, sites: &Sites<N>, place: usize) -> bool {
    const { assert!(CPUID[0] == UD2[0]) };
    sites.add(place) && memory.write(place + 1, UD2[1]).is_ok()
}

/// Addresses that only become more.
pub struct Sites<const N: usize> {
    addresses: [AtomicUsize; N],
    count: AtomicUsize,
}

impl<const N: usize> Sites<N> {
    const fn new() -> Self {
        Self { addresses: [const { AtomicUsize::new(0) }; N], count: AtomicUsize::new(0) }
    }

    /// Adds one, before its instruction is replaced; false if there is no room. Called by one thread at a time.
    fn add(&self, address: usize) -> bool {
        let count = self.count.load(Ordering::Relaxed);
        let Some(slot) = self.addresses.get(count) else { return false };
        slot.store(address, Ordering::Relaxed);
        self.count.store(count + 1, Ordering::Release);
        true
    }

    /// Whether it is one of them. Can be called by a signal handler.
    pub fn contains(&self, address: usize) -> bool {
        let count = self.count.load(Ordering::Acquire);
        self.addresses.iter().take(count).any(|site| site.load(Ordering::Relaxed) == address)
    }
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use std::sync::Mutex;

    /// Sites are added by one thread at a time, and tests run on several.
    pub static ALONE: Mutex<()> = Mutex::new(());

    /// Replaces one instruction, as patching does.
    pub fn replace_at(memory: &OwnMemory, place: usize) -> bool {
        let _alone = ALONE.lock().unwrap();
        replace(memory, &SITES, place)
    }

    #[test]
    fn a_full_table_takes_no_more_sites() {
        let sites: Sites<2> = Sites::new();
        assert!(sites.add(10) && sites.add(20) && !sites.add(30));
        assert!(sites.contains(10) && sites.contains(20) && !sites.contains(30) && !sites.contains(0));
    }
}
