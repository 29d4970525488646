//! Slices of trials that alternate between the worker processes of a block.
//!
//! A machine's speed changes by the millisecond: a neighbour, a throttled virtual CPU, a timer. Trials that run one after
//! the other meet different machines; slices of trials that alternate every few milliseconds meet the same one. (Short
//! slices also keep caches cold and so change what is measured: docs/measurements.md. By default a slice is a whole
//! trial.) Whoever holds the token runs a slice and passes it to the next in the drawn order. The others sleep in the
//! kernel: the token is a word for each participant in memory that all have mapped, waited on with futexes.

use std::fs::OpenOptions;
use std::io;
use std::os::fd::AsRawFd;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

const WORDS: usize = 1024;
const BYTES: usize = WORDS * 4;
/// The word that says the last slot is over (1) or that someone failed (2).
const END: usize = WORDS - 1;
const FINISHED: u32 = 1;
const ABORTED: u32 = 2;
/// How often a sleeper looks whether it was asked to stop, ns.
const PATIENCE_NS: i64 = 50_000_000;

/// A mapped token file. The file is made by the parent: [`BYTES`] bytes of zeros, renewed for each block.
pub struct Token {
    words: NonNull<AtomicU32>,
}

// SAFETY: the mapping is shared memory made of atomics; it is unmapped only when the last reference is gone.
unsafe impl Send for Token {}
// SAFETY: as above.
unsafe impl Sync for Token {}

impl Token {
    /// Maps the file.
    ///
    /// # Errors
    /// It cannot be opened or mapped, or is too short.
    pub fn open(path: &str) -> io::Result<Self> {
        let file = OpenOptions::new().read(true).write(true).open(path)?;
        if file.metadata()?.len() < BYTES as u64 {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "the token file is too short"));
        }
        // SAFETY: a fresh shared mapping of a file that is long enough; failure is checked below.
        let start = unsafe {
            let protection = libc::PROT_READ | libc::PROT_WRITE;
            libc::mmap(std::ptr::null_mut(), BYTES, protection, libc::MAP_SHARED, file.as_raw_fd(), 0)
        };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        NonNull::new(start.cast()).map(|words| Self { words }).ok_or_else(|| io::ErrorKind::OutOfMemory.into())
    }

    fn word(&self, index: usize) -> &AtomicU32 {
        assert!(index < WORDS, "a token has {WORDS} words");
        // SAFETY: within the mapping, which is aligned to a page and lives as long as `self`.
        unsafe { self.words.add(index).as_ref() }
    }

    /// Waits for slot `slot` (from 0), which is `participant`'s. False if the block was aborted or a stop was asked for.
    #[must_use]
    pub fn wait_for(&self, participant: usize, slot: usize, stop: &AtomicBool) -> bool {
        let word = self.word(participant);
        loop {
            let seen = word.load(Ordering::Acquire);
            if seen as usize == slot + 1 {
                return true;
            }
            if self.word(END).load(Ordering::Acquire) == ABORTED || stop.load(Ordering::Relaxed) {
                return false;
            }
            sleep_on(word, seen);
        }
    }

    /// Passes the token to `participant` for slot `slot`.
    pub fn pass(&self, participant: usize, slot: usize) {
        let word = self.word(participant);
        word.store(slot as u32 + 1, Ordering::Release);
        wake(word);
    }

    /// Says that the last slot is over.
    pub fn finish(&self) {
        self.end(FINISHED);
    }

    /// Says that the block cannot go on.
    pub fn abort(&self) {
        self.end(ABORTED);
        (0..END).for_each(|index| wake(self.word(index)));
    }

    fn end(&self, how: u32) {
        self.word(END).store(how, Ordering::Release);
        wake(self.word(END));
    }

    /// Waits for the end of the block, so that nobody's clearing up disturbs another's last slice.
    pub fn wait_for_end(&self, stop: &AtomicBool) {
        while self.word(END).load(Ordering::Acquire) == 0 && !stop.load(Ordering::Relaxed) {
            sleep_on(self.word(END), 0);
        }
    }
}

impl Drop for Token {
    fn drop(&mut self) {
        // SAFETY: mapped in `open` with this length, and nothing borrows from it any more.
        unsafe { libc::munmap(self.words.as_ptr().cast(), BYTES) };
    }
}

fn sleep_on(word: &AtomicU32, seen: u32) {
    let patience = libc::timespec { tv_sec: 0, tv_nsec: PATIENCE_NS };
    // SAFETY: the word outlives the call; a spurious return is fine, since callers look again.
    unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAIT, seen, &patience) };
}

fn wake(word: &AtomicU32) {
    // SAFETY: the word outlives the call.
    unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAKE, i32::MAX) };
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Mutex;

    fn file() -> String {
        let path =
            std::env::temp_dir().join(format!("tdelta-token-{}-{:?}", std::process::id(), std::thread::current().id()));
        std::fs::write(&path, vec![0u8; BYTES]).unwrap();
        path.to_string_lossy().into_owned()
    }

    #[test]
    fn slices_run_in_the_drawn_order_and_never_two_at_once() {
        let path = file();
        let order = [0usize, 2, 1, 1, 0, 2, 2, 0, 1];
        let seen = Mutex::new(Vec::new());
        let stop = AtomicBool::new(false);
        Token::open(&path).unwrap().pass(order[0], 0);
        std::thread::scope(|scope| {
            for me in 0..3 {
                let (path, seen, stop) = (&path, &seen, &stop);
                scope.spawn(move || {
                    let token = Token::open(path).unwrap();
                    for (slot, _) in order.iter().enumerate().filter(|(_, who)| **who == me) {
                        assert!(token.wait_for(me, slot, stop));
                        seen.try_lock().expect("nobody else is running").push(me);
                        match order.get(slot + 1) {
                            Some(next) => token.pass(*next, slot + 1),
                            None => token.finish(),
                        }
                    }
                    token.wait_for_end(stop);
                });
            }
        });
        assert_eq!(*seen.lock().unwrap(), order);
        std::fs::remove_file(path).unwrap();
    }

    #[test]
    fn an_abort_and_a_stop_let_everyone_go() {
        let path = file();
        let token = Token::open(&path).unwrap();
        assert!(!token.wait_for(0, 5, &AtomicBool::new(true)));
        token.abort();
        assert!(!token.wait_for(1, 3, &AtomicBool::new(false)));
        token.wait_for_end(&AtomicBool::new(false));
        std::fs::remove_file(path).unwrap();
    }
}
