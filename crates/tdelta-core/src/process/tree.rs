//! CPU time and I/O of other processes with all their children: a server, as it is seen from outside.
//!
//! Every process's own clock tells its CPU time to the nanosecond, all of its threads included, ended ones too. What children that
//! have ended took stands in their parent's account, in ticks of 10 ms, and so does the division into user and system
//! time. A child that its parent never waited for is lost once it has ended.

use super::{clock, Usage};
use std::collections::BTreeSet;
use std::path::PathBuf;

/// Processes whose descendants belong to them.
#[derive(Clone, Debug)]
pub struct Tree {
    roots: Vec<u32>,
    file_systems: Vec<u32>,
}

/// CPU time of a whole tree so far. Only differences mean something.
#[derive(Clone, Copy, Debug, Default)]
pub struct TreeCpu {
    total_ns: u64,
    user_ticks: u64,
    system_ticks: u64,
}

impl TreeCpu {
    /// CPU seconds since `start`: in user mode, in the kernel. A tree of which a process has died has used nothing.
    #[must_use]
    pub fn since(&self, start: &Self) -> (f64, f64) {
        let seconds = self.total_ns.saturating_sub(start.total_ns) as f64 * 1e-9;
        let user = self.user_ticks.saturating_sub(start.user_ticks);
        let system = self.system_ticks.saturating_sub(start.system_ticks);
        // Within one tick nothing tells the two apart but what they were so far.
        let (user, system) = if user + system > 0 { (user, system) } else { (self.user_ticks, self.system_ticks) };
        let user_share = user as f64 / (user + system).max(1) as f64;
        (seconds * user_share, seconds * (1.0 - user_share))
    }
}

impl Tree {
    /// The trees under `roots`, which may lie within each other.
    #[must_use]
    pub fn new(roots: &[u32]) -> Self {
        Self { roots: roots.to_vec(), file_systems: Vec::new() }
    }

    /// The same, where these processes are the file system under the others (FUSE): what the others ask for passes
    /// through them, so their bytes would count twice. Of them only the device's are counted, and of the others only
    /// the requested ones.
    #[must_use]
    pub fn on(self, file_systems: &[u32]) -> Self {
        Self { file_systems: file_systems.to_vec(), ..self }
    }

    /// CPU time so far.
    #[must_use]
    pub fn cpu(&self) -> TreeCpu {
        let mut sum = TreeCpu::default();
        // Children first: what one of them took before it ended is then in its parent's account, at worst twice.
        for process in self.members().into_iter().rev() {
            let stat = Stat::of(process);
            sum.total_ns += process_cpu_ns(process) + (stat.ended_user_ticks + stat.ended_system_ticks) * tick_ns();
            sum.user_ticks += stat.user_ticks + stat.ended_user_ticks;
            sum.system_ticks += stat.system_ticks + stat.ended_system_ticks;
        }
        sum
    }

    /// The totals so far. I/O reads 0 where the process is not ours to look into. The kernel tells another process's
    /// switches for each thread alone: those of threads that have ended are lost.
    #[must_use]
    pub fn usage(&self) -> Usage {
        let (cpu_user_seconds, cpu_system_seconds) = self.cpu().since(&TreeCpu::default());
        let mut sum = Usage { cpu_user_seconds, cpu_system_seconds, ..Usage::default() };
        for process in self.members() {
            let stat = Stat::of(process);
            sum.minor_faults += stat.minor_faults;
            sum.major_faults += stat.major_faults;
            self.add_io(&mut sum, process);
            for thread in threads(process) {
                sum.add_switches(&std::fs::read_to_string(thread.join("status")).unwrap_or_default());
            }
        }
        sum
    }

    fn add_io(&self, sum: &mut Usage, process: u32) {
        let mut own = Usage::default();
        own.add_io(&std::fs::read_to_string(format!("/proc/{process}/io")).unwrap_or_default());
        let is_file_system = self.file_systems.contains(&process);
        if !is_file_system {
            sum.syscall_read_bytes += own.syscall_read_bytes;
            sum.syscall_written_bytes += own.syscall_written_bytes;
        }
        if is_file_system || self.file_systems.is_empty() {
            sum.device_read_bytes += own.device_read_bytes;
            sum.device_written_bytes += own.device_written_bytes;
        }
    }

    /// Every live process of the trees, once, parents ahead of their children.
    pub(super) fn members(&self) -> Vec<u32> {
        let mut found: Vec<u32> = Vec::new();
        let mut known = BTreeSet::new();
        found.extend(self.roots.iter().filter(|root| known.insert(**root)));
        let mut at = 0;
        while let Some(process) = found.get(at).copied() {
            found.extend(children(process).into_iter().filter(|child| known.insert(*child)));
            at += 1;
        }
        found
    }
}

/// The children of every thread of `process`.
fn children(process: u32) -> Vec<u32> {
    let lists = threads(process).into_iter().filter_map(|thread| std::fs::read_to_string(thread.join("children")).ok());
    lists.flat_map(|list| list.split_ascii_whitespace().filter_map(|id| id.parse().ok()).collect::<Vec<_>>()).collect()
}

/// The folders of a process's threads; none if it has gone.
pub(super) fn threads(process: u32) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(format!("/proc/{process}/task")) else { return Vec::new() };
    entries.flatten().map(|entry| entry.path()).collect()
}

/// CPU time of one process with all its threads; 0 if it has gone.
fn process_cpu_ns(process: u32) -> u64 {
    let mut id: libc::clockid_t = 0;
    // SAFETY: `id` is written to where the process exists, and not used where it does not.
    match unsafe { libc::clock_getcpuclockid(process as libc::pid_t, &mut id) } {
        0 => clock(id),
        _ => 0,
    }
}

fn tick_ns() -> u64 {
    // SAFETY: no preconditions; 100 a second wherever the system does not say.
    let per_second = u64::try_from(unsafe { libc::sysconf(libc::_SC_CLK_TCK) }).unwrap_or(100).max(1);
    1_000_000_000 / per_second
}

/// The figures of `/proc/PID/stat`, those of ended children included.
#[derive(Clone, Copy, Debug, Default)]
struct Stat {
    user_ticks: u64,
    system_ticks: u64,
    ended_user_ticks: u64,
    ended_system_ticks: u64,
    minor_faults: i64,
    major_faults: i64,
}

impl Stat {
    /// All zero if the process has gone.
    fn of(process: u32) -> Self {
        std::fs::read_to_string(format!("/proc/{process}/stat"))
            .map_or_else(|_| Self::default(), |text| Self::read(&text))
    }

    fn read(text: &str) -> Self {
        // The name in parentheses may hold anything; proc(5) counts the fields from 1, and the third follows it.
        let rest = text.rsplit_once(')').map_or("", |(_, rest)| rest);
        let fields: Vec<&str> = rest.split_ascii_whitespace().collect();
        let field = |number: usize| fields.get(number - 3).and_then(|f| f.parse::<u64>().ok()).unwrap_or(0);
        Self {
            user_ticks: field(14),
            system_ticks: field(15),
            ended_user_ticks: field(16),
            ended_system_ticks: field(17),
            minor_faults: (field(10) + field(11)) as i64,
            major_faults: (field(12) + field(13)) as i64,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Child, Command, Stdio};

    struct Ended(Child);

    impl Drop for Ended {
        fn drop(&mut self) {
            let _ = self.0.kill();
            let _ = self.0.wait();
        }
    }

    /// A shell that runs `script`, and ends when it receives a line.
    fn shell(script: &str) -> Ended {
        let mut command = Command::new("sh");
        Ended(command.args(["-c", script]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap())
    }

    fn wait_for_line(child: &mut Ended) {
        let mut line = [0];
        std::io::Read::read_exact(child.0.stdout.as_mut().unwrap(), &mut line).unwrap();
    }

    fn go_on(child: &mut Ended) {
        std::io::Write::write_all(child.0.stdin.as_mut().unwrap(), b"\n").unwrap();
    }

    const BURN: &str = "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done";

    #[test]
    fn what_a_grandchild_uses_is_the_trees_while_it_lives() {
        let mut child = shell(&format!("sh -c '(read x; {BURN}; echo; read x); true'; true"));
        let tree = Tree::new(&[child.0.id()]);
        let start = tree.cpu();
        go_on(&mut child);
        wait_for_line(&mut child);
        let (user, system) = tree.cpu().since(&start);
        let own = process_cpu_ns(child.0.id());
        assert!(tree.members().len() >= 3, "the shell, its child and the child's child");
        assert!(user + system > 0.01, "{user} {system}");
        assert!((own as f64) * 1e-9 < (user + system) / 2.0, "the root itself did next to nothing: {own} ns");
    }

    #[test]
    fn what_a_child_used_that_has_ended_stays_the_trees() {
        let mut child = shell(&format!("sh -c '{BURN}'; echo; read x"));
        let tree = Tree::new(&[child.0.id()]);
        wait_for_line(&mut child);
        assert_eq!(tree.members(), [child.0.id()]);
        let (user, system) = tree.cpu().since(&TreeCpu::default());
        assert!(user + system > 0.01, "{user} {system}");
    }

    #[test]
    fn a_process_that_is_root_and_child_counts_once() {
        let me = std::process::id();
        let child = shell("read x");
        let both = Tree::new(&[me, child.0.id(), me]).members();
        assert_eq!(both.iter().filter(|id| **id == child.0.id()).count(), 1);
        assert_eq!(both.iter().filter(|id| **id == me).count(), 1);
    }

    #[test]
    fn a_tree_that_has_gone_has_used_nothing_more() {
        let child = shell("true");
        let tree = Tree::new(&[child.0.id()]);
        let start = TreeCpu { total_ns: 5_000, user_ticks: 1, system_ticks: 1 };
        drop(child);
        assert_eq!(tree.cpu().since(&start), (0.0, 0.0));
    }

    #[test]
    fn ticks_divide_what_the_clock_says() {
        let end = TreeCpu { total_ns: 3_000_000_000, user_ticks: 300, system_ticks: 100 };
        let start = TreeCpu { total_ns: 1_000_000_000, user_ticks: 200, system_ticks: 0 };
        assert_eq!(end.since(&start), (1.0, 1.0));
    }

    #[test]
    fn a_name_with_parentheses_does_not_shift_the_fields() {
        let text = "7 (a) b (c) S 1 7 7 0 -1 4194560 10 20 30 40 50 60 70 80 20 0 1 0";
        let stat = Stat::read(text);
        assert_eq!(
            (stat.user_ticks, stat.system_ticks, stat.ended_user_ticks, stat.ended_system_ticks),
            (50, 60, 70, 80)
        );
        assert_eq!((stat.minor_faults, stat.major_faults), (30, 70));
    }

    #[test]
    fn a_process_that_waits_gives_its_core_away() {
        let mut child = shell("echo; while read x; do echo; done");
        let tree = Tree::new(&[child.0.id()]);
        wait_for_line(&mut child);
        let start = tree.usage();
        for waits in 1..=5 {
            // It waits again as soon as it has had a CPU for that; the first time it may have done so before the start.
            let enough = || tree.usage().since(&start).voluntary_switches >= waits - 1;
            assert!((0..60_000).any(|_| {
                std::thread::sleep(std::time::Duration::from_millis(1));
                enough()
            }));
            go_on(&mut child);
            wait_for_line(&mut child);
        }
    }

    #[test]
    fn reading_a_file_shows_in_the_trees_io() {
        let mut child = shell("cat /proc/self/stat > /dev/null; echo; read x");
        wait_for_line(&mut child);
        assert!(Tree::new(&[child.0.id()]).usage().syscall_read_bytes > 0);
    }

    #[test]
    fn bytes_that_pass_through_a_file_system_count_once() {
        let script = "cat /proc/self/stat > /dev/null; echo; read x";
        let (mut server, mut file_system) = (shell(script), shell(script));
        wait_for_line(&mut server);
        wait_for_line(&mut file_system);
        let both = Tree::new(&[server.0.id(), file_system.0.id()]);
        let alone = Tree::new(&[server.0.id()]).usage().syscall_read_bytes;
        assert!(both.usage().syscall_read_bytes > alone);
        assert_eq!(both.on(&[file_system.0.id()]).usage().syscall_read_bytes, alone);
    }
}
