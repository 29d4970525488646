"""The effort of what is measured beside the trials: full, or brief with ``TDELTA_EFFORT=brief`` in the environment.

Brief is for tests that look at none of these figures: a run's own trials are the same. Brief

- measures a page's unit cost in as few passes as give quartiles;
- starts perf only with ``--profile``, not to explain the rest of a cost breakdown;
- empties only the page cache of the twins' own files before cold trials, not the whole system's (unless a gocryptfs is
  mounted, whose decrypted pages nothing else reaches);
- gives the redo logs of private MariaDB and MySQL servers a quarter of their size.

Workers inherit the environment, so the setting is theirs as well.
"""

from __future__ import annotations

import os

IS_BRIEF = os.environ.get("TDELTA_EFFORT") == "brief"

PASSES = 3 if IS_BRIEF else 9
"""Over small files, whose pages take microseconds. A unit cost is as sure as its passes agree."""

BLOCK_SECONDS = 0.0 if IS_BRIEF else 1.2
"""From here on no further pass over large blocks begins, once there are the fewest that give quartiles."""

BLOCK_REPEATS = 1 if IS_BRIEF else 4
"""In a pass over blocks that the CPU's instructions encrypt: a scan is hardly longer for it."""
