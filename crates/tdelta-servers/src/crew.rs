//! A few threads for work that mostly waits for a server.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread::scope;

/// Threads that connect or prepare at once.
pub const HANDS: usize = 8;

/// Does `work` on every item, on as many threads as `hands`. The results are in the items' order; the first error ends
/// the work.
pub fn share<I: Send, T: Send, E: Send>(
    hands: usize,
    items: Vec<I>,
    work: impl Fn(I) -> Result<T, E> + Sync,
) -> Result<Vec<T>, E> {
    let items: Vec<Mutex<Option<I>>> = items.into_iter().map(|item| Mutex::new(Some(item))).collect();
    let results: Vec<Mutex<Option<Result<T, E>>>> = items.iter().map(|_| Mutex::new(None)).collect();
    let (next, failed) = (AtomicUsize::new(0), AtomicBool::new(false));
    let labour = || {
        while !failed.load(Ordering::Relaxed) {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(item) = items.get(at).and_then(|item| locked(item).take()) else { break };
            let result = work(item);
            failed.fetch_or(result.is_err(), Ordering::Relaxed);
            *locked(&results[at]) = Some(result);
        }
    };
    scope(|scope| {
        for _ in 1..hands.min(items.len()) {
            scope.spawn(labour);
        }
        labour();
    });
    // What was left undone after an error stands behind it.
    results.into_iter().filter_map(|result| result.into_inner().unwrap_or_else(PoisonError::into_inner)).collect()
}

fn locked<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_stand_in_the_items_order() {
        let doubled: Result<Vec<u32>, ()> = share(4, (0..100).collect(), |n| Ok(2 * n));
        assert_eq!(doubled.unwrap(), (0..100).map(|n| 2 * n).collect::<Vec<_>>());
    }

    #[test]
    fn an_error_ends_the_work() {
        let done = AtomicUsize::new(0);
        let result = share(2, (0..10_000).collect(), |n: u32| {
            done.fetch_add(1, Ordering::Relaxed);
            if n == 3 {
                Err(n)
            } else {
                Ok(())
            }
        });
        assert_eq!(result.unwrap_err(), 3);
        assert!(done.load(Ordering::Relaxed) < 10_000);
    }

    #[test]
    fn nothing_to_do_is_done() {
        assert_eq!(share(8, Vec::<u8>::new(), Ok::<u8, ()>).unwrap(), Vec::<u8>::new());
    }
}
