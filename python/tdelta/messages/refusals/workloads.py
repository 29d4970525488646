"""Refusals of workload folders: their tables, columns and scripts."""

_MEASURE = "load scale 1 and scale 11 into a plain database file; a tenth of the difference is bytes_per_scale"

WORKLOADS = {
    "no-folder": "a workload is a folder with workload.toml and schema.sql, or a built-in one ({known})",
    "no-own-folder": "with --database, a workload is a folder with workload.toml",
    "columns-otherwise": "table {table} has other columns than in schema.sql",
    "distribution-makes-other": (
        "column {column}: distribution {distribution!r} generates {found}, but schema.sql requires {wanted}"
    ),
    "key-table-taken": "the database already has a table {table}; choose another name",
    "size-missing": f"the table [size] with bytes_per_scale is missing: {_MEASURE}",
    "size-too-small": f"{{key}} must be at least {{least:.0f}}, the size of the rows, found {{found}}: {_MEASURE}",
    # schemas and scripts
    "table-as-query": "CREATE TABLE … AS is not supported; name the columns of the table",
    "table-twice": "table {table} is defined twice, first on line {line}",
    "statement-not-readable": (
        "this SQL cannot be parsed: {why}. A line '\\raw' (or '\\raw writes') before it passes it through unchanged"
    ),
    "not-of-a-transaction": (
        "{statement} is not allowed in a transaction script; if intended, add '\\raw' (or '\\raw writes') on the line"
        " before"
    ),
    "gset-without-names": (
        "\\gset requires a name for each column: no *, and AS for expressions; or '\\raw into COLUMN, …' on the line"
        " before"
    ),
    "transaction-half-done": "a transaction that begins or ends after line {line} may stay open in one branch",
    "variable-given": ":{name} is set by tdelta and cannot be changed",
    "question-mark": "'?' is not a parameter here; use a variable, :name",
    "reads-the-clock": "{what} differs between copies; compute a time from :op, e.g. 1704067200 + :op",
    "draws-by-itself": "{function}() differs between copies; use \\set name random(lo, hi) and :name",
    # a trial execution
    "transaction-grows": "{said}: it writes more than tdelta's copy may grow (to {most:,.0f} MB)",
    "transaction-without-time": "no time left to try it, with {seconds:.0f} s for all proposed transactions",
}
