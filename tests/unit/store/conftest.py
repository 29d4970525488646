"""The hand-built results of the golden files serve here too."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "golden"))
