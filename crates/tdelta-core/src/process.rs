//! Resources used by this process and others, as the kernel counts them.

mod delay;
mod stalls;
mod standstill;
mod tree;

pub use delay::{thread_delay_ns, thread_delay_since, Delays, Waits};
pub use stalls::Stalls;
pub use standstill::{Standstill, Watch};
pub use tree::{Tree, TreeCpu};

use serde::Serialize;
use std::io::Read;
use std::path::Path;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::OnceLock;

/// Bytes that this process read about itself and its machine while a trial ran: none of them the database's.
static OWN_READ_BYTES: AtomicI64 = AtomicI64::new(0);
/// Enough for any line that is looked for.
const LINES_BYTES: usize = 512;

/// The first lines of a small file of the kernel's, left out of [`Usage::syscall_read_bytes`].
pub(crate) fn read_own(path: &Path) -> Option<String> {
    let mut lines = [0; LINES_BYTES];
    let size = std::fs::File::open(path).ok()?.read(&mut lines).ok()?;
    OWN_READ_BYTES.fetch_add(size as i64, Ordering::Relaxed);
    Some(String::from_utf8_lossy(&lines[..size]).into_owned())
}

/// Running totals of this process.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Usage {
    /// CPU seconds in user mode.
    pub cpu_user_seconds: f64,
    /// CPU seconds in the kernel.
    pub cpu_system_seconds: f64,
    /// Bytes read through system calls (rchar).
    pub syscall_read_bytes: i64,
    /// Bytes written through system calls (wchar).
    pub syscall_written_bytes: i64,
    /// Bytes read from the device.
    pub device_read_bytes: i64,
    /// Bytes written to the device.
    pub device_written_bytes: i64,
    /// Page faults without I/O.
    pub minor_faults: i64,
    /// Page faults with I/O.
    pub major_faults: i64,
    /// Times it gave the core away.
    pub voluntary_switches: i64,
    /// Times the core was taken.
    pub involuntary_switches: i64,
}

impl Usage {
    /// The totals now. I/O is 0 where `/proc` does not have it.
    #[must_use]
    pub fn now() -> Self {
        let usage = rusage();
        let mut now = Self {
            cpu_user_seconds: seconds(usage.ru_utime),
            cpu_system_seconds: seconds(usage.ru_stime),
            minor_faults: usage.ru_minflt,
            major_faults: usage.ru_majflt,
            voluntary_switches: usage.ru_nvcsw,
            involuntary_switches: usage.ru_nivcsw,
            ..Self::default()
        };
        now.add_io(&read_own(Path::new("/proc/self/io")).unwrap_or_default());
        if now.syscall_read_bytes > 0 {
            now.syscall_read_bytes -= OWN_READ_BYTES.load(Ordering::Relaxed);
        }
        now
    }

    /// Adds what a `/proc/PID/io` says.
    fn add_io(&mut self, io: &str) {
        let field = |name: &str| -> i64 {
            io.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": ")?.trim().parse().ok()).unwrap_or(0)
        };
        self.syscall_read_bytes += field("rchar");
        self.syscall_written_bytes += field("wchar");
        self.device_read_bytes += field("read_bytes");
        self.device_written_bytes += field("write_bytes");
    }

    /// Adds what a `/proc/PID/task/TID/status` says.
    fn add_switches(&mut self, status: &str) {
        for line in status.lines() {
            let Some((name, count)) = line.split_once(":\t") else { continue };
            match name {
                "voluntary_ctxt_switches" => self.voluntary_switches += count.trim().parse().unwrap_or(0),
                "nonvoluntary_ctxt_switches" => self.involuntary_switches += count.trim().parse().unwrap_or(0),
                _ => {}
            }
        }
    }

    /// This and another's, added up.
    #[must_use]
    pub fn and(&self, other: &Self) -> Self {
        Self {
            cpu_user_seconds: self.cpu_user_seconds + other.cpu_user_seconds,
            cpu_system_seconds: self.cpu_system_seconds + other.cpu_system_seconds,
            syscall_read_bytes: self.syscall_read_bytes + other.syscall_read_bytes,
            syscall_written_bytes: self.syscall_written_bytes + other.syscall_written_bytes,
            device_read_bytes: self.device_read_bytes + other.device_read_bytes,
            device_written_bytes: self.device_written_bytes + other.device_written_bytes,
            minor_faults: self.minor_faults + other.minor_faults,
            major_faults: self.major_faults + other.major_faults,
            voluntary_switches: self.voluntary_switches + other.voluntary_switches,
            involuntary_switches: self.involuntary_switches + other.involuntary_switches,
        }
    }

    /// Resources used since `start`. Switches of threads that have ended since are in `start` alone: never less than none.
    #[must_use]
    pub fn since(&self, start: &Self) -> Self {
        Self {
            cpu_user_seconds: self.cpu_user_seconds - start.cpu_user_seconds,
            cpu_system_seconds: self.cpu_system_seconds - start.cpu_system_seconds,
            syscall_read_bytes: self.syscall_read_bytes - start.syscall_read_bytes,
            syscall_written_bytes: self.syscall_written_bytes - start.syscall_written_bytes,
            device_read_bytes: self.device_read_bytes - start.device_read_bytes,
            device_written_bytes: self.device_written_bytes - start.device_written_bytes,
            minor_faults: self.minor_faults - start.minor_faults,
            major_faults: self.major_faults - start.major_faults,
            voluntary_switches: (self.voluntary_switches - start.voluntary_switches).max(0),
            involuntary_switches: (self.involuntary_switches - start.involuntary_switches).max(0),
        }
    }
}

fn rusage() -> libc::rusage {
    // SAFETY: an all-zero rusage is a valid one, and getrusage fills it.
    unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_SELF, &mut usage);
        usage
    }
}

/// CPU seconds of this process so far: in user mode, in the kernel.
#[must_use]
pub fn cpu_seconds() -> (f64, f64) {
    let usage = rusage();
    (seconds(usage.ru_utime), seconds(usage.ru_stime))
}

fn seconds(time: libc::timeval) -> f64 {
    time.tv_sec as f64 + time.tv_usec as f64 * 1e-6
}

/// Cores that this process may use, read once: the answer comes from several files.
#[must_use]
pub fn cores() -> usize {
    static CORES: OnceLock<usize> = OnceLock::new();
    *CORES.get_or_init(|| std::thread::available_parallelism().map_or(1, usize::from))
}

fn clock(id: libc::clockid_t) -> u64 {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `now` is a valid timespec to write to, and both clocks exist on every Linux.
    unsafe { libc::clock_gettime(id, &mut now) };
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// The monotonic clock, ns.
#[inline]
#[must_use]
pub fn monotonic_ns() -> u64 {
    clock(libc::CLOCK_MONOTONIC)
}

/// CPU time of this process with all its threads, ns. A system call, as the next one.
#[inline]
#[must_use]
pub fn process_cpu_ns() -> u64 {
    clock(libc::CLOCK_PROCESS_CPUTIME_ID)
}

/// CPU time of the calling thread, ns. A system call: some 100 to 200 ns.
#[inline]
#[must_use]
pub fn thread_cpu_ns() -> u64 {
    clock(libc::CLOCK_THREAD_CPUTIME_ID)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_shows_in_the_totals() {
        let start = Usage::now();
        let began = thread_cpu_ns();
        while thread_cpu_ns() - began < 30_000_000 {}
        let read = std::fs::read("/proc/self/maps").unwrap().len() as i64;
        let used = Usage::now().since(&start);
        assert!(used.cpu_user_seconds + used.cpu_system_seconds >= 0.02);
        assert!(used.syscall_read_bytes >= read, "{} of {read}", used.syscall_read_bytes);
    }

    #[test]
    fn what_is_read_about_the_machine_is_no_byte_of_the_work() {
        let read = || {
            let start = Usage::now();
            (0..50).for_each(|_| drop(Stalls::now(None)));
            Usage::now().since(&start).syscall_read_bytes
        };
        // Other tests of this process read meanwhile, now and then.
        let is_little = (0..2000).any(|_| read().abs() < 1000);
        assert!(is_little, "fifty readings have more than 20,000 bytes");
    }
}
