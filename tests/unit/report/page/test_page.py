import base64
import hashlib
import re
from dataclasses import replace
from pathlib import Path

import pytest

from support import samples as s
from support import stored as t
from support.reading import read
from support.refused import refused
from tdelta.document.blocks import WIDTH, Figure
from tdelta.errors import StorageFault, UsageError
from tdelta.inference.fits import paired_ratios
from tdelta.messages import Detail, Reason
from tdelta.records import CheckState, Condition, Decision, Role, RunResult, SpanTotals, Validity
from tdelta.report.answer import run_answer
from tdelta.report.page.compose import compose
from tdelta.report.page.file import render, write_page
from tdelta.report.page.gather import RunData

NORMAL_BYTES, MOST_BYTES = 400_000, 3_000_000


def page_of(result: RunResult) -> str:
    """A page of a result whose trials are gone: what has no data must say so, and break nothing."""
    return render(compose(RunData(result, t.CREATED)))


@pytest.fixture(params=["valid", "leaking"])
def page(request: pytest.FixtureRequest) -> str:
    return str(request.getfixturevalue(f"{request.param}_page"))


def test_a_page_asks_nothing_of_any_network(page: str) -> None:
    reading = read(page)
    assert not re.search(r"https?:|//[a-z]|url\(|@import|srcset", page)
    sources = [(e.name, v) for e in reading.elements for k, v in e.attributes.items() if k in ("src", "href", "data")]
    assert all(value is not None and value.startswith(("#", "data:,")) for _, value in sources)
    others = {"img", "iframe", "object", "embed", "form", "base", "audio", "video"}
    assert not {e.name for e in reading.elements} & others


def test_a_page_allows_itself_only_its_own_style_and_script(page: str) -> None:
    reading = read(page)
    (policy,) = (e.attributes["content"] for e in reading.all("meta", http_equiv="Content-Security-Policy"))
    assert policy is not None
    assert "default-src 'none'" in policy
    for name in ("style", "script"):
        (found,) = reading.all(name)
        digest = base64.b64encode(hashlib.sha256(found.words.encode()).digest()).decode()
        assert f"'sha256-{digest}'" in policy
    assert not [e for e in reading.elements if "style" in e.attributes or any(k.startswith("on") for k in e.attributes)]


def test_a_page_closes_what_it_opens_and_says_no_name_twice(page: str) -> None:
    reading = read(page)
    assert reading.faults == []
    ids = [e.attributes["id"] for e in reading.elements if "id" in e.attributes]
    assert len(ids) == len(set(ids))
    targets = [str(e.attributes["href"])[1:] for e in reading.all("a")]
    assert set(targets) <= set(ids)
    assert len(targets) > 5


def test_names_that_a_user_chose_are_text_and_never_markup(page: str) -> None:
    reading = read(page)
    assert t.NASTY not in page
    assert any(t.NASTY in words for words in reading.text("p"))
    assert any(t.NASTY in " ".join(e.words.split()) for e in reading.all("th"))
    assert any(t.NASTY[:9] in e.words for e in reading.all("text"))
    assert len(reading.all("script")) == 1


def test_every_figure_is_one_drawing_with_a_title_and_a_description_and_its_numbers(page: str) -> None:
    reading = read(page)
    drawings = reading.all("svg")
    assert {e.attributes["class"] for e in drawings} == {"figure"}
    assert len(drawings) == len(reading.all("figure"))
    ids = {str(e.attributes["id"]): e.words for e in reading.elements if "id" in e.attributes}
    for drawing in drawings:
        assert drawing.attributes["role"] == "img"
        title, description = str(drawing.attributes["aria-labelledby"]).split()
        assert len(ids[title]) > 5
        assert len(ids[description]) > 15
    assert len([e for e in reading.all("details") if "figure" in e.within]) == len(reading.all("figure"))


def test_tables_say_what_their_rows_and_columns_are(page: str) -> None:
    reading = read(page)
    assert {e.attributes.get("scope") for e in reading.all("th")} == {"row", "rowgroup", "col"}
    assert len(reading.all("caption")) == len(reading.all("table"))


def test_the_page_is_in_english_and_has_a_skip_link_first_and_a_button_for_the_theme(page: str) -> None:
    reading = read(page)
    (html,) = reading.all("html")
    assert html.attributes["lang"] == "en"
    links = reading.all("a")
    assert (links[0].attributes["class"], links[0].attributes["href"]) == ("skip", "#main")
    assert len(reading.all("button", id="theme")) == 1
    assert len(reading.all("h1")) == 1


def test_the_same_run_gives_the_same_bytes(valid: RunData, valid_page: str) -> None:
    assert render(compose(valid)) == valid_page


def test_a_normal_page_is_small(page: str) -> None:
    assert len(page.encode()) < NORMAL_BYTES


def test_a_long_run_of_many_conditions_still_makes_a_page_that_can_be_mailed() -> None:
    """1200 blocks of 13 conditions: over an hour of quarter-second trials."""
    levels = (("none", Role.BASELINE), ("none", Role.AA), *((f"cipher-{n:02d}", Role.TREATMENT) for n in range(11)))
    conditions = tuple(Condition((("cipher", cipher), ("threads", 1)), role) for cipher, role in levels)
    given = t.settings(conditions)
    base = t.trials(t.factorial()[:2], rounds=1, blocks=1)[0]
    found = [
        replace(
            base,
            round=block // 6,
            block=block,
            position=position,
            condition=condition,
            started_unix_seconds=t.CREATED + 3.0 * block,
            measurement=replace(
                base.measurement,
                histograms={},
                transactions={"a": SpanTotals(100, 10**7 + 1000 * ((block * 37 + position * 101) % 997))},
            ),
        )
        for block in range(1200)
        for position, condition in enumerate(conditions)
    ]
    result = t.sound_result(given, found)
    data = RunData(result, t.CREATED, tuple(found), paired_ratios(found, given))
    page = render(compose(data))
    assert len(page.encode()) < MOST_BYTES
    assert "neighbouring blocks" in page


def test_an_invalid_run_gets_a_headline_without_a_figure_and_names_the_leak(leaking_page: str) -> None:
    reading = read(leaking_page)
    assert reading.text("h1")[0].startswith("INVALID: plaintext was found in files of the ")
    assert "%" not in reading.text("h1")[0] + reading.text("title")[0]
    assert any("temp: etilqs_7f (unlinked)" in text for text in reading.text("dd"))
    (leak,) = (e for e in reading.all("span") if e.words.startswith("LEAK"))
    assert leak.attributes["class"] == "bad"
    assert "FAILED" in [e.words for e in reading.all("span")]


def test_a_sound_run_raises_no_alarm(valid_page: str) -> None:
    reading = read(valid_page)
    assert not [e for e in reading.elements if "alarm" in str(e.attributes.get("class", ""))]
    assert not [e for e in reading.all("span") if e.words.startswith(("LEAK", "MISSING", "FAILED"))]


@pytest.mark.parametrize("name", s.SAMPLES)
def test_a_result_without_its_trials_still_makes_a_whole_page(name: str) -> None:
    page = page_of(s.SAMPLES[name]())
    reading = read(page)
    assert reading.faults == []
    assert not re.search(r"\b(nan|inf|None)\b", " ".join(e.words for e in reading.all("body")))
    assert any("No complete block was measured" in p for p in reading.text("p"))
    assert not re.search("significan", page, re.IGNORECASE)


@pytest.mark.parametrize("name", s.SAMPLES)
def test_the_title_the_heading_and_the_answer_are_the_same_sentence(name: str) -> None:
    result = s.SAMPLES[name]()
    reading = read(page_of(result))
    sentence = " ".join(run_answer(result).sentence.split())
    assert (reading.text("h1"), reading.text("title")[0]) == ([sentence], f"tdelta: {sentence}")


def test_where_one_stratum_lost_its_answer_the_others_keep_theirs_and_the_headline_says_so() -> None:
    run = s.sweep()
    heads = tuple(
        replace(v, decision=Decision.INVALID, reasons=(Reason.verbatim("a/a twins: no"),))
        if v.condition.stratum == 0
        else v
        for v in run.primary
    )
    checks = (Validity("a/a twins agree", CheckState.FAILED, (Detail.verbatim("at 1 thread"),)),)
    mixed = replace(run, verdicts=heads, decision=Decision.INVALID, validity=checks)
    page = page_of(mixed)
    assert page.count('class="alarm-dot"') == page.count('class="dot"') == 4, "in the answer and against threads"
    assert "no figure of this run" not in page.lower()


def test_types_of_many_strata_are_drawn_stratum_by_stratum_and_named_by_their_own() -> None:
    run = s.sweep()
    types = [
        replace(v, transaction=f"type_{n}")
        for v in run.verdicts
        if v.transaction == "browse_products"
        for n in range(11)
    ]
    reading = read(page_of(replace(run, verdicts=(*run.primary, *types))))
    assert {"figure-transactions-0", "figure-transactions-1"} <= {e.attributes["id"] for e in reading.all("figure")}
    titles = [
        words for words in reading.text("p") if words.startswith("Overhead in response time, by transaction type")
    ]
    assert [title.rpartition(": ")[2] for title in titles] == ["1 thread", "16 threads"]


def test_a_run_that_ended_before_its_first_round_still_makes_a_page() -> None:
    empty = s.result(Decision.UNDECIDED, (), interrupted=True)
    assert read(page_of(empty)).faults == []


def test_a_budget_is_drawn_as_a_line_and_the_tolerance_is_not_shaded_beside_it() -> None:
    page = page_of(s.over_budget())
    answer = page.split('id="figure-answer"')[1].split("</figure>")[0]
    assert answer.count('class="limit"') > 0
    assert 'class="tolerance"' not in answer
    assert "budget of 5%" in answer


def test_injected_twins_show_what_they_really_spun() -> None:
    page = page_of(s.injected())
    assert 'class="truth"' in page
    assert "+5.2%" in page


def test_no_figure_is_drawn_outside_its_own_frame(valid: RunData, leaking: RunData) -> None:
    """Every x of every mark lies within the drawing; the browser test looks at what text really takes."""
    for data in (valid, leaking):
        figures = [b for section in compose(data).sections for b in section.blocks if isinstance(b, Figure)]
        assert len(figures) >= 6
        for figure in figures:
            xs = [float(x) for x in re.findall(r'\b(?:x|x1|x2|cx)="(-?[\d.]+)"', figure.drawing)]
            assert min(xs) >= 0
            assert max(xs) <= WIDTH


PAGE = render(compose(RunData(s.slower(), t.CREATED)))


def test_a_page_is_written_and_replaced_by_a_newer_one(tmp_path: Path) -> None:
    path = tmp_path / "run.html"
    write_page(PAGE, path)
    write_page(PAGE.replace("SLOWER", "Older"), path)
    assert "Older" in path.read_text(encoding="utf-8")
    assert [file.name for file in tmp_path.iterdir()] == ["run.html"]
    assert path.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("there", ["", "mine", "<!DOCTYPE html>\n<html>", "<!DOCTYPE html><!-- another -->"])
def test_another_file_is_left_as_it_is_unless_forced(tmp_path: Path, there: str) -> None:
    path = tmp_path / "mine.html"
    path.write_text(there, encoding="utf-8")
    with refused(UsageError, "file-exists", path=path):
        write_page(PAGE, path)
    assert path.read_text(encoding="utf-8") == there
    write_page(PAGE, path, force=True)
    assert path.read_text(encoding="utf-8") == PAGE


def test_a_link_keeps_pointing_to_the_file_that_is_written(tmp_path: Path) -> None:
    target, link = tmp_path / "target.html", tmp_path / "link.html"
    target.write_text(PAGE, encoding="utf-8")
    link.symlink_to(target)
    write_page(PAGE, link)
    assert link.is_symlink()


def test_a_folder_that_is_missing_is_a_message(tmp_path: Path) -> None:
    with refused(StorageFault, "path-unusable", path="run.html", fault="No such file or directory"):
        write_page(PAGE, tmp_path / "nowhere" / "run.html")
