"""Twenty mutated files for each importer, or thousands; ``benches/fuzz_importers.py`` makes more."""

from pathlib import Path

import pytest

from support.fuzzing import fuzz
from support.thorough import draws
from tdelta.importers.detect import IMPORTERS
from tdelta.importers.importer import Importer

MUTATIONS = draws(20, 2000)
SEED = 20261123


@pytest.mark.parametrize("importer", IMPORTERS, ids=lambda importer: importer.name)
def test_mutated_files_give_a_sound_result_or_a_clear_fault(importer: Importer, tmp_path: Path) -> None:
    outcome = fuzz(importer.name, MUTATIONS, SEED, tmp_path)
    assert not outcome.failures, "\n".join(outcome.failures)
    assert outcome.results + outcome.faults == MUTATIONS
    assert outcome.results > 0
    assert outcome.faults > 0
