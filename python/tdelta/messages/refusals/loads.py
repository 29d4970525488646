LOADS: dict[str, str] = {
    "load-without-transactions": "pgbench finished not a single transaction",
    "load-without-report": "expected pgbench's report with `number of transactions …` and `tps`",
    "load-log-incomplete": "{processed:.0f} transactions were processed, but {logged} are in pgbench's log",
    "load-without-latency": "expected pgbench's report with `latency average`",
    "load-without-log": "pgbench wrote no log of its transactions",
    "load-log-not-readable": "pgbench's log of transactions is not as expected ({fault})",
    "load-option-of-place": (
        "--{option}: would send every twin's load to one server; leave it out, and tdelta fills in each twin's"
    ),
    "load-log-prefix": (
        "--log-prefix: tdelta reads the log and removes it; leave it out, and it lies in a private folder"
    ),
    "load-two-amounts": "-t and -T: pgbench takes one of them; -t makes twins do the same work",
    "load-option-d": (
        "-d: a database to some versions of pgbench, debugging to others: write the database last, or --debug"
    ),
    "load-databases": "expected one database at most, found `{listed}`",
    "load-connection-string": (
        "a connection string: would send every twin's load to one server; expected the name of a database"
    ),
    "load-without-report-of-events": "expected sysbench's report with `total time`, `total number of events` and `sum`",
    "load-without-events": "sysbench finished not a single event",
    "load-test-without-database": (
        "sysbench {test} touches no database: expected a test that does, such as oltp_read_only"
    ),
    "load-is-preparation": (
        "`{command}` is not a load: expected `run`. The twins' tables are made before a run; `--load-generator` only"
        " works on them"
    ),
    "load-words": "expected `TEST run`, found `{found}`: sysbench takes values after `=` (--threads=4)",
    "load-without-test": "expected a test and the command `run` (sysbench oltp_read_only run), found {found}",
    "load-option-of-other-driver": (
        "--{option}: the twins speak {protocol}; expected options that begin with --{driver}-"
    ),
    "load-driver": "--db-driver={found}: the twins speak {protocol}; leave it out, or {driver}",
    "load-report-checkpoints": (
        "--report-checkpoints: resets the counts within a trial; leave it out (--report-interval does not)"
    ),
    "load-verbosity": (
        "--verbosity: hides the report that the results are read from; expected 3 or more, or leave it out"
    ),
    "load-percentile": "--percentile=0 rules --histogram out: leave one of them out",
    "load-is-none": "--{option}: this is not a load; leave it out",
    "load-not-closed": "{fault}: close what is open",
    "load-missing": "expected a command, found nothing: --load-generator 'sysbench oltp_read_only run'",
    "load-program-missing": "{program}: not found, or not a program: {install}",
    "load-unknown-placeholder": (
        "unknown placeholder {{{name}}}: expected one of {known}; {{{{{name}}}}} stands for itself"
    ),
    "load-password": (
        "{option}…: every user of this machine can read a password there; leave it out, and tdelta passes it on unseen"
    ),
    "load-shell-sign": "`{sign}` is for a shell, and no shell reads this: write sh -c '…'",
    "load-socket-over-tcp": "{{socket}}: {host} is reached over TCP; expected {{host}} and {{port}}",
    "load-threads": "{option} {found}: expected a whole number above 0, or leave it out, and tdelta fills it in",
    "load-threads-varied": (
        "{option} {found}: the run's threads are {threads}; leave the option out, and tdelta fills it in"
    ),
    "load-too-slow": "load generator {tool}: did not end within {seconds:.0f} s and was ended; ask for less",
    "load-killed": "load generator {tool}: was killed by signal {signal}",
    "load-failed": "load generator {tool}: failed with exit status {status}",
    "load-left-processes": (
        "load generator {tool}: ended while {processes} went on, and what it did is not measured; have it wait for what"
        " it starts"
    ),
    "load-pattern-without-number": "expected a number above 0 where --load-operations {pattern!r} matches",
    "load-options": "{fault}: expected pgbench's options (`pgbench --help`)",
    "load-other-protocol": (
        "pgbench speaks {product}'s protocol, the twins speak {protocol}: expected sysbench, or a command"
    ),
    "load-option": "--{option}: {why}; leave it out",
    "load-dry-run": "{option}: nothing would reach the server; leave it out",
    "load-not-a-pattern": "--load-operations {pattern!r}: {fault}",
    "load-pattern-groups": ("--load-operations {pattern!r}: expected one group, as in 'done ([0-9]+)', found {found}"),
    "load-without-tls": (
        "the connection to {host} is to be encrypted (tls={tls}), and no variable says so to {product}'s clients: write"
        " the command's own option ({example}), or tls=disable"
    ),
    "load-not-run": "load generator {tool}: {fault}: it {kind}",
}
