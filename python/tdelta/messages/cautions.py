_DISTURBED = "other people's load is measured along"
_PASSES_ON = "whatever tdelta writes goes to them as well"

SCHEMA_LEFT = "schema {schema} is left of {whose}; remove it: {drop}"

CAUTIONS = {
    # what the design could not deliver
    "same-program": "{one} and {other} are the same program: what they differ by is chance",
    "incomplete-blocks": (
        "{place:*: }{blocks} incomplete {blocks:block is|blocks are} left out of the verdicts; the trials are kept in"
        " the store"
    ),
    "one-sided-failures": (
        "{lost} of {trials} trials of {condition} failed and {plain_lost} of {plain_trials} of the plain twins, more on"
        " one side than chance explains: what they would have cost is not known, and in no figure"
    ),
    "carried-over": (
        "the trial after an encrypted one costs {effect}% (95% interval {interval}), whatever its twin: overheads are"
        " of a trial by itself, and encrypted work that follows encrypted work pays both"
    ),
    "no-aa-control": "{place:*: }no A/A twin: this run does not show its own noise floor",
    "one-round": (
        "{place:*: }one round: the variation between instances was not measured, so the prior"
        " ({prior}) widens every interval; more blocks cannot narrow it, more rounds can"
    ),
    "few-rounds": "{place:*: }{rounds} rounds: at least {fewest} are needed to see the instance effect",
    "few-blocks": "{place:*: }{blocks} complete {blocks:block|blocks}: at least {fewest} are advised",
    "no-bb-twin": "no B/B twin (a second encrypted instance): {lacking}",
    "time-short": (
        "{rounds} {rounds:round takes|rounds take} about {needed} and --max-time is {given}: the run will be cut short"
    ),
    "run-interrupted": "the run was interrupted: this is what was known by then",
    "instructions-left-out": "{factor}=off is left out: {why}",
    "calibration-invalid": "calibration {calibration} found this instrument invalid here: {fault}",
    # what an action left
    "rows-left-in-clear": "after {action}, rows of the database can still be read in its {files}",
    "deleted-rows-left-in-clear": (
        "after {action}, rows that were deleted before can still be read in its {files}: only what is written anew is"
        " encrypted"
    ),
    # figures
    "no-ratio": "{metric}: no ratio for {conditions}, since a trial there or at the baseline cost nothing",
    "large-instance-effect": (
        "{metric}: instances differ by {found:.1f%}, far more than was expected ({expected:.2g%}); the intervals may be"
        " too narrow"
    ),
    "large-instance-effect-calibrated": (
        "{metric}: instances differ by {found:.1f%}, far more than was expected ({expected:.2g%}); the intervals may be"
        " too narrow; calibrate this machine again"
    ),
    "round-effect": (
        "{condition}: its overhead changed from round to round by {sd:.1f%} (standard deviation of {count} rounds),"
        " more than identical twins differ; the interval allows for it, and only more rounds narrow it"
    ),
    "block-effect": (
        "{condition}: its overhead changed from block to block by {sd:.1f%} (standard deviation of {count} blocks),"
        " more than identical twins differ; an overhead that wanders for longer than the run took is not in the"
        " interval"
    ),
    "twins-differ": (
        "{place:*: }{twins} copies differ by {difference}% (95% interval {interval}): distrust overheads of that size"
    ),
    "stopped-by-budget": (
        "the run may have stopped because the budget was answered: the estimate leans away from the budget"
    ),
    "precision-missed": (
        "{condition}: the 95% interval is {width:.1f} points wide, the aim was {aim:.1f}: measure longer for a sharper"
        " figure"
    ),
    "barely-encrypted": (
        "next to nothing was encrypted or decrypted in the trials ({pages:.2g} pages per operation), so that this run"
        " cannot show what encryption costs: {remedy}"
    ),
    "conditions-barely-encrypted": (
        "next to nothing was encrypted or decrypted on {conditions} ({pages:.2g} pages per operation), so that their"
        " trials cannot show what encryption costs: {remedy}"
    ),
    "caches-differ": (
        "the cache of {condition} met {met:.1f%} of the requests and that of {baseline} {baseline_met:.1f%}: twins"
        " whose caches differ are not twins, and what they cost differs by more than encryption"
    ),
    "latency-limit-no-times": (
        "--latency-limit: no answer, since no complete block has response times of single transactions"
    ),
    "loop-dilutes": (
        "{share:.1f%} of the measured time is tdelta's own loop, so overheads are underestimated by that share"
    ),
    "late-arrivals": (
        "{share:.0f%} of the operations found every connection busy when they fell due (backlog up to {backlog:,}): the"
        " rate is near what the database can do, or above it"
    ),
    "other-plan": (
        "{statement} is run in another way on {condition} ({plan}) than on {first} ({first_plan}): what it costs there"
        " is not encryption alone"
    ),
    # what went on meanwhile
    "others-delayed-database": (
        "other programs kept the database from a CPU for {share:.0f%} of the measured time; that was taken out of the"
        " response times"
    ),
    "threads-waited": (
        "threads, the server's own or other programs', waited for a CPU during {share:.0f%} of the trials' time"
    ),
    "others-waited": "other programs waited for a CPU during {share:.0f%} of the trials' time",
    "host-took-cpu": "the host took {share:.1f%} of the CPU time away during trials",
    "cpu-would-decide": (
        "{condition}: response time is undecided on this pressed machine, CPU time per operation is {decision}: a run"
        " with --metric {metric} would decide"
    ),
    "cache-unsettled": (
        "round {round}: the cache of {condition} had not settled after {trials} trials of warm-up ({misses} misses"
        " per operation)"
    ),
    "server-lost": "round {round}: {void} is void and the twins were recreated, since {why}",
    "block-void": "round {round}: block {block} was void and was run again, since {why}",
    # load agents
    "agents-differ": (
        "load agents see different overheads of {condition}, from {low:+.1f}% to {high:+.1f}% (standard deviation"
        " {sd:.1f}%): the verdict is of these agents' mean, and other load machines may see another"
    ),
    # hosts that twins change between
    "host-confounded": (
        "{condition} cannot be separated from the host it was on: host and encryption are one factor as far as this run"
        " came. More rounds let the twins change hosts (--rounds, --max-time)"
    ),
    "hosts-see-different-overheads": (
        "hosts see different overheads of {condition}, from {low:+.1f}% on {low_host} to {high:+.1f}% on {high_host}"
        " (standard deviation {sd:.1f}%): the verdict is of these hosts' mean, and another host may see another"
    ),
    "hosts-not-asked": (
        "free disk and memory are those of this machine: each node checks its own when the run starts, before it loads"
    ),
    "tails-without-plain-twin": (
        "tails and percentiles of {condition} are left out: no plain twin was on its host in every round, so they would"
        " differ by the host, too; leave --no-aa out"
    ),
    # load generators
    "load-generator": ("the load is `{command}`, not tdelta's own loop: its client's cost is in the response times"),
    "load-timed": (
        "the load generator runs for a time, so the faster twin does more work in it: time per operation is judged, and"
        " what the work leaves behind (tables that grow, a log) differs between twins; a number of operations would be"
        " fairer"
    ),
    "load-names-no-twin": (
        "nothing in the load generator says which twin to connect to: {product}'s clients may find another server in"
        " the system's option files; {{socket}}, {{host}} and {{port}}, or --defaults-extra-file={{passfile}} name the"
        " twin's"
    ),
    "pgbench-vacuums": (
        "pgbench vacuums its tables before every trial, and the server's CPU counts that; -n in the command leaves it"
        " out"
    ),
    "sysbench-histogram": "sysbench's histogram has steps of 1.8%: percentiles are that coarse, means are exact",
    "sysbench-no-histogram": "sysbench ran without a histogram: there are means, but no percentiles",
    # engines
    "one-memory-limit": (
        "{product} has one limit of memory for cached blocks and queries: {memory_mib} MiB of it are not counted as"
        " --cache, and may hold data all the same; --cold reads from the disk"
    ),
    "software-aes": (
        "{library} is {product}'s software AES, which it calls unsafe to write with: a level to compare, not to use"
    ),
    "read-committed": (
        "transactions of all twins see what is committed (READ COMMITTED): at REPEATABLE READ {product} has one fail"
        " that began before a table was converted and comes to it afterwards (error 1412); its client must repeat it"
    ),
    "gocryptfs-fuse": (
        "the encrypted twin's files pass through gocryptfs, a FUSE process, and the plain twin's do not: what is"
        " measured is the cost of that file system, the cipher is a part of it"
    ),
    "kernel-cache-decrypted": (
        "what {product}'s buffers miss, the kernel's cache holds decrypted: a small --cache does not make pages be"
        " decrypted again, only --cold does"
    ),
    "encrypted-folder": (
        "the encrypted twin lies on your file system, the plain twin on another: file system, device and mount"
        " options are compared along with the encryption unless they are alike"
    ),
    "extension-untried": (
        "tdelta's use of {extension} was written from its documentation and was not run by its developers"
    ),
    # a database or dump of the user's
    "proposed-workload": (
        "the workload is tdelta's proposal from the schema alone; your application's own mix would say more"
        " (--write-workload, --workload)"
    ),
    "transaction-left-out": "{transaction} was proposed and left out, because it failed when it was tried: {fault}",
    "nondeterministic-tables": (
        "a trigger or a default writes what depends on the clock or on chance, so these tables are not compared after"
        " the trials: {tables}"
    ),
    "symbolic-link": "{named} is a symbolic link: what was read is {path}",
    "virtual-tables": "virtual tables are left as they are, and their rows are not compared: {tables}",
    "tables-of-other-schema": "{tables} tables of schema {other}: only those of {schema} are described",
    "foreign-table": "table {table!r}: it is foreign",
    "table-of-other-engine": "table {table!r}: its engine is {engine}, not {expected}",
    "restore-without-bash": (
        "--restore: without bash only the last part of a pipe is seen to fail, so a dump that ended early may pass for"
        " a whole one"
    ),
    # servers of the user's
    "one-server-of-each-kind": (
        "there is one server of each kind: how much two servers differ by effects of layout and start-up cannot be"
        " measured, so part of what is found may be that and not encryption; the A/A twin is another schema on the"
        " baseline's server"
    ),
    "hosts-differ": (
        "the plain server is on {baseline} and the encrypted one on {encrypted}, so host and encryption are one factor"
        " here: whatever else differs between the two hosts is in the answer, and no number of trials separates it from"
        " encryption. Exchange the two servers' hosts and measure again, or have both on one host"
    ),
    "one-server-two-places": (
        "both twins are on one server, in {baseline} and in {encrypted}, which share {shared}: what one twin leaves"
        " there meets the other, and the server's own counters and CPU time are of both"
    ),
    "study-left-to-servers": (
        "the study {study} sets or varies what your own servers decide; it was left as they have it: {left}"
    ),
    "trace-without-cpu": (
        "CPU time of single statements is not known: the server does not account for it, and the thread that serves a"
        " connection is not seen on this machine"
    ),
    "servers-cpu-unknown": (
        "the CPU time and I/O of the servers are not known, since their processes are not seen on this machine: no"
        " figure says what encryption costs in CPU time"
    ),
    "servers-cpu-accounted": (
        "CPU time is what the servers themselves account for their sessions, since their processes are not seen on this"
        " machine: what they do in the background may not be in it"
    ),
    "engine-untried": (
        "tdelta's adapter for {product} was never run by us on a real server: it was tried on synthetic conversations"
        " alone. A report is wanted: tdelta check-servers --baseline DSN --encrypted DSN --json"
    ),
    "results-licensed": "{said}",
    "schema-left": SCHEMA_LEFT,
    "settings-differ": (
        "not encryption, and different (baseline / encrypted): {difference}; what it costs is in the answer"
    ),
    "more-settings-differ": "{settings} further settings differ between the servers (--json names all)",
    "replication-unseen": (
        "{option:*: }whether it is a replica that is stopped was not seen: that takes the right {right} (a running one"
        " is refused)"
    ),
    "replicas-read": f"{{option:*: }}{{replicas}} replicas read its binary log: {_PASSES_ON}",
    "standbys-read": f"{{option:*: }}{{standbys}} standbys read its log: {_PASSES_ON}",
    "other-sessions": f"{{option:*: }}{{sessions}} other sessions were at work on it: {_DISTURBED}",
    "encryption-assumed": (
        "that the encrypted server's disk is encrypted, and the baseline's is not, is what the user says"
    ),
    "tables-plain-on-both": "tables are plain on both servers; encrypted is only: {encrypted}",
    "baseline-encrypted-too": "{scope} is encrypted on the baseline, too: what that costs is not in the answer",
    "scope-not-encrypted": "not encrypted on the encrypted server: {scope} ({said})",
    # storage
    "storage-mounted": (
        "encrypted storage hides nothing from anyone who is logged in and may read files there as long as it is mounted"
        ": it is for disks and copies that are lost"
    ),
    "storage-cached": (
        "the kernel keeps what storage decrypted in its page cache, where reads cost no decryption: what fits into"
        " memory shows little of what reading from the disk would cost (--vary work=cold, or more data, shows that)"
    ),
    "storage-kernel-threads": (
        "threads of the kernel, which decrypt for fscrypt and LUKS and serve loop devices, belong to no process: what"
        " they take is in response times, and not in CPU per operation"
    ),
    "storage-fuse": (
        "gocryptfs is a process that the kernel asks through FUSE for every read and write that its cache does not"
        " meet: its figures are of that way and of its cipher together"
    ),
    "storage-own-folder": (
        "{folder} is on its own disk and file system, and not on an image as other twins of the run may be: what"
        " differs there beside encryption is in its figures, and the CPU time of a process that encrypts there is not"
    ),
    "storage-folders": (
        "twins lie in folders and not on separate images, which takes root and loop devices: they share a file system"
    ),
    "storage-alone": "{product} itself encrypts nothing in this run: storage alone is compared",
    "storage-on-encrypted-disk": (
        "{folder}, where all of it lies, is on {found} itself: that is in every figure, the baseline's included"
    ),
    # costs and profiles
    "prices-unknown": "cost breakdown: unit costs could not be measured at one or more moments: {fault}",
    "no-profile": "no CPU profile: {why}",
    "profile-cut-short": "the CPU profile was cut short: {fault}",
    "profile-passes-lost": (
        "CPU profile: perf could not write everything down in {passes} {passes:pass, which does|passes, which do} not"
        " count"
    ),
    "profile-follows-threads": ("CPU profile: perf follows threads, since it failed on whole CPUs: {fault}"),
    "profile-without-kernel": (
        "CPU profile: perf may not look at the kernel here, whose functions are missing; sysctl"
        " kernel.perf_event_paranoid=1"
    ),
    "profile-slows-server": (  # benches/perf_modes.py
        "CPU profile: perf follows threads here, which slows servers whose threads hand work to each other; have it"
        " look at whole CPUs: sysctl kernel.perf_event_paranoid=0, or CAP_PERFMON"
    ),
}

AGAINST_TRUST = {
    # the purpose is missed
    # what the figures are of is not what was asked
    "calibration-invalid": "a calibration found this instrument invalid here ({fault})",
    "conditions-barely-encrypted": "next to nothing was encrypted or decrypted on {conditions}",
    "tables-plain-on-both": "tables are plain on both servers",
    "baseline-encrypted-too": "{scope} is encrypted on the baseline, too",
    "encryption-assumed": "that the encrypted server is encrypted is your word for it",
    "hosts-differ": (
        "the plain server is on {baseline}, the encrypted one on {encrypted}: what differs between these hosts cannot"
        " be separated from encryption"
    ),
    "host-confounded": "{condition} cannot be separated from the host it was on: too few rounds to change hosts",
    "hosts-see-different-overheads": (
        "overheads differ by host: {low:+.1f}% on {low_host}, {high:+.1f}% on {high_host}"
    ),
    "settings-differ": "the servers differ in a setting that is not encryption ({difference})",
    "one-server-two-places": "both twins are on one server, and share {shared}",
    "one-server-of-each-kind": "one server of each kind: part of the difference may be chance and not encryption",
    "other-plan": "{condition} runs {statement} by another query plan",
    "caches-differ": "caches differ: {met:.1f%} of the requests met, {baseline_met:.1f%} on the baseline",
    # the instrument
    "one-sided-failures": (
        "{lost} of {trials} trials of {condition} failed, {plain_lost} of {plain_trials} of the plain twins: their cost"
        " is in no figure"
    ),
    "carried-over": (
        "overheads are of a trial by itself: the trial after an encrypted one costs {effect}% ({interval}), which"
        " encrypted work after encrypted work pays, too"
    ),
    "round-effect": "the overhead changes from round to round by {sd:.1f%}: only more rounds narrow the interval",
    "block-effect": "the overhead changes during the run by {sd:.1f%}: a longer run may show another",
    "one-round": "one round of fresh databases: at least 3 are needed to see how much they differ by chance",
    "few-rounds": "{rounds} rounds of fresh databases: at least 3 are needed to see how much they differ by chance",
    "few-blocks": "{blocks} complete {blocks:block|blocks} of trials: at least {fewest} are advised",
    "large-instance-effect": "fresh databases differ by {found:.1f%}: intervals may be too narrow",
    "large-instance-effect-calibrated": "fresh databases differ by {found:.1f%}: intervals may be too narrow",
    "cache-unsettled": "caches had not settled when trials began",
    "server-lost": "a server was lost and restarted",
    "late-arrivals": "{share:.0f%} of the operations waited for a free connection: the rate is near the limit",
    "loop-dilutes": "{share:.1f%} of the measured time is tdelta's own loop",
    "load-timed": "the load generator runs for a time, so the faster twin does more work",
    # the machine
    "others-delayed-database": "a busy machine: other programs took its CPUs for {share:.0f%} of the time",
    "threads-waited": "a busy machine: threads waited for a CPU during {share:.0f%} of the time",
    "others-waited": "a busy machine: other programs waited for a CPU during {share:.0f%} of the time",
    "host-took-cpu": "the host took {share:.1f%} of the CPU time away",
    # the workload
    "proposed-workload": "the workload is a proposal from the schema alone, not your application's own mix",
}
"""Of cautions that speak against trusting an answer, in so few words that they can stand beside it; worst first."""
