"""Two builds without encryption: one factor gives baseline and judged copies, and nobody speaks of encryption."""

import dataclasses
import re
from pathlib import Path
from typing import Any

import pytest
from sqlcipher3 import _sqlite3

from support.reading import outline
from support.refused import has, refused
from tdelta.engines.server.base import DATA, Encryption, Scope
from tdelta.engines.server.pairs import _encrypts
from tdelta.engines.sqlite.engine import TwinSettings
from tdelta.errors import InvalidTwins, UsageError
from tdelta.messages.checks import BUILDS, CHECKS, FILES, IN_FORCE, NO_MARKER, UNENCRYPTED
from tdelta.records import CheckState, Decision, Role, RunResult
from tdelta.report.answer import run_answer
from tdelta.report.command import repeat_command
from tdelta.report.details import run_blocks
from tdelta.report.drawing import draw
from tdelta.report.page.compose import compose
from tdelta.report.page.file import render
from tdelta.report.page.gather import gather
from tdelta.report.subject import subject
from tdelta.session import RunRequest, plan
from tdelta.session.history import Wanted, experiment_of, history
from tdelta.session.run_plan import check as checked
from tdelta.store import Store

from .conducting import Sitting, check
from .test_external_servers import BASELINE, server

WHEEL, CIPHERS = "sqlite3mc", "sqlcipher"
LONG = {"blocks_per_round": 6, "min_rounds": 6, "max_rounds": 6}
BUILDS_ASKED = {"contrast": "library", "vary": {"library": (WHEEL, CIPHERS)}, "bb_control": True, **LONG}


def of_other(settings: TwinSettings) -> bool:
    return settings.library.startswith("SQLCipher")


@pytest.fixture
def sitting(tmp_path: Path) -> Sitting:
    def cost_ns(twin: Any, job: Any) -> float:
        noise = 1.0 + 1e-4 * (job.stream * 7919 % 97)
        return noise * (160e3 if of_other(twin.settings) else 100e3)

    return Sitting(tmp_path).scripted(cost_ns=cost_ns)


@pytest.fixture
def result(sitting: Sitting) -> RunResult:
    return sitting.conduct(**BUILDS_ASKED)


def test_the_first_build_is_the_baseline_of_the_other_and_both_have_a_control(result: RunResult) -> None:
    conditions = result.settings.conditions
    assert [c.role for c in conditions] == [Role.BASELINE, Role.AA, Role.TREATMENT, Role.BB]
    assert {c.level("cipher") for c in conditions} == {"none"}
    baseline, _, other, control = (str(c.level("library")) for c in conditions)
    assert baseline.startswith("SQLite3 Multiple Ciphers ")
    assert other.startswith("SQLCipher 4.")
    assert control == other


def test_the_slower_build_is_named_with_the_one_that_it_is_compared_with(result: RunResult) -> None:
    (verdict,) = result.primary
    assert verdict.ratio.median == pytest.approx(1.6, rel=0.1)
    first, other = (str(result.settings.conditions[at].level("library")) for at in (0, 2))
    said = run_answer(result).sentence
    assert f"{other} is" in said
    assert f" slower than {first} (" in said
    assert subject(result).startswith(f"{first} and {other}, ")


def test_no_word_of_an_answer_or_its_page_is_about_encryption(sitting: Sitting, result: RunResult) -> None:
    with Store.open(sitting.store) as store:
        page = compose(gather(store, result.settings.run_id))
    texts = f"{draw(run_blocks(result))}\n{outline(render(page))}".splitlines()
    names = (CHECKS[UNENCRYPTED], "encrypted |", "assume encrypted |", "encrypted dir |")  # a check, and unused options
    wrong = re.compile(r"encrypt|\bplain", re.IGNORECASE)
    assert [text for text in texts if wrong.search(text) and not any(name in text for name in names)] == []


def test_that_the_builds_differ_and_nothing_is_encrypted_stands_in_place_of_the_checks_of_ciphers(
    result: RunResult,
) -> None:
    codes = {one.code for one in result.validity}
    assert not codes & {FILES, IN_FORCE, NO_MARKER}
    assert check(result, UNENCRYPTED).state is CheckState.OK
    builds = check(result, BUILDS)
    assert builds.state is CheckState.OK
    assert len({one.parameters["said"] for one in builds.details}) == 2


def test_of_one_build_twice_it_is_not_shown_that_the_builds_differ(sitting: Sitting) -> None:
    twice = (CIPHERS, _sqlite3.__file__)
    result = sitting.conduct(contrast="library", vary={"library": twice}, **LONG)
    builds = check(result, BUILDS)
    assert builds.state is CheckState.NOT_SHOWN
    assert has(result.cautions, "same-program")
    assert result.primary[0].ratio.median == pytest.approx(1.0, rel=0.01)


def test_settings_in_which_builds_differ_are_a_caution_and_those_within_a_build_a_failure(tmp_path: Path) -> None:
    def facts(settings: TwinSettings) -> dict[str, str]:
        return {"page_count": "7" if of_other(settings) else "5"}

    result = Sitting(tmp_path).scripted(facts=facts).conduct(**BUILDS_ASKED)
    assert result.decision is not Decision.INVALID
    assert has(result.cautions, "builds-settings", difference="page_count: 5 / 7")


def test_a_comparison_is_repeated_by_its_own_command(result: RunResult) -> None:
    words = repeat_command(result.settings).split()
    assert words[:2] == ["tdelta", "compare"]
    assert "library=sqlite3mc,sqlcipher" in words
    assert "--key" not in words


def test_a_budget_decides_and_the_history_keeps_comparisons_apart(sitting: Sitting, result: RunResult) -> None:
    gate = sitting.conduct(**BUILDS_ASKED, budget=10.0)
    assert gate.decision is Decision.WITHIN
    assert experiment_of(result.settings) != experiment_of(plan(sitting.request(), "r").settings)
    with Store.open(sitting.store) as store:
        (series,) = history(store, result.settings.run_id, Wanted()).series
    assert len(series.points) == 2


@pytest.mark.parametrize(
    ("asked", "codes"),
    [
        ({"vary": {"library": (WHEEL,)}}, ["requires"]),
        ({"vary": {"library": (WHEEL, CIPHERS), "cipher": ("aes-256",)}}, ["conflict"]),
        ({"vary": {"library": (WHEEL, CIPHERS), "work": ("encrypt",)}}, ["conflict"]),
        ({"vary": {"library": (WHEEL, CIPHERS)}, "self_test": True}, ["conflict"]),
    ],
)
def test_what_encrypts_does_not_go_with_builds(asked: dict[str, Any], codes: list[str]) -> None:
    with pytest.raises(UsageError) as raised:
        checked(RunRequest(contrast="library", **asked))
    assert [one.code for one in raised.value.refusals] == codes


def test_of_two_servers_neither_may_encrypt() -> None:
    plain, encrypted = (
        server(name, BASELINE, is_encrypted=on) for name, on in (("--baseline", False), ("--other", True))
    )
    assert _encrypts(plain, plain, assumed=False, compares_builds=True) is False
    unknown = dataclasses.replace(plain, encryption=Encryption((Scope(DATA, None, ""),), can_be_asked=False, remedy=""))
    assert _encrypts(unknown, unknown, assumed=False, compares_builds=True) is None
    with refused(InvalidTwins, "server-encrypted"):
        _encrypts(plain, encrypted, assumed=False, compares_builds=True)
