//! A way to end, from another thread, what a connection is at.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

type End = Box<dyn Fn() + Send>;

/// Shared by a connection, which says how it is broken off, and whoever may have to do that.
#[derive(Clone, Default)]
pub struct Breaker(Arc<Mutex<Option<End>>>);

/// For as long as it lives, its breaker can end what the connection is at.
pub struct Armed(Breaker);

impl Breaker {
    /// From now on [`Breaker::break_off`] does `end`, until the answer is dropped: what `end` uses must live as long.
    #[must_use]
    pub fn arm(&self, end: impl Fn() + Send + 'static) -> Armed {
        *self.locked() = Some(Box::new(end));
        Armed(self.clone())
    }

    /// Has the call that the connection is in fail, if it is in one and there is a way.
    pub fn break_off(&self) {
        if let Some(end) = &*self.locked() {
            end();
        }
    }

    fn locked(&self) -> MutexGuard<'_, Option<End>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Armed {
    fn drop(&mut self) {
        *self.0.locked() = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU32, Ordering};

    #[test]
    fn a_connection_is_broken_off_for_as_long_as_it_is_there() {
        let (breaker, ended) = (Breaker::default(), Arc::new(AtomicU32::new(0)));
        breaker.break_off();
        let counts = ended.clone();
        let armed = breaker.arm(move || {
            counts.fetch_add(1, Ordering::Relaxed);
        });
        breaker.clone().break_off();
        drop(armed);
        breaker.break_off();
        assert_eq!(ended.load(Ordering::Relaxed), 1);
    }
}
