"""The English of refusals of what the machine lacks, of files and folders of tdelta's own, and of its processes."""

_INSTALL = "install perf: Debian linux-perf, Ubuntu linux-tools-$(uname -r), Fedora perf"

_PERMIT = "allow it: sysctl kernel.perf_event_paranoid=1, or run as root"

MACHINE = {
    # defects of tdelta
    "defect": "{said}",
    "no-twin-open": "no twin is open",
    # the process
    "interrupted": "interrupted",
    "command-line": "{said}",
    "library-missing": (
        "expected the library {library}, found none ({fault}). Install it: pip install 'tdelta[{extra}]'"
    ),
    "output-not-writable": "standard output cannot be written: {fault}",
    "path-unusable": "{path}: {fault}; name another file or folder",
    "no-memory": (
        "expected more memory than is left here: allow more (ulimit -v, a container's limit), or ask for less data"
    ),
    "no-processes": (
        "expected to start another process or thread, and may not: allow more (ulimit -u, ulimit -v, "
        "a container's limit)"
    ),
    "no-files": "expected to open another file, and may not: allow more (ulimit -n)",
    # what a database says
    "disk-refuses": "{said}: free some space, or choose another folder with --dir",
    "file-size-limited": (
        "{said}: a file may have {most} at most (ulimit -f): allow more, or free some space, "
        "or choose another folder with --dir"
    ),
    "file-does-not-open": "{said}: choose another folder with --dir, or allow more open files (ulimit -n)",
    "connection-lost": "{said}",
    "server-does-not-admit": "{said}",
    "keys-gone": "{said}: its file of keys is gone, or is another one; start a new run",
    "too-much-at-once": "{said}: close other programs, or use fewer --threads",
    "threads-refused": "{said}: allow more (ulimit -u, ulimit -v), or use fewer --threads",
    "library-fails": "{said}",
    "statement-fails": "{said}; the statement is the workload's: see its scripts",
    # servers of tdelta's own
    "server-not-started": "the server was not started",
    "server-waits": "the server waits for room",
    "server-waits-at-start": "the server waits for room before it takes connections",
    "server-died-of-that": "it died of that",
    "server-died": "the server of {server} died while it was at work",
    "server-ended": "the server ended with status {status} before it took connections",
    "server-takes-no-connection": "the server took no connection within {seconds:.0f} s and was ended",
    "supervisor-gone": "the supervisor of {server} is gone: {fault}",
    "supervisor-refuses": "{said}",
    "server-disk-full": "the disk of {folder} is full: free some space, or use --dir ({said})",
    # OpenSSL
    "no-libcrypto": (
        "{said}; install OpenSSL's library (Debian, Ubuntu: apt-get install libssl3; Fedora: dnf install openssl-libs),"
        " or name another libcrypto with --library"
    ),
    "cipher-not-in-libcrypto": (
        "{said}; leave it out with --algorithms or --modes, or name another libcrypto with --library"
    ),
    # processes of tdelta's
    "process-silent-ended": "{process} did not answer within {seconds:.0f} s; it was ended",
    # folders, files, limits
    "stream-closed": "standard {name} is closed: expected a file, a pipe or a terminal; {sign}/dev/null discards it",
    "preload-missing": "{library} is not in this installation: make setup builds it, and the wheel has it",
    "cannot-make-folder": "cannot make the twins' folder {folder}: {fault}; choose a writable one with --dir",
    "folder-in-use": "{folder} is in use by another tdelta: wait for it to end, or use --dir",
    "cannot-copy-twin": "cannot copy a twin to {target}: {fault}; free some space, or use --dir or a smaller --size",
    "cannot-copy-data": "cannot copy {source} to {target}: {fault}; free some space, or use --dir or a smaller --size",
    "still-at-work": "{process} was still at work {seconds:.0f} s after it was to stop",
    "stopped-by-signal": "{process} was stopped by a signal and had not gone on {seconds:.0f} s later",
    "cannot-make-run-folder": "cannot make {folder}: {fault}; choose another folder with --dir",
    "cannot-make-image": "cannot make storage of {image}: {fault}; free some space, or take another folder with --dir",
    "no-loop-device": "{image}: expected a loop device, found none to be had: {fault}; run as root where these are",
    "cannot-mount": (
        "{device}: expected to mount it on {folder}, found: {fault}; run as root, and not within a container"
    ),
    "storage-refused": "storage={storage}: expected to make it, found: {fault}; leave it out of --vary storage",
    "storage-not-in-force": (
        "storage={storage}: expected a folder that is so, found {found}; choose another folder with --dir, or leave it"
        " out of --vary storage"
    ),
    "statements-held": "{count} of {statements} statements are held after {seconds:.0f} s",
    "statement-ended": "a statement that was to be held open has ended by itself",
    "process-silent": "{process} did not answer within {seconds:.0f} s",
    "process-died": "{process} {ending}: {words}",
    "encrypted-folder-not-writable": "--encrypted-dir {folder}: not writable for this user",
    "folder-not-writable": (
        "{folder}: expected a folder that can be written, found: {fault}; change its permissions, or name another"
        " folder (--dir)"
    ),
    "disk-too-small": "{folder}: expected {needed} of free disk space, found {found}; free {missing}, {remedy}",
    "memory-too-small": "expected {needed} of free memory, found {found}; close other programs, or {remedy}",
    "open-files-too-few": (
        "expected to be allowed {needed:,} open files, each connection of a server being one, found {found:,}: raise"
        " the hard limit (as root: ulimit -Hn {needed}; for good in /etc/security/limits.conf), or use fewer"
        " --threads"
    ),
    "threads-too-few": (
        "expected room for {needed:,} threads of the load, found {found:,} ({limit}): raise that limit, or use fewer"
        " --threads"
    ),
    "processes-unknown": "the database's processes are not known on this machine",
    "processes-foreign": "the database runs as another user, whose code perf may not look up",
    "perf-cannot-read": "perf could not read its own samples: {fault}",
    "no-perf": f"there is no perf here; {_INSTALL}",
    "perf-does-not-run": f"perf does not run here ({{fault}}); {_INSTALL}",
    "perf-does-not-start": f"perf does not run here: {{fault}}; {_INSTALL}",
    "perf-does-not-end": "perf did not end within {seconds:.0f} s",
    "perf-does-not-answer": "perf did not answer within {seconds:.0f} s",
    "perf-too-old": "perf is too old: expected one that takes --control, of Linux 5.10 or newer",
    "perf-file-full": (
        "perf gave up: its file reached {most_mib} MiB; trials are too long for all that this machine does"
    ),
    "perf-does-not-attach": "perf could not attach: {fault}",
    "perf-gave-up": "perf gave up: {fault}",
    "open-files-hidden": (
        "the open files of process {process} cannot be listed ({folder}: {fault}), so unlinked ones cannot be"
        " searched: run tdelta where /proc shows a user's own processes"
    ),
    "folder-not-listable": "{folder} cannot be listed ({fault}), so it cannot be searched for plaintext",
    "report-not-writable": "report to {path}: {fault}; name a file in a folder you can write to",
    "export-not-writable": "export to {destination}: {fault}; free some space or name another file",
    "losses-too-many": "{losses} times a server or a worker of this run was lost; the last time {loss}",
    "perf-rights-lost": "perf looked at whole CPUs before, and may not now",
    "workload-folder-not-writable": "--write-workload {folder}: {fault}; choose a folder that can be written",
    "ray-not-reached": "Ray: {said}; start it with `ray start`, or leave --ray out for one on this machine",
    "ray-head-not-there": (
        "--ray {address}: {fault}; name HOST:PORT of a Ray head that runs (`ray start --head --port=6379` starts one)"
    ),
    "no-node-left": (
        "no node is left to place a load agent on: {said}. What was measured is kept: start a node, then `tdelta run"
        " --resume last`"
    ),
    "ray-head-lost": (
        "the head of the Ray cluster does not answer any more ({said}). What was measured is kept: start a cluster,"
        " then `tdelta run --resume last`"
    ),
    "fleet-without-node": (
        "no node is left to make runs on: {said}. Runs that have ended are kept: start a node, then call the same"
        " command again"
    ),
    "fleet-head-lost": (
        "the head of the Ray cluster does not answer any more ({said}). Runs that have ended are kept: start a cluster,"
        " then call the same command again"
    ),
    "agent-not-placed": (
        "a load agent could not be placed: {said}; each node needs this tdelta, with its extra: pip install"
        " 'tdelta[ray]'"
    ),
    "agents-of-other-version": (
        "load agents: expected tdelta {own} on every node, found {found}; install the same there"
    ),
    "node-of-other-version": (
        "node {node} makes no runs: expected tdelta {own} there, found {found}; install the same and start its Ray anew"
    ),
    "node-takes-no-run": (
        "node {node} makes no runs: {said}; it needs this tdelta, with its extra: pip install 'tdelta[ray]'"
    ),
    "agents-elsewhere": (
        "the server is at {where}, which load agent {agents} cannot reach or would take for another: name an address"
        " that all nodes reach (--baseline, --encrypted), or leave --ray out"
    ),
    "agent-lost": "load agent {agent} on node {node} was lost ({why})",
    "agents-not-once": (
        "expected load agents to do each of a trial's {expected:,} operations once and to record"
        " {expected_recorded:,}; they say that they did {found:,} ({by_agent}) and recorded {found_recorded:,}"
    ),
    "too-few-hosts": (
        "--hosts: expected {expected} nodes with CPUs in the Ray cluster, found {found}; start more"
        " (`ray start --address=…`), or take fewer hosts"
    ),
    "host-not-usable": (
        "a host cannot be used: {said}; each node needs this tdelta, with its extra: pip install 'tdelta[ray]'"
    ),
    "hosts-of-other-version": "hosts: expected tdelta {own} on every node, found {found}; install the same there",
    "hosts-of-other-server": (
        "host {node}: expected {expected} as on this machine, found {found}; install the same, or name it with"
        " --server-binary"
    ),
    "hosts-load-differs": "host {node} loaded other rows than {first}",
    "host-lost": (
        "host {node} was lost ({why}). What was measured is kept: start the node, then `tdelta run --resume last`"
    ),
    "stood-still": "{said}",
    "perf-may-not": f"perf may not sample here; {_PERMIT}",
    "perf-may-not-at-level": f"perf may not sample here (kernel.perf_event_paranoid is {{level}}); {_PERMIT}",
    "twin-not-searchable": "files of a twin cannot be searched for plaintext: {faults}",
    "twins-differ": "the twins do not hold the same rows: {differences}",
    "files-not-readable": (
        "{files} {files:file|files} cannot be read, so nothing is said of any: read them as a user who may\n{listed}"
    ),
    "preload-unnamable": "LD_PRELOAD cannot name {library}: install tdelta in a folder without ' :$'",
    "library-not-installed": "engine {engine!r}: {wheel}, is not installed: {install}",
    "library-not-loaded": "--library {library}: it could not be loaded: {fault}",
    "no-server": (
        "no {kind} server here: expected {names} in PATH, in the usual folders, or in {folder}; found none: {remedy},"
        " or name one with --server-binary"
    ),
    "no-server-in-folder": "expected a server's program ({names}) in this folder or below it ({folders}), found none",
    "server-too-old": "expected {product} {oldest} or newer, found {found}",
    "no-server-program": "expected a server's program, found no file there",
    "not-a-server-program": "expected a server's program, but --version says: {said}",
    "server-of-other-kind": "expected a {kind} server, found {found} ({text})",
}
