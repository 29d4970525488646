"""The English of refusals, by code, area by area. Texts that name an engine are in that engine's own package."""

from tdelta.messages.cautions import SCHEMA_LEFT

# Refusals of every area: rules between options, names and values, and files that cannot be used.
#
# `unexpected` is for text that does not parse; a value that parses and is not allowed is `out-of-range`.

COMMON = {
    # rules
    "requires": "{what} requires {needs}",
    "conflict": "{one} cannot be combined with {other}",
    "unsupported": "not supported by {by}: {what}",
    "not-supported": "{what} is only {only}, not for {by}",
    "twice": "{what} is given more than once",
    # values
    "unknown": "unknown {kind} {found}.{hint}",
    "unexpected": "expected {expected}, found {found}",
    "invalid": "invalid {kind}: {fault}",
    "missing": "{what} is missing",
    "out-of-range": "{what} must be {wanted}, found {found}",
    "too-many": "at most {most} {what} are allowed",
    "too-large": "{what} exceeds {most}",
    "not-utf-8": "expected UTF-8 text, found the byte 0x{byte:02x}; convert the file (iconv -f LATIN1 -t UTF-8)",
    "more-faults": "and {more} more",
    # files and folders
    "file-missing": "the file is missing.{hint}",
    "file-exists": "{path} exists; name another file, or overwrite it with --force",
    "path-unusable": "{path}: {fault}; name another file or folder",
    "folder-unusable": "{folder}: {fault}; choose another folder with --dir",
    "unreadable": "cannot be read: {fault}",
    "cannot-copy": "cannot copy {source} to {target}: {fault}; free some space, or use --dir or a smaller --size",
    # other programs
    "database-says": "{said}",
    "database-answer": "{said}; {fix}",
    "library-missing": "{library} is not installed ({fault}): pip install 'tdelta[{extra}]'",
    "program-missing": "{program} cannot be started: {remedy}",
    "program-failed": "{program} failed with exit status {status}: {said}",
    "version-mismatch": "{what} requires {expected}, found {found}; install the same version",
}

# Refusals of a command line, a project file, or a stored run that is read or continued.

REQUESTS = {
    # engines, libraries and ciphers
    "unknown-library": "{unknown} Or name a {engine} shared library by its path, with a {separator} in it.",
    "libraries-of-several-kinds": "libraries of one run must be of one kind, found {found}; use a run for each",
    "key-without-cipher": "--key {key}: {library} is plain {engine}, which has no keys; omit --key",
    "key-kind": "--key {key}: {product} accepts a {kinds} here; --library {other} accepts a raw key",
    "plain-library": "cipher {cipher!r}: {library} is plain {engine}; use another --library, or --self-test",
    "narrow-page": (
        "pages of {page_size} bytes are too small: with {reserved} reserved for ciphers, {usable} of at least {least}"
        " bytes are usable; use a larger --page-size"
    ),
    "nothing-to-compare": "a run requires a cipher other than none; add --vary cipher=aes-256",
    "level-out-of-reach": "{factor}={level} is not available on this machine: {why}",
    # options
    "option-and-factor": "{options} cannot be combined; list all levels in --vary",
    "one-server-alone": "{baseline} and {encrypted} must be used together; {missing} is missing",
    "servers-of-two-engines": "{options} must be two servers of the same engine, found {found}",
    "time-too-short": (
        "{option} is too short ({found}; at least {least}): {why}; use {option} {given}, less data or fewer"
        " configurations"
    ),
    "no-time-for-a-round": "--max-time {found:.0f} s is too short: a round with its set-up requires {least:.0f} s",
    "decide-no-time": "not enough time left, needs at least {needed}",
    "warmup-too-long": "--warmup {warmup:g}s must be shorter than a trial, {trial:g} s (--trial-time)",
    "pilot-too-short": "--pilot-time is too short for two blocks: most of {found:g} s went into the set-up",
    "path-not-text": "{option} requires a path in UTF-8; rename the file or folder, or use a link to it",
    "restore-password": (
        "--restore: do not put a password in the command ({option}…): other users of this machine can see it. Change"
        " that password and use an environment variable"
    ),
    "metric-out-of-sight": (
        "--metric {metric} requires both servers on this machine (Unix socket or loopback address); use response_time"
    ),
    "store-as-database": "--database {database} is the results database of this run; use a copy, or another --store",
    "table-name-taken": "the database has a table {table}, a name reserved for tdelta; rename the table",
    "storage-missing": "--vary storage={storage} requires: {missing}",
    "folder-not-encrypted": (
        "{option} requires a folder with dm-crypt, fscrypt, ZFS encryption or an encrypting file system, found {found}"
    ),
    "prior-in-per-cent": "the prior's mean and sd must be shares, not percentages: 0.03 is +3%",
    "no-such-prior": "no such prior",
    "what-a-prior-is": "A prior is {priors}.",
    # studies and workloads
    "study-does-not-run": "study {study!r} is an analysis of published results: `{command}`",
    "study-without-cipher": "study {study} requires cipher {cipher}; {product} has {known} (--vary cipher=…)",
    "study-on-own-servers": "study {study} requires {needs} on servers created by tdelta; for your own: {known}",
    "no-such-step": "--vary work={step}: workload {workload} has it for {known}; add {step}.{dialect}.sql",
    "steps-not-planned": "`tdelta plan` does not support work {works}; use --vary work=warm,cold",
    "not-in-a-fleet": "{key}: runs of a fleet use one node each; omit {option}",
    # a database or dump of the user
    "nothing-restored": "database tdelta has no tables after --restore{left}; restore into {{database}}",
    "own-table-refused": "cannot create tdelta's table: {said}",
    "no-rows": "its tables are empty; use a --workload that writes",
    "dump-encrypts": "--restore: the dump sets encryption of tables itself ({said}); remove {options} with {remedy}",
    "restore-too-slow": "--restore did not finish within {seconds:g} s: {command}{tail}",
    "restore-failed": "--restore failed with exit code {found}: {command}{tail}",
    "nothing-proposed": "no workload can be proposed: {why}; name your own with --workload",
    # stored runs
    "no-run": "no run yet in {store}; create one with: tdelta run",
    "ambiguous-run": "run {run!r} is ambiguous ({fitting}); use the whole id of one run",
    "runs-unlike": (
        "run {run} ({engine}, {workload}) and run {other} ({other_engine}, {other_workload}) must be planned separately"
    ),
    "one-block-a-round": "run {run} has one complete block per round, which is too few; repeat it with --blocks 6",
    "no-complete-block": "run {run} has no complete block with {metric} above 0; complete it, or use another --metric",
    "run-complete": "run {run} is complete; its answer: tdelta show {run}",
    "run-changed": "run {run} cannot be resumed, since this changed: {changed}; start a new run",
    "neither-files-nor-run": "{run!r} is not a file, a folder or a run with a result: {fault}",
    "calibration-not-of-run": "a calibration cannot use a stored run",
    "run-against-itself": "--against requires another run than {run}",
    "nothing-in-common": "runs {run} ({conditions}) and {earlier} ({others}) have nothing in common to compare",
    "no-history": (
        "no other finished runs of the experiment of {run} ({left} excluded as invalid, without figures or without a"
        " label); list them with: tdelta runs"
    ),
    "nothing-to-hold-against": "no other configuration has a result comparable with {baseline}:\n{listed}",
    "one-condition": (
        "the only configuration is {condition}; a comparison requires two. Assign the files, for example:\n  {command}"
    ),
    "no-step-summary": "--step-summary requires a file name in GITHUB_STEP_SUMMARY, which GitHub jobs set",
    # the project file
    "project-unreadable": "project file {path}: {fault}; fix it, name another with --project, or use --no-project",
    "project-not-trusted": (
        "{path}: {why}, and its commands would run with your permissions; check it and name it with --project {name},"
        " or use --no-project"
    ),
    "project-password": "{key}: do not put a password in a shared file. Change that password and {remedy}",
    "project-several-runs": "{option} requires a project with one run, found {found}; name STUDY and --engine",
    "fleet-option": "{key} is not a key of an inventory; use {option} of `tdelta fleet`",
    "fleet-at-work": "another fleet of {path} is running; wait until it finishes",
}

# Refusals about this machine: its limits, tdelta's own processes and servers, load generators, perf and Ray nodes.

_INSTALL = "install perf: Debian linux-perf, Ubuntu linux-tools-$(uname -r), Fedora perf"

MACHINE = {
    "defect": "{said}",
    "command-line": "{said}",
    "interrupted": "interrupted",
    "output-not-writable": "standard output cannot be written: {fault}",
    "stream-closed": "standard {name} is closed; redirect it to a file, a pipe or {sign}/dev/null",
    "no-twin-open": "no copy is open",
    # limits
    "no-memory": "out of memory; raise the limit (ulimit -v, the container's limit), or use less data",
    "no-processes": "no more processes or threads allowed; raise ulimit -u and -v, or the container's limit",
    "no-files": "no more open files allowed; raise ulimit -n",
    "disk-refuses": "{said}; free some space, or choose another folder with --dir",
    "file-size-limited": "{said}; files may have at most {most} (ulimit -f): raise it, or free some space",
    "disk-too-small": "{folder} requires {needed} of free disk space, found {found}; free {missing}, {remedy}",
    "memory-too-small": "{needed} of free memory is required, found {found}; close other programs, or {remedy}",
    "open-files-too-few": "{needed:,} open files are required, found {found:,}; raise ulimit -Hn, or lower --threads",
    "threads-too-few": "{needed:,} load threads are required, found {found:,}; raise {limit}, or use fewer --threads",
    # processes and servers of tdelta
    "process-silent": "{process} did not answer within {seconds:.0f} s and was ended",
    "process-died": "{process} {ending}: {words}",
    "stopped-by-signal": "{process} was stopped by a signal for {seconds:.0f} s",
    "stood-still": "{said}",
    "losses-too-many": "a server or worker of this run was lost {losses} times; most recently {loss}",
    "server-not-started": "the server was not started",
    "server-waits": "the server waits for disk space",
    "server-died-of-that": "the server died of it",
    "server-died": "the server of {server} died during the run",
    "server-ended": "the server ended with status {status} at start-up",
    "server-takes-no-connection": "the server accepted no connection within {seconds:.0f} s",
    "server-disk-full": "the disk of {folder} is full: free some space, or use --dir ({said})",
    "supervisor-gone": "the supervisor of {server} died: {fault}",
    "folder-in-use": "{folder} is in use by another tdelta; wait until it finishes",
    "plugin-missing": "{server} has no plugin {plugin}: {install}",
    "preload-missing": "{library} is missing in this installation; it is built with make setup and part of the wheel",
    "preload-unnamable": "LD_PRELOAD does not support the path {library}; install tdelta in a folder without ' :$'",
    "library-not-installed": "engine {engine!r}: {wheel} is not installed: {install}",
    "no-server": "no {kind} server ({names}) in PATH, the usual folders or {folder}: {remedy}, or --server-binary",
    "statements-held": "{count} of {statements} statements are held after {seconds:.0f} s",
    "statement-ended": "a statement that had to stay open ended",
    "storage-refused": "cannot create {storage}: {fault}; run as root outside of a container, or omit this storage",
    # files
    "twin-not-searchable": "files of a copy cannot be searched for plaintext: {faults}",
    "twins-differ": "the copies contain different rows: {differences}",
    "settings-not-applied": "{product} did not apply the settings of a copy: {fault}; omit their options",
    "files-not-readable": (
        "cannot read {files} {files:file|files}, so the result would be incomplete; run as a user with read permission"
        "\n{listed}"
    ),
    "open-files-hidden": "open files of process {process} are hidden ({folder}: {fault}); tdelta needs /proc",
    # load generators
    "load-command": "expected `sysbench TEST run` with a test of a database and values after `=`, found {found}",
    "load-option": "{option}: {why}; omit it",
    "load-output": "{what} is missing in the load generator's output",
    "load-failed": "load generator {tool} {how}",
    "load-shell-sign": "`{sign}` requires a shell: write sh -c '…'",
    # perf
    "perf-unavailable": f"perf is not available ({{fault}}); {_INSTALL}",
    "perf-not-permitted": (
        "perf may not sample here (kernel.perf_event_paranoid: {level}); allow it with sysctl"
        " kernel.perf_event_paranoid=1, or run as root"
    ),
    "perf-failed": "perf failed: {fault}",
    # Ray
    "ray-not-reached": "Ray: {said}; start it with `ray start`, or omit --ray to use this machine",
    "ray-head-not-there": "--ray {address}: {fault}; name HOST:PORT of a running head (`ray start --head`)",
    "no-node-left": "no node is left: {said}. Finished work is kept: start a node, then run {command}",
    "ray-head-lost": "the Ray head stopped answering ({said}). Finished work is kept: restart Ray, then run {command}",
    "node-unusable": "{what} cannot be used: {said}; each node requires this tdelta: pip install 'tdelta[ray]'",
    "too-few-hosts": "--hosts requires {expected} nodes with CPUs, found {found}; start more, or use fewer hosts",
    "agents-elsewhere": "load generator {agents} cannot reach {address}; name an address for all nodes, or omit --ray",
    "agent-lost": "load generator {agent} on node {node} was lost ({why})",
    "agents-not-once": (
        "load generators executed {found:,} of {expected:,} operations of a trial ({by_agent}) and recorded"
        " {found_recorded:,} of {expected_recorded:,}"
    ),
    "hosts-load-differs": "host {node} loaded other rows than {first}",
    "host-lost": "host {node} was lost ({why}). Finished work is kept: start it, then run `tdelta run --resume last`",
}

# Refusals of the results database and of files of exported runs.

_ELSEWHERE = "choose another with --store FILE or TDELTA_STORE"

STORES = {
    "store-damaged": f"results database {{path}} is damaged ({{fault}}); {_ELSEWHERE}",
    "store-unusable": f"results database {{path}}: {{fault}}; {_ELSEWHERE}",
    "store-changed": (
        f"results database {{path}}: {{part}} differs from the data written by tdelta; restore an intact copy, or"
        f" {_ELSEWHERE}"
    ),
    "store-too-new": (
        f"results database {{path}} has schema version {{found}}, newer than {{known}}; upgrade tdelta, or {_ELSEWHERE}"
    ),
    "not-a-store": f"{{path}} is not a results database but {{found}}; {_ELSEWHERE}",
    "store-disk-full": f"results database {{path}}: the disk is full ({{fault}}); free some space, or {_ELSEWHERE}",
    "run-without-result": (
        "run {run} has no result yet ({status}); once it has ended, complete it with: tdelta run --resume {run}{store}"
    ),
    "no-last-run": "no run in {store}, only {others} of other kinds; list them with: tdelta runs --kind all",
    "run-at-work": "run {run} is running; wait until it finishes, or end it with Ctrl-C",
    "run-removed": "run {run} was removed in the meantime; start a new one with: tdelta run",
    "run-imported": "run {run} was imported and cannot be resumed",
    "pack-damaged": "damaged or edited export file ({fault}); use another copy",
    "pack-of-other-run": "results database {store} has another run {run}; import the file into another --store",
}

# Refusals about the user's own servers: DSNs, permissions, replicas, schemas, and the check of an adapter.

_THREE_WAYS = (
    "?password-env=NAME (an environment variable) or ?password-file=PATH (a file readable by you alone), or enter it"
    " when prompted"
)
_REVEALED = (
    "Do not put a password in the DSN: other users and your shell history can see it. Change that password and use"
    f" {_THREE_WAYS}"
)
_LEFT_THERE = "schema {schema} remains; remove it with: {drop}"
_RESUME = "and continue with `tdelta run --resume last`"

SERVERS = {
    # DSNs and passwords
    "dsn-malformed": "expected {expected}",
    "dsn-password": _REVEALED,
    "dsn-at": f"expected no '@' after the host (use %40 elsewhere). If it is part of a password: {_REVEALED}",
    "nobody-to-ask": f"a password is required for {{server}}: use {_THREE_WAYS}",
    "no-such-variable": "password-env={name}: this environment variable is missing: export {name}",
    "password-file-is-open": "password-file={path}: other users may read it (mode {mode:04o}): chmod 600 {path}",
    # answers of a server
    "server-wants-password": f"{{said}}; check user and password, given with {_THREE_WAYS}",
    "server-not-reached": "{said}; check that it runs, accepts connections there, and no firewall blocks them",
    "server-stopped": f"{{said}}; {{fix}} {_RESUME}",
    "server-lock-wait": "{said}: waited {seconds} s for a lock of another session (SHOW PROCESSLIST, pg_stat_activity)",
    "server-primary-keys": "{said}: a table has no primary key; disable sql_require_primary_key or the like",
    "server-session-settings": "the server changes session settings of tdelta: {settings}",
    "server-refuses": "the server refuses a required statement: {said}",
    "server-changes": "the server changes its product between queries; it must be {products}",
    "server-unfit": "{why}; use a separate server",
    "cold-among-others": (
        "{sessions} other sessions were active, and cold trials empty the cache of the whole server; name the steps"
        " with --vary work=…, with or without cold"
    ),
    "read-only": "it is read-only; set {setting} off",
    "database-read-only": "the database is open {said}, but must be writable",
    "right-missing": "a privilege is missing: {grant}",
    # two servers as a pair
    "two-products": "{baseline} is {baseline_product}, {encrypted} is {encrypted_product}; but must be the same",
    "one-server-twice": "both are the same server; use two, of which one is encrypted",
    "one-place-twice": "both are {parameter} {place} of one server; use two servers, or ?{parameter}=NAME in each DSN",
    "schema-missing": "no schema {schema}: name one that exists on both servers",
    "own-tables-differ": "the schema must have the same tables, rows and keys on both servers; different: {tables}",
    "own-schema-empty": "no tables in schema {schema} on either server; name a schema with tables (--schema)",
    "own-script-writes": "only SELECT is allowed on your own tables (no INTO, no locks), found: {found}",
    "server-encrypted": "tables of this server must be unencrypted, found: {said}",
    "encryption-not-seen": "{said}: {remedy}",
    "nothing-encrypted": "the encrypted server encrypts no more than the baseline: {said}; {remedy}",
    "encryption-unsettled": "table encryption is changing: {said}; wait until it ends, or open the keystore",
    "tables-otherwise": "tables of {schema} must be {wanted}; not so in the catalog: {tables}; {remedy}",
    "indexes-missing": "the load of {schema} made indexes that the catalog does not have: {indexes}; run again",
    # schemas
    "schema-left": SCHEMA_LEFT,
    "schema-taken": "schema {schema} cannot be created: {said}; name another with --schema",
    "schema-unmarked": f"the mark of run {{run}} is gone, so it was not dropped: {_LEFT_THERE}",
    "schema-not-dropped": f"{{said}}; {_LEFT_THERE}",
    # maintenance operations and replicas
    "action-stopped": "gave up waiting for {what}",
    "restored-differs": "the restored database differs from the original in: {tables}",
    "replica-cipher": "{server}: the replica's encryption differs from its primary's: {fault}",
    "replica-not-connected": "the replica did not connect to its primary within {seconds} s: {said}",
    "replica-stopped-applying": "{server}: replication stopped: {said}",
    "replica-too-slow": "{server}: the replica needs over {seconds:.0f} s for a trial's log; shorten --trial-time",
    # the check of an adapter
    "server-check-time-up": "the check took longer than {seconds:.0f} s; repeat it when both servers are idle",
    "server-check-not-tried": "skipped, since these failed: {needs}",
    "server-check-differs": "{what} differ: {found}",
    "server-check-left": "{what} still exists; remove it by hand",
    "server-check-tables-otherwise": "tables must be {wanted}; not so in the catalog: {tables}",
    "server-check-work-cut": "{found} of {operations} operations finished; errors: {errors}",
    "server-check-kind": "the server's error must be recognized as {expected!r}, found {found!r}: {said}",
}

# Refusals of workload folders: their tables, columns and scripts.

_MEASURE = "load scale 1 and scale 11 into a plain database file; a tenth of the difference is bytes_per_scale"

WORKLOADS = {
    "no-folder": "a workload is a folder with workload.toml and schema.sql, or a built-in one ({known})",
    "no-own-folder": "with --database, a workload is a folder with workload.toml",
    "columns-otherwise": "table {table} has other columns than in schema.sql",
    "distribution-makes-other": "column {column}: {distribution!r} generates {found}, schema.sql requires {wanted}",
    "key-table-taken": "the database already has a table {table}; choose another name",
    "size-missing": f"the table [size] with bytes_per_scale is missing: {_MEASURE}",
    "size-too-small": f"{{key}} must be at least {{least:.0f}}, the size of the rows, found {{found}}: {_MEASURE}",
    # schemas and scripts
    "table-as-query": "CREATE TABLE … AS is not supported; name the columns of the table",
    "table-twice": "table {table} is defined twice, first on line {line}",
    "statement-not-readable": (
        "this SQL cannot be parsed: {why}. A line '\\raw' (or '\\raw writes') before it passes it through unchanged"
    ),
    "not-of-a-transaction": "{statement} is not allowed in a transaction; if intended, put '\\raw' on the line before",
    "gset-without-names": "\\gset requires a name for each column (no *, AS for expressions), or '\\raw into NAMES'",
    "transaction-half-done": "a transaction that begins or ends after line {line} may stay open in one branch",
    "variable-given": ":{name} is set by tdelta and cannot be changed",
    "question-mark": "'?' is not a parameter here; use a variable, :name",
    "reads-the-clock": "{what} differs between copies; compute a time from :op, e.g. 1704067200 + :op",
    "draws-by-itself": "{function}() differs between copies; use \\set name random(lo, hi) and :name",
    # a trial execution
    "transaction-grows": "{said}: it writes more than tdelta's copy may grow (to {most:,.0f} MB)",
    "transaction-without-time": "no time left to try it, with {seconds:.0f} s for all proposed transactions",
}

# Refusals of other tools' results, which end up here if no common refusal has the remedy.

RESULTS = {
    "all-times-zero": "all {found} response times are 0: their clock is too coarse, or the unit is wrong",
    "groups-too-many": "at most {most} {kind} of single times are allowed; omit a column of ids, or give mean and sd",
    "several-formats": "ambiguous format ({formats}); choose one with --input-format '{first}', or split the file",
    "metric-without-unit": "the unit of metric {metric} is missing, since the script defines it; add --unit ms",
    "no-successful-requests": "no request succeeded ({failed} failed)",
    "formats": "Supported formats:\n{formats}",
    "columns-without-unit": (
        "the columns {listed} have no unit in their names; rename them ({column}_ms, {column}_tps, …), or add --unit ms"
    ),
    "time-without-unit": "column {column} has no unit in its name; rename it ({column}_ms, …), or add --unit ms",
    "numbers-without-unit": "numbers without a header require a unit; add --unit ms (or us, s, tps, …)",
    "no-condition-column": (
        "no column has a name for the configuration ({known}), found {columns}. Rename a column to condition, or name"
        " the configuration of the whole file: plain='{file}'"
    ),
    "file-without-condition": "{format} files do not name their configuration; name it: NAME='{name}'",
    "no-baseline-named": (
        "exactly one configuration must have a name for unencrypted (none, plain, tde-off, …), found {found}: {listed}."
        " Name it: --baseline {name}{remedy}"
    ),
    "doubtful-number": "{number!r} is ambiguous: {whole} or {part}; use a decimal point and no comma",
    "glob-matches-nothing": "no file matches {glob!r}",
    "no-progress-lines": (
        "sysbench's progress lines and final report are missing in {lines} lines{said}; repeat the test to its end,"
        " with --report-interval=1"
    ),
    "neither-progress-nor-report": (
        "pgbench's progress lines and report are missing in {lines} lines{aborted}; repeat the test to its end, with"
        " --progress=1"
    ),
    "no-test-result": "a TPROC-C TEST RESULT is missing; print it again (jobs ID result)",
    "file-empty": "the file is empty",
    "file-is-pipe": "a pipe or a device cannot be read twice; write it to a file first",
    "gzip-bomb": (
        "gzip may expand to {times} times its size, found more than {inflated} in {size}; if you trust it, decompress"
        " it first"
    ),
    "terminal-as-results": "-: standard input is a terminal; name a file, or use a pipe: … | tdelta analyze -",
}

REFUSALS = COMMON | REQUESTS | MACHINE | STORES | SERVERS | WORKLOADS | RESULTS
