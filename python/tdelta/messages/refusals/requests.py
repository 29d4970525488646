"""Refusals of a command line, a project file, or a stored run that is read or continued."""

REQUESTS = {
    # engines, libraries and ciphers
    "unknown-library": "{unknown} Or name a {engine} shared library by its path, with a {separator} in it.",
    "libraries-of-several-kinds": "libraries of one run must be of one kind, found {found}; use a run for each",
    "key-without-cipher": "--key {key}: {library} is plain {engine}, which has no keys; omit --key",
    "key-kind": "--key {key}: {product} accepts a {kinds} here; --library {other} accepts a raw key",
    "plain-library": (
        "cipher {cipher!r}: {library} is plain {engine} and encrypts nothing; name another library with --library, or"
        " compare plain copies with --self-test"
    ),
    "smallest-page": (
        "page_size={page_size} is too small: a cipher of this run reserves {reserved} bytes of each page, and {engine}"
        " can spare {most}; use 1024 or more"
    ),
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
    "no-time-for-a-round": (
        "--max-time is too short: one round with its set-up requires {least:.0f} s, found {found:.0f} s"
    ),
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
    "study-without-cipher": (
        "study {study} requires cipher {cipher}, which {product} does not have; choose among {known} with --vary"
        " cipher=…"
    ),
    "study-on-own-servers": (
        "study {study} requires {needs} on servers created by tdelta; studies for your own servers: {known}"
    ),
    "no-rebuild": (
        "--vary work=rebuild: workload {workload} has statements for {known}; add rebuild.{dialect}.sql to its folder"
    ),
    "steps-not-planned": (
        "`tdelta plan` does not support work {works}; use --vary work=warm,cold, or run without a plan"
    ),
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
    "one-block-a-round": (
        "run {run} has one complete block per round, so trial noise and copy-to-copy variation cannot be separated;"
        " repeat it with --blocks 6"
    ),
    "no-complete-block": (
        "run {run} has no complete block with {metric} above zero; complete it (tdelta run --resume), or use another"
        " --metric"
    ),
    "run-complete": "run {run} is complete; its answer: tdelta show {run}",
    "run-changed": "run {run} cannot be resumed, since this changed: {changed}; start a new run",
    "neither-files-nor-run": "{run!r} is not a file, a folder or a run with a result: {fault}",
    "calibration-not-of-run": "a calibration cannot use a stored run",
    "run-against-itself": "--against requires another run than {run}",
    "nothing-in-common": (
        "runs {run} ({conditions}) and {earlier} ({others}) have no configuration and metric in common"
    ),
    "no-history": (
        "no other finished runs of the same experiment as {run} ({left} excluded as invalid, without figures or without"
        " a label); list them with: tdelta runs"
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
    "project-value": "{key} = {found}: expected {expected}",
    "project-password": "{key}: do not put a password in a shared file. Change that password and {remedy}",
    "project-several-runs": "{option} requires a project with one run, found {found}; name STUDY and --engine",
    "fleet-option": "{key} is not a key of an inventory; use {option} of `tdelta fleet`",
    "fleet-at-work": "another fleet of {path} is running; wait until it finishes",
}
