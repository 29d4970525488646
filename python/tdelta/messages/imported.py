IMPORTED_CAUTIONS = {
    "name-contradicted": "the file's name says {factor} {named}, the file itself {said}: the file is believed",
    "authors-say": "{word}: {said}",
    "published-table": (
        "a published table shows what its authors saw: figures of one product and version, on one machine. It cannot"
        " show how far a second pair of figures would be from them, whether anything but encryption differed, or what"
        " encryption costs you: measure that"
    ),
    # what was not compared
    "no-such-baseline": "{conditions}, since {baseline} has no such figure to compare with",
    "baseline-alone": "{baseline}, since no other condition has such a figure",
    "mean-not-above-zero": (
        "{condition}, all of its runs, since the mean of run {run} is {mean:g} and a ratio needs one above 0"
    ),
    "second-figure": (
        "a second figure of {condition}, run {run}; the first one, of {first}, is used. Name runs apart if it is"
        " another run."
    ),
    "tail-of-some-runs": (
        "tail: {runs} of {of} runs of {condition} have response times or a histogram, and are in it; the others are in"
        " the means only"
    ),
    "latency-limit-without-tail": "--latency-limit{some}: {why}{more}{remedy}",
    "one-run-each": "one run per condition{of}: repeat each condition at least three times, in turn",
    "one-run-each-unstated": (
        "one run per condition{of}: repeat each condition at least three times, in turn; or state by --run-sd what runs"
        " of your system differ by, if you know it"
    ),
    "budget-by-99": "a budget is judged by the 99% interval",
    "tests-as-levels": "runs of one condition differ in what their files say of the test ({settings}): each is a level",
    # what was read
    "copy-left-out": "the same figures as in {other}, so a copy and no other run",
    "logs-of-other-lengths": (
        "threads' logs differ in length: {intervals} intervals, as many as the shortest has, are used"
    ),
    "column-may-count-runs": (
        "the column {column} counts from 1 in every condition, and each of its values is compared by itself: if it"
        " counts runs, rename it to run"
    ),
    "column-unused": "column {column} is not used: its rows are single response times",
    "rows-failed": "{rows} rows say that they failed: left out",
    "failed-included": "{failed} failed requests are in the figures: the tool does not tell them apart",
    "without-response": "{requests} requests had no response: they are in no response time",
    "types-too-many": "more than {most} names of requests: no types, so only all of them together are compared",
    "whole-iterations": (
        "whole iterations of the script are compared, with its pauses: there are no requests of HTTP or gRPC"
    ),
    "times-corrected": "wrk adds response times for requests that a stall kept from being sent: they are in its mean",
    "repetitions-in-process": (
        "up to {most} repetitions in one file are one run, not as many: what differs from one start to the next is not"
        " in them"
    ),
    "left-out-of-report": "{count:.0f} {what}",
    "checkpoint-reports": "checkpoint reports reset the counts: only the intervals are used",
    "report-missing": "sysbench's final report is missing: the run did not end, or the file is cut off",
    "file-cut-off": "the file ends within line {line}, which is left out",
    "sysbench-reported": "sysbench reported {said}",
    "run-aborted": "pgbench says that the run was aborted and its results are incomplete",
    "mean-with-failed": (
        "the mean response time is computed from the run's length, with failed transactions; -P measures it"
    ),
    "mean-by-length": "the mean response time is computed from the run's length; -P measures it",
    "pgbench-report-missing": "pgbench's report is missing: the run did not end, or the file is cut off",
    "transactions-untimed": "{count} of {rows} transactions have no time: {why}",
    "times-from-due": "with --rate, response times count from when a transaction was due",
    "ramp-up-included": "the ramp-up is in it",
    "ramp-up-left-out": "the ramp-up of {minutes} min left out",
    "put-together": (
        "the summary is of one virtual user: put together from all of them, without percentiles and deviation"
    ),
    "sd-impossible-or-clicks": (
        "a standard deviation of {sd:g} ms cannot belong to the other figures (HammerDB before April 2026 wrote"
        " clicks): not used"
    ),
    "sd-maybe-clicks": (
        "a standard deviation of {sd:g} could be in ms, or in clicks (HammerDB before April 2026): not used"
    ),
    "of-one-user": "these times are of one virtual user (HammerDB before 5.0 put the last one's into its summary)",
    "jobs-as-runs": "{jobs} jobs in one database are taken as {runs} runs",
    "count-unknown": "the summary does not say of how many transactions it is: no more than its mean is used",
    "phases": "the load had {phases} phases: each is a separate level",
    "numbers-as-readings": "its lines are taken for readings at regular intervals of one run",
    "failed-transactions": "{transactions:.0f} failed transactions",
    "sd-impossible": "a standard deviation of {sd:g} ms cannot belong to the other figures: not used",
    "readings-of-other-unit": "TPSReadings with a mean of {mean:g} are not transactions per second: not used",
    "readings-irregular": "TPSReadings are too few, or too irregular: not used",
    "intervals-uneven": "{uneven} of {of} intervals are not {seconds:g} s long, as the others are",
    "edges-left-out": "the first and the last reading under load cover a part of their interval: left out",
    "idle-left-out": "{readings} readings of 0 before and after the load: left out",
    "readings-missing": "readings are missing or out of order: {beside} beside the longest stretch left out",
    "copy-suspected": "{file} has the same figures as {other}, under another condition: is it a copy?",
}

IMPORTED_AGAINST_TRUST = {
    "copy-suspected": "{file} may be a copy of {other}",
    "run-aborted": "a run was aborted",
    "report-missing": "a run did not end, or its file is cut off",
    "pgbench-report-missing": "a run did not end, or its file is cut off",
    "file-cut-off": "a file is cut off",
    "name-contradicted": "a file's name says {factor} {named}, the file itself {said}",
    "intervals-uneven": "intervals of another length, or with lines missing between them: {uneven} of {of}",
    "column-may-count-runs": "{column} may count runs: rename it to run",
    "failed-transactions": "{transactions:.0f} failed transactions",
    "repetitions-in-process": "repetitions in one file are one run",
    "failed-included": "{failed} failed requests are in the figures",
    "rows-failed": "{rows} rows that say they failed",
    "sysbench-reported": "sysbench reported {said}",
    "ramp-up-included": "the ramp-up is in the figures",
    "mean-with-failed": "failed transactions are in the mean",
}
"""Of cautions that speak against trusting an answer, in so few words that they can stand beside it; worst first."""
