import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

import tdelta.session.analyzing
from support import analysis_samples as s
from support.refused import Part, check_messages
from tdelta.records import Event, Phase
from tdelta.session.analyzing import Analysis, AnalysisRequest

from .calling import call


class FakeAnalysis:
    """Remembers what it was asked, announces one stage, and answers with a hand-built result."""

    def __init__(self) -> None:
        self.requests: list[AnalysisRequest] = []
        self.result = s.one_run()

    def __call__(self, request: AnalysisRequest, observe: Callable[[Event], None]) -> Analysis:
        self.requests.append(request)
        observe(Phase("reading", "12 MB"))
        return Analysis(self.result, s.pictures(self.result))


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> FakeAnalysis:
    fake = FakeAnalysis()
    monkeypatch.setattr(tdelta.session.analyzing, "analyze_files", fake)
    return fake


def test_without_options_the_request_keeps_its_own_defaults(asked: FakeAnalysis) -> None:
    assert call("analyze", "a.csv", "b.csv").code == 0
    assert asked.requests == [AnalysisRequest(("a.csv", "b.csv"))]


def test_every_option_reaches_the_request(asked: FakeAnalysis) -> None:
    words = (
        "analyze plain=a* tde=b=c* --baseline plain --tolerance 1% --budget 5% --prior published"
        " --prior normal:0.03,0.02 --transaction NewOrder --metric throughput --latency-limit 20ms"
    )
    call(*words.split())
    assert asked.requests == [
        AnalysisRequest(
            ("plain=a*", "tde=b=c*"),
            baseline="plain",
            tolerance=0.01,
            budget=0.05,
            priors=("published", "normal:0.03,0.02"),
            metric="throughput",
            transaction="NewOrder",
            latency_limit_seconds=0.02,
        )
    ]


def test_the_answer_goes_to_standard_output_and_progress_to_standard_error(asked: FakeAnalysis) -> None:
    called = call("analyze", "a.csv")
    assert called.out.startswith("SLOWER: tde is 31% slower than plain")
    assert called.err == "reading: 12 MB\n"


def test_json_is_one_document_with_the_exit_code(asked: FakeAnalysis) -> None:
    asked.result = s.sweep()
    called = call("analyze", "a.csv", "--json")
    values = json.loads(called.out)
    assert (values["schema"], values["exit_code"], called.code) == ("tdelta.analysis/1", 3, 3)


@pytest.mark.parametrize(
    ("name", "code"),
    [("one_run", 0), ("lucky", 3), ("transactions", 3), ("several_runs", 5), ("sweep", 3), ("nothing", 3)],
)
def test_the_worst_of_what_decides_is_the_exit_code(asked: FakeAnalysis, name: str, code: int) -> None:
    asked.result = s.SAMPLES[name]()
    assert call("analyze", "a.csv").code == code


def test_what_does_not_decide_does_not_set_the_exit_code(asked: FakeAnalysis) -> None:
    first, *rest = s.transactions().comparisons
    asked.result = s.result(replace(first, primary=False), *rest)
    assert call("analyze", "a.csv").code == 0


def test_a_page_is_written_beside_the_answer_and_only_over_one_of_tdeltas(asked: FakeAnalysis, tmp_path: Path) -> None:
    page = tmp_path / "out.html"
    called = call("analyze", "my rows.csv", "--tolerance", "1%", "--latency-limit", "250us", "--output", str(page))
    assert f"HTML page: {page}" in called.out
    text = page.read_text(encoding="utf-8")
    assert text.startswith("<!DOCTYPE html><!-- tdelta report: analysis -->")
    assert "&#39;my rows.csv&#39;" in text
    assert "--tolerance 1%" in text
    assert "--latency-limit 250us" in text
    assert call("analyze", "a.csv", "--output", str(page)).code == 0
    other = tmp_path / "mine.html"
    other.write_text("mine", encoding="utf-8")
    refused = call("analyze", "a.csv", "--output", str(other))
    assert (refused.code, other.read_text(encoding="utf-8")) == (2, "mine")
    assert "--force" in refused.err
    assert call("analyze", "a.csv", "--output", str(other), "--force").code == 0


def test_a_threshold_without_a_unit_is_refused(asked: FakeAnalysis) -> None:
    refused = call("analyze", "a.csv", "--latency-limit", "20")
    assert (refused.code, asked.requests) == (2, [])
    check_messages(refused.refusals, "unexpected", found=Part("20"), expected="a time such as 20ms, 250us or 1.5s")


def test_without_files_it_says_what_is_expected() -> None:
    called = call("analyze")
    assert called.code == 2
    check_messages(called.refusals, "requires", what="tdelta analyze", needs="at least one file of results")


def test_an_unknown_published_table_names_those_there_are() -> None:
    called = call("analyze", "published:warehous")
    assert called.code == 2
    check_messages(called.refusals, "unknown", found=Part("warehous"), hint=Part("warehouse"))
