RESULTS: dict[str, str] = {
    "all-times-zero": (
        "expected response times above 0, found {found} that are all 0. Their clock is too coarse, or the"
        " unit is wrong: nothing can be said about them"
    ),
    "groups-too-many": (
        "expected at most {most} {kind} of single response times, found more. If a column holds a time, a number or an"
        " id of each row, it is no factor: leave it out. If all are wanted, split the file, or give a row for each with"
        " n, mean and sd"
    ),
    "not-a-time-of-results": (
        "expected a response time from 0 to {most:g} ms, found {found}. Leave out rows that are not measurements"
    ),
    "several-formats": (
        "expected one format, found what looks like {formats}. Say which it is: --input-format '{first}'; or split the"
        " file"
    ),
    "no-columns-to-choose": "expected a file with columns to choose from (--column), found one of {format}",
    "no-such-column": "expected a column {column!r} (--column), found {columns}",
    "no-such-metric-of-k6": "expected values of {metric}, found none. Name another metric: --column METRIC",
    "metric-without-unit": (
        "expected the unit of the metric {metric}, which is the script's own. Say it: --unit ms (or us, s, …)"
    ),
    "not-a-point-of-k6": "expected a point as k6 writes it, with a number as its value; found {found}",
    "no-durations-of-k6": (
        "expected http_req_duration, grpc_req_duration or iteration_duration, found {metrics}. Name another metric:"
        " --column METRIC"
    ),
    "no-average-of-k6": "expected avg of {metric}, a number of 0 or more, found {found}",
    "no-successful-requests": "expected requests that succeeded, found none ({failed} failed)",
    "no-elapsed": "expected a sample with its elapsed time in ms ('t'), found {found}",
    "no-commands": "expected results of commands with their times, found none",
    "no-times-of-command": "expected the times of {command} in seconds, each 0 or more; found {found}",
    "no-result-of-tool": "expected {expected}, found none: the run may not have ended",
    "run-without-end": "expected {expected} at the end of the run that begins here, found none. Leave the run out",
    "runs-too-many-in-file": "expected at most {most} runs in one file, found more",
    "benchmark-without-condition": (
        "expected a condition in the name (Benchmark…/cipher=none), as the others have it; found {found}. Or name one"
        " condition for all of the file: NAME=FILE"
    ),
    "no-throughput-of-ycsb": "expected a number above 0 as Throughput(ops/sec), found {found}",
    "not-a-status-of-ycsb": "expected a rate such as 5140.26 before 'current ops/sec', found {found}",
    "no-figures-of-operation": "expected Operations and AverageLatency(us) of {operation}, found {found}",
    "not-a-figure-of-ycsb": "expected an object with metric, measurement and value, found {found}",
    "keys-not-before": "expected the keys of the lines before, found others: {keys}. Give every line all keys",
    "openpyxl-missing": (
        "expected openpyxl, which reads spreadsheets: pip install 'tdelta[xlsx]'; or save the sheet as CSV"
    ),
    "spreadsheet-damaged": (
        "expected an undamaged .xlsx, found one that cannot be read ({fault}). Save it again, or as CSV"
    ),
    "spreadsheet-too-large": (
        "expected at most {parts} parts of {most} together, found {found} of {size}. Save the sheet as CSV"
    ),
    "sheet-too-long": "expected at most {most} rows in a sheet, found more. Save it as CSV",
    "several-sheets": (
        "expected one sheet with a table of results, found {sheets}. Leave one in the file, or save it as CSV"
    ),
    "no-sheet-of-results": (
        "expected a sheet with a header such as condition, threads, tps below at most {most} other rows, found {sheets}"
    ),
    "unknown-format": "expected results of a known format, found {found}",
    "without-results": "output of {format} without a result: of building or loading the data, or cut off",
    "column-twice": "expected each column once, found {name!r} {times} times",
    "columns-without-unit": (
        "expected a unit in the names of the conditions' columns ({column}_ms, {column}_tps, …), found none in"
        " {listed}. Rename them, or say it: --unit ms or --unit tps"
    ),
    "more-of-file": "… and {more} more of {file}",
    "maybe-more": "… and maybe more",
    "and-more": "… and more",
    "as-the-tool-wrote-it": "Give the file as the tool wrote it, or leave it out",
    "formats": "Formats that are read:\n{formats}",
    "tags-without-end": "expected tags of a few characters, found one that does not end",
    "declarations": "expected results alone, found a document type or an entity declaration, which are not read",
    "elements-too-many": "expected at most {most} elements, found more",
    "elements-too-deep": "expected at most {most} levels of elements, found more",
    "result-elements-too-many": "expected at most {most} Result elements, found more",
    "database-damaged": "expected an undamaged {product} database, found {found}",
    "columns-of-one-part": "expected one column for the {part}, found {columns}. Leave out all but one",
    "no-figures": (
        "expected a column with figures (response_ms; n, mean, sd; tps, cpu_ms, …) and one row per condition, or one"
        " column per condition (plain_ms, tde_ms), found only {columns}"
    ),
    "time-without-unit": (
        "expected a unit in the name of the response time ({column}_ms, {column}_us, …), found none. Rename it, or say"
        " it: --unit ms"
    ),
    "not-a-csv": "expected a CSV with a header such as condition,transaction,response_ms",
    "no-condition-column": (
        "no column is known as the condition ({known}), found {columns}. Rename the column that distinguishes plain"
        " from encrypted to condition, and one that counts runs to run; or, if all of the file is of one condition,"
        " name it: plain='{file}'"
    ),
    "not-a-count": "expected a count of 1 or more, found {found:g}",
    "figures-too-many": (
        "expected at most {most} rows of figures, found more. Samples of response times go into a column response_ms"
    ),
    "not-a-figure": "expected a number of 0 or more as {column}, found {found}",
    "name-too-long": "expected names of at most {most} characters, found {found}",
    "row-without-condition": "expected a name in the column of the condition, found nothing",
    "no-rows-after-header": "expected rows after the header in line {line}, found none",
    "not-a-row-of-csv": "expected a row of a CSV, found one that is none: {fault}",
    "cell-over-lines": (
        "expected one row per line, found a quoted cell that goes over several lines somewhere after"
        " it. Is a quotation mark missing?"
    ),
    "row-of-other-width": "expected {width} columns, as the header in line {header} has, found {found}: {row}",
    "two-decimal-signs": "expected one decimal sign, found a comma here and a point in line {line}. Write one of them",
    "doubtful-number": "{number!r} could be {whole} or {part}. Write it without the comma, or with a decimal point",
    "not-a-unit": "expected a unit of time (ns, us, ms, s, min) or of throughput (tps, qps, ops, tpm, /s, /min)",
    "transactions-without-time": "expected transactions with a time, found none in {rows} rows",
    "intervals-too-many": "expected at most {most} intervals, found more",
    "intervals-without-transactions": "expected transactions, found {intervals} intervals without any",
    "sums-of-squares-damaged": (
        "expected sums of squares that go with the sums, found a mean of {mean:g} µs and a mean square of"
        " {squares:g}. The log is damaged: leave it out"
    ),
    "not-such-a-row": "expected {expected}; found {found}. Correct the line, or leave it out",
    "not-name-and-glob": "expected NAME=GLOB, such as plain='results/plain-*.log'",
    "glob-matches-nothing": "no file matches {glob!r}",
    "file-of-two-conditions": "expected one condition, found two: {first} and {second}",
    "run-with-too-many-intervals": "expected at most {most} intervals in one run, found more",
    "report-damaged": (
        "expected the sum of all times over {events} events to be their avg of {expected:g} ms, found {found:g} ms."
        " The report is damaged: leave the file out"
    ),
    "mean-too-large": "expected a mean of at most {most:g} ms, found {found:g}",
    "no-progress-lines": (
        "expected sysbench's progress lines ('[ 10s ] thds: …') or its final report, found neither in {lines}"
        " lines{said}: the run may not have ended"
    ),
    "not-a-progress-line-of-threads": (
        "expected a progress line 'thds: N tps: X qps: Y …' or 'threads: N, tps: X, reads: Y, …', found {found}."
        " Correct the line, or leave it out"
    ),
    "no-rows-of-transactions": "expected a row for each transaction, found none",
    "readings-too-few": "expected at least five readings at regular intervals, found {found} rows",
    "no-such-columns": "expected columns for transaction type and latency in microseconds, found {found}",
    "not-such-columns": "expected {columns} columns with a latency of 0 or more, found {found}",
    "not-an-interval": "expected {columns} numbers of one interval, found {found}",
    "json-not-utf-8": "expected JSON in UTF-8, found the byte {byte:#04x}",
    "json-not-readable": "expected JSON, found: {fault}",
    "json-too-long": "expected JSON, found a number or a nesting that is too long",
    "not-a-json-object": "expected a JSON object, found {found}",
    "no-average-latency": "expected an average latency above 0 in Latency Distribution, found {found}",
    "no-throughput": "expected a number above 0 in Throughput (requests/second), found {found}",
    "neither-latency-nor-throughput": "expected Latency Distribution or Throughput (requests/second), found neither",
    "not-a-progress-line": (
        "expected a progress line 'progress: 5.0 s, 1234.5 tps, …', found {found}. Correct the line, or leave it out"
    ),
    "neither-progress-nor-report": (
        "expected pgbench's progress lines or its report with 'tps = …', found neither in {lines} lines{aborted}."
        " Name the output of a run that ended"
    ),
    "progress-lines-too-many": "expected at most {most} progress lines in one run, found more",
    "scripts-too-many": "expected at most {most} scripts, found more",
    "latency-too-large": "expected a latency of at most {most:g} ms, found {found}",
    "file-empty": "expected results, found an empty file",
    "file-too-large-for-format": (
        "expected at most {most} for this format, which cannot be read in pieces, found more. Leave out what is not"
        " needed, or name another file"
    ),
    "line-without-end": "expected lines of at most {most}, found a longer one that begins {found}. Is it text?",
    "file-not-utf-8": (
        "expected UTF-8 text, found the byte 0x{byte:02x}. Convert the file (iconv -f LATIN1 -t UTF-8), or leave out"
        " what is not text"
    ),
    "file-binary": "expected text, found a zero byte: the file is binary, or damaged",
    "line-too-long": "expected a line of at most {most}, found {length} that begin {found}. Is it text?",
    "results-not-readable": "cannot be read: {fault}",
    "gzip-damaged": "expected gzip to its end, found damage after {size} of text ({fault}). Copy the file again",
    "gzip-bomb": (
        "expected gzip that inflates to at most {times} times its size, found more than {inflated} in {size}: a bomb."
        " If it is honest, unpack it yourself"
    ),
    "gzip-cut-off": (
        "expected gzip to its end, found it cut off after {size} of text. Copy the file again, or unpack what there"
        " is (zcat)"
    ),
    "files-too-many": "expected at most {most} files, found more",
    "folder-without-files": "expected files of results, found a folder without any",
    "no-such-file": "cannot be read: no such name",
    "file-is-folder": "expected a file, found a folder",
    "file-is-pipe": "expected a file, found a pipe or a device, which cannot be read twice. Write it to a file first",
    "results-not-permitted": "cannot be read: permission denied",
    "file-without-condition": (
        "expected a condition, found none: {format} writes none into the file. Name it: NAME='{name}'"
    ),
    "numbers-without-unit": (
        "expected the unit of its numbers, found lines without a header. Say it: --unit ms (or us, s, tps, …)"
    ),
    "numbers-too-many": "expected at most {most} readings, found more",
    "not-a-number-of-results": "expected a number of 0 or more, found {found}",
    "no-baseline-named": (
        "which condition is the plain one? Expected one whose name says so (none, plain, tde-off, …), found {found}:"
        " {listed}. Name it: --baseline {name}{remedy}"
    ),
    "jobs-too-many": "expected at most {most} jobs of TPROC-C, found more",
    "no-nopm": "expected System achieved N NOPM from N TPM, found {found}",
    "no-count-of-job": "expected a time and a count in JOBTCOUNT, found {time} and {count}",
    "no-test-result": (
        "expected a TEST RESULT of TPROC-C, or JSON of its timing or tcount; found none: print them again (jobs"
        " format JSON; jobs ID result, timing or tcount)"
    ),
    "not-a-whole-json-object": "expected a whole JSON object, {found}",
    "results-too-many": "expected at most {most} results in one file, found more",
    "runs-too-many": "expected at most {most} runs and {readings} readings, found more",
    "no-nopm-and-tpm": "expected nopm and tpm of a TPROC-C result, found {found}",
    "procedures-too-many": "expected at most {most} procedures, found {found}",
    "no-time-and-count": "expected a time and a count, found {found}",
    "no-procedure": "expected the name of a procedure, found {found}",
    "no-figures-of-procedure": "expected calls, min, avg and max of {procedure} as numbers, found {found}",
    "mean-out-of-range": "expected avg of {procedure} between min and max, found {mean} and {least} … {most}",
    "no-job": "expected a TPROC-C job with results, found none",
    "rows-too-many": "expected at most {most} rows in {table}, found more: the rest is not read",
    "table-missing": "expected the table {table}, found none",
    "table-not-plain": "expected {table} to be a plain table, found a view or a virtual one",
    "columns-not-plain": "expected plain columns in {table}, found generated or hidden ones",
    "columns-missing": "expected the columns {columns} in {table}, found no {missing}",
    "no-procedures": "expected procedures after the summary, found none: the file was cut off",
    "no-summary": "expected '>>>>> SUMMARY OF … ACTIVE VIRTUAL USERS', found none: the file was cut off",
    "reports-too-many": "expected at most {most} reports in one file, found more",
    "procedure-twice": "expected each of at most {most} procedures once, found {found}",
    "xml-malformed": "expected well-formed XML, found: {fault}",
    "xml-of-unknown-encoding": "expected XML in an encoding that is known (UTF-8), found another",
    "time-without-rate": "expected pairs of a time and a rate in TPSReadings, found a time without its rate",
    "not-a-reading": "expected epoch ms and transactions per second in TPSReadings, found {found}",
    "neither-results-nor-readings": "expected Result elements with AverageResponse, or TPSReadings; found neither",
    "result-without-id": "expected a Result with its own id, found {found}",
    "no-transactions-a-second": "expected a number in AverageTransactionsPerSecond, found {found}",
    "no-average-response": "expected an AverageResponse above 0 of {transaction}, found {found:g}",
    "average-out-of-range": (
        "expected the AverageResponse of {transaction} between its minimum and maximum, found {found:g} and {least:g}"
        " … {most:g}"
    ),
    "no-such-part": "expected {expected} of {transaction}, found {found}",
    "terminal-as-results": (
        "-: expected results through a pipe, found a terminal. Name a file, or: … | tdelta analyze -"
    ),
    "no-files-of-results": "expected at least one file of results, found none",
}
