"""Hostile use, case by case: each ends in time, with the exit code and the words that it should, and leaves nothing.

From the root of the repository::

    python tests/chaos/hostile.py
    python tests/chaos/hostile.py --areas streams,limits

The cases stand in `hostile_cases`, by areas; they are the same each time, and the seed is not used. After each the
folder of twins and the folder of temporary files must be empty, and no process and no mount may be left.
"""

from __future__ import annotations

import contextlib
import re
import sys
import tempfile
import time
import traceback
from collections import Counter
from pathlib import Path

from counting import Tally, asked
from hostile_cases import AREAS
from hostile_kit import Case, Here
from hostile_servers import SERVERS

from tdelta.processes.mounts import mounts_below

LEFT_SECONDS = 5.0
"""How long what is on its way to its end may take."""

LONGEST_MESSAGE = 8_000


def main() -> int:
    """Try, look, count."""
    cases = [(area, case) for area, found in AREAS.items() for case in found()]
    ask = asked(__doc__ or "", len(cases), kinds="areas")
    if unknown := set(ask.chosen) - AREAS.keys():
        sys.exit(f"expected areas of {', '.join(AREAS)}, found {', '.join(sorted(unknown))}")
    chosen = [(area, case) for area, case in cases if area in (ask.chosen or AREAS)]
    tally = Tally()
    tried: Counter[str] = Counter()
    survived: Counter[str] = Counter()
    with SERVERS, contextlib.suppress(KeyboardInterrupt):  # what was tried by then is printed
        for number, (area, case) in enumerate(chosen):
            if number not in ask.numbers:
                continue
            began = time.monotonic()
            fault = _fault(case, tally)
            tried[area] += 1
            if fault:
                tally.failures.append(f"{number} {area}, {case.name}: {fault}")
                print(tally.failures[-1], flush=True)
                continue
            survived[area] += 1
            tally.outcomes[area] += 1
            print(f"{number} {area}, {case.name}: {time.monotonic() - began:.1f} s", flush=True)
    for area, count in tried.items():
        print(f"{area}: tried {count}, survived {survived[area]}")
    return tally.report("hostile use")


def _fault(case: Case, tally: Tally) -> str:
    """The faults of a case's outcome; empty if there are none."""
    with tempfile.TemporaryDirectory(prefix="hostile-") as folder:
        here = Here.made(Path(folder))
        try:
            ended = case.act(here)
        except AssertionError as failure:
            return str(failure)
        except Exception as error:  # of the case's own: the others are still tried
            return "".join(traceback.format_exception(error)[-3:])
        finally:
            left = _left(here)
            here.clear()
        said = f"exit {ended.code}: {ended.err[-1500:]!r}"
        if ended.code not in case.codes:
            return f"expected exit {' or '.join(map(str, case.codes))}, {said}"
        if "Traceback" in ended.err or "defect" in ended.err or len(ended.err) > LONGEST_MESSAGE:
            return said
        if not re.search(case.said, ended.err + ended.out):
            return f"expected {case.said!r}, {said}"
        if left:
            tally.left_over += 1
            return f"left: {', '.join(left)[:1000]}"
    return ""


def _left(here: Here) -> list[str]:
    give_up = time.monotonic() + LEFT_SECONDS
    while True:
        folders = [str(path) for folder in here.emptied if folder.is_dir() for path in folder.iterdir()]
        running = [f"process {pid}: {words}" for pid, words in here.processes()]
        found = [*folders, *running, *map(str, mounts_below(here.base))]
        if not found or time.monotonic() > give_up:
            return found
        time.sleep(0.05)


if __name__ == "__main__":
    sys.exit(main())
