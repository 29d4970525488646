"""How long unit costs are measured: passes over files, and seconds. A price is as sure as its passes agree.

Workers get these with each request.
"""

from __future__ import annotations

from tdelta.measure.effort import IS_BRIEF

PASSES = 3 if IS_BRIEF else 9
"""Over small files, whose pages take microseconds."""

BLOCK_SECONDS = 0.0 if IS_BRIEF else 1.2
"""From here on no further pass over large blocks is begun, once there are the fewest that tell quartiles."""

BLOCK_REPEATS = 1 if IS_BRIEF else 4
"""In a pass over blocks that the CPU's instructions encrypt: a scan is hardly longer for it."""
