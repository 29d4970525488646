DATABASES: dict[str, str] = {
    "nothing-restored": "expected tables in database tdelta, found none{left}; restore into {{database}}",
    "own-table-refused": "it cannot take a table of tdelta's: {said}",
    "no-rows": "its tables hold no rows, so there is nothing to read; or give a --workload",
    "dump-encrypts": (
        "--restore: the dump says of tables whether they are encrypted ({said}), which each kind of twin decides: take "
        "{options} out of it, for example with {remedy}"
    ),
    "restore-too-slow": "--restore: not done after {seconds:g} s, and ended: {command}{tail}",
    "restore-failed": "--restore: expected exit code 0, found {found}: {command}{tail}",
    "nothing-proposed": "no workload can be proposed: {why}; give one of your own with --workload",
}


"""The English of refusals of what a command was asked, by code."""

_ONE_OF_TWO = "expected one of the two"

REQUESTS = {
    "against-several": "--against requires a single RUN",
    # names
    "unknown-name": "unknown {kind} {found!r}: expected one of {known}.",
    "unknown-name-near": "unknown {kind} {found!r}: expected one of {known}. Did you mean {near!r}?",
    "unknown-library": "{unknown} Or name a {engine} shared library by its path, with a {separator} in it.",
    "libraries-of-several-kinds": (
        "expected builds of one library, found {found}: their ciphers differ in more than the version; make a run of"
        " each"
    ),
    "no-library": "--library {library}: expected the path of a {engine} shared library, found no file there",
    "engine-own-servers-only": (
        "{product} is measured on your two servers: expected --baseline and --encrypted (`tdelta engines` says"
        " what it takes)"
    ),
    # options of one kind of engine
    "not-supported": "{options}: not supported by {product}, only {takers}; leave it out",
    "not-supported-on-own-servers": ("{options}: not supported on your own servers, only {takers}; leave it out"),
    # options that exclude one another
    "option-and-factor": f"{{options}}: {_ONE_OF_TWO}; list every level you want in --vary",
    "compression-and-load": "--vary compression=… with work=load: expected tables that stay, since {product} has each"
    " compressed once it is there, found a load that recreates them; leave out one of the two",
    "cold-and-work": f"--cold and --vary work=…: {_ONE_OF_TWO}; list cold among the levels in --vary",
    "study-and-rows": (f"STUDY {{study}} and {{option}}: {_ONE_OF_TWO}, since a study makes its own rows"),
    "size-and-rows": f"--size and {{option}}: {_ONE_OF_TWO}, since twins are as large as {{rows}}",
    "workload-and-rows": (
        "--workload {workload} and {option}: it makes its own tables; leave it out for a proposal, or give a folder of"
        " transactions (--write-workload makes one to begin with)"
    ),
    "not-cold": "{options}: not with cold caches on {product}, which are emptied in between",
    "not-in-steps": "{options}: not with --vary work=load, rebuild or an action, whose trials have no operations",
    "unknown-action": "{factor}={action}: {product} has {known}; leave the level out, or choose another engine",
    "unknown-knob": "{action}: expected knobs among {known}, found {knobs}",
    "knob-value": "{action}: {knob} takes {known}, found {found}",
    "study-on-own-servers": (
        "the study {study} needs {needs}, which takes servers that tdelta starts: leave out --baseline and --encrypted;"
        " studies that run on your servers: {known}"
    ),
    "own-servers-not-cold": (
        "{options}: the caches of {product} cannot be emptied by SQL; leave it out, or restart your servers by yourself"
    ),
    "action-on-own-servers": (
        "{factor}={action}: tdelta does not do this to your own servers; leave"
        " the level out, or have tdelta start the servers (no --baseline, no --encrypted)"
    ),
    "not-beside": "{options}: not with --vary during=…, which goes on beside tdelta's own closed loop on warm caches",
    "not-with-storage": (
        "--vary storage does not go with {options}: what storage is varied of lives in one folder, which nothing leaves"
    ),
    "storage-not-a-folder": (
        "--vary storage={folder}: expected a folder on an encrypted file system that this user can write to, found none"
    ),
    "storage-not-encrypted": (
        "--vary storage={folder}: expected dm-crypt, fscrypt, ZFS encryption or a file system that encrypts, found none"
        " there; mount one, or name one of {known}"
    ),
    "storage-missing": "--vary storage={storage}: expected what makes it, found missing here: {missing}",
    "not-replicated": (
        "{options}: not with --vary replication=…, whose trials are of tdelta's own loop on warm caches; leave it out"
    ),
    "not-traced": "--trace: not with {options}: it meters statements of a closed loop on warm caches",
    "not-with-load-generator": "{options}: cannot be combined with --load-generator; leave it out",
    "ray-alone": (
        "--ray: expected --agents N with it, the number of load agents on that cluster, or --hosts N, the number of its"
        " nodes that twins change between"
    ),
    "ray-missing": (
        "expected Ray, which places load agents, hosts and runs of fleets, found it missing: pip install 'tdelta[ray]'"
        " (80 MB, 250 MB on the disk)"
    ),
    "fleet-option": "{key}: not a key of an inventory; give {option} to `tdelta fleet`",
    "not-in-a-fleet": "{key}: a fleet's runs have one node each, so {option} does not go with them; leave it out",
    "not-a-ray-address": (
        "--ray: expected HOST:PORT of the head of a Ray cluster, such as head:6379, or auto, found {found!r}"
    ),
    "not-with-agents": (
        "{options}: not with --agents, which run tdelta's own loop on warm caches; leave one of the two out"
    ),
    "not-with-hosts": (
        "{options}: not with --hosts, where trials are transactions on servers of the nodes; leave one of the two out"
    ),
    "one-host": "--hosts: expected 2 or more, which twins change between, found {found}; leave it out for one machine",
    "hosts-without-ray": "--hosts: expected --ray ADDRESS with it, the Ray cluster whose nodes these are",
    "agents-without-clients": (
        "--agents {agents}: expected a client for each, found --threads {threads}; raise --threads or have fewer agents"
    ),
    "load-operations-alone": "--load-operations: expected --load-generator with it",
    "one-server-alone": ("{missing}: expected both {baseline} and {encrypted}, found one; name the other server, too"),
    "servers-of-two-engines": "{options}: expected two servers of one engine, found {found}",
    "engine-of-other-servers": "--engine {engine}: the DSNs say {found}; leave --engine out",
    "no-proposal": (
        "--write-workload writes what is proposed for --database FILE or --restore CMD without --workload; found"
        " {found}"
    ),
    "not-calibrated": (
        "{option}: expected none, since a calibration runs identical twins of tdelta's own making, on this machine;"
        " leave it out"
    ),
    "which-shell": "which shell? expected one of {known}, found {found}: tdelta completion bash",
    # values of options
    "not-a-percentage": "expected a percentage such as 5% or 0.5%, found {found!r}",
    "not-a-size": "expected a size such as 50MB, 1.5GB, 64MiB or 10G (kB, MB, GB, TB; powers of 1024: K, M, G, T"
    " or KiB, MiB, GiB, TiB), found {found!r}",
    "not-a-rate": "expected operations per second such as 500, or a share such as 60%, found {found!r}",
    "not-a-cache": "expected a share of the data such as 10%, or a size such as 4GB or 512M, found {found!r}",
    "not-a-duration": "expected a duration such as 90s, 5m, 1h30m, 30d or 250ms, found {found!r}",
    "not-a-response-time": "expected a time such as 20ms, 250us or 1.5s, found {found!r}",
    "not-rounds": "expected MIN or MIN..MAX such as 3 or 3..8, found {found!r}",
    "rounds-out-of-order": "expected 1 <= MIN <= MAX, found {found!r}",
    "time-too-short": (
        "{option}: expected at least {least}, found {found}: {why}; give {option} {given}, or take less data or fewer"
        " conditions"
    ),
    "no-time-for-a-round": (
        "--max-time: expected time for one round at least, {least:.0f} s with its set-up, found {found:.0f} s"
    ),
    "no-encrypted-folder": "--encrypted-dir {folder}: expected a folder on an encrypted file system, found none",
    "folder-not-encrypted": (
        "--encrypted-dir {folder}: expected dm-crypt, fscrypt, ZFS encryption or a file system that encrypts, found"
        " {found} without any; mount one there, or leave the option out to have gocryptfs used"
    ),
    "workload-folder-is-file": "--write-workload {folder}: expected a new or empty folder, found a file",
    "workload-folder-not-empty": "--write-workload {folder}: expected a new or empty folder, found files in it",
    "table-name-taken": ("there is a table {table} already, a name that is reserved for tdelta: rename the table"),
    "report-elsewhere": (
        "report to {path}: expected no file or an older tdelta report, found another file; name another with --output,"
        " or overwrite it with --force"
    ),
    "not-above-zero": "{option}: expected a number above 0, found {found:g}",
    "latency-limit-out-of-range": "--latency-limit: expected a time from 1us to one hour, found {found:g} s",
    "fewer-rounds-at-most": "--rounds: expected MIN..MAX, found {least}..{most}",
    "warmup-too-long": ("--warmup {warmup:g}s: expected less than a trial, which takes {trial:g} s (--trial-time)"),
    "path-not-text": "{option}: expected a path in UTF-8; rename the file or folder, or name a link to it",
    "restore-password": (
        "--restore: {option}…: expected no password in a command that is stored with the run and seen by every user of "
        "this machine (so change this one): the server has none, and any other belongs in an environment variable"
    ),
    "no-restore-command": "--restore: expected a command, found none",
    "no-workload-folder": "--workload {workload}: expected a folder of transactions, found none of that name",
    "key-without-cipher": "--key {key}: {library} is plain {engine}, which takes no key; leave --key out",
    "key-kind": ("--key {key}: {product} is given a {kinds} here; a raw key can be tested with --library {other}"),
    "schema-name": (
        "--schema {schema!r}: expected up to 63 of a-z, 0-9 and _, a letter first, of a schema that does not exist"
    ),
    "schema-too-long": (
        "--schema: expected a name short enough for {schema!r}, too, which has to have at most 63 letters"
    ),
    "metric-out-of-sight": (
        "--metric {metric}: expected both servers on this machine, by a Unix socket or a loopback address, and their"
        " processes to be seen; take response_time"
    ),
    "store-as-database": "--database {database}: this run keeps its results in it; give a copy, or use --store",
    "pilot-too-short": (
        "--pilot-time: expected time for two blocks of a round at least, found {found:g} s, of which the set-up took"
        " most; give it more"
    ),
    "none-given": "expected at least one {kind}, found none",
    "not-a-page-size": "page size {found}: expected a multiple of {of} bytes, at most {most} (1 MiB)",
    "nothing-to-measure": "nothing to measure: AES needs at least one mode, and AES-192 has no XTS",
    "what-a-prior-is": "A prior is {priors}.",
    # factors and levels
    "not-a-level": "{factor}={found}: expected {expected}",
    "not-a-factor": "--vary {found}: expected FACTOR=LEVEL,LEVEL such as threads=1,4",
    "factor-twice": "{factor}: given twice; write all its levels in one --vary {factor}=…",
    "levels-too-many": "{factor}: expected at most {most} levels, found {found}",
    "conditions-too-many": "expected at most {most} combinations of levels, found {found}",
    "level-twice": "{factor}={level}: this level is already in the list; give each level once",
    "injected-out-of-range": (
        "injected cost {share:g}: expected a share above 0 and at most {most:g} (0.05, or 5%, for 5%)"
    ),
    "injected-twice": "injected cost {share}: given twice; give each once",
    "nothing-to-compare": ("nothing to compare: expected a cipher other than none; add --vary cipher=aes-256"),
    "level-out-of-reach": "{factor}={level} cannot be had here: {why}",
    "plain-library": (
        "cipher {cipher!r}: {library} is plain {engine}, which encrypts nothing; compare identical twins with"
        " --self-test, or name an encrypting library with --library"
    ),
    "cannot-convert": "--database: a {engine} library of kind {kind!r} cannot encrypt a database that is there",
    "smallest-page": (
        "page_size={page_size}: expected 1024 or more, since a cipher of this run reserves {reserved} bytes per page"
        " and {engine} can spare at most {most} of {page_size}"
    ),
    "narrow-page": (
        "pages of {page_size} bytes: expected at least {least} usable bytes, found {usable} beside the {reserved} that"
        " the ciphers keep; take a larger --page-size"
    ),
    "unknown-compression": "compression {compression}: {product} has {known}",
    "unknown-scope": "scope {scope}: {product} has {known}",
    # studies and workloads
    "one-study-size": "study {study}: it has one size only; omit --study-size",
    "study-does-not-run": "study {study!r} is an analysis of published results: `{command}`",
    "study-without-cipher": (
        "study {study} asks for cipher {cipher}, which {product} does not have: choose among {known} with --vary"
        " cipher=…"
    ),
    "nothing-to-connect-to": (
        r"\connect: {product} runs within the process, which connects to nothing: choose another --workload"
    ),
    "no-rebuild": (
        "--vary work=rebuild: workload {workload} says how for {known}, and not for {dialect}: write the statements"
        " into its folder as rebuild.{dialect}.sql, or leave the level out"
    ),
    "steps-not-planned": (
        "work {works}: how long loads and rebuilds must be measured cannot be planned; plan the queries (--vary"
        " work=warm,cold), or a run without them"
    ),
    # runs of a store
    "history-of-file": "{path}: a history is of runs in the store, and of no files; `tdelta analyze {path}` reads one",
    "no-store": "store {store}: not found, so there is no run to read; `tdelta run` makes one",
    "store-without-run": "store {store}: it holds no run yet; make one with: tdelta run",
    "ambiguous-run": "run {run!r} is ambiguous: it fits {fitting}; write more of the id",
    "runs-unlike": (
        "run {run}: expected {other_engine} with {other_workload}, as run {other} has, found {engine} with {workload};"
        " plan them one at a time"
    ),
    "one-block-a-round": (
        "run {run}: expected two complete blocks in some round, found one in each, which cannot tell a trial's noise"
        " from the instance effect; run it with --blocks 6"
    ),
    "no-complete-block": (
        "run {run}: expected complete blocks with a cost above zero for {metric}, found none; complete it (tdelta run"
        " --resume, from the same store), or name another --metric"
    ),
    # runs to resume
    "run-complete": "run {run} is complete: `tdelta show {run}` repeats its answer",
    "work-changed": "run {run}: its {changed} has changed since it began; start a new run",
    "versions-changed": "run {run}: versions have changed since it began ({changed}); start a new run",
    "library-changed": "run {run}: the library under test was {before}, and is now {now}; start a new run",
    "marker-without-files": "--marker: expected a file or a folder to search, found {target!r}, which is neither",
    "neither-files-nor-run": "{run!r} is neither a file or folder here nor a run with a result: {fault}",
    "target-out-of-reach": "{target}: expected a file, a folder or a run: {fault}",
    "marker-not-hex": "expected pairs of hexadecimal digits after hex:",
    "marker-too-short": "expected at least {least} bytes, found {found}: shorter ones occur by chance",
    "not-files": "{target}: expected a file or a folder, found a device, a pipe or a socket",
    "calibration-not-of-run": "no calibration can be of this run",
    "manner-with-format": "--format cannot be combined with --details or --quiet",
    "one-manner": "--quiet prints the sentence alone: expected without --details and --json, found {found}",
    "force-without-output": "--force: expected with --output, found without",
    "run-against-itself": "--against: expected another run than {run}, found the same",
    "nothing-in-common": (
        "--against {earlier}: expected a condition that both runs judged in the same metric, found {conditions} in"
        " {run} and {others} in {earlier}"
    ),
    "no-history": (
        "expected finished runs of the same experiment as {run}, found none that fit ({left} left out as"
        " invalid, without figures or without a label); tdelta runs lists what there is"
    ),
    "two-formats": "expected --json or --format {found}, found both; --format json is --json",
    "output-without-format": "--output: expected with --format, found without",
    "bytes-to-terminal": "--format {format}: expected a file, found a terminal; name one with --output FILE",
    "no-step-summary": (
        "--step-summary: expected the name of a file in GITHUB_STEP_SUMMARY, which a job of GitHub's sets, found none"
    ),
    "step-summary-not-writable": "--step-summary: {path}: {fault}",
    "tolerance-not-above-zero": "expected more than 0%, found {found:.0%}",
    "pilot-options-with-run": (
        "stored runs are not measured again, so pilot options do not apply: {found}; leave them out, or leave RUN out"
    ),
    "assurance-out-of-range": "expected a chance from {least} to {most} such as 0.8 or 80%, found {found!r}",
    "options-with-resume": (
        "--resume keeps the settings the run began with: expected at most --store and --json, found {found}"
    ),
    "not-page-sizes": "expected page sizes such as 4k,16k or 4096,64KiB, found {found}",
    "not-names": "expected names separated by commas, found {found!r}",
    "nothing-to-hold-against": "no figure of another condition can be held against {baseline}:\n{listed}",
    "no-figures-of-conditions": "no figures in these files: expected some of two conditions at least",
    "one-condition": (
        "only one condition, {condition}: a comparison needs two. Assign the files to conditions, for example:\n"
        "  {command}"
    ),
    "tolerance-out-of-range": "the tolerance must be above 0 and below 1 (100%), found {found:g}",
    "budget-out-of-range": "the budget must be 0 or more, found {found:g}",
    "run-sd-out-of-range": "what runs differ by (--run-sd) must be above 0 and below 1 (100%), found {found:g}",
    "latency-limit-not-above-zero": "the threshold (--latency-limit) must be above 0 ms, found {found:g}",
    "no-such-prior": "no such prior",
    "prior-parts-miscounted": "expected two numbers, mean and sd of the log ratio, found {found}",
    "prior-sd-not-above-zero": "the sd must be above 0, found {found:g}",
    "prior-in-per-cent": "the log ratio's mean and sd are shares, not per cent: 0.03 is +3%",
    "prior-not-a-number": "expected a number, found {found!r}",
    "prior-not-finite": "expected a finite number, found {found!r}",
    # the project file
    "project-missing": "is missing: it says which runs a project has; `tdelta init` writes one.{hint}",
    "project-unreadable": (
        "{path}: it is the project file of this folder and cannot be read ({fault}): mend it, name another with "
        "--project, or use --no-project"
    ),
    "project-not-trusted": (
        "{path}: {why}, and its commands would run with your rights: read it and name it with --project {name}, or use "
        "--no-project"
    ),
    "project-value": "{key} = {found}: expected {expected}",
    "project-both": "{one} and {other} say the same: expected one of them",
    "project-empty-list": "{key}: expected at least one, found none",
    "project-unused-table": "{found} is not among the {list} of the project ({known}), so this stands for no run",
    "project-password": "{key}: expected no password in a file that is shared (so change this one); {remedy}",
    "project-unknown": "unknown {kind} {found}.{hint}",
    "project-several-runs": "{option} is of one run: expected a project of one, found {found}; name STUDY and --engine",
    "init-there": "{path} is there already: edit it, or give --force to replace it",
    "init-not-writable": "{path}: cannot be written: {fault}",
    "inventory-missing": "is missing: it says which targets a fleet has.{hint}",
    "inventory-empty": "target: expected at least one table [target.NAME], found none",
    "fleet-at-work": "the fleet of {path} is at work: expected one at a time; wait for its end",
    "project-or-none": "--project and --no-project contradict one another: leave one out",
}
