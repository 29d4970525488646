"""Refusals of other tools' results, which end up here if no common refusal has the remedy."""

RESULTS = {
    "all-times-zero": "all {found} response times are 0: their clock is too coarse, or the unit is wrong",
    "groups-too-many": (
        "at most {most} {kind} of single response times are allowed. Omit a column with a time, a number or an id of"
        " each row, or give a row for each group with n, mean and sd"
    ),
    "several-formats": "ambiguous format ({formats}); choose one with --input-format '{first}', or split the file",
    "metric-without-unit": "the unit of metric {metric} is missing, since the script defines it; add --unit ms",
    "no-successful-requests": "no request succeeded ({failed} failed)",
    "spreadsheet-damaged": "damaged .xlsx ({fault}); save it again, or as CSV",
    "spreadsheet-too-large": (
        "a spreadsheet may have {parts} parts with {most} in total, found {found} with {size}; save the sheet as CSV"
    ),
    "as-the-tool-wrote-it": "Use the file as the tool wrote it, or omit it",
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
        "sysbench's progress lines ('[ 10s ] thds: …') and its final report are missing in {lines} lines{said}: the run"
        " may not have finished"
    ),
    "neither-progress-nor-report": (
        "pgbench's progress lines and its report ('tps = …') are missing in {lines} lines{aborted}; use the output of a"
        " finished run"
    ),
    "no-test-result": (
        "a TPROC-C TEST RESULT, or JSON of its timing or tcount, is missing; print them again (jobs format JSON; jobs"
        " ID result, timing or tcount)"
    ),
    "file-empty": "the file is empty",
    "file-is-pipe": "a pipe or a device cannot be read twice; write it to a file first",
    "gzip-bomb": (
        "gzip may expand to at most {times} times its size, found more than {inflated} in {size}; decompress it"
        " yourself if you trust it"
    ),
    "terminal-as-results": "-: standard input is a terminal; name a file, or use a pipe: … | tdelta analyze -",
}
