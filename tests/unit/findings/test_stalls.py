from support import samples as s
from tdelta.findings.stalls import KIND


def test_a_result_that_knows_nothing_of_stalls_claims_nothing() -> None:
    assert KIND.shown(s.changed(s.slower(), stalls=())) == []
