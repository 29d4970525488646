"""The English of cautions about other tools' results, by code."""

IMPORTED_CAUTIONS = {
    "authors-say": "{word}: {said}",
    "published-table": (
        "a published table is one product, version and machine, without repetition; measure your own to know your"
        " overhead"
    ),
    # not compared
    "not-compared": "{what} not compared: {why}",
    "second-figure": "a second figure of {condition}, run {run}, is ignored (first: {first}); name runs apart",
    "tail-of-some-runs": "tail: only {runs} of {of} runs of {condition} have response times or a histogram",
    "latency-limit-without-tail": "--latency-limit{some}: {why}{more}{remedy}",
    "one-run-each": "one run per configuration{of}: alternate at least three, or state --run-sd if you know it",
    "budget-by-99": "a budget is judged with the 99% interval",
    "tests-as-levels": "runs of one configuration have different settings ({settings}): each is a level",
    # what was read
    "copy-left-out": "the same figures as in {other}: counted once",
    "copy-suspected": "{file} has the same figures as {other}, under another configuration: a copy?",
    "left-out": "{what} omitted",
    "counted": "{count:.0f} {what}",
    "not-used": "{what} ignored: {why}",
    "logs-of-other-lengths": "logs of threads differ in length: {intervals} intervals of each are used",
    "column-may-count-runs": "column {column} counts from 1 in every configuration; rename it to run if it counts runs",
    "rows-failed": "{rows} failed rows omitted",
    "failed-included": "{failed} failed requests are in the figures, since the tool does not separate them",
    "failed-transactions": "{transactions:.0f} failed transactions",
    "without-response": "{requests} requests without a response are in no response time",
    "types-too-many": "more than {most} request names: only all together are compared",
    "whole-iterations": "whole script iterations are compared, pauses included: no HTTP or gRPC requests in the file",
    "times-corrected": "wrk's mean includes requests that a stall kept from being sent",
    "report-missing": "{tool}'s final report is missing; the run did not finish, or the file is truncated",
    "file-cut-off": "the file ends within line {line}, which is omitted",
    "sysbench-reported": "sysbench reported {said}",
    "run-aborted": "pgbench reported an aborted run with incomplete results",
    "mean-with-failed": "the mean response time is the run's length per transaction, with failures; -P measures it",
    "mean-by-length": "the mean response time is computed from the run's length; -P measures it",
    "transactions-untimed": "{count} of {rows} transactions have no time: {why}",
    "times-from-due": "with --rate, response times begin when a transaction is due",
    "count-unknown": "unknown number of transactions: only the mean is used",
    "phases": "the load had {phases} phases: each is a level",
    "numbers-as-readings": "lines are read as readings at regular intervals of one run",
    "intervals-uneven": "{uneven} of {of} intervals do not last {seconds:g} s as the others do",
}

IMPORTED_AGAINST_TRUST = (
    "copy-suspected",
    "run-aborted",
    "report-missing",
    "file-cut-off",
    "intervals-uneven",
    "column-may-count-runs",
    "failed-transactions",
    "failed-included",
    "rows-failed",
    "sysbench-reported",
    "mean-with-failed",
)
"""Cautions that speak against trusting an answer, worst first."""
