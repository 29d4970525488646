"""The cost breakdown against simulated truth: every line's interval holds what was put in, and all that is unknown is
rest."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import pytest

from support.flat import changed
from support.refused import check_messages, has
from tdelta.engines.registry import profiles
from tdelta.inference.cost_breakdown import FUNCTIONS_NAMED, Explained, cost_breakdowns, shortest
from tdelta.inference.profiles import Profiled, compare
from tdelta.inference.quantiles import t_reach
from tdelta.inference.unit_costs import PagePrices, Price, Timed, TimedTrial
from tdelta.profiling.functions import Functions
from tdelta.records import (
    ComponentKind,
    Condition,
    CostBreakdown,
    CpuProfile,
    FunctionShare,
    Sampled,
    TimedCalls,
    Trial,
)

from .builders import AES, TWINS, measurement, settings, trial

PAGE = 4096
READ, WRITTEN, MORE = 5.0, 2.0, 0.5
TRUE = {"bare_read": 1.2, "bare_write": 5.0, "mac": 6.0, "plain_read": 0.8, "plain_write": 1.2}
REST = 7.0
PLAIN_CPU = 80.0


def price(true: float, random: np.random.Generator, spread: float = 0.04) -> Price:
    """A measured price whose true value is ``true``: off by its spread, which is stated."""
    us, half = true * (1.0 + spread * random.standard_normal()), 0.6745 * spread * true
    return Price(us, (us - half, us + half))


def prices(random: np.random.Generator, **changed: object) -> PagePrices:
    bare_read, bare_write = price(TRUE["bare_read"], random), price(TRUE["bare_write"], random)
    read, write = (replace(price(bare + TRUE["mac"], random)) for bare in (TRUE["bare_read"], TRUE["bare_write"]))
    plain = price(TRUE["plain_read"], random), price(TRUE["plain_write"], random)
    made = PagePrices(PAGE, "bytes", "cbc", "HMAC", read, write, *plain, bare_read, bare_write)
    return replace(made, **changed)  # type: ignore[arg-type]


def knowing(of: Mapping[str, PagePrices], **more: object) -> Explained:
    return Explained(**{"prices": of, "timed": {}, "profiles": {}, **more})  # type: ignore[arg-type]


TRUTH = {
    ComponentKind.CIPHER: READ * 1.2 + WRITTEN * 5.0,
    ComponentKind.INTEGRITY: (READ + WRITTEN) * 6.0,
    ComponentKind.IO: MORE * 0.8,
    ComponentKind.RESIDUAL: REST,
}


def trials(
    random: np.random.Generator,
    noise: float = 0.01,
    truth: Mapping[ComponentKind, float] = TRUTH,
    reading: Sequence[float] = (READ,) * 4,
) -> list[Trial]:
    """Four rounds of six blocks; the encrypted twin takes ``truth``, and as long on the clock, and reads its pages."""

    def one(of: Condition, round_: int, block: int) -> Trial:
        is_encrypted = of == AES
        extra = sum(truth.values()) if is_encrypted else 0.0
        cpu_us = (PLAIN_CPU + extra) * np.exp(noise * random.standard_normal())
        base, read = measurement(), (reading[round_] if is_encrypted else READ - MORE)
        done = base.operations
        found = changed(
            base,
            cpu_user_seconds=cpu_us * done / 1e6,
            cpu_system_seconds=0.0,
            transactions={"all": replace(base.transactions["type0"], total_ns=round((cpu_us + 20.0) * done * 1e3))},
            syscall_read_bytes=round(read * PAGE * done),
            syscall_written_bytes=round(WRITTEN * PAGE * done),
        )
        return trial(of, round_, block, found)

    return [one(c, r, 6 * r + b) for r in range(4) for b in range(6) for c in TWINS]


def breakdown(seed: int) -> CostBreakdown:
    random = np.random.default_rng(seed)
    (found,) = cost_breakdowns(trials(random), settings(), knowing({AES.key: prices(random)}))
    return found


def test_every_line_holds_its_truth_about_as_often_as_it_says() -> None:
    held = dict.fromkeys((*TRUTH, "cpu", "off_cpu"), 0)
    runs = 40
    for seed in range(runs):
        found = breakdown(seed)
        spans = {line.kind: line.amount.hdi95 for line in found.components}
        truths = {**TRUTH, "cpu": sum(TRUTH.values()), "off_cpu": 0.0}
        for name, (low, high) in {**spans, "cpu": found.cpu.hdi95, "off_cpu": found.off_cpu.hdi95}.items():
            held[name] += low - 1e-6 <= truths[name] <= high + 1e-6
    assert min(held.values()) >= 34, held  # of 40 at 95 %, fewer than 34 come once in a thousand times


def test_work_under_load_that_is_off_from_all_its_prices_alike_is_within_every_line() -> None:
    held = dict.fromkeys(TRUTH, 0)
    runs = 60
    for seed in range(runs):
        random = np.random.default_rng(seed)
        off = 1.0 + 0.10 * random.standard_normal()
        truth = {kind: us if kind is ComponentKind.RESIDUAL else off * us for kind, us in TRUTH.items()}
        known = knowing({AES.key: prices(random)})
        (found,) = cost_breakdowns(trials(random, truth=truth), settings(), known)
        for line in found.components:
            held[line.kind] += line.amount.hdi95[0] <= truth[line.kind] <= line.amount.hdi95[1]
    assert min(held.values()) >= 52, held  # of 60 at 95 %, fewer than 52 come once in a thousand times


def test_a_count_that_differs_by_instance_is_as_unsure_as_its_rounds() -> None:
    random = np.random.default_rng(1)
    exact = replace(prices(random), mac="", bare_read=None, bare_write=None, read=Price(10.0, (10.0, 10.0)))
    widths = []
    for reading in ((READ,) * 4, (3.5, 4.5, 5.5, 6.5)):
        (found,) = cost_breakdowns(trials(random, reading=reading), settings(), knowing({AES.key: exact}))
        line = found.component(ComponentKind.CIPHER)
        widths.append(line.amount.hdi95[1] - line.amount.hdi95[0])
    rounds = 2 * t_reach(3) * 10.0 * np.std((3.5, 4.5, 5.5, 6.5), ddof=1) / 2.0
    assert widths[1] == pytest.approx(np.hypot(widths[0], rounds), rel=0.1)


def test_lines_come_in_order_and_their_shares_are_of_the_difference() -> None:
    found = breakdown(1)
    assert [line.kind for line in found.components] == list(TRUTH)
    integrity = found.component(ComponentKind.INTEGRITY)
    assert integrity.share is not None
    assert integrity.share == pytest.approx(integrity.amount.us / found.cpu.us, rel=0.02)
    assert [round(item.count, 3) for item in integrity.items] == [READ, WRITTEN]


def test_a_mac_that_is_one_with_its_cipher_is_in_the_ciphers_line() -> None:
    random = np.random.default_rng(1)
    one = prices(random, mac="Poly1305", bare_read=None, bare_write=None)
    (found,) = cost_breakdowns(trials(random), settings(), knowing({AES.key: one}))
    assert found.component(ComponentKind.INTEGRITY) is None
    assert has(found.unattributed[:1], "integrity-in-cipher", mac="Poly1305")


def test_without_prices_all_is_rest_and_that_is_said() -> None:
    (found,) = cost_breakdowns(trials(np.random.default_rng(1)), settings(), knowing({}))
    (rest,) = found.components
    assert rest.kind is ComponentKind.RESIDUAL
    assert rest.amount.us == pytest.approx(found.cpu.us)
    check_messages(found.unattributed, "pages-without-unit-cost")


def items(found: CostBreakdown, kind: ComponentKind) -> dict[str, float]:
    line = found.component(kind)
    return {item.what: round(item.count, 3) for item in line.items}


def test_blocks_are_counted_by_bytes_but_for_the_rows_that_a_load_reads() -> None:
    random = np.random.default_rng(1)
    blocks = prices(random, counted="blocks")
    (found,) = cost_breakdowns(trials(random), settings(), knowing({AES.key: blocks}))
    assert items(found, ComponentKind.CIPHER) == {"blocks decrypted": READ, "blocks encrypted": WRITTEN}
    assert items(found, ComponentKind.INTEGRITY) == {"blocks checked": READ, "blocks authenticated": WRITTEN}
    check_messages(found.unattributed, "log-as-blocks")
    at_work = {c: replace(c, levels=(*c.levels, ("work", "load"))) for c in TWINS}
    loads = [replace(t, condition=at_work[t.condition]) for t in trials(random)]
    (found,) = cost_breakdowns(loads, settings(list(at_work.values())), knowing({at_work[AES].key: blocks}))
    assert items(found, ComponentKind.CIPHER) == {"blocks decrypted": 0.0, "blocks encrypted": WRITTEN}


@pytest.mark.parametrize("names", [("pages_decrypted", "pages_encrypted"), ("pages_read", "pages_written")])
def test_timed_calls_of_a_server_are_brought_to_the_pages_that_it_counted(names: tuple[str, str]) -> None:
    random = np.random.default_rng(1)
    counters = dict(zip(names, (5000, 2000), strict=True))
    counted = [replace(t, measurement=replace(t.measurement, engine_counters=counters)) for t in trials(random)]
    (found,) = cost_breakdowns(counted, settings(), knowing({}, timed={AES.key: timed(random)}))
    line = found.component(ComponentKind.CIPHER)
    assert line.amount.us == pytest.approx(CALLS_US, rel=0.03)
    check_messages(found.unattributed, "extra-io-without-unit-cost", "log-calls-in-cipher")


def test_a_server_whose_calls_were_not_timed_has_a_residual_alone() -> None:
    known = knowing({}, timed={AES.key: Timed(fault="no time")})
    (found,) = cost_breakdowns(trials(np.random.default_rng(1)), settings(), known)
    assert [line.kind for line in found.components] == [ComponentKind.RESIDUAL]
    check_messages(found.unattributed, "pages-without-unit-cost", "calls-not-timed")


CALLS_US = 9.5
"""The time of an operation's cipher calls where they happen, whatever a page is priced at."""


def timed(random: np.random.Generator, moment: float = 0.0, **changed: object) -> Timed:
    """Four trials of 1000 operations at one moment, on an instance whose cache missed twice as often."""

    def one() -> TimedTrial:
        us = 2 * 1000 * CALLS_US * (1.0 + moment) * (1.0 + 0.01 * random.standard_normal())
        calls = TimedCalls("AES-128-CBC", "cipher", "decrypt", 10_000.0, 30_000.0, 1.6e8, us)
        mac = TimedCalls("HMAC", "mac", "encrypt", 0.0, 30_000.0, 1.6e8, 8000.0)
        return TimedTrial(1000, (2 * READ * 1000, 2 * WRITTEN * 1000), (calls, mac))

    return replace(Timed(tuple(one() for _ in range(4))), **changed)  # type: ignore[arg-type]


def test_timed_calls_are_the_line_of_the_cipher_whatever_a_page_is_priced_at() -> None:
    random = np.random.default_rng(2)
    (found,) = cost_breakdowns(
        trials(random), settings(), knowing({AES.key: prices(random)}, timed={AES.key: timed(random)})
    )
    amounts = {line.kind: line.amount.us for line in found.components if line.is_timed}
    truth = {ComponentKind.CIPHER: CALLS_US, ComponentKind.INTEGRITY: 4.0}
    assert amounts == pytest.approx(truth, rel=0.03)
    assert [line.kind for line in found.components] == [*truth, ComponentKind.IO, ComponentKind.RESIDUAL]
    assert items(found, ComponentKind.CIPHER) == {"AES-128-CBC decryptions": READ}
    check_messages(found.unattributed, "log-calls-in-cipher")


def test_the_line_of_timed_calls_holds_its_truth_at_a_moment_of_another_speed() -> None:
    held, runs = 0, 40
    for seed in range(runs):
        random = np.random.default_rng(seed)
        noisy = trials(random, noise=0.08)
        one = timed(random, moment=0.08 * random.standard_normal())
        (found,) = cost_breakdowns(noisy, settings(), knowing({AES.key: prices(random)}, timed={AES.key: one}))
        line = found.component(ComponentKind.CIPHER)
        held += line.amount.hdi95[0] <= CALLS_US <= line.amount.hdi95[1]
    assert held >= 34  # of 40 at 95 %, fewer than 34 come once in a thousand times


def test_calls_that_cannot_be_timed_leave_the_priced_line_and_say_why() -> None:
    random = np.random.default_rng(1)
    known = knowing({AES.key: prices(random)}, timed={AES.key: Timed(fault="within")})
    (found,) = cost_breakdowns(trials(random), settings(), known)
    line = found.component(ComponentKind.CIPHER)
    assert not line.is_timed
    assert has(found.unattributed, "calls-not-timed", fault="within")


def test_a_share_is_as_unsure_as_both_of_its_figures() -> None:
    line, total = breakdown(1).component(ComponentKind.INTEGRITY), breakdown(1).cpu
    assert line.share is not None
    widths = [(of.hdi95[1] - of.hdi95[0]) / of.us for of in (line.amount, total)]
    width = (line.share_hdi95[1] - line.share_hdi95[0]) / line.share
    assert width == pytest.approx(float(np.hypot(*widths)), rel=0.15)


def sampled(functions: Mapping[str, tuple[int, int]]) -> CpuProfile:
    def side(condition: Condition, at: int) -> Profiled:
        names = {name: name.partition("@") for name in functions}
        found = [Sampled(names[n][2], names[n][0], c[at], c[at] * 1_000_000) for n, c in functions.items() if c[at]]
        return Profiled(condition, 3, 1000, tuple(found))

    return compare(side(TWINS[0], 0), side(AES, 1), Functions(one.functions for one in profiles()))


FUNCTIONS = {
    "memcpy@libc.so.6": (50, 90),
    "buf_page_get@mariadbd": (100, 160),
    "by_chance@mariadbd": (400, 450),
    "EVP_CipherUpdate@libcrypto.so.3": (0, 400),
    "my_aes_crypt@mariadbd": (0, 30),
    "cheaper@mariadbd": (90, 10),
    **{f"f{number}@mariadbd": (10, 25 + number) for number in range(6)},
}


def named(found: CostBreakdown) -> list[str]:
    return [one.function for one in found.functions]


def test_functions_of_a_rest_that_is_much_are_named_and_those_that_have_a_line_are_not() -> None:
    random = np.random.default_rng(1)
    known = knowing({}, profiles={AES.key: sampled(FUNCTIONS)})
    (found,) = cost_breakdowns(trials(random), settings(), known)
    assert named(found) == ["buf_page_get", "memcpy", "f5", "f4", "f3"]
    assert len(found.functions) == FUNCTIONS_NAMED
    assert all(isinstance(one, FunctionShare) for one in found.functions)
    own = timed(random, trials=(TimedTrial(1000, None, (TimedCalls("A", "cipher", "encrypt", 1, 1, 1, 100.0),)),))
    (found,) = cost_breakdowns(trials(random), settings(), replace(known, timed={AES.key: own}))
    # OpenSSL's calls have a line, the server's own way to them has none.
    assert named(found)[:3] == ["buf_page_get", "memcpy", "my_aes_crypt"]


def test_where_no_function_can_be_named_that_is_said_and_why() -> None:
    random = np.random.default_rng(1)
    (found,) = cost_breakdowns(trials(random), settings(), knowing({}, why_no_profile="perf-unavailable"))
    check_messages([found.where_unknown], "functions-not-sampled", why="perf-unavailable")
    few = knowing({}, profiles={AES.key: sampled({"f@mariadbd": (4, 7), "g@mariadbd": (90, 95)})})
    (found,) = cost_breakdowns(trials(random), settings(), few)
    assert found.functions == ()
    check_messages([found.where_unknown], "no-function-differs", plain=94, encrypted=102)
    small = knowing({AES.key: prices(random)}, profiles={AES.key: sampled(FUNCTIONS)})
    (found,) = cost_breakdowns(trials(random), settings(), small)
    assert (found.functions, found.where_unknown) == ((), None)


def test_the_shortest_interval_leaves_a_long_tail_out() -> None:
    draws = np.concatenate([np.linspace(0.0, 1.0, 95), np.linspace(10.0, 20.0, 5)])
    assert shortest(draws) == (0.0, 1.0)


def test_time_in_the_run_queue_is_no_waiting_where_every_trial_has_it() -> None:
    delay_us = 15.0

    def delayed(one: Trial, *, is_known: bool) -> Trial:
        us = delay_us if one.condition == AES else 0.0
        spans = one.measurement.transactions["all"]
        longer = replace(spans, total_ns=spans.total_ns + round(1e3 * us * one.measurement.operations))
        known = round(1e3 * us * one.measurement.operations) if is_known else None
        return replace(one, measurement=changed(one.measurement, transactions={"all": longer}, run_delay_ns=known))

    for is_known, expected in ((True, 0.0), (False, delay_us)):
        found = [delayed(one, is_known=is_known) for one in trials(np.random.default_rng(5))]
        (one,) = cost_breakdowns(found, settings(), knowing({}))
        assert one.off_cpu.us == pytest.approx(expected, abs=0.5)
