import json
import re
from pathlib import Path

import pytest

from support.json_docs import check_documented
from tdelta.cli.main import main
from tdelta.messages import Refusal
from tdelta.records.server_check import Outcome, ServerCheck, ServerCheckStep
from tdelta.report.drawing import draw
from tdelta.report.server_check import server_check_blocks, server_check_document

STEPS = (
    ServerCheckStep("servers reached", Outcome.PASSED, 1.25, {"settings that differ": 2}),
    ServerCheckStep(
        "rows loaded", Outcome.FAILED, 4.0, refusals=(Refusal.of("server-check-differs", what="rows", found="orders"),)
    ),
    ServerCheckStep(
        "work done", Outcome.NOT_TRIED, refusals=(Refusal.of("server-check-not-tried", needs="rows loaded"),)
    ),
    ServerCheckStep(
        "caches emptied",
        Outcome.NOT_OFFERED,
        0.0,
        refusals=(Refusal.of("unsupported", what="caches", by="the adapter"),),
    ),
)
FILE = Path("check.json")
BROKEN = ServerCheck("mysql", "MySQL", ("9.7.4", "9.7.4"), "PyMySQL 1.2.4", {"tdelta": "0.1.0"}, 12.3, STEPS)
HELD = ServerCheck("mysql", "MySQL", ("9.7.4", "9.7.5"), "PyMySQL 1.2.4", {"tdelta": "0.1.0"}, 12.3, STEPS[:1])


def test_the_text_names_what_failed_first_and_then_every_ability_with_why() -> None:
    text = draw(server_check_blocks(BROKEN, FILE), 100)
    first, *_ = text.splitlines()
    assert first == "The check failed on MySQL 9.7.4: 1 of 4 abilities failed, 1 not offered, 1 not tried."
    assert re.search(r"servers reached +passed +1\.2 +settings that differ 2\n", text)
    assert re.search(r"work done +not tried *\n", text)
    assert "- rows loaded: rows differ: orders" in text
    assert "check.json can be sent" in text


def test_a_check_that_is_passed_says_so_with_both_versions() -> None:
    text = draw(server_check_blocks(HELD, FILE), 100)
    assert text.startswith("The check passed on MySQL 9.7.4 and 9.7.5: 1 of 1 abilities passed.")


def test_the_documentation_of_a_server_check_names_exactly_its_fields() -> None:
    said = [
        {"sql": "^SELECT 1$", "columns": ["one"], "rows": [["1"]]},
        {"sql": "^SELECT a FROM t WHERE b = :p1$", "kinds": ["int"]},
        {"sql": "^SELECT 2$", "error": ["sql", "no"]},
    ]
    check_documented("tdelta.check-servers/1", {**server_check_document(BROKEN, 4), "conversation": said})


@pytest.mark.parametrize("error", [None, KeyboardInterrupt])
def test_an_earlier_report_is_there_until_a_new_one_is_whole(
    error: type[BaseException] | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    report = tmp_path / "check.json"
    report.write_text('"earlier"')

    def check(_request: object, _observer: object, record: Path) -> ServerCheck:
        record.write_text('{"sql": "^SELECT 1$"}\n{"sql"')
        assert json.loads(report.read_text()) == "earlier"
        if error is not None:
            raise error
        return HELD

    monkeypatch.setattr("tdelta.session.server_check.conducting.check_servers", check)
    with pytest.raises(SystemExit):
        main(("check-servers", "--report", str(report)))
    found = json.loads(report.read_text())
    assert found == "earlier" if error else found["conversation"] == [{"sql": "^SELECT 1$"}]
    left = [path.read_text() for path in tmp_path.iterdir() if path != report]
    assert left == (['{"sql": "^SELECT 1$"}\n{"sql"'] if error else [])


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ((), "requires --baseline and --encrypted"),
        (("--baseline", "mysql://a@b/"), "--encrypted is missing"),
        (
            ("--baseline", "mysql://a@b/?client=x", "--encrypted", "mysql://a@c/"),
            "client: expected dbapi",
        ),
    ],
)
def test_servers_that_are_not_named_rightly_are_refused(
    words: tuple[str, ...], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(("check-servers", *words))
    written = capsys.readouterr()
    assert (ended.value.code, written.out) == (2, "")
    assert told in written.err
