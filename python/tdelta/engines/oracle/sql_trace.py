"""SQL trace of a session: the cost of each call of a statement within a routine, from ``V$DIAG_TRACE_FILE_CONTENTS``.

A line of a call names the cursor, and another line says what the cursor is of. The view documents no order of its
lines, so that first all cursors are read, then all calls.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence

from tdelta.records import StatementCost

_CURSOR = re.compile(r"PARSING IN CURSOR #(?P<cursor>\d+) .*?\bdep=1 uid=(?!0 )\d+ oct=(?P<type>\d+)")
_CALL = re.compile(
    r"(?P<call>PARSE|EXEC|FETCH) #(?P<cursor>\d+):c=(?P<cpu>\d+),e=(?P<elapsed>\d+),p=(?P<disk>\d+),cr=(?P<query>\d+),"
    r"cu=(?P<current>\d+),mis=\d+,r=(?P<rows>\d+),dep=1,"
)
_VERBS = {"2": "INSERT", "3": "SELECT", "6": "UPDATE", "7": "DELETE"}
"""By the number of the command: https://docs.oracle.com/en/database/oracle/oracle-database/19/refrn/V-SQLCOMMAND.html."""

_CALLS = {"PARSE": "parse", "EXEC": "execute", "FETCH": "fetch"}
_COUNTERS = {"disk": "physical reads", "query": "consistent gets", "current": "db block gets"}


def costs(lines: Sequence[str]) -> Mapping[str, StatementCost]:
    """By statement and call (``INSERT execute``), of those that a routine ran more than once."""
    verbs = {
        found["cursor"]: _VERBS[found["type"]]
        for line in lines
        if (found := _CURSOR.search(line)) and found["type"] in _VERBS
    }
    calls = [found for line in lines if (found := _CALL.search(line)) and found["cursor"] in verbs]
    executed = Counter(found["cursor"] for found in calls if found["call"] == "EXEC")
    sums: dict[str, Counter[str]] = {}
    for found in calls:
        if executed[found["cursor"]] > 1:
            added = {name: int(value) for name, value in found.groupdict().items() if value.isdigit()}
            of = sums.setdefault(f"{verbs[found['cursor']]} {_CALLS[found['call']]}", Counter())
            of.update({**added, "calls": 1})
    return {
        name: StatementCost(
            calls=of["calls"],
            cpu_ns=of["cpu"] * 1000,
            elapsed_ns=of["elapsed"] * 1000,
            rows=of["rows"],
            counters={counter: of[field] for field, counter in _COUNTERS.items()},
        )
        for name, of in sorted(sums.items())
    }
