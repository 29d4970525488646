from __future__ import annotations

from tdelta.messages.cautions import SCHEMA_LEFT

SERVER_CHECKS = {
    "server-check-without-servers": (
        "expected two servers: --baseline DSN (plain) and --encrypted DSN; the adapter is tried on a real pair"
    ),
    "record-not-writable": "--record {path}: cannot be written: {fault}",
    "server-check-time-up": "the {seconds:.0f} s of a server check were over: try again when both servers are at rest",
    "server-check-not-tried": "needs what did not pass: {needs}",
    # what the adapter does not have
    "server-check-no-plans": "the adapter asks for no plans as JSON here",
    "server-check-no-counters": "the adapter reads no counters of such servers",
    "server-check-not-cold": "the adapter knows no SQL that empties the caches of such a server",
    "server-check-not-converted": "the adapter knows no SQL that encrypts and decrypts a schema with its rows",
    "server-check-not-traced": (
        "this client does not meter statements of your own servers: ?client=dbapi in the DSN may"
    ),
    # what the adapter does not do
    "server-check-no-settings": "expected the settings in force, found none: may the user see them?",
    "server-check-no-version": "expected the server's version, found none",
    "server-check-scope-unsaid": "expected the settings that say what is encrypted, found none for {scopes}",
    "server-check-state-changes": "expected the same answer to what is encrypted, asked twice, found two answers",
    "server-check-schema-unseen": "expected another session to see the schema that was made, found that it does not",
    "server-check-mark-unseen": (
        "expected the schema with the mark of this run, found it without: it would not be dropped"
    ),
    "server-check-lock-unseen": "expected another session to see the lock on the schema, found that it does not",
    "server-check-rows-differ": "expected the rows as they were generated, found others by checksum: {tables}",
    "server-check-tables-unseen": "expected every table in the server's catalog, found none of that name: {tables}",
    "server-check-tables-otherwise": "expected every table {wanted} by the server's catalog, found otherwise: {tables}",
    "server-check-no-size": "expected the size of the loaded tables in bytes, found none",
    "server-check-work-cut": "expected {operations} operations, found {found}; errors: {errors}",
    "server-check-no-times": "expected a time of every statement, found none of {statements}",
    "server-check-rows-apart": "expected the same rows on both servers after the same work, found others: {tables}",
    "server-check-plans-apart": "expected a plan of every statement from both servers, found one alone of {statements}",
    "server-check-trace-empty": "expected a cost of every statement that was metered, found one without a call",
    "server-check-counters-still": "expected counters that move under load, found all {counters} still",
    "server-check-evidence-changed": "expected what the server said of {scope} before the work, found something else",
    "server-check-evidence-alike": "expected tables that differ in their encryption, found both: {said}",
    "server-check-conversion-stuck": "expected the schema {wanted} within {seconds:.0f} s, found: {said}",
    "server-check-conversion-rows": (
        "expected the rows from before the schema was encrypted again, found others: {tables}"
    ),
    "server-check-kind": "expected the server's refusal to be recognized as {expected!r}, found {found!r}: {said}",
    "server-check-session-unseen": "expected the session of the load to be found by its mark, found none",
    "server-check-session-lives": "expected a session that was ended to be gone, found that it answers",
    "server-check-schema-left": "expected the schema to be gone, found it: remove it by hand",
    "server-check-mark-left": "expected no schema with the mark of this run, found one: remove it by hand",
    "server-check-session-left": "expected no session with the mark of this run, found one",
}


_THREE_WAYS = (
    "?password-env=NAME (an environment variable), ?password-file=PATH (a file that only you can read),"
    " or neither, and type it when asked"
)
_REVEALED = (
    "a password cannot be part of it, since every user of this machine can read a command line and the shell keeps it"
    f" (so change this one): {_THREE_WAYS}"
)
_GOES_ON = "then `tdelta run --resume last` completes the run"
_LEFT_THERE = "schema {schema} is left there; remove it: {drop}"

SERVERS = {
    # actions
    "action-stopped": "stopped while it waited for this: {what}",
    "rewritten-differs": "expected {expected} as the answer of a file that was rewritten or reopened, found {found}",
    "action-in-vain": "waited {seconds:.0f} s in vain for this: {what}",
    "not-suspended": "expected a version whose conversions can be suspended, found {found}: leave out the knob pause",
    "program-missing": "expected the program {program} in the PATH, found none: {remedy}",
    "program-not-run": "{programs} could not be started: {fault}",
    "program-failed": "{program} failed with exit status {status}; it said: {said}",
    "restored-differs": "expected in the restored database the rows of the original, found others in: {tables}",
    "backup-not-own": "{tool} does not compress by itself: expected compress={known}, found compress=own",
    "too-few-cpus": "--vary cores={found}: expected at most the {usable} CPUs that tdelta may use here",
    # replicas
    "replica-cipher": "{server}: expected a replica that is encrypted as its primary is, found: {fault}",
    "replica-not-connected": (
        "expected a replica to connect to its primary within {seconds} s, found none; it said: {said}"
    ),
    "replica-stopped-applying": "{server}: expected a replica that follows its primary, found one that stopped: {said}",
    "replica-too-slow": (
        "{server}: expected a replica that applies a trial's log within {seconds:.0f} s, found it still at work; make"
        " trials shorter (--trial-time)"
    ),
    # DSNs and passwords
    "dsn-shape": "expected ENGINE://USER@HOST:PORT/ with one of {known} for ENGINE",
    "dsn-too-long": "expected at most {most:,} characters, found {found:,}",
    "dsn-fragment": "expected no '#' (in a name it is written %23)",
    "dsn-percent": "a '%' is written %25",
    "dsn-not-utf-8": "expected UTF-8 where it is percent-encoded",
    "dsn-control-characters": "expected no control characters",
    "dsn-given-twice": "expected once",
    "dsn-without-value": "expected a value after it",
    "dsn-colon": "expected no ':' after the user; an empty password needs none",
    "dsn-without-user": "expected a user: ENGINE://USER@HOST/",
    "dsn-hosts": "expected one host, or an IPv6 address in brackets: [::1]:3306",
    "dsn-not-an-address": "expected an IPv6 address within the brackets",
    "dsn-not-a-port": "expected a number from 1 to {most}",
    "dsn-host-and-socket": "expected a host or a socket, found both",
    "dsn-without-host": "expected a host (ENGINE://USER@HOST/), or a Unix socket (?socket=PATH)",
    "dsn-relative-socket": "expected an absolute path",
    "dsn-long-socket": "expected at most {most} bytes, which is all the system takes",
    "dsn-slash": "a '/' in its name is written %2F",
    "dsn-database": "expected no database: tdelta makes its own schema and touches no other (--schema names it)",
    "dsn-unknown-tls": "expected one of {known}",
    "dsn-tls-on-socket": "a Unix socket has none; take it out",
    "dsn-without-authority": "tls={tls}: expected tls-ca=PATH beside it, the certificates to trust (PEM)",
    "dsn-authority-unused": "is not looked at with tls={tls}; use verify-ca or verify-full",
    "dsn-unknown-client": "expected {known} (a driver of Python's), or leave it out for tdelta's own",
    "dsn-one-client": "{engine} has one client here: leave it out",
    "dsn-two-passwords": "expected one of password-env and password-file, found both",
    "dsn-not-a-variable": "expected the name of an environment variable",
    "nobody-to-ask": f"expected a password for {{server}}, found no terminal to ask on: {_THREE_WAYS}",
    "no-password-given": f"expected a password for {{server}}, found no answer: {_THREE_WAYS}",
    "no-such-variable": "password-env={name}: expected that variable in the environment: export {name}",
    "password-file-unreadable": "password-file={path}: cannot be read: {fault}",
    "password-file-is-folder": "password-file={path}: expected a file, found a folder",
    "password-file-is-open": "password-file={path}: others may read it (mode {mode:04o}): chmod 600 {path}",
    "password-file-not-utf-8": "password-file={path}: expected UTF-8",
    "password-file-not-one-line": "password-file={path}: expected one line, the password and nothing else",
    "baseline-encrypted": "expected plain tables, found them encrypted: {said}",
    "encryption-not-seen": "{said}: {remedy}",
    "nothing-encrypted": "expected encryption that the baseline lacks, found none: {said}; {remedy}",
    "server-changes": "it says that it is something else from one question to the next: expected {products}",
    "replica": "it is a replica, so the work of its primary would be measured, too: give a separate server",
    "replica-stopped": (
        "it is a replica whose replication is stopped, which may go on at any time: give a separate server"
    ),
    "server-read-only": "it is read-only (read_only=ON): SET GLOBAL read_only = OFF, if nothing forbids it",
    "cluster-node": "it is a node of a Galera cluster, which sends every change to all nodes: give a single server",
    "database-read-only": "it is open as {said}: expected a database that takes writes",
    "standby": "it is a standby, which takes no writes but its primary's: give a separate server",
    "user-read-only": "its transactions are read-only (default_transaction_read_only=on): set it off for this user",
    "answer-without-column": "the server answered {answer} where a column {name!r} was asked for",
    "answer-without-row": "the server answered no row where one was asked for",
    # DSNs, again: what may be part of a password is not repeated
    "dsn-password": _REVEALED,
    "dsn-at": f"expected no '@' after the host (elsewhere it is written %40); if it ends a password: {_REVEALED}",
    "dsn-unnamable": "a parameter that does not exist: did you mean {near}?",
    "dsn-unnamable-unlike": "a parameter that does not exist: expected one of {known}",
    "dsn-unknown-near": "unknown parameter {name!r}: did you mean {near}?",
    "dsn-unknown": "unknown parameter {name!r}: expected one of {known}",
    # connections to a server of the user's
    "database-says": "{said}",
    "server-wants-password": (f"{{said}}; check user and password; the DSN says where the password is: {_THREE_WAYS}"),
    "server-not-reached": (
        "{said}; is it running, does it listen there, and does a firewall let this machine through?"
    ),
    "server-without-database": ("{said}; name a database that exists in the DSN: tdelta makes its own schema in it"),
    "server-tls": ("{said}; ?tls=disable if the connection may go unencrypted, ?tls=require if the server wants it"),
    # the load on it
    "server-takes-no-writes": (
        f"{{said}}: it takes no writes (any more): set read_only (default_transaction_read_only) off, {_GOES_ON}"
    ),
    "server-full": f"{{said}}: the server's disk is full: free some space there, {_GOES_ON}",
    "server-disk-fails": "{said}: the server's disk fails: its log says more",
    "server-right-gone": f"{{said}}: a right that was there at the beginning is gone; give it back, {_GOES_ON}",
    "server-schema-gone": f"{{said}}: tdelta's schema was removed; {_GOES_ON}",
    "server-tls-changed": "{said}: the server's TLS has changed: see ?tls= in the DSN",
    "server-out-of-memory": (
        f"{{said}}: the server has no memory left: take fewer --threads, or give it more, {_GOES_ON}"
    ),
    "server-lock-wait": (
        "{said}: a statement waited {seconds} s for a lock that another session holds, tdelta's or another's; more "
        "time would not help: see who holds it (SHOW PROCESSLIST, pg_stat_activity)"
    ),
    "server-primary-keys": (
        "{said}: a table of this workload has no primary key, as the published one: set sql_require_primary_key "
        "(or the like) off while tdelta runs, or name another --workload"
    ),
    "server-session-settings": "it does not keep what tdelta's sessions set for themselves: {settings}",
    "server-connections": "{said}: take fewer --threads, or raise the connection limits of the server and of its user",
    "server-refuses": "it refuses what tdelta needs: {said}",
    # two servers as a pair
    "two-products": (
        "{baseline} is {baseline_product}, {encrypted} is {encrypted_product}: expected the same product twice"
    ),
    "one-server-twice": "both are one and the same server: expected two, one plain and one encrypted",
    "one-place-twice": (
        "both are {parameter} {place} of one and the same server: expected two servers, or two places of one, of which"
        " one is encrypted: ?{parameter}=NAME in each DSN"
    ),
    "place-not-found": "{parameter}={place}: expected one where tables can lie: {known}",
    "encryption-unsettled": (
        "what encrypts the tables is not settled: {said}; wait until the server has encrypted or decrypted them, or"
        " open its keystore"
    ),
    "right-missing": "a right is missing: {grant}",
    # schemas
    "schema-left": SCHEMA_LEFT,
    "schema-taken": "expected no schema {schema}, found one, which is left as it is: name another with --schema",
    "schema-not-made": (
        "schema {schema} cannot be made: {said}; if it exists, it is left as it is: name another with --schema"
    ),
    "schema-unmarked": (f"the mark of run {{run}} is gone, so it is not touched: {_LEFT_THERE} if it is tdelta's"),
    "schema-not-dropped": f"{{said}}; {_LEFT_THERE}",
    "tables-otherwise": (
        "expected every table of {schema} to be {wanted}, found otherwise by the server's catalog: {tables}; {remedy}"
    ),
}
