"""The design of an experiment: factors, the order of trials, and randomization.

Pure functions of a seed and a request: nothing here reads a clock, a disk or a database, so a run can be laid out
before anything is made (``--dry-run``) and again when it is resumed. The only entropy ever taken is in
:func:`fresh_seed`.
"""

from tdelta.design.blocks import block_order, stratified_order, williams_design
from tdelta.design.factors import FACTORS, Factor, parse_level, parse_vary
from tdelta.design.layout import INJECTED_SHARE_MAX, lay_out, with_bb_twins
from tdelta.design.randomness import drawn_twin, fresh_seed, instances, stream
