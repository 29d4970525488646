"""The hand-built answers of the golden files serve here too."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[3] / "golden"))
