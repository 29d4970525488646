from support import samples as s
from tdelta.findings.stalls import missed_text


def test_a_result_that_knows_nothing_of_stalls_claims_nothing() -> None:
    assert missed_text(s.changed(s.slower(), stalls=())) is None
