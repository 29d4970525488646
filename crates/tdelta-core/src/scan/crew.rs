//! Several threads at one list of tasks, and someone who watches.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{channel, RecvTimeoutError};
use std::thread;
use std::time::Duration;

/// How often the watcher decides whether to go on.
const WATCHED_EVERY: Duration = Duration::from_millis(100);

/// The threads' common state: how much was read, and whether to go on.
#[derive(Default)]
pub struct Crew {
    stopped: AtomicBool,
    bytes: AtomicU64,
}

impl Crew {
    /// Whether the watcher has had enough.
    pub fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::Relaxed)
    }

    /// Accounts for bytes that were read.
    pub fn read(&self, bytes: u64) {
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
    }
}

/// Does every task, each once, with up to `threads` threads, each of which makes its own tools first.
///
/// `watch` runs in the caller's thread about ten times a second; it receives the number of bytes read, and ends the work by
/// answering `false`. Returns whether all tasks were done.
pub fn run<T: Sync, L>(
    tasks: &[T],
    threads: usize,
    watch: &mut dyn FnMut(u64) -> bool,
    tools: impl Fn() -> L + Sync,
    work: impl Fn(&T, &mut L, &Crew) + Sync,
) -> bool {
    let crew = Crew::default();
    let next = AtomicUsize::new(0);
    let (at_work, nobody_left) = channel::<()>();
    thread::scope(|scope| {
        for _ in 0..threads.min(tasks.len()).max(1) {
            let (crew, next, tools, work, at_work) = (&crew, &next, &tools, &work, at_work.clone());
            scope.spawn(move || {
                let _at_work = at_work; // dropped when this thread ends, however it ends
                let mut own = tools();
                while let Some(task) = tasks.get(next.fetch_add(1, Ordering::Relaxed)) {
                    if crew.is_stopped() {
                        return;
                    }
                    work(task, &mut own, crew);
                }
            });
        }
        drop(at_work);
        while nobody_left.recv_timeout(WATCHED_EVERY) == Err(RecvTimeoutError::Timeout) {
            if !crew.is_stopped() && !watch(crew.bytes.load(Ordering::Relaxed)) {
                crew.stopped.store(true, Ordering::Relaxed);
            }
        }
    });
    !crew.is_stopped()
}
