from pathlib import Path

import pytest

from .conducting import Sitting


@pytest.fixture
def sitting(tmp_path: Path) -> Sitting:
    return Sitting(tmp_path)
