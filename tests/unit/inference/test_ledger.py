"""The ledger against simulated truth: every line's interval holds what was put in, and all that is unknown is rest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from tdelta.inference.ledger import OF_THE_LOOP, ledgers, shortest
from tdelta.inference.prices import PagePrices, Price
from tdelta.inference.profiles import OfRound, Profiled, by_class, compare
from tdelta.records import Condition, CpuProfile, Ledger, LedgerKind, Sampled, Trial

from .builders import AES, TWINS, measurement, settings, trial

PAGE = 4096
READ, WRITTEN, MORE = 5.0, 2.0, 0.5
TRUE = {"bare_read": 1.2, "bare_write": 5.0, "mac": 6.0, "plain_read": 0.8, "plain_write": 1.2}
REST = 7.0
PLAIN_CPU = 80.0


def price(true: float, random: np.random.Generator, spread: float = 0.04) -> Price:
    """What is measured of a price that is ``true``: off by its spread, and told so."""
    us, half = true * (1.0 + spread * random.standard_normal()), 0.6745 * spread * true
    return Price(us, (us - half, us + half))


def prices(random: np.random.Generator, **changed: object) -> PagePrices:
    bare_read, bare_write = price(TRUE["bare_read"], random), price(TRUE["bare_write"], random)
    read, write = (replace(price(bare + TRUE["mac"], random)) for bare in (TRUE["bare_read"], TRUE["bare_write"]))
    plain = price(TRUE["plain_read"], random), price(TRUE["plain_write"], random)
    made = PagePrices(PAGE, "bytes", "cbc", "HMAC", read, write, *plain, bare_read, bare_write)
    return replace(made, **changed)  # type: ignore[arg-type]


TRUTH = {
    LedgerKind.CIPHER: READ * 1.2 + WRITTEN * 5.0,
    LedgerKind.INTEGRITY: (READ + WRITTEN) * 6.0,
    LedgerKind.IO: MORE * 0.8,
    LedgerKind.REST: REST,
}


def trials(random: np.random.Generator, noise: float = 0.01, more: float = 0.0) -> list[Trial]:
    """Four rounds of six blocks; the encrypted twin takes `TRUTH` and ``more``, and as long on the clock."""

    def one(of: Condition, round_: int, block: int) -> Trial:
        is_encrypted = of == AES
        extra = sum(TRUTH.values()) + more if is_encrypted else 0.0
        cpu_us = (PLAIN_CPU + extra) * np.exp(noise * random.standard_normal())
        base, read = measurement(), (READ if is_encrypted else READ - MORE)
        done = base.operations
        found = replace(
            base,
            cpu_user_seconds=cpu_us * done / 1e6,
            cpu_system_seconds=0.0,
            transactions={"all": replace(base.transactions["type0"], total_ns=round((cpu_us + 20.0) * done * 1e3))},
            asked_read_bytes=round(read * PAGE * done),
            asked_written_bytes=round(WRITTEN * PAGE * done),
        )
        return trial(of, round_, block, found)

    return [one(c, r, 6 * r + b) for r in range(4) for b in range(6) for c in TWINS]


def ledger(seed: int) -> Ledger:
    random = np.random.default_rng(seed)
    (found,) = ledgers(trials(random), settings(), {AES.key: prices(random)})
    return found


def test_every_line_holds_its_truth_about_as_often_as_it_says() -> None:
    held = dict.fromkeys((*TRUTH, "cpu", "waiting"), 0)
    runs = 40
    for seed in range(runs):
        found = ledger(seed)
        spans = {line.kind: line.amount.hdi95 for line in found.lines}
        assert found.waiting is not None
        truths = {**TRUTH, "cpu": sum(TRUTH.values()), "waiting": 0.0}
        for name, (low, high) in {**spans, "cpu": found.cpu.hdi95, "waiting": found.waiting.hdi95}.items():
            held[name] += low - 1e-6 <= truths[name] <= high + 1e-6
    assert min(held.values()) >= 34, held  # of 40 at 95 %, fewer than 34 come once in a thousand times


def test_lines_come_in_order_and_their_shares_are_of_the_difference() -> None:
    found = ledger(1)
    assert [line.kind for line in found.lines] == list(TRUTH)
    integrity = found.line(LedgerKind.INTEGRITY)
    assert integrity is not None
    assert integrity.share is not None
    assert integrity.share == pytest.approx(integrity.amount.us / found.cpu.us, rel=0.02)
    assert [round(item.count, 3) for item in integrity.items] == [READ, WRITTEN]


def test_a_mac_that_is_one_with_its_cipher_is_in_the_ciphers_line() -> None:
    random = np.random.default_rng(1)
    one = prices(random, mac="Poly1305", bare_read=None, bare_write=None)
    (found,) = ledgers(trials(random), settings(), {AES.key: one})
    assert found.line(LedgerKind.INTEGRITY) is None
    assert found.in_rest[0].startswith("integrity: Poly1305 is one with its cipher")


def test_without_prices_all_is_rest_and_that_is_said() -> None:
    (found,) = ledgers(trials(np.random.default_rng(1)), settings(), {})
    (rest,) = found.lines
    assert rest.kind is LedgerKind.REST
    assert rest.amount.us == pytest.approx(found.cpu.us)
    assert found.in_rest == ("pages: what one costs this engine's own code is not known",)


def test_pages_that_an_engine_counts_are_believed_and_missing_ones_are_not_guessed() -> None:
    random = np.random.default_rng(1)
    served = prices(
        random, counted="engine", bare_read=None, bare_write=None, plain_read=None, plain_write=None, mac=""
    )
    served = replace(served, log=Price(2.0, (1.9, 2.1)), log_counted="log_writes")
    plain = trials(random)
    (found,) = ledgers(plain, settings(), {AES.key: served})
    unsampled = "spinning and scheduling: they are sampled with --profile"
    assert found.in_rest == ("pages: they are not counted in these trials", unsampled)
    counters = {"pages_decrypted": 5000, "pages_encrypted": 2000, "log_writes": 3000}
    counted = [replace(t, measurement=replace(t.measurement, engine_counters=counters)) for t in plain]
    (found,) = ledgers(counted, settings(), {AES.key: served})
    log = found.line(LedgerKind.LOG)
    assert log is not None
    assert log.amount.us == pytest.approx(6.0, rel=0.02)
    assert [words.split(":")[0] for words in found.in_rest] == ["extra I/O", "spinning and scheduling"]


def items(found: Ledger, kind: LedgerKind) -> dict[str, float]:
    line = found.line(kind)
    assert line is not None
    return {item.what: round(item.count, 3) for item in line.items}


def test_blocks_are_counted_by_bytes_but_for_the_rows_that_a_load_reads() -> None:
    random = np.random.default_rng(1)
    blocks = prices(random, counted="blocks")
    (found,) = ledgers(trials(random), settings(), {AES.key: blocks})
    assert items(found, LedgerKind.CIPHER) == {"blocks decrypted": READ, "blocks encrypted": WRITTEN}
    assert items(found, LedgerKind.INTEGRITY) == {"blocks checked": READ, "blocks authenticated": WRITTEN}
    assert found.in_rest == (
        "log: its bytes are priced as blocks; what a short record takes beyond that is in the rest",
    )
    at_work = {c: replace(c, levels=(*c.levels, ("work", "load"))) for c in TWINS}
    loads = [replace(t, condition=at_work[t.condition]) for t in trials(random)]
    (found,) = ledgers(loads, settings(list(at_work.values())), {at_work[AES].key: blocks})
    assert items(found, LedgerKind.CIPHER) == {"blocks decrypted": 0.0, "blocks encrypted": WRITTEN}


def test_a_servers_pages_are_all_that_it_reads_and_writes_where_encrypted_ones_are_not_counted() -> None:
    random = np.random.default_rng(1)
    served = prices(random, counted="pages", bare_read=None, bare_write=None, plain_read=None, plain_write=None, mac="")
    counters = {"pages_read": 5000, "pages_written": 2000}
    counted = [replace(t, measurement=replace(t.measurement, engine_counters=counters)) for t in trials(random)]
    (found,) = ledgers(counted, settings(), {AES.key: served})
    assert items(found, LedgerKind.CIPHER) == {"pages read": 5.0, "pages written": 2.0}
    heads = ["pages that the scope leaves plain", "log", "extra I/O", "spinning and scheduling"]
    assert [words.split(":")[0] for words in found.in_rest] == heads


SPUN_BEFORE, SPUN = 30.0, 6.0
PERIOD_NS = 1_000_000


def profile(random: np.random.Generator, samples: int = 4000) -> CpuProfile:
    """A profile of so many samples of the plain twin, as many operations of the other; instances differ by 10 %."""
    operations = round(samples * PERIOD_NS / (PLAIN_CPU * 1e3))

    def side(condition: Condition, spun: float, cpu: float) -> Profiled:
        spun *= 1.0 + 0.10 * random.standard_normal()
        counts = [int(random.poisson(us * 1e3 * operations / PERIOD_NS)) for us in (spun, cpu - spun)]
        functions = (Sampled("mariadbd", "", counts[0], counts[0] * PERIOD_NS, is_spinning=True),)
        return Profiled(
            condition, 3, operations, (*functions, Sampled("mariadbd", "f", counts[1], counts[1] * PERIOD_NS))
        )

    more = sum(TRUTH.values()) + SPUN
    return compare(side(TWINS[0], SPUN_BEFORE, PLAIN_CPU), side(AES, SPUN_BEFORE + SPUN, PLAIN_CPU + more))


def test_what_threads_spin_is_a_line_that_holds_its_truth_and_no_rest() -> None:
    held = dict.fromkeys((LedgerKind.SPINNING, LedgerKind.REST), 0)
    runs = 40
    for seed in range(runs):
        random = np.random.default_rng(seed)
        (found,) = ledgers(trials(random, more=SPUN), settings(), {AES.key: prices(random)}, [profile(random)])
        assert [line.kind for line in found.lines] == [*list(TRUTH)[:-1], LedgerKind.SPINNING, LedgerKind.REST]
        for kind, truth in ((LedgerKind.SPINNING, SPUN), (LedgerKind.REST, REST)):
            line = found.line(kind)
            assert line is not None
            held[kind] += line.amount.hdi95[0] <= truth <= line.amount.hdi95[1]
    assert min(held.values()) >= 34, held  # of 40 at 95 %, fewer than 34 come once in a thousand times


SCHEDULED_BEFORE, SCHEDULED = 40.0, 8.0
OF_PASS = 12_500  # operations: 1,000 samples of the plain twin


def profile_of_rounds(random: np.random.Generator, operations: Sequence[int]) -> CpuProfile:
    """A profile of so many rounds, each of instances that differ by 15 %, which 10 % would not make up for."""

    def side(condition: Condition, spun: float, scheduled: float, cpu: float) -> Profiled:
        rounds, totals = {}, dict.fromkeys(("spun", "scheduled", "else"), 0)
        for number, done in enumerate(operations):
            parts = {"spun": spun, "scheduled": scheduled}
            parts = {name: us * (1.0 + 0.15 * random.standard_normal()) for name, us in parts.items()}
            parts["else"] = cpu - spun - scheduled
            counts = {name: int(random.poisson(us * 1e3 * done / PERIOD_NS)) for name, us in parts.items()}
            totals = {name: totals[name] + count for name, count in counts.items()}
            rounds[number] = OfRound(done, by_class(functions(counts)))
        return Profiled(condition, len(operations), sum(operations), functions(totals), (), rounds)

    def functions(counts: dict[str, int]) -> tuple[Sampled, ...]:
        ns = {name: count * PERIOD_NS for name, count in counts.items()}
        return (
            Sampled("mariadbd", "", counts["spun"], ns["spun"], is_spinning=True),
            Sampled("[kernel.kallsyms]", "finish_task_switch", counts["scheduled"], ns["scheduled"], is_kernel=True),
            Sampled("mariadbd", "f", counts["else"], ns["else"]),
        )

    more = sum(TRUTH.values()) + SPUN + SCHEDULED
    return compare(
        side(TWINS[0], SPUN_BEFORE, SCHEDULED_BEFORE, PLAIN_CPU),
        side(AES, SPUN_BEFORE + SPUN, SCHEDULED_BEFORE + SCHEDULED, PLAIN_CPU + more),
    )


@pytest.mark.parametrize("passes", [(1,) * 3, (1,) * 12, (8, 1, 1, 1, 1)], ids=["three", "twelve", "uneven"])
def test_lines_out_of_rounds_hold_their_truth_by_how_rounds_scatter(passes: tuple[int, ...]) -> None:
    held = dict.fromkeys((LedgerKind.SPINNING, LedgerKind.SCHEDULING, LedgerKind.REST), 0)
    runs = 40
    for seed in range(runs):
        random = np.random.default_rng(seed)
        found = profile_of_rounds(random, [OF_PASS * count for count in passes])
        (of,) = ledgers(trials(random, more=SPUN + SCHEDULED), settings(), {AES.key: prices(random)}, [found])
        for kind, truth in ((LedgerKind.SPINNING, SPUN), (LedgerKind.SCHEDULING, SCHEDULED), (LedgerKind.REST, REST)):
            line = of.line(kind)
            assert line is not None
            held[kind] += line.amount.hdi95[0] <= truth <= line.amount.hdi95[1]
    assert min(held.values()) >= 34, held  # of 40 at 95 %, fewer than 34 come once in a thousand times


def test_more_rounds_make_a_sampled_line_surer() -> None:
    def width(rounds: int) -> float:
        random, widths = np.random.default_rng(3), []
        for _ in range(10):
            sampled = profile_of_rounds(random, [OF_PASS] * rounds)
            (found,) = ledgers(trials(random), settings(), {AES.key: prices(random)}, [sampled])
            line = found.line(LedgerKind.SCHEDULING)
            assert line is not None
            widths.append(line.amount.hdi95[1] - line.amount.hdi95[0])
        return float(np.median(widths))

    assert width(24) < 0.6 * width(6)


BESIDE_BEFORE, BESIDE, LOOPS_SHARE = 40.0, 24.0, 0.3
"""µs of an operation with the other CPU at work: plain, and more on the twin; and the share of a loop that this is."""


def overlapping(random: np.random.Generator) -> CpuProfile:
    """A profile of two sides that work beside others, not exactly as long as all instances do."""

    def side(condition: Condition, beside: float) -> Profiled:
        both_ns = beside / 2 * 1e3 * (1.0 + 0.10 * random.standard_normal())
        functions = (Sampled("mariadbd", "f", 1000, 1000 * PERIOD_NS),)
        return Profiled(condition, 3, 1000, functions, (12_000_000, round(1000 * both_ns)))

    return compare(side(TWINS[0], BESIDE_BEFORE), side(AES, BESIDE_BEFORE + BESIDE))


def moments(random: np.random.Generator, count: int = 32) -> list[float]:
    """A loop's ratios: of a machine whose CPUs share a core for some blocks, and then do not for some."""
    shares = np.empty(count)
    is_shared = bool(random.random() < 0.5)
    for at in range(count):
        is_shared ^= bool(random.random() < 0.3)
        shares[at] = 2 * LOOPS_SHARE * is_shared
    return [float(1.0 / (1.0 - share)) for share in shares]


def test_cpus_that_slow_one_another_are_a_line_that_holds_its_truth_and_no_rest() -> None:
    held = dict.fromkeys((LedgerKind.CROWDING, LedgerKind.REST), 0)
    runs = 40
    for seed in range(runs):
        random = np.random.default_rng(seed)
        truth = BESIDE * LOOPS_SHARE * (OF_THE_LOOP[0] + OF_THE_LOOP[1] * random.standard_normal())
        found = ledgers(
            trials(random, more=truth),
            settings(),
            {AES.key: prices(random)},
            [overlapping(random)],
            moments(random),
        )[0]
        assert [line.kind for line in found.lines] == [*list(TRUTH)[:-1], LedgerKind.CROWDING, LedgerKind.REST]
        assert not [words for words in found.in_rest if words.startswith("CPUs that slow one another")]
        for kind, true in ((LedgerKind.CROWDING, truth), (LedgerKind.REST, REST)):
            line = found.line(kind)
            assert line is not None
            held[kind] += line.amount.hdi95[0] <= true <= line.amount.hdi95[1]
        crowding = found.line(LedgerKind.CROWDING)
        assert crowding is not None
        assert np.diff(crowding.amount.hdi95)[0] < BESIDE  # all of it slowed, and none of it: that would be no news
    assert min(held.values()) >= 34, held  # of 40 at 95 %, fewer than 34 come once in a thousand times


def test_a_thread_that_spins_beside_another_is_not_counted_twice() -> None:
    random = np.random.default_rng(1)

    def beside(at_work: tuple[int, ...], spun: int) -> float:
        def side(condition: Condition, of: tuple[int, ...], spins: int) -> Profiled:
            functions = (Sampled("mariadbd", "f", 1000, 1000 * PERIOD_NS),)
            if spins:
                functions = (*functions, Sampled("mariadbd", "", spins, spins * PERIOD_NS, is_spinning=True))
            return Profiled(condition, 3, 1000, functions, of)

        profiles = [compare(side(TWINS[0], (1000,) * len(at_work), 0), side(AES, at_work, spun))]
        (found,) = ledgers(trials(random), settings(), {AES.key: prices(random)}, profiles, [2.0, 2.0])
        line = found.line(LedgerKind.CROWDING)
        assert line is not None
        assert line.items[0].price_us == pytest.approx(
            500 * OF_THE_LOOP[0], rel=0.1
        )  # of a ms of the loop's, half is the others' doing
        return line.items[0].count

    ms = 1_000_000  # of a thousand operations
    assert beside((0, 9 * ms), 0) == pytest.approx(0.018, abs=1e-4)  # two CPUs, 9 µs each
    assert beside((0, 9 * ms), 4) == pytest.approx(0.010, abs=1e-4)  # 4 of them spun, and who worked then was alone
    assert beside((0, 9 * ms), 40) == pytest.approx(0.0, abs=1e-4)
    assert beside((5 * ms, 9 * ms, 0, 0), 0) == pytest.approx(0.006, abs=1e-4)  # of four, one of three is the sibling
    assert beside((0, 0, 0, 9 * ms), 0) == pytest.approx(0.036, abs=1e-4)


def test_a_profile_that_knows_of_no_overlap_has_no_line_of_it() -> None:
    random = np.random.default_rng(1)
    (found,) = ledgers(trials(random), settings(), {AES.key: prices(random)}, [profile(random)], [2.0, 1.0])
    assert found.line(LedgerKind.CROWDING) is None
    words = "CPUs that slow one another: with all at work a loop took 1.0 to 2.0 times the CPU time, by turns"
    assert f"{words}; how long they were is not known" in found.in_rest


def test_cpus_that_slow_one_another_are_told_of_where_a_server_has_a_ledger() -> None:
    embedded = prices(np.random.default_rng(1))
    served = replace(embedded, counted="engine")

    def told(of: PagePrices, *crowding: float) -> list[str]:
        (found,) = ledgers(trials(np.random.default_rng(1)), settings(), {AES.key: of}, (), crowding)
        return [words.partition(": ")[2] for words in found.in_rest if words.startswith("CPUs that slow one another")]

    how = "; how long they were is sampled with --profile"
    assert told(served, 2.12, 0.99) == [f"with all at work a loop took 1.0 to 2.1 times the CPU time, by turns{how}"]
    assert told(served, 1.44) == [f"with all at work a loop took 1.4 times the CPU time{how}"]
    assert told(served, 1.1) == told(served) == told(embedded) == []


def test_threads_that_sleep_more_often_are_told_of_and_those_that_do_by_chance_are_not() -> None:
    random = np.random.default_rng(1)
    served = replace(prices(random), counted="engine")

    def of_run(plain: float, more: float, scatter: float, *profiles: CpuProfile) -> Ledger:
        def switched(of: Trial) -> Trial:
            mean = plain + (more if of.condition == AES else 0.0)
            each = max(0.0, mean + scatter * random.standard_normal()) * of.measurement.counted_operations
            return replace(of, measurement=replace(of.measurement, voluntary_switches=round(each)))

        (found,) = ledgers([switched(one) for one in trials(random)], settings(), {AES.key: served}, profiles)
        return found

    def told(plain: float, more: float, scatter: float) -> list[str]:
        absent = of_run(plain, more, scatter).in_rest
        return [words for words in absent if words.startswith("task switches")]

    (words,) = told(11_400.0, 2_200.0, 10.0)
    assert words.startswith("task switches: threads slept and were woken 2,")
    assert words.endswith("times more an operation than plain")
    assert told(100.0, 1.0, 0.1) == told(100.0, 0.0, 30.0) == told(100.0, -50.0, 0.1) == told(0.0, 0.0, 0.0) == []
    # Where the kernel's part of them is sampled they are told beside that.
    sampled = of_run(11_400.0, 2_200.0, 10.0, profile_of_rounds(random, [OF_PASS] * 3))
    line = sampled.line(LedgerKind.SCHEDULING)
    assert line is not None
    assert line.source.startswith("sampled, in the CPU profile; threads slept and were woken 2,")
    assert [words for words in sampled.in_rest if "task switches" in words or "scheduling" in words] == []


def test_the_same_trials_give_the_same_ledger() -> None:
    assert ledger(3) == ledger(3)


def test_the_shortest_interval_leaves_a_long_tail_out() -> None:
    draws = np.concatenate([np.linspace(0.0, 1.0, 95), np.linspace(10.0, 20.0, 5)])
    assert shortest(draws) == (0.0, 1.0)
