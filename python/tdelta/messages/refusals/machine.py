"""Refusals about this machine: its limits, tdelta's own processes and servers, load generators, perf and Ray nodes."""

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
    "open-files-too-few": (
        "{needed:,} open files are required, one for each connection, found {found:,}; raise the hard limit (as root:"
        " ulimit -Hn {needed}), or use fewer --threads"
    ),
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
    "preload-missing": "{library} is missing in this installation; it is built with make setup and part of the wheel",
    "preload-unnamable": "LD_PRELOAD does not support the path {library}; install tdelta in a folder without ' :$'",
    "library-not-installed": "engine {engine!r}: {wheel} is not installed: {install}",
    "no-server": (
        "no {kind} server ({names}) in PATH, the usual folders or {folder}: {remedy}, or name one with --server-binary"
    ),
    "statements-held": "{count} of {statements} statements are held after {seconds:.0f} s",
    "statement-ended": "a statement that had to stay open ended",
    "storage-refused": "cannot create {storage}: {fault}; run as root outside of a container, or omit this storage",
    # files
    "twin-not-searchable": "files of a copy cannot be searched for plaintext: {faults}",
    "twins-differ": "the copies contain different rows: {differences}",
    "files-not-readable": (
        "cannot read {files} {files:file|files}; run as a user with read permission. Nothing was reported because the"
        " result would be incomplete\n{listed}"
    ),
    "open-files-hidden": (
        "the open files of process {process} cannot be listed ({folder}: {fault}); run tdelta with access to /proc"
    ),
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
    "ray-head-not-there": (
        "--ray {address}: {fault}; name HOST:PORT of a running Ray head (`ray start --head --port=6379`)"
    ),
    "no-node-left": "no node is left: {said}. Finished work is kept: start a node, then run {command}",
    "ray-head-lost": "the Ray head stopped answering ({said}). Finished work is kept: restart Ray, then run {command}",
    "node-unusable": "{what} cannot be used: {said}; each node requires this tdelta: pip install 'tdelta[ray]'",
    "too-few-hosts": (
        "--hosts requires {expected} nodes with CPUs in the Ray cluster, found {found}; start more (`ray start"
        " --address=…`), or use fewer hosts"
    ),
    "agents-elsewhere": (
        "load generator {agents} cannot reach the server at {address}; name an address that all nodes reach"
        " (--baseline, --encrypted), or omit --ray"
    ),
    "agent-lost": "load generator {agent} on node {node} was lost ({why})",
    "agents-not-once": (
        "load generators executed {found:,} of {expected:,} operations of a trial ({by_agent}) and recorded"
        " {found_recorded:,} of {expected_recorded:,}"
    ),
    "hosts-load-differs": "host {node} loaded other rows than {first}",
    "host-lost": (
        "host {node} was lost ({why}). Finished work is kept: start the node, then run `tdelta run --resume last`"
    ),
}
