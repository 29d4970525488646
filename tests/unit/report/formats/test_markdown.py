import re
from html.parser import HTMLParser

import pytest
from markdown_it import MarkdownIt

from support import samples as s
from tdelta.document.labels import decision_word
from tdelta.report.answer import run_answer
from tdelta.report.formats.markdown import escaped, markdown
from tdelta.report.formats.rows import Answered

from .conftest import NASTY, answered


class Shown(HTMLParser):
    """The visible part of HTML: its tables' cells, its tags, its text."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self._is_in_cell = False
        self.rows: list[list[str]] = []
        self.text = ""
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.tags.append(tag)
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self._is_in_cell = True
            self.rows[-1].append("")

    def handle_endtag(self, tag: str) -> None:
        self._is_in_cell &= tag not in ("td", "th")

    def handle_data(self, data: str) -> None:
        self.text += data
        if self._is_in_cell:
            self.rows[-1][-1] += data


def shown(answered: Answered) -> Shown:
    return Shown(MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"]).render(markdown(answered)))


def test_the_primary_verdict_is_a_row_of_a_table_and_all_others_a_row_of_a_second_one() -> None:
    result = s.slower()
    seen = shown(answered(result))
    header, primary, *rest = seen.rows
    assert header == ["", "plain", "encrypted", "change", "95% interval", "verdict"]
    assert primary == ["AES-256: response time", "84.21 µs", "86.82 µs", "+3.1%", "+2.4% to +3.8%", "slower"]
    assert len(rest) == 1 + len(result.verdicts) - 1
    assert {len(row) for row in seen.rows} == {6}


@pytest.mark.parametrize("name", s.SAMPLES)
def test_every_answer_is_shown_whole_with_a_row_for_each_verdict(name: str) -> None:
    result = s.SAMPLES[name]()
    seen = shown(answered(result))
    assert " ".join(run_answer(result).sentence.split()) in seen.text
    assert sum(len(row) == 6 and row[0] != "" for row in seen.rows) == len(result.verdicts)
    assert decision_word(result.decision, result.settings.metric) in seen.text


def test_what_a_label_holds_is_shown_and_does_nothing(strange: Answered) -> None:
    plain = shown(answered(s.slower()))
    seen = shown(strange)
    assert [tag for tag in seen.tags if tag not in ("ul", "li", "p", "strong")] == [
        tag for tag in plain.tags if tag not in ("ul", "li", "p", "strong")
    ]
    assert {len(row) for row in seen.rows} == {6}
    visible = re.sub("[\x00\x1b\ud800]", "?", NASTY).replace("@", "@\u2060")
    assert visible in seen.rows[1][0]
    assert not re.search(r"@\w", seen.text)


def test_a_text_of_several_lines_stays_on_one() -> None:
    assert escaped("a\n\n# b\r\n- c") == r"a \# b - c"


@pytest.mark.parametrize("text", ["- a", "+ a", "1. a", "1) a", "===", "---", "    a", "# a", "> a", "```", "<b>a</b>"])
def test_a_text_begins_no_block(text: str) -> None:
    html = MarkdownIt("commonmark", {"html": True}).render(escaped(text))
    assert Shown(html).tags == ["p"]
    assert Shown(html).text.strip() == text.strip()
