//! The handler: answers what is ours and hands on what is not. It runs with every signal blocked, and only what may be
//! called by a signal handler is called here (signal-safety(7)): no allocation, no lock that someone could hold.

use crate::actions::{mask_from_c, Action, Onward, Remembered};
use crate::cpuid::answer;
use crate::real;
use crate::sites::SITES;
use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// The signal by which a replaced CPUID is caught.
const SIGNAL: c_int = libc::SIGILL;

static IS_INSTALLED: AtomicBool = AtomicBool::new(false);

/// The program's action for our signal.
static PROGRAM: Remembered = Remembered::new();

static ANSWERED: AtomicU64 = AtomicU64::new(0);

/// Whether the handler is in place in this process.
pub fn is_installed() -> bool {
    IS_INSTALLED.load(Ordering::Acquire)
}

/// How often CPUID was answered.
pub fn answered() -> u64 {
    ANSWERED.load(Ordering::Relaxed)
}

/// Whether this is the signal that we stand before.
pub fn is_ours(signal: c_int) -> bool {
    is_installed() && signal == SIGNAL
}

/// Puts the handler in place and remembers the one that was there. False if it cannot be.
pub fn install() -> bool {
    let Some(sigaction) = real::sigaction() else { return false };
    let mut before = Action::DEFAULT.to_c();
    // SAFETY: both structures are valid.
    if unsafe { sigaction(SIGNAL, std::ptr::null(), &mut before) } != 0 {
        return false;
    }
    let program = Action::from_c(&before);
    PROGRAM.replace(program);
    // SAFETY: a valid structure.
    if unsafe { sigaction(SIGNAL, &ours_for(&program), std::ptr::null_mut()) } != 0 {
        return false;
    }
    IS_INSTALLED.store(true, Ordering::Release);
    true
}

/// The action that the kernel knows while the program wants `program`.
fn ours_for(program: &Action) -> libc::sigaction {
    let handler = on_signal as unsafe extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void);
    Action { handler: handler as usize, flags: program.flags_in_the_kernel(), mask: u64::MAX }.to_c()
}

/// `sigaction` for our signal: remembers the program's action and returns the one before. Can be called by a
/// signal handler, as `sigaction` can.
pub fn exchange(new: Option<Action>) -> Action {
    let Some(new) = new else { return PROGRAM.get() };
    let blocked = set_mask(libc::SIG_BLOCK, u64::MAX);
    let before = PROGRAM.replace(new);
    if let Some(sigaction) = real::sigaction().filter(|_| is_installed()) {
        // SAFETY: a valid structure.
        unsafe { sigaction(SIGNAL, &ours_for(&new), std::ptr::null_mut()) };
    }
    set_mask(libc::SIG_SETMASK, blocked);
    before
}

/// Changes what this thread has blocked. Returns what it had. The kernel's own call, as the C library's keeps two
/// signals for itself unblocked, and would have them delivered here.
fn set_mask(how: c_int, mask: u64) -> u64 {
    let mut before = 0_u64;
    // SAFETY: both sets have the eight bytes of the kernel's.
    unsafe { libc::syscall(libc::SYS_rt_sigprocmask, how, &raw const mask, &raw mut before, size_of::<u64>()) };
    before
}

/// The handler.
unsafe extern "C" fn on_signal(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    let context = context.cast::<libc::ucontext_t>();
    // SAFETY: the kernel passes what it saved of the interrupted code. The structure is longer than what it
    // saved, so only its parts are looked at.
    let (registers, code) = unsafe { (&mut (*context).uc_mcontext.gregs, (*info).si_code) };
    let instruction = registers[libc::REG_RIP as usize] as usize;
    if SITES.contains(instruction) {
        go_on_behind(registers, answer);
    } else {
        // SAFETY: as above.
        let interrupted = mask_from_c(unsafe { &raw const (*context).uc_sigmask });
        // SAFETY: the arguments of this very signal.
        unsafe { hand_on(signal, info, context.cast(), code <= 0, interrupted) };
    }
}

type Registers = [libc::greg_t; 23];

/// Has the interrupted code go on behind the instruction, with the answer where it leaves one.
fn go_on_behind(registers: &mut Registers, answer: impl Fn(u32, u32) -> std::arch::x86_64::CpuidResult) {
    let [rax, rbx, rcx, rdx, rip] =
        [libc::REG_RAX, libc::REG_RBX, libc::REG_RCX, libc::REG_RDX, libc::REG_RIP].map(|index| index as usize);
    let told = answer(registers[rax] as u32, registers[rcx] as u32);
    // The instruction clears the upper halves.
    registers[rax] = told.eax.into();
    registers[rbx] = told.ebx.into();
    registers[rcx] = told.ecx.into();
    registers[rdx] = told.edx.into();
    registers[rip] += crate::code::CPUID.len() as libc::greg_t;
    ANSWERED.fetch_add(1, Ordering::Relaxed);
}

/// Does what the kernel would have done, had the program's action been the one it knows.
///
/// # Safety
/// The arguments are those of a signal that is being handled.
unsafe fn hand_on(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void, is_sent: bool, interrupted: u64) {
    match PROGRAM.get().onward(signal, is_sent, interrupted) {
        Onward::Ignore => {}
        Onward::Die => die(signal, is_sent),
        Onward::Call { handler, is_informed, mask, is_once } => {
            if is_once {
                PROGRAM.replace(Action { handler: libc::SIG_DFL, ..PROGRAM.get() });
            }
            set_mask(libc::SIG_SETMASK, mask);
            // The end of this handler brings back what the interrupted code had blocked.
            // SAFETY: the program gave this address for a function of this kind.
            unsafe {
                if is_informed {
                    let handler: extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void) = std::mem::transmute(handler);
                    handler(signal, info, context);
                } else {
                    let handler: extern "C" fn(c_int) = std::mem::transmute(handler);
                    handler(signal);
                }
            }
        }
    }
}

/// Lets the signal end the process: an instruction that cannot go on raises it again when this handler is over, with
/// its own registers for whoever looks at the remains; one that was sent is sent again.
fn die(signal: c_int, is_sent: bool) {
    // The kernel's own structure: handler (SIG_DFL), flags, restorer, mask.
    let default = [0_u64; 4];
    // SAFETY: the kernel reads 32 bytes; the other calls take numbers. All can be called by a signal handler.
    unsafe {
        libc::syscall(libc::SYS_rt_sigaction, signal, default.as_ptr(), std::ptr::null::<u64>(), size_of::<u64>());
        if is_sent {
            libc::syscall(libc::SYS_tgkill, libc::getpid(), libc::syscall(libc::SYS_gettid), signal);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::OwnMemory;
    use std::sync::atomic::{AtomicI32, AtomicUsize};

    fn registers(rax: i64, rcx: i64) -> Registers {
        let mut registers = [-1; 23];
        registers[libc::REG_RAX as usize] = rax;
        registers[libc::REG_RCX as usize] = rcx;
        registers[libc::REG_RIP as usize] = 0x1000;
        registers
    }

    #[test]
    fn the_answer_is_where_the_instruction_leaves_it_and_the_code_goes_on_behind() {
        let mut saved = registers(0x7fff_ffff_0000_0007, 0x1_0000_0000);
        let before = answered();
        go_on_behind(&mut saved, |leaf, subleaf| {
            assert_eq!((leaf, subleaf), (7, 0)); // the instruction reads the lower halves
            std::arch::x86_64::CpuidResult { eax: 1, ebx: 2, ecx: u32::MAX, edx: 4 }
        });
        let at = |index: c_int| saved[index as usize];
        assert_eq!([libc::REG_RAX, libc::REG_RBX, libc::REG_RCX, libc::REG_RDX].map(at), [1, 2, 0xffff_ffff, 4]);
        assert_eq!(at(libc::REG_RIP), 0x1002);
        assert_eq!((at(libc::REG_R8), at(libc::REG_RSP), at(libc::REG_EFL)), (-1, -1, -1));
        assert!(answered() > before);
    }

    /// Everything that needs the handler in this process, which has one: the only test that installs it.
    #[test]
    fn a_replaced_instruction_answers_without_aes_on_any_thread_and_a_sent_signal_reaches_the_program() {
        static RECEIVED: AtomicI32 = AtomicI32::new(0);
        extern "C" fn received(signal: c_int) {
            RECEIVED.store(signal, Ordering::Relaxed);
        }
        assert!(install());
        let page = ask_page();
        // SAFETY: code that `ask_page` made, of this type.
        let ask: extern "C" fn(u32) -> u32 = unsafe { std::mem::transmute(page) };
        assert!(crate::sites::tests::replace_at(&OwnMemory::open().unwrap(), page + 5));
        assert_eq!(ask(1), answer(1, 0).ecx);
        let others: Vec<u32> = std::thread::scope(|scope| {
            let asked: Vec<_> = (0..4).map(|_| scope.spawn(|| ask(1))).collect();
            asked.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        assert_eq!(others, [answer(1, 0).ecx; 4]);

        let handler = received as extern "C" fn(c_int) as usize;
        let given = Action { handler, flags: libc::SA_RESTART, mask: 0 };
        assert_eq!(exchange(Some(given)), Action::DEFAULT);
        assert_eq!(exchange(None), given);
        // SAFETY: sends a signal to this thread.
        unsafe { libc::raise(libc::SIGILL) };
        assert_eq!(RECEIVED.load(Ordering::Relaxed), libc::SIGILL);
        assert_eq!(ask(1), answer(1, 0).ecx);
        assert_eq!(exchange(Some(Action::DEFAULT)), given);
    }

    #[test]
    fn a_fault_that_is_no_cpuid_ends_the_process_by_its_own_signal() {
        let halt = page_of(&[0xf4]); // a general protection fault
        let read_nothing = page_of(&[0x31, 0xc0, 0x8b, 0x00]); // xor eax, eax; mov eax, [rax]
        let invalid = page_of(&[0x0f, 0x0b]);
        for (code, signal) in [(invalid, libc::SIGILL), (halt, libc::SIGSEGV), (read_nothing, libc::SIGSEGV)] {
            // SAFETY: code that does not return.
            let crash: extern "C" fn() = unsafe { std::mem::transmute(code) };
            let status = in_child(|| {
                exchange(Some(Action::DEFAULT));
                crash();
                false
            });
            assert_eq!(libc::WTERMSIG(status), signal, "code at {code:x}: status {status:x}");
        }
    }

    #[test]
    fn an_invalid_instruction_that_is_no_cpuid_reaches_the_programs_handler_as_it_is() {
        static INVALID: AtomicUsize = AtomicUsize::new(0);
        extern "C" fn leave(signal: c_int, info: *mut libc::siginfo_t, _context: *mut c_void) {
            let invalid = INVALID.load(Ordering::Relaxed);
            // SAFETY: the kernel's own structure; leaves without a destructor.
            unsafe { libc::_exit(if signal == libc::SIGILL && (*info).si_addr() as usize == invalid { 7 } else { 1 }) }
        }
        let handler = leave as extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void) as usize;
        INVALID.store(page_of(&[0x0f, 0x0b]), Ordering::Relaxed);
        // SAFETY: code that does not return.
        let crash: extern "C" fn() = unsafe { std::mem::transmute(INVALID.load(Ordering::Relaxed)) };
        let status = in_child(|| {
            exchange(Some(Action { handler, flags: libc::SA_SIGINFO, mask: 0 }));
            crash();
            false
        });
        assert_eq!(status, 7 * 256);
    }

    /// How a child ends that has the handler: with 0 if `work` returns true. This process keeps what it has. `work` may call what a signal handler may call: other threads' locks stay taken for ever.
    fn in_child(work: impl FnOnce() -> bool) -> c_int {
        // Looked up here, as the loader has a lock.
        assert!(real::sigaction().is_some());
        // SAFETY: the child does what is said above, and leaves.
        let child = unsafe { libc::fork() };
        if child == 0 {
            let none = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
            // SAFETY: no core is to be left by a crash.
            unsafe { libc::setrlimit(libc::RLIMIT_CORE, &none) };
            let is_right = install() && work();
            // SAFETY: leaves without a destructor.
            unsafe { libc::_exit(c_int::from(!is_right)) };
        }
        let mut status = -1;
        // SAFETY: waits for the child made above.
        assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
        status
    }

    /// `push rbx; mov eax, edi; xor ecx, ecx` (5 bytes), `cpuid; mov eax, ecx; pop rbx; ret`.
    fn ask_page() -> usize {
        page_of(&[0x53, 0x89, 0xf8, 0x31, 0xc9, 0x0f, 0xa2, 0x89, 0xc8, 0x5b, 0xc3])
    }

    /// A page that holds this code and can run it.
    fn page_of(code: &[u8]) -> usize {
        // SAFETY: a fresh private mapping, checked below.
        let page = unsafe {
            let protection = libc::PROT_READ | libc::PROT_EXEC;
            libc::mmap(std::ptr::null_mut(), 4096, protection, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS, -1, 0)
        };
        assert_ne!(page, libc::MAP_FAILED);
        let memory = OwnMemory::open().unwrap();
        for (offset, byte) in code.iter().enumerate() {
            memory.write(page as usize + offset, *byte).unwrap();
        }
        page as usize
    }
}
