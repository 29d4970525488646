//! Operations that a process is given while its trial runs: the chunks of a load agent.
//!
//! Connections take one operation after another from a local queue, so that none idles at the border of two chunks.
//! More are wanted as soon as the last chunk is begun: what that takes goes on beside it.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How often a connection that waits for operations looks whether the trial is over.
const LOOK: Duration = Duration::from_millis(50);

/// The operations of one trial of one process, as far as they are known.
#[derive(Debug, Default)]
pub struct Feed {
    state: Mutex<State>,
    /// There are more operations, or there will be none.
    fed: Condvar,
    /// More are wanted, or none will be.
    wanted: Condvar,
}

#[derive(Debug, Default)]
struct State {
    chunks: VecDeque<Range<u64>>,
    /// Whether an operation of the first chunk was taken.
    is_begun: bool,
    is_wanting: bool,
    is_complete: bool,
}

impl Feed {
    /// One that begins with these chunks.
    #[must_use]
    pub fn new(chunks: impl IntoIterator<Item = Range<u64>>) -> Self {
        let chunks: VecDeque<_> = chunks.into_iter().filter(|chunk| !chunk.is_empty()).collect();
        let is_wanting = chunks.is_empty();
        Self { state: Mutex::new(State { chunks, is_wanting, ..State::default() }), ..Self::default() }
    }

    /// Puts a chunk after those that there are.
    pub fn add(&self, chunk: Range<u64>) {
        if chunk.is_empty() {
            return;
        }
        let mut state = self.lock();
        state.is_wanting = false;
        state.chunks.push_back(chunk);
        self.fed.notify_all();
    }

    /// Says that no more will come.
    pub fn complete(&self) {
        self.lock().is_complete = true;
        self.fed.notify_all();
        self.wanted.notify_all();
    }

    /// Waits until more operations are wanted: once after each chunk that is begun as the last one, and at the start of a
    /// trial without any. False where no more will come.
    #[must_use]
    pub fn wanted(&self) -> bool {
        let mut state = self.lock();
        while !state.is_wanting && !state.is_complete {
            state = self.wanted.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        std::mem::take(&mut state.is_wanting) && !state.is_complete
    }

    /// The next operation; nothing when all are done or, while there is none yet, `go_on` says no. `waits` is called once
    /// where it has to be waited for.
    pub(super) fn take(&self, go_on: impl Fn() -> bool, waits: impl FnOnce()) -> Option<u64> {
        let mut state = self.lock();
        if let Some(index) = state.pop(&self.wanted) {
            return Some(index);
        }
        if state.is_complete {
            return None;
        }
        waits();
        while !state.is_complete && go_on() {
            (state, _) = self.fed.wait_timeout(state, LOOK).unwrap_or_else(PoisonError::into_inner);
            if let Some(index) = state.pop(&self.wanted) {
                return Some(index);
            }
        }
        None
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn pop(&mut self, wanted: &Condvar) -> Option<u64> {
        let is_last = self.chunks.len() == 1;
        let chunk = self.chunks.front_mut()?;
        let index = chunk.next();
        let begins = !std::mem::replace(&mut self.is_begun, true);
        if chunk.is_empty() {
            self.chunks.pop_front();
            self.is_begun = false;
        }
        if begins && is_last {
            self.is_wanting = true;
            wanted.notify_all();
        }
        index
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::thread::scope;

    fn taken(feed: &Feed) -> Option<u64> {
        feed.take(|| false, || ())
    }

    #[test]
    fn more_is_wanted_when_the_last_chunk_is_begun_and_not_before() {
        let feed = Feed::new([0..2, 2..2, 5..7]);
        let is_wanting = || feed.lock().is_wanting;
        assert_eq!((taken(&feed), taken(&feed), is_wanting()), (Some(0), Some(1), false));
        assert_eq!((taken(&feed), is_wanting()), (Some(5), true));
        assert!(feed.wanted());
        assert!(!is_wanting(), "once for each chunk");
        feed.add(9..10);
        assert_eq!((taken(&feed), is_wanting()), (Some(6), false));
        assert_eq!((taken(&feed), is_wanting()), (Some(9), true));
        assert_eq!(taken(&feed), None);
        feed.complete();
        assert!(!feed.wanted());
    }

    #[test]
    fn a_trial_without_a_chunk_wants_one_at_once() {
        let feed = Feed::new([]);
        assert!(feed.wanted());
        feed.complete();
        assert_eq!(feed.take(|| panic!("there is nothing to wait for"), || ()), None);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]
        #[test]
        fn every_operation_is_taken_once_by_some_connection(
            sizes in prop::collection::vec(0u64..20, 0..12), ahead in 0usize..3, connections in 1usize..5
        ) {
            let mut end = 0;
            let chunks: Vec<_> = sizes.iter().map(|size| { end += size; end - size..end }).collect();
            let (first, later) = chunks.split_at(ahead.min(chunks.len()));
            let feed = Feed::new(first.iter().cloned());
            let all = scope(|scope| {
                let threads: Vec<_> = (0..connections)
                    .map(|_| scope.spawn(|| std::iter::from_fn(|| feed.take(|| true, || ())).collect::<Vec<_>>()))
                    .collect();
                for chunk in later.iter().filter(|chunk| !chunk.is_empty()) {
                    assert!(feed.wanted());
                    feed.add(chunk.clone());
                }
                feed.complete();
                let mut all: Vec<u64> = threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect();
                all.sort_unstable();
                all
            });
            prop_assert_eq!(all, (0..end).collect::<Vec<_>>());
        }
    }
}
