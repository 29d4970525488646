"""Refusals about the user's own servers: DSNs, permissions, replicas, schemas, and the check of an adapter."""

from tdelta.messages.cautions import SCHEMA_LEFT

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
    "server-lock-wait": (
        "{said}: a statement waited {seconds} s for a lock of another session; find it with SHOW PROCESSLIST or"
        " pg_stat_activity"
    ),
    "server-primary-keys": (
        "{said}: a table of this workload has no primary key; disable sql_require_primary_key or the like, or name"
        " another --workload"
    ),
    "server-session-settings": "the server changes session settings of tdelta: {settings}",
    "server-refuses": "the server refuses a required statement: {said}",
    "server-changes": "the server changes its product between queries; it must be {products}",
    "server-unfit": "{why}; use a separate server",
    "read-only": "it is read-only; set {setting} off",
    "database-read-only": "the database is open {said}, but must be writable",
    "right-missing": "a privilege is missing: {grant}",
    # two servers as a pair
    "two-products": "{baseline} is {baseline_product}, {encrypted} is {encrypted_product}; but must be the same",
    "one-server-twice": "both are the same server; use two, of which one is encrypted",
    "one-place-twice": (
        "both are {parameter} {place} of the same server; use two servers, or two places of one: ?{parameter}=NAME in"
        " each DSN"
    ),
    "schema-missing": "no schema {schema}: name one that exists on both servers",
    "own-tables-differ": "the schema must have the same tables, rows and keys on both servers; different: {tables}",
    "own-schema-empty": "no tables in schema {schema} on either server; name a schema with tables (--schema)",
    "own-script-writes": "only SELECT is allowed on your own tables (no INTO, no locks), found: {found}",
    "server-encrypted": "tables of this server must be unencrypted, found: {said}",
    "encryption-not-seen": "{said}: {remedy}",
    "nothing-encrypted": "the encrypted server encrypts no more than the baseline: {said}; {remedy}",
    "encryption-unsettled": "table encryption is changing: {said}; wait until it ends, or open the keystore",
    "tables-otherwise": "tables of {schema} must be {wanted}; not so in the catalog: {tables}; {remedy}",
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
    "replica-too-slow": (
        "{server}: the replica did not apply a trial's log within {seconds:.0f} s; use a shorter --trial-time"
    ),
    # the check of an adapter
    "server-check-time-up": "the check took longer than {seconds:.0f} s; repeat it when both servers are idle",
    "server-check-not-tried": "skipped, since these failed: {needs}",
    "server-check-unsupported": "not supported by the adapter: {what}",
    "server-check-missing": "missing: {what}",
    "server-check-differs": "{what} differ: {found}",
    "server-check-left": "{what} still exists; remove it by hand",
    "server-check-tables-otherwise": "tables must be {wanted}; not so in the catalog: {tables}",
    "server-check-work-cut": "{found} of {operations} operations finished; errors: {errors}",
    "server-check-conversion-stuck": "the schema was not {wanted} within {seconds:.0f} s: {said}",
    "server-check-kind": "the server's error must be recognized as {expected!r}, found {found!r}: {said}",
}
