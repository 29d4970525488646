//! The action that a program sets for a signal: kept here, while the kernel gets another one.

use std::ffi::c_int;
use std::sync::atomic::{fence, AtomicI32, AtomicU32, AtomicU64, AtomicUsize, Ordering};

/// A program's action for a signal, as sigaction(2) has it. `mask` has a bit for each of the kernel's 64 signals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Action {
    /// `SIG_DFL`, `SIG_IGN` or a function.
    pub handler: usize,
    /// `SA_*`.
    pub flags: c_int,
    /// Signals that are blocked while the handler runs.
    pub mask: u64,
}

/// The reaction to a signal that is not ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Onward {
    /// The process ends as if nobody had stood in between.
    Die,
    /// Nothing.
    Ignore,
    /// Call the program's handler with these signals blocked; before, forget it if it is for once only.
    Call {
        /// The program's function.
        handler: usize,
        /// Whether it takes three arguments (`SA_SIGINFO`).
        is_informed: bool,
        /// Signals that are blocked meanwhile.
        mask: u64,
        /// `SA_RESETHAND`.
        is_once: bool,
    },
}

/// The bit of a signal in a mask.
pub fn bit(signal: c_int) -> u64 {
    1 << (signal - 1)
}

impl Action {
    /// The state of every signal at first.
    pub const DEFAULT: Self = Self { handler: libc::SIG_DFL, flags: 0, mask: 0 };

    /// The kernel's reaction to this action.
    ///
    /// `is_sent` says that a process sent the signal; the others come from an instruction that cannot go on, and to
    /// ignore those ends the process. `interrupted` is what the interrupted code had blocked.
    pub fn onward(&self, signal: c_int, is_sent: bool, interrupted: u64) -> Onward {
        match self.handler {
            libc::SIG_IGN if is_sent => Onward::Ignore,
            libc::SIG_DFL | libc::SIG_IGN => Onward::Die,
            handler => {
                let own = if self.flags & libc::SA_NODEFER == 0 { bit(signal) } else { 0 };
                Onward::Call {
                    handler,
                    is_informed: self.flags & libc::SA_SIGINFO != 0,
                    mask: interrupted | self.mask | own,
                    is_once: self.flags & libc::SA_RESETHAND != 0,
                }
            }
        }
    }

    /// The flags by which the kernel treats our handler as it would treat the program's: on which stack it runs, and
    /// whether an interrupted system call goes on. Without a handler of the program's, the alternate stack is the safe one.
    pub fn flags_in_the_kernel(&self) -> c_int {
        let is_function = !matches!(self.handler, libc::SIG_DFL | libc::SIG_IGN);
        let kept = if is_function { self.flags & (libc::SA_ONSTACK | libc::SA_RESTART) } else { libc::SA_ONSTACK };
        libc::SA_SIGINFO | kept
    }

    /// From the C library's structure.
    pub fn from_c(action: &libc::sigaction) -> Self {
        Self { handler: action.sa_sigaction, flags: action.sa_flags, mask: mask_from_c(&raw const action.sa_mask) }
    }

    /// As the C library's structure.
    pub fn to_c(self) -> libc::sigaction {
        // SAFETY: an all-zero sigaction is a valid one.
        let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
        action.sa_sigaction = self.handler;
        action.sa_flags = self.flags;
        // SAFETY: a sigset_t begins with the 64 bits that the kernel knows (musl and glibc).
        unsafe { (&raw mut action.sa_mask).cast::<u64>().write(self.mask) };
        action
    }
}

/// The kernel's part of a set of signals.
pub fn mask_from_c(set: *const libc::sigset_t) -> u64 {
    // SAFETY: the caller has a set, and it begins with the 64 bits that the kernel knows.
    unsafe { set.cast::<u64>().read() }
}

/// One action that signal handlers read while threads change it: a sequence lock, since a handler may not wait for the
/// thread that it interrupted. Whoever changes it must have blocked all signals, for the same reason.
pub struct Remembered {
    version: AtomicU32,
    handler: AtomicUsize,
    flags: AtomicI32,
    mask: AtomicU64,
}

impl Remembered {
    /// Begins with the default.
    pub const fn new() -> Self {
        Self {
            version: AtomicU32::new(0),
            handler: AtomicUsize::new(libc::SIG_DFL),
            flags: AtomicI32::new(0),
            mask: AtomicU64::new(0),
        }
    }

    fn fields(&self) -> Action {
        Action {
            handler: self.handler.load(Ordering::Relaxed),
            flags: self.flags.load(Ordering::Relaxed),
            mask: self.mask.load(Ordering::Relaxed),
        }
    }

    /// The action now.
    pub fn get(&self) -> Action {
        loop {
            let before = self.version.load(Ordering::Acquire);
            let action = self.fields();
            fence(Ordering::Acquire);
            if before & 1 == 0 && self.version.load(Ordering::Relaxed) == before {
                return action;
            }
            std::hint::spin_loop();
        }
    }

    /// Puts another in its place. Returns the one before.
    pub fn replace(&self, action: Action) -> Action {
        let version = self.lock();
        fence(Ordering::Release);
        let before = self.fields();
        self.handler.store(action.handler, Ordering::Relaxed);
        self.flags.store(action.flags, Ordering::Relaxed);
        self.mask.store(action.mask, Ordering::Relaxed);
        self.version.store(version.wrapping_add(2), Ordering::Release);
        before
    }

    /// Makes the version odd. Returns the even one before.
    fn lock(&self) -> u32 {
        loop {
            let version = self.version.load(Ordering::Relaxed);
            let is_free = version & 1 == 0;
            let locked = version | 1;
            if is_free && self.version.compare_exchange(version, locked, Ordering::Acquire, Ordering::Relaxed).is_ok() {
                return version;
            }
            std::hint::spin_loop();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicBool;

    const HANDLER: usize = 0x5555_0000;
    const SIGNAL: c_int = libc::SIGILL;

    fn action(handler: usize, flags: c_int) -> Action {
        Action { handler, flags, mask: bit(libc::SIGUSR1) }
    }

    #[test]
    fn the_default_and_an_ignored_fault_end_the_process() {
        assert_eq!(Action::DEFAULT.onward(SIGNAL, true, 0), Onward::Die);
        assert_eq!(Action::DEFAULT.onward(SIGNAL, false, 0), Onward::Die);
        assert_eq!(action(libc::SIG_IGN, 0).onward(SIGNAL, false, 0), Onward::Die);
        assert_eq!(action(libc::SIG_IGN, 0).onward(SIGNAL, true, 0), Onward::Ignore);
    }

    #[test]
    fn a_handler_is_called_with_what_it_asked_for_blocked_and_with_what_was_blocked_before() {
        let Onward::Call { handler, is_informed, mask, is_once } =
            action(HANDLER, libc::SA_SIGINFO).onward(SIGNAL, false, bit(libc::SIGTERM))
        else {
            panic!("not called");
        };
        assert_eq!((handler, is_informed, is_once), (HANDLER, true, false));
        assert_eq!(mask, bit(SIGNAL) | bit(libc::SIGUSR1) | bit(libc::SIGTERM));
    }

    #[test]
    fn a_handler_that_does_not_defer_or_is_for_once_is_treated_so() {
        let flags = libc::SA_NODEFER | libc::SA_RESETHAND;
        let Onward::Call { is_informed, mask, is_once, .. } = action(HANDLER, flags).onward(SIGNAL, true, 0) else {
            panic!("not called");
        };
        assert_eq!((is_informed, is_once, mask), (false, true, bit(libc::SIGUSR1)));
    }

    #[test]
    fn the_kernel_is_told_the_stack_that_the_program_wants() {
        let ours = libc::SA_SIGINFO;
        assert_eq!(Action::DEFAULT.flags_in_the_kernel(), ours | libc::SA_ONSTACK);
        assert_eq!(action(libc::SIG_IGN, libc::SA_RESTART).flags_in_the_kernel(), ours | libc::SA_ONSTACK);
        assert_eq!(action(HANDLER, libc::SA_NODEFER | libc::SA_RESETHAND).flags_in_the_kernel(), ours);
        let both = libc::SA_ONSTACK | libc::SA_RESTART;
        assert_eq!(action(HANDLER, both).flags_in_the_kernel(), ours | both);
    }

    #[test]
    fn an_action_survives_the_c_library_and_back() {
        let mask = bit(1) | bit(SIGNAL) | bit(64);
        let given = Action { handler: HANDLER, flags: libc::SA_SIGINFO | libc::SA_RESTART, mask };
        assert_eq!(Action::from_c(&given.to_c()), given);
        // SAFETY: a set that `to_c` made, and signals that exist.
        let has = |signal| unsafe { libc::sigismember(&given.to_c().sa_mask, signal) };
        assert_eq!([1, SIGNAL, 64, libc::SIGTERM].map(has), [1, 1, 1, 0]);
    }

    #[test]
    fn what_is_replaced_is_returned() {
        let remembered = Remembered::new();
        assert_eq!(remembered.replace(action(HANDLER, 0)), Action::DEFAULT);
        assert_eq!(remembered.replace(Action::DEFAULT), action(HANDLER, 0));
        assert_eq!(remembered.get(), Action::DEFAULT);
    }

    #[test]
    fn nobody_ever_reads_half_of_one_action_and_half_of_another() {
        let remembered = Remembered::new();
        let is_over = AtomicBool::new(false);
        let whole = |n: usize| Action { handler: n, flags: n as c_int, mask: n as u64 };
        remembered.replace(whole(0));
        std::thread::scope(|scope| {
            let writers: Vec<_> = (1..=2_usize)
                .map(|first| {
                    let remembered = &remembered;
                    scope.spawn(move || {
                        for n in 0..50_000 {
                            let before = remembered.replace(whole(2 * n + first));
                            assert_eq!(before, whole(before.handler));
                        }
                    })
                })
                .collect();
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    let seen = remembered.get();
                    assert_eq!(seen, whole(seen.handler));
                }
            });
            writers.into_iter().for_each(|writer| writer.join().unwrap());
            is_over.store(true, Ordering::Relaxed);
        });
    }
}
