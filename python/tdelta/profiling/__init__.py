"""Where a process spends its CPU time: ``perf record`` on the event cpu-clock, and ``perf report`` read by function.

cpu-clock is a timer of the kernel's, which machines without hardware counters have, too. Where it may, perf looks at
every CPU that is at work, each millisecond, and samples that are not the processes' own are left out when it is read.
Else it follows the processes' threads, each millisecond of their CPU time; then the kernel has work with their timers
whenever one goes on or off, which slows servers (``benches/perf_modes.py``). Either way a sample stands for a
millisecond. A function of the kernel that holds interrupts off is seen where it lets them on again.

`perf` is the program, and reads what a recording says by function; `sampling` is one recording while it runs, and what
perf may do here; `functions` tells what each function is for. Whatever keeps ``perf`` from working is an
`EnvironmentFault` whose message says what to do: a profile is never worth a run.
"""
