"""The effort of what is measured beside the trials: full, or brief with ``TDELTA_EFFORT=brief`` in the environment.

Brief is for tests that look at none of these figures: a run's own trials are the same. Brief

- times a cipher for 0.05 s instead of 0.8 s, and a page's unit costs in as few passes as give quartiles;
- starts perf only with ``--profile``, not to explain the rest of a cost breakdown;
- empties only the page cache of the twins' own files before cold trials, not the whole system's (unless a gocryptfs is
  mounted, whose decrypted pages nothing else reaches);
- gives the redo logs of private MariaDB and MySQL servers a quarter of their size.

Workers inherit the environment, so the setting is theirs as well.
"""

from __future__ import annotations

import os

IS_BRIEF = os.environ.get("TDELTA_EFFORT") == "brief"
