"""The English of what is said of an adapter's abilities that fail, are missing or were not tried, by code."""

from __future__ import annotations

CONTRACTS = {
    "contract-without-servers": (
        "expected two servers: --baseline DSN (plain) and --encrypted DSN; the adapter is tried on a real pair"
    ),
    "record-not-writable": "--record {path}: cannot be written: {fault}",
    "contract-time-up": "the {seconds:.0f} s of a contract were over: try again when both servers are at rest",
    "contract-not-tried": "needs what did not pass: {needs}",
    # what the adapter does not have
    "contract-no-plans": "the adapter asks for no plans as JSON here",
    "contract-no-counters": "the adapter reads no counters of such servers",
    "contract-not-cold": "the adapter knows no SQL that empties the caches of such a server",
    "contract-not-converted": "the adapter knows no SQL that encrypts and decrypts a schema with its rows",
    "contract-not-traced": "this client does not meter statements of your own servers: ?client=dbapi in the DSN may",
    # what the adapter does not do
    "contract-no-settings": "expected the settings in force, found none: may the user see them?",
    "contract-no-version": "expected the server's version, found none",
    "contract-scope-unsaid": "expected the settings that say what is encrypted, found none for {scopes}",
    "contract-state-changes": "expected the same answer to what is encrypted, asked twice, found two answers",
    "contract-schema-unseen": "expected another session to see the schema that was made, found that it does not",
    "contract-mark-unseen": "expected the schema with the mark of this run, found it without: it would not be dropped",
    "contract-lock-unseen": "expected another session to see the lock on the schema, found that it does not",
    "contract-rows-differ": "expected the rows as they were generated, found others by checksum: {tables}",
    "contract-tables-unseen": "expected every table in the server's catalog, found none of that name: {tables}",
    "contract-tables-otherwise": "expected every table {wanted} by the server's catalog, found otherwise: {tables}",
    "contract-no-size": "expected the size of the loaded tables in bytes, found none",
    "contract-work-cut": "expected {operations} operations, found {found}; errors: {errors}",
    "contract-no-times": "expected a time of every statement, found none of {statements}",
    "contract-rows-apart": "expected the same rows on both servers after the same work, found others: {tables}",
    "contract-plans-apart": "expected a plan of every statement from both servers, found one alone of {statements}",
    "contract-trace-empty": "expected a cost of every statement that was metered, found one without a call",
    "contract-counters-still": "expected counters that move under load, found all {counters} still",
    "contract-evidence-changed": "expected what the server said of {scope} before the work, found something else",
    "contract-evidence-alike": "expected tables that differ in their encryption, found both: {said}",
    "contract-conversion-stuck": "expected the schema {wanted} within {seconds:.0f} s, found: {said}",
    "contract-conversion-rows": "expected the rows from before the schema was encrypted again, found others: {tables}",
    "contract-kind": "expected the server's refusal to be recognized as {expected!r}, found {found!r}: {said}",
    "contract-session-unseen": "expected the session of the load to be found by its mark, found none",
    "contract-session-lives": "expected a session that was ended to be gone, found that it answers",
    "contract-schema-left": "expected the schema to be gone, found it: remove it by hand",
    "contract-mark-left": "expected no schema with the mark of this run, found one: remove it by hand",
    "contract-session-left": "expected no session with the mark of this run, found one",
}
