"""The HTML page in a real browser: it asks nothing of any network, every figure is drawn, and nothing overlaps."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from support.decision_samples import DECISIONS
from tdelta.report.decision import decision_page
from tdelta.report.page.file import render

from .conftest import PAGES

WIDE, PHONE = (1200, 900), (360, 740)

_FIGURES = """
() => [...document.querySelectorAll('figure')].map((figure) => {
  const shown = [...figure.querySelectorAll('svg.figure')].filter((svg) => svg.getBoundingClientRect().width > 0);
  const svg = shown[0];
  const holder = svg.closest('.scroll').getBoundingClientRect();
  const frame = svg.getBoundingClientRect();
  const isSeen = (mark) => {
    const style = getComputedStyle(mark);
    const box = mark.getBoundingClientRect();
    const isPainted = style.fill !== 'none' || style.stroke !== 'none';
    return isPainted && style.visibility === 'visible' && box.width + box.height > 0;
  };
  const box = (element) => {
    const r = element.getBoundingClientRect();
    return { words: element.textContent, left: r.left, top: r.top, right: r.right, bottom: r.bottom };
  };
  return {
    id: figure.id, shown: shown.length, left: frame.left, top: frame.top, right: frame.right, bottom: frame.bottom,
    from: holder.left, to: holder.right,
    marks: [...svg.querySelectorAll('path,line,rect,circle')].filter(isSeen).length,
    texts: [...svg.querySelectorAll('text')].map(box),
    size: Math.min(...[...svg.querySelectorAll('text')].map((t) => parseFloat(getComputedStyle(t).fontSize)))
      * frame.width / svg.viewBox.baseVal.width,
  };
})
"""
_GROUND = "() => getComputedStyle(document.body).backgroundColor"
_FOCUS = """
() => {
  const e = document.activeElement;
  const style = getComputedStyle(e);
  return { tag: e.tagName, id: e.id, href: e.getAttribute('href'), outline: style.outlineStyle };
}
"""


@dataclass
class Opened:
    page: Any
    said: list[str] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)


@contextmanager
def opened(browser: Any, path: Path, size: tuple[int, int] = WIDE, scheme: str = "light") -> Iterator[Opened]:
    context = browser.new_context(viewport={"width": size[0], "height": size[1]}, color_scheme=scheme)
    page = context.new_page()
    found = Opened(page)
    page.on("console", lambda message: found.said.append(f"{message.type}: {message.text}"))
    page.on("pageerror", lambda error: found.said.append(str(error)))

    def asked(route: Any) -> None:
        url = route.request.url
        found.asked.append(url)
        if url == path.as_uri() or url.startswith("data:"):
            route.continue_()
        else:
            route.abort()

    context.route("**/*", asked)
    page.goto(path.as_uri())
    yield found
    context.close()


@pytest.fixture(params=PAGES)
def path(request: pytest.FixtureRequest, files: dict[str, Path]) -> Path:
    return files[request.param]


@pytest.fixture(params=[WIDE, PHONE], ids=["wide", "phone"])
def size(request: pytest.FixtureRequest) -> tuple[int, int]:
    return tuple(request.param)


def is_dark(color: str) -> bool:
    channels = [int(part) for part in color.removeprefix("rgb(").removesuffix(")").split(",")]
    return sum(channels) < 3 * 128


def test_the_browser_has_nothing_to_complain_of_and_no_request_leaves_the_page(
    browser: Any, path: Path, size: tuple[int, int]
) -> None:
    for scheme in ("light", "dark"):
        with opened(browser, path, size, scheme) as found:
            found.page.wait_for_load_state("networkidle")
            found.page.locator("#theme").click()
            for summary in found.page.locator("summary").all():
                summary.click()
            assert found.said == []
            assert [url for url in found.asked if url != path.as_uri() and not url.startswith("data:")] == []
            assert path.as_uri() in found.asked


def test_every_figure_is_drawn_and_scrolls_where_it_has_no_room(
    browser: Any, path: Path, size: tuple[int, int]
) -> None:
    with opened(browser, path, size) as found:
        figures = found.page.evaluate(_FIGURES)
    assert len(figures) >= {"served": 4, "published": 1, "analysis": 5}.get(path.stem, 6)
    for figure in figures:
        assert figure["shown"] == 1, figure["id"]
        assert figure["marks"] >= 5, figure["id"]
        assert figure["right"] - figure["left"] > 250, figure["id"]
        assert figure["bottom"] - figure["top"] > 60, figure["id"]
        assert 0 <= figure["from"] <= figure["left"], figure["id"]
        assert figure["to"] <= size[0], figure["id"]
        assert size == PHONE or figure["right"] <= figure["to"] + 1, figure["id"]


def test_no_text_of_a_figure_leaves_it_or_lies_on_another(browser: Any, path: Path, size: tuple[int, int]) -> None:
    with opened(browser, path, size) as found:
        figures = found.page.evaluate(_FIGURES)
    for figure in figures:
        texts = figure["texts"]
        assert texts, figure["id"]
        outside = [
            t["words"]
            for t in texts
            if t["left"] < figure["left"] - 1
            or t["right"] > figure["right"] + 1
            or t["top"] < figure["top"] - 2
            or t["bottom"] > figure["bottom"] + 2
        ]
        assert outside == [], figure["id"]
        pairs = [(a, b) for at, a in enumerate(texts) for b in texts[at + 1 :]]
        assert [(a["words"], b["words"]) for a, b in pairs if overlap(a, b)] == [], figure["id"]


def overlap(first: dict[str, float], second: dict[str, float]) -> bool:
    across = min(first["right"], second["right"]) - max(first["left"], second["left"])
    down = min(first["bottom"], second["bottom"]) - max(first["top"], second["top"])
    return across > 0.5 and down > 4.0


def test_text_of_a_figure_can_be_read_on_a_phone(browser: Any, path: Path) -> None:
    with opened(browser, path, PHONE) as found:
        assert min(figure["size"] for figure in found.page.evaluate(_FIGURES)) >= 11.5


def test_the_curve_of_an_action_fits_a_phone(browser: Any, tmp_path: Path) -> None:
    from support import samples as s
    from support import stored as t
    from tdelta.report.page.compose import compose
    from tdelta.report.page.gather import RunData

    page = tmp_path / "acted.html"
    page.write_text(render(compose(RunData(s.acted(), t.CREATED))), encoding="utf-8")
    with opened(browser, page, PHONE) as found:
        (curve,) = (one for one in found.page.evaluate(_FIGURES) if one["id"].startswith("figure-curve"))
    assert curve["from"] <= curve["left"] < curve["right"] <= curve["to"]
    assert curve["size"] >= 11.5
    pairs = [(a, b) for at, a in enumerate(curve["texts"]) for b in curve["texts"][at + 1 :]]
    assert not any(overlap(a, b) for a, b in pairs)


def test_the_page_does_not_scroll_sideways_even_with_everything_opened(browser: Any, path: Path) -> None:
    for width in (360, 414, 768, 1024, 1200):
        with opened(browser, path, (width, 800)) as found:
            found.page.evaluate("() => document.querySelectorAll('details').forEach((d) => { d.open = true; })")
            assert found.page.evaluate("() => document.documentElement.scrollWidth") <= width


def test_the_theme_is_the_systems_until_the_button_is_pressed_and_forgotten_with_the_page(
    browser: Any, path: Path
) -> None:
    for scheme in ("light", "dark"):
        with opened(browser, path, WIDE, scheme) as found:
            ground = found.page.evaluate(_GROUND)
            assert is_dark(ground) is (scheme == "dark")
            button = found.page.locator("#theme")
            assert button.inner_text() == f"Switch to {'light' if scheme == 'dark' else 'dark'}"
            button.click()
            assert is_dark(found.page.evaluate(_GROUND)) is not is_dark(ground)
            assert button.inner_text() == f"Switch to {scheme}"
            assert found.page.evaluate("() => document.cookie") == ""
            found.page.reload()
            assert found.page.evaluate(_GROUND) == ground


def test_figures_follow_the_theme(browser: Any, path: Path) -> None:
    colors = []
    for scheme in ("light", "dark"):
        with opened(browser, path, WIDE, scheme) as found:
            get = "() => getComputedStyle(document.querySelector('svg.figure text')).fill"
            colors.append(found.page.evaluate(get))
    assert is_dark(colors[0])
    assert not is_dark(colors[1])


def test_print_is_light_without_controls_and_without_folded_parts(browser: Any, path: Path) -> None:
    with opened(browser, path, WIDE, "dark") as found:
        found.page.emulate_media(media="print", color_scheme="dark")
        assert not is_dark(found.page.evaluate(_GROUND))
        for hidden in ("#theme", ".contents", ".skip"):
            assert not found.page.locator(hidden).is_visible()
        seen = "() => [...document.querySelectorAll('details')].map((folded) => folded.checkVisibility())"
        assert set(found.page.evaluate(seen)) == {False}
        assert {f["shown"] for f in found.page.evaluate(_FIGURES)} == {1}
        assert found.page.pdf(format="A4", print_background=True).startswith(b"%PDF-")
        assert found.said == []


@pytest.mark.parametrize("paper", ["A4", "Letter"])
@pytest.mark.parametrize("name", DECISIONS)
def test_a_decision_has_two_printed_sheets(browser: Any, tmp_path: Path, name: str, paper: str) -> None:
    path = tmp_path / "decision.html"
    path.write_text(render(decision_page(*DECISIONS[name]())), encoding="utf-8")
    with opened(browser, path) as found:
        pdf = found.page.pdf(format=paper, print_background=True)
    assert len(re.findall(rb"/Type\s*/Page\b", pdf)) <= 2


def test_no_table_is_cut_off_on_paper(browser: Any, path: Path) -> None:
    paper_width = 680  # A4 less the margins, CSS pixels
    with opened(browser, path, (paper_width, 900)) as found:
        found.page.emulate_media(media="print")
        cut = found.page.evaluate(
            "() => [...document.querySelectorAll('table')]"
            ".filter((t) => t.getBoundingClientRect().right > innerWidth + 1).map((t) => t.caption.textContent)"
        )
        assert cut == []


def test_everything_is_reached_with_the_keyboard_and_shows_where_it_is(browser: Any, path: Path) -> None:
    with opened(browser, path) as found:
        page = found.page
        summaries = page.locator("summary").count()
        links = page.locator(".contents a").count()
        stops = []
        for _ in range(400):
            page.keyboard.press("Tab")
            focused = page.evaluate(_FOCUS)
            if focused["tag"] == "BODY" or (stops and focused["href"] == "#main"):
                break
            stops.append(focused)
    assert stops[0]["href"] == "#main"
    assert [s["id"] for s in stops if s["tag"] == "BUTTON"] == ["theme"]
    assert len([s for s in stops if s["tag"] == "A" and s["href"] != "#main"]) == links > 2
    assert len([s for s in stops if s["tag"] == "SUMMARY"]) == summaries > 0
    assert {s["outline"] for s in stops} == {"solid"}


def test_the_skip_link_leads_to_the_answer_and_a_summary_opens_with_a_key(browser: Any, path: Path) -> None:
    with opened(browser, path) as found:
        page = found.page
        page.keyboard.press("Tab")
        assert page.locator(".skip").bounding_box()["y"] >= 0
        page.keyboard.press("Enter")
        assert page.evaluate("() => document.activeElement.id") == "main"
        details = page.locator("details").first
        details.locator("summary").focus()
        page.keyboard.press("Enter")
        assert details.evaluate("(d) => d.open")
        assert details.locator("table").is_visible()


def test_the_alarm_of_a_leak_is_seen_and_names_the_file(browser: Any, files: dict[str, Path]) -> None:
    with opened(browser, files["leaking"]) as found:
        assert found.page.locator("h1").inner_text().startswith("INVALID: ")
        assert found.page.locator("p.alarm", has_text="etilqs_7f (unlinked)").is_visible()
        assert found.page.locator("td .bad").count() == 1
