//! How long threads were ready to run and had no CPU: the second field of `schedstat`
//! (`docs.kernel.org/scheduler/sched-stats.html`), ns since the thread began.
//!
//! The kernel adds a wait when it is over. A thread that reads its own misses nothing, therefore; of others, a wait that
//! is under way at the moment of reading falls to the next reading. Where the kernel keeps none, all fields are 0.

use super::read_own;
use super::tree::{threads, Tree};
use std::collections::BTreeMap;
use std::path::Path;

/// Of the calling thread.
#[must_use]
pub fn thread_delay_ns() -> Option<u64> {
    waited(&read_own(Path::new("/proc/thread-self/schedstat"))?)
}

/// The calling thread's wait since an earlier reading.
#[must_use]
pub fn thread_delay_since(start_ns: Option<u64>) -> Option<u64> {
    Some(thread_delay_ns()?.saturating_sub(start_ns?))
}

fn waited(schedstat: &str) -> Option<u64> {
    let mut fields = schedstat.split_ascii_whitespace().map_while(|field| field.parse::<u64>().ok());
    let (ran, waited, times) = (fields.next()?, fields.next()?, fields.next()?);
    (ran > 0 || times > 0).then_some(waited)
}

/// The wait of each thread in a tree of processes so far, by its number.
#[derive(Clone, Debug, Default)]
pub struct Delays {
    of_threads: BTreeMap<String, u64>,
}

impl Delays {
    /// The total wait of the present threads since `start`. One that was not there then counts
    /// whole; the wait of one that has ended since is lost. None where the kernel lists no thread.
    #[must_use]
    pub fn since(&self, start: &Self) -> Option<u64> {
        let grown = |(thread, now): (&String, &u64)| match start.of_threads.get(thread) {
            Some(then) if then <= now => now - then,
            _ => *now, // the number is a new thread's
        };
        (!self.of_threads.is_empty()).then(|| self.of_threads.iter().map(grown).sum())
    }
}

impl Tree {
    /// The threads' wait so far.
    #[must_use]
    pub fn delays(&self) -> Delays {
        let all = self.members().into_iter().flat_map(threads);
        let of = |thread: std::path::PathBuf| {
            let waited = waited(&read_own(&thread.join("schedstat"))?)?;
            Some((thread.file_name()?.to_str()?.to_owned(), waited))
        };
        Delays { of_threads: all.filter_map(of).collect() }
    }
}

/// A reading of what has been waited so far: by the calling thread, or by all threads of this process.
#[derive(Debug)]
pub enum Waits {
    /// The calling thread's.
    Thread(Option<u64>),
    /// All of the process's.
    Process(Delays),
}

impl Waits {
    /// The wait so far, of all threads of the process if `by_all`.
    #[must_use]
    pub fn now(by_all: bool) -> Self {
        if by_all {
            Self::Process(Tree::new(&[std::process::id()]).delays())
        } else {
            Self::Thread(thread_delay_ns())
        }
    }

    /// The wait since then.
    #[must_use]
    pub fn since(&self) -> Option<u64> {
        match self {
            Self::Thread(start_ns) => thread_delay_since(*start_ns),
            Self::Process(start) => Tree::new(&[std::process::id()]).delays().since(start),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::{monotonic_ns, thread_cpu_ns};
    use std::sync::atomic::{AtomicBool, Ordering};

    fn delays(pairs: &[(&str, u64)]) -> Delays {
        Delays { of_threads: pairs.iter().map(|(thread, ns)| ((*thread).into(), *ns)).collect() }
    }

    #[test]
    fn the_second_field_is_the_wait_and_zeros_are_no_reading() {
        assert_eq!(waited("820 37 4\n"), Some(37));
        assert_eq!(waited("0 37 1\n"), Some(37), "it is at its first slice");
        assert_eq!((waited("0 0 0\n"), waited("12 3"), waited("")), (None, None, None));
    }

    #[test]
    fn a_new_thread_counts_whole_and_an_ended_one_not() {
        let (before, after) = (delays(&[("1", 10), ("2", 500)]), delays(&[("1", 15), ("3", 7)]));
        assert_eq!(after.since(&before), Some(12));
        assert_eq!(delays(&[("1", 4)]).since(&before), Some(4), "its number was given to another thread");
        assert_eq!(delays(&[]).since(&before), None);
    }

    /// Has the calling thread run on the first CPU alone.
    fn bind() {
        // SAFETY: a set of CPUs is plain bits, and the call reads as many bytes as its argument says.
        unsafe {
            let mut set: libc::cpu_set_t = std::mem::zeroed();
            libc::CPU_SET(0, &mut set);
            libc::sched_setaffinity(0, std::mem::size_of::<libc::cpu_set_t>(), &set);
        }
    }

    #[test]
    fn beside_a_busy_neighbour_the_delay_is_the_elapsed_time_less_the_cpu_time() {
        let (is_over, me) = (AtomicBool::new(false), Tree::new(&[std::process::id()]));
        std::thread::scope(|scope| {
            scope.spawn(|| {
                bind();
                while !is_over.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            });
            let worker = scope.spawn(|| {
                bind();
                let (before, began_ns, cpu_ns) = (thread_delay_ns(), monotonic_ns(), thread_cpu_ns());
                let all_before = me.delays();
                while thread_cpu_ns() - cpu_ns < 200_000_000 {}
                let without_ns = monotonic_ns() - began_ns - (thread_cpu_ns() - cpu_ns);
                let waited_ns = thread_delay_since(before);
                (waited_ns, without_ns, me.delays().since(&all_before))
            });
            let (waited_ns, without_ns, of_all_ns) = worker.join().unwrap();
            is_over.store(true, Ordering::Relaxed);
            let Some(waited_ns) = waited_ns else { return }; // a kernel that keeps none
            assert!(waited_ns > 50_000_000, "the neighbour took its share: {waited_ns}");
            let off = waited_ns.abs_diff(without_ns);
            assert!(off < without_ns / 10 + 2_000_000, "waited {waited_ns} ns, without a CPU {without_ns} ns");
            assert!(of_all_ns.is_some_and(|all| all >= waited_ns / 2), "{of_all_ns:?} of all threads");
        });
    }
}
