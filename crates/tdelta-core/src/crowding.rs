//! How much more CPU time the same work takes while all other CPUs are at work.
//!
//! CPUs that share a core (simultaneous multithreading), or a clock that falls under load, slow one another, and nothing
//! that the kernel counts shows it: the time is CPU time of whoever was slowed. Virtual machines do not tell, as a rule,
//! which of their CPUs are siblings.

use crate::process::thread_cpu_ns;
use std::hint::black_box;
use std::mem;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

const CHAINS: usize = 6;
const TABLE: usize = 4096;
const STEPS: usize = 1_000_000;
const STEPS_BETWEEN_LOOKS: usize = 2_000;

/// CPU time of a loop on the first of `cpus` while all others work, over that of the loop alone, for each of `passes`,
/// which take some milliseconds each. Nothing where there is one CPU, or threads cannot be made.
#[must_use]
pub fn crowding(cpus: &[usize], passes: usize) -> Vec<f64> {
    let Some((&first, others)) = cpus.split_first() else { return Vec::new() };
    if others.is_empty() {
        return Vec::new();
    }
    let table: Vec<u64> = (0..TABLE as u64).map(|n| n.wrapping_mul(0x9e37_79b9_7f4a_7c15)).collect();
    let measured = || {
        bind(first);
        timed(&table); // what is first is slower
        (0..passes).map(|_| timed(&table)).map_while(|alone| Some(crowded(others, &table)? / alone)).collect()
    };
    // On a thread of its own, which may be bound to a CPU.
    thread::scope(|scope| {
        let thread = thread::Builder::new().spawn_scoped(scope, measured).ok()?;
        thread.join().ok()
    })
    .unwrap_or_default()
}

/// CPU time of the loop while these CPUs work, ns; nothing where they cannot be had to.
fn crowded(cpus: &[usize], table: &[u64]) -> Option<f64> {
    let (at_work, is_over) = (AtomicUsize::new(0), AtomicBool::new(false));
    thread::scope(|scope| {
        let _end = AtEnd(&is_over); // whatever happens: the scope waits for its threads
        for &cpu in cpus {
            let (at_work, is_over) = (&at_work, &is_over);
            let work = move || {
                bind(cpu);
                at_work.fetch_add(1, Ordering::Relaxed);
                while !is_over.load(Ordering::Relaxed) {
                    black_box(walk(table, STEPS_BETWEEN_LOOKS));
                }
            };
            thread::Builder::new().spawn_scoped(scope, work).ok()?;
        }
        while at_work.load(Ordering::Relaxed) < cpus.len() {
            thread::yield_now();
        }
        Some(timed(table))
    })
}

/// Tells threads that it is over, when it is dropped.
struct AtEnd<'a>(&'a AtomicBool);

impl Drop for AtEnd<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Has the calling thread run on this CPU alone; where the kernel refuses, it runs where it did.
fn bind(cpu: usize) {
    // SAFETY: a set of CPUs is plain bits, and the call reads as many bytes as it is told.
    unsafe {
        let mut set: libc::cpu_set_t = mem::zeroed();
        if cpu < 8 * mem::size_of::<libc::cpu_set_t>() {
            libc::CPU_SET(cpu, &mut set);
            libc::sched_setaffinity(0, mem::size_of::<libc::cpu_set_t>(), &set);
        }
    }
}

/// CPU time of the loop, ns.
fn timed(table: &[u64]) -> f64 {
    let began = thread_cpu_ns();
    black_box(walk(table, STEPS));
    (thread_cpu_ns() - began) as f64
}

/// Chains of loads and sums that do not wait for one another, so that a core has work for all of its units, as it has
/// when rows are read.
fn walk(table: &[u64], steps: usize) -> u64 {
    let mut chains = [0u64; CHAINS];
    for step in 0..steps {
        for (index, chain) in chains.iter_mut().enumerate() {
            let at = (*chain ^ (step + index) as u64) as usize % TABLE;
            *chain = chain.rotate_left(5) ^ table[at];
        }
    }
    chains.iter().fold(0, |sum, chain| sum ^ chain)
}

#[cfg(test)]
mod tests {
    use super::crowding;

    #[test]
    fn one_cpu_is_not_crowded_and_of_several_every_pass_tells() {
        assert!(crowding(&[0], 3).is_empty());
        let found = crowding(&[0, 1], 3); // where there is no second CPU, both are the first
        assert_eq!(found.len(), 3);
        assert!(found.iter().all(|ratio| ratio.is_finite() && *ratio > 0.0));
    }
}
