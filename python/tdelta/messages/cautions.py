"""The English of cautions about runs, by code: short enough for an answer of ten lines."""

SCHEMA_LEFT = "schema {schema} remains from {whose}; remove it with: {drop}"

CAUTIONS = {
    # what the design could not deliver
    "same-program": "{one} and {other} are the same program: any difference is chance",
    "incomplete-blocks": "{blocks} incomplete {blocks:block|blocks} excluded from the verdicts",
    "one-sided-failures": (
        "{lost} of {trials} trials of {condition} failed, {plain_lost} of {plain_trials} unencrypted ones: their cost"
        " is in no figure"
    ),
    "carried-over": "a trial after an encrypted one costs {effect}% ({interval}), which is not in the overheads",
    "no-aa-control": "no A/A control: the noise of this run is unknown",
    "one-round": (
        "one round: at least {fewest} are needed to measure copy-to-copy variation; until then the prior ({prior})"
        " widens every interval"
    ),
    "few-rounds": "{rounds} rounds: at least {fewest} are needed to measure copy-to-copy variation",
    "few-blocks": "{blocks} complete {blocks:block|blocks}: at least {fewest} are advised",
    "no-bb-twin": "no B/B control: {lacking}",
    "time-short": "{rounds} rounds require about {needed}, --max-time is {given}: the run will be cut short",
    "time-extended": "the default time of {found:g} s is too short here: extended to {needed:g} s",
    "run-interrupted": "the run was interrupted; these are the results up to then",
    "instructions-left-out": "{factor}=off omitted: {why}",
    "calibration-invalid": "calibration {calibration} found this machine unreliable: {fault}",
    # after a maintenance operation
    "rows-left-in-clear": "after {action}, rows are still readable in {files}",
    "deleted-rows-left-in-clear": "after {action}, deleted rows are still readable in {files}",
    # figures
    "no-ratio": "{metric:words}: no ratio for {conditions}, since one side has a trial without cost",
    "large-instance-effect": (
        "{metric:words}: copies differ by {found:.1%}, expected about {expected:.2g%}; intervals may be too narrow"
    ),
    "round-effect": (
        "{condition}: the overhead changes from round to round by {sd:.1%} ({count} rounds); only more rounds narrow"
        " the interval"
    ),
    "block-effect": (
        "{condition}: the overhead changes from block to block by {sd:.1%} ({count} blocks); a longer run may show"
        " another"
    ),
    "twins-differ": "identical copies ({twins}) differ by {difference}% (95% interval {interval})",
    "stopped-by-budget": "the run stopped once the budget was decided; the estimate leans away from it",
    "precision-missed": (
        "{condition}: target precision missed (interval {width:.1f} points wide, target {aim:.1f}); increase --max-time"
    ),
    "barely-encrypted": "almost nothing was encrypted or decrypted ({pages:.2g} pages per transaction): {remedy}",
    "conditions-barely-encrypted": (
        "almost nothing was encrypted or decrypted with {conditions} ({pages:.2g} pages per transaction): {remedy}"
    ),
    "not-by-pages": (
        "the difference of {condition} is not explained by pages that were encrypted ({pages:.2g} pages per"
        " transaction): look for another difference between the copies"
    ),
    "caches-differ": (
        "cache hit ratio {met:.1%} for {condition}, {baseline_met:.1%} unencrypted: not all of the difference is"
        " encryption"
    ),
    "latency-limit-no-times": "no answer to --latency-limit: no block with times of single transactions",
    "loop-dilutes": "{share:.1%} of the measured time is tdelta's own loop: overheads are that much too low",
    "late-arrivals": "{share:.0%} of the transactions waited for a connection (up to {backlog:,}): near the limit",
    "other-plan": (
        "{condition} runs {statement} with another query plan ({plan}) than {first} ({first_plan}): not all of the"
        " difference is encryption"
    ),
    # other load on the machine
    "others-delayed-database": "busy machine: other programs took its CPUs for {share:.0%} of the time (subtracted)",
    "others-used-cpu": "busy machine: other programs used {share:.0%} of its CPU time; repeat when it is idle",
    "cipher-delayed": "busy machine: other programs kept the CPU for {share:.0%} of the time; repeat when it is idle",
    "host-took-cpu": "the host of this virtual machine took {share:.1%} of the CPU time",
    "cache-unsettled": (
        "round {round}: the cache of {condition} is unsettled after {trials} warm-up trials ({misses} misses per"
        " transaction)"
    ),
    "server-lost": "round {round}: lost a server ({why}); {void} was discarded and the copies were recreated",
    "block-void": "round {round}: block {block} was discarded and repeated: {why}",
    # load generators and hosts
    "agents-differ": (
        "{condition}: load generators measure {low:+.1f}% to {high:+.1f}% (standard deviation {sd:.1f}%); the verdict"
        " is their mean"
    ),
    "host-confounded": "{condition} cannot be separated from its host: use more --rounds or --max-time",
    "hosts-see-different-overheads": (
        "{condition}: overheads differ by host, {low:+.1f}% on {low_host} to {high:+.1f}% on {high_host} (standard"
        " deviation {sd:.1f}%)"
    ),
    "hosts-not-asked": "free disk and memory are those of this machine; each node checks its own before it loads",
    "tails-without-plain-twin": (
        "no tails and percentiles of {condition}: its host had no unencrypted copy in some rounds; omit --no-aa"
    ),
    "load-generator": "the workload is `{command}`: response times include its client",
    "load-timed": "the load runs for a fixed time, so the faster copy does more; fix the number of transactions",
    "load-names-no-twin": (
        "the load generator names no server: {product}'s option files may name another one; use {{socket}}, {{host}}"
        " and {{port}}, or --defaults-extra-file={{option_file}}"
    ),
    "pgbench-vacuums": "pgbench vacuums before every trial, and CPU time includes that; -n omits it",
    "sysbench-histogram": "percentiles have steps of 1.8% (sysbench's histogram); means are exact",
    "sysbench-no-histogram": "sysbench ran without --histogram: means, but no percentiles",
    # engines
    "one-memory-limit": (
        "{product} has one memory limit for cache and queries: {memory_mib} MiB outside of --cache may also hold data;"
        " --cold reads from the disk"
    ),
    "software-aes": "{library} is {product}'s software AES, unsafe for writing: a level for comparison only",
    "read-committed": (
        "all transactions use READ COMMITTED: with REPEATABLE READ, {product} fails those that began before a table was"
        " converted (error 1412)"
    ),
    "encrypted-folder": "the copies are on different file systems: device and options are also compared",
    "extension-untried": "{extension} is untested: tdelta's developers only had its documentation",
    # a database or dump of the user
    "proposed-workload": "the workload was proposed from the schema; your own transactions (--workload) are better",
    "transaction-left-out": "{transaction} was omitted from the proposal: {fault}",
    "nondeterministic-tables": "not compared, since triggers or defaults use the clock or chance: {tables}",
    "symbolic-link": "{named} is a symbolic link to {path}",
    "virtual-tables": "virtual tables are not changed or compared: {tables}",
    "tables-of-other-schema": "{tables} tables of schema {other} are not described, only those of {schema}",
    "table-left-out": "table {table!r} is not supported: {why}",
    "restore-without-bash": "--restore: without bash, failures inside a pipe are not noticed; a dump may be incomplete",
    # servers of the user
    "one-server-of-each-kind": "one server of each kind: other differences between them are part of the result",
    "hosts-differ": (
        "the servers are on two hosts, {baseline} and {encrypted}, whose difference is part of the result; exchange the"
        " hosts and repeat"
    ),
    "one-server-two-places": (
        "all copies are on one server ({baseline}, {encrypted}) and share {shared}: counters and CPU time are of all"
    ),
    "study-left-to-servers": "study {study} cannot set these on your own servers: {left}",
    "trace-without-cpu": "no CPU time of single statements: not reported by the server, whose threads are not visible",
    "servers-cpu-unknown": "no CPU time and I/O of the servers: their processes are not visible here",
    "servers-cpu-accounted": "CPU time is as reported by the servers and may exclude background work",
    "engine-untried": (
        "{product} is untested: tdelta's developers had no such server. Please send us the report of: tdelta"
        " check-servers --baseline DSN --encrypted DSN"
    ),
    "results-licensed": "{said}",
    "network-open": "the network to {server} is not encrypted; ?tls=require uses TLS, on port {port} if none is given",
    "schema-left": SCHEMA_LEFT,
    "own-tables": (
        "your tables were read in place, in read-only sessions; the controls read the same tables, so that the noise"
        " contains no differences in data layout"
    ),
    "only-keys-compared": "only the keys of {tables} of {total} tables were compared: other values may differ",
    "builds-settings": "the builds differ in {difference}; the result includes the effect",
    "settings-differ": "the servers also differ in {difference}; the result includes the effect",
    "more-settings-differ": "{settings} more settings differ between the servers (--json lists all)",
    "replication-unseen": "stopped replication cannot be detected without the privilege {right}",
    "replicas-read": "{replicas} replicas read its log and receive all writes of tdelta",
    "redo-archived": "the database archives its redo: each load adds at least the size of its data to the archive",
    "other-sessions": "{sessions} other sessions were active; their load affects the result",
    "encryption-assumed": "not verified: you stated that only one disk is encrypted (--assume-encrypted)",
    "tables-plain-on-both": "tables are unencrypted on both servers; encrypted is only: {encrypted}",
    "baseline-encrypted-too": "the baseline also encrypts {scope}: its cost is not in the result",
    "scope-not-encrypted": "the encrypted server does not encrypt {scope} ({said})",
    # storage
    "storage-mounted": "encrypted storage protects lost disks and copies, not files that users can read while mounted",
    "storage-cached": "the kernel caches decrypted data, which is read at no cost; use --vary work=cold or more data",
    "storage-kernel-threads": "kernel threads (fscrypt, LUKS, loop devices) are in response times, not in CPU time",
    "storage-fuse": "files pass through gocryptfs (FUSE): figures include that file system as well as its cipher",
    "storage-own-folder": "{folder} is on its own disk and file system: figures include those differences",
    "storage-folders": "copies are in folders of one file system: images require root and loop devices",
    "storage-alone": "{product} itself encrypts nothing in this run: only storage is compared",
    "storage-on-encrypted-disk": "{folder} is on {found}: every figure includes it, also the baseline's",
    # costs and profiles
    "prices-unknown": "cost breakdown: some unit costs could not be measured: {fault}",
    "no-profile": "no CPU profile: {why}",
    "profile-limited": "CPU profile: {why}",
}

AGAINST_TRUST = (
    # the figures are of something else
    "calibration-invalid",
    "conditions-barely-encrypted",
    "not-by-pages",
    "tables-plain-on-both",
    "baseline-encrypted-too",
    "encryption-assumed",
    "hosts-differ",
    "host-confounded",
    "hosts-see-different-overheads",
    "builds-settings",
    "own-tables",
    "only-keys-compared",
    "settings-differ",
    "one-server-two-places",
    "one-server-of-each-kind",
    "other-plan",
    # the measurement
    "one-sided-failures",
    "others-delayed-database",
    "others-used-cpu",
    "carried-over",
    "round-effect",
    "block-effect",
    "one-round",
    "few-rounds",
    "few-blocks",
    "large-instance-effect",
    "cache-unsettled",
    "server-lost",
    "late-arrivals",
    "loop-dilutes",
    "load-timed",
    # the machine
    "host-took-cpu",
    # the workload
    "proposed-workload",
)
"""Cautions that speak against trusting an answer, worst first."""
