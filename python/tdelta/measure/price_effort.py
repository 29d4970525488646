"""How long unit costs are measured: passes over files, and seconds.

A price is as sure as its passes agree. A test of a run whose prices nobody looks at needs no more than there are
quartiles of, and sets these lower before the run begins; workers get them with each request.
"""

from __future__ import annotations

PASSES = 9
"""Over small files, whose pages take microseconds."""

LOG_PASSES = 5
"""Over rows that a server logs."""

BLOCK_SECONDS = 1.2
"""From here on no further pass over large blocks is begun, once there are the fewest that tell quartiles."""

BLOCK_REPEATS = 4
"""In a pass over blocks that the CPU's instructions encrypt: a scan is hardly longer for it."""

FLOOR_SECONDS = 0.8
"""For the floor of a server's cipher."""
