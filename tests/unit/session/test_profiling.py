import signal
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from support.fake_perf import install, report
from support.fake_twins import FakeTwin, equal_rows
from support.refused import Part, check_messages
from tdelta.engines.sqlite.engine import TwinSettings
from tdelta.inference import cost_breakdown
from tdelta.messages import Caution, Refusal
from tdelta.processes import Checksums, Tables
from tdelta.records import CostBreakdown, CpuProfile, FunctionClass, Phase, Role, RunResult
from tdelta.session.collectors import profile
from tdelta.session.context import PROFILES, SEARCHES

from . import served as servers
from .conducting import Sitting, check
from .test_conduct import NEVER_PRECISE, press_ctrl_c

LIBRARY = "__init__.cpython-311-x86_64-linux-gnu.so"
REPORTS = {
    "1": report((900, LIBRARY, "[.] sqlite3VdbeExec"), (100, "[kernel.kallsyms]", "[k] _copy_to_iter")),
    "2": report((910, LIBRARY, "[.] sqlite3VdbeExec"), (500, LIBRARY, "[.] aesEncryptCBC")),
}


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    return install(_bin(tmp_path), monkeypatch, REPORTS)


def _bin(tmp_path: Path) -> Path:
    folder = tmp_path / "bin"
    folder.mkdir(exist_ok=True)
    return folder


def jobs(twin: FakeTwin) -> list[Any]:
    return [job for job in twin.jobs if job.stream >= PROFILES]


def of_rounds(sitting: Sitting) -> list[FakeTwin]:
    return [twin for twin in sitting.twins.started if not twin.name.startswith("sizing")]


def told(result: RunResult) -> list[Caution]:
    return [caution for caution in result.cautions if "profile" in caution.code]


def test_a_run_whose_rest_is_little_has_no_profile_unless_it_is_asked_for(
    sitting: Sitting, log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cost_breakdown, "MUCH", 2.0)
    result = sitting.conduct()
    assert (result.of(CpuProfile), told(result), log.read_text()) == ((), [], "")
    assert not any(jobs(twin) for twin in sitting.twins.started)


def test_functions_of_a_rest_that_is_much_are_sampled_once_without_being_asked_for(
    sitting: Sitting, monkeypatch: pytest.MonkeyPatch
) -> None:
    more = report((1300, LIBRARY, "[.] sqlite3VdbeExec"), (500, LIBRARY, "[.] aesEncryptCBC"))
    install(_bin(sitting.base), monkeypatch, {**REPORTS, "2": more})
    monkeypatch.setattr(profile, "_AROUND_TRIAL", 0.0)  # as if the run had taken long
    result = sitting.conduct()
    (found,) = result.of(CostBreakdown)
    assert [one.function for one in found.functions] == ["sqlite3VdbeExec"]  # the cipher's has a line
    assert found.where_unknown is None
    assert (result.of(CpuProfile), told(result)) == ((), [])
    sampled = [twin for twin in of_rounds(sitting) if jobs(twin)]
    assert len(sampled) == 2
    assert len({len(jobs(twin)) for twin in sampled}) == 1


def test_a_short_run_is_not_made_long_by_samples_that_nobody_asked_for(
    sitting: Sitting, log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(profile, "_AROUND_TRIAL", 10.0)  # two twins: 20 s, and the run may take 80 s
    result = sitting.conduct()
    check_messages([result.of(CostBreakdown)[0].where_unknown], "functions-not-sampled", why=Part("--profile"))
    assert not any(jobs(twin) for twin in sitting.twins.started)


def test_without_perf_the_cost_breakdown_says_that_it_cannot_say_where_and_how_to_get_it(
    sitting: Sitting, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    result = sitting.conduct()
    why = Refusal.of("perf-unavailable", fault="not found").text
    check_messages([result.of(CostBreakdown)[0].where_unknown], "functions-not-sampled", why=why)
    assert told(result) == []


def test_each_judged_condition_stands_beside_its_baseline(sitting: Sitting, log: Path) -> None:
    result = sitting.conduct(profile=True)
    (profile,) = result.of(CpuProfile)
    assert (profile.baseline.condition.role, profile.condition.condition.role) == (Role.BASELINE, Role.TREATMENT)
    done = list({job.stream: job for twin in of_rounds(sitting) for job in jobs(twin)}.values())
    assert profile.condition.operations == sum(job.operations for job in done)
    passes = profile.condition.trials
    assert passes == len(done)
    assert (profile.baseline.samples, profile.condition.samples) == (passes * 1000, passes * 1410)
    shares = {one.function_class: one.difference_ns for one in profile.classes}
    assert shares[FunctionClass.CIPHER] == pytest.approx(passes * 500 * 1_001_001 / profile.condition.operations)
    assert told(result) == []


def test_trials_that_are_sampled_are_in_neither_the_store_nor_the_verdicts(sitting: Sitting, log: Path) -> None:
    result = sitting.conduct(profile=True)
    plain = Sitting(sitting.base / "other").conduct()
    assert result.counts.trials == len(sitting.trials()) == plain.counts.trials


def test_every_twin_of_the_round_does_the_same_operations_and_aa_twins_are_not_sampled(
    sitting: Sitting, log: Path
) -> None:
    sitting.conduct(profile=True, workload="order-entry")
    twins = of_rounds(sitting)
    passes = 0
    for first in range(0, len(twins), 3):
        sampled = [jobs(twin) for twin in twins[first : first + 3]]
        work = [sorted((job.stream, job.operations, job.first_op) for job in found) for found in sampled]
        assert work[0] == work[1] == work[2] != []
        passes += len(work[0])
    assert set(log.read_text().split()) == {"1", "2"}
    assert len(log.read_text().split()) == 2 * passes


def test_no_operation_comes_twice_on_a_twin(sitting: Sitting, log: Path) -> None:
    sitting.conduct(profile=True, trial_seconds=0.1, workload="order-entry")
    for twin in of_rounds(sitting):
        ranges = sorted((job.first_op, job.first_op + job.operations) for job in (*twin.jobs, *twin.searched))
        assert all(end <= begin for (_, end), (begin, _) in pairwise(ranges))


def test_every_round_has_some_behind_its_blocks_and_before_the_search(sitting: Sitting, log: Path) -> None:
    sitting.conduct(profile=True)
    twins = of_rounds(sitting)
    sampled = [twin for twin in twins if jobs(twin)]  # the A/A twin has no part where nothing is written
    assert len(sampled) == 2 * len(twins) // 3
    assert len({next(iter(jobs(twin))).stream for twin in sampled}) == len(twins) // 3
    assert all(job.stream < PROFILES for twin in sampled for job in twin.jobs[: -len(jobs(twin))])
    names = [event.name for event in sitting.events if isinstance(event, Phase)]
    assert names.index("profile") < names.index("evidence")
    streams = [job.stream for job in of_rounds(sitting)[0].searched]
    assert all(SEARCHES <= stream < PROFILES for stream in streams)


def test_only_the_first_round_has_them_where_they_may_take_no_time(
    sitting: Sitting, log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(profile, "_SHARE_OF_TIME", 0.0)
    result = sitting.conduct(profile=True)
    counts = [len(jobs(twin)) for twin in of_rounds(sitting)]
    assert sorted(counts[:3]) == [0, 1, 1]
    assert not any(counts[3:])
    assert result.of(CpuProfile)[0].condition.trials == 1


def test_orders_are_drawn_anew_in_every_round(sitting: Sitting, log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(profile, "_MOST_PASSES", 1)
    sitting.conduct(profile=True, min_rounds=8, max_rounds=8)
    first = log.read_text().split()[::2]
    assert len(first) == 8
    assert set(first) == {"1", "2"}


def test_a_pass_that_is_cut_short_in_a_later_round_is_not_counted(sitting: Sitting, log: Path) -> None:
    def before_trial(twin: FakeTwin, job: Any) -> None:
        if job.stream >= PROFILES + (1 << 8):
            signal.raise_signal(signal.SIGINT)

    result = sitting.scripted(before_trial=before_trial).conduct(profile=True)
    (profile,) = result.of(CpuProfile)
    passes = log.read_text().split()
    assert profile.baseline.trials == profile.condition.trials == len(passes) // 2
    assert len(passes) % 2 == 1


def test_without_perf_the_run_says_so_and_goes_on(sitting: Sitting, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    result = sitting.conduct(profile=True)
    assert result.of(CpuProfile) == ()
    check_messages(told(result), "no-profile", why=Part("perf"))
    assert result.verdicts


def by_trials(settings: TwinSettings, tables: Tables, trials: int) -> Checksums:
    """Rows that differ wherever twins have run different numbers of trials."""
    return {table: (rows + trials, digest) for table, (rows, digest) in equal_rows(settings, tables, 0).items()}


@pytest.mark.parametrize(
    ("fake", "words"),
    [
        ({"said": "Access to performance monitoring is limited"}, "sample"),
        ({"dies_at": "disable"}, "perf failed"),
        ({"reports": {"": report()}}, "samples"),
    ],
)
def test_whatever_keeps_perf_from_it_the_twins_stay_equal(
    fake: dict[str, Any], words: str, sitting: Sitting, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(_bin(sitting.base), monkeypatch, **{"reports": REPORTS, **fake})
    counted = sitting.scripted(rows=by_trials)
    result = counted.conduct(profile=True, workload="order-entry")
    assert result.of(CpuProfile) == ()
    check_messages(told(result), "no-profile", why=Part(words))
    assert check(result, "rows-after").ok


def test_a_kernel_that_cannot_be_looked_at_is_told(sitting: Sitting, monkeypatch: pytest.MonkeyPatch) -> None:
    reports = {"": report((900, LIBRARY, "[.] sqlite3VdbeExec"), event="cpu-clock:u")}
    install(_bin(sitting.base), monkeypatch, reports)
    result = sitting.conduct(profile=True)
    assert result.of(CpuProfile)
    check_messages(told(result), "profile-limited", why="no kernel functions (sysctl kernel.perf_event_paranoid=1)")


@pytest.mark.parametrize("looks_at_cpus", [False, True])
def test_that_perf_follows_the_threads_of_servers_is_told(
    looks_at_cpus: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    servers.installed(monkeypatch)
    install(_bin(tmp_path), monkeypatch, {"": REPORTS["2"]}, looks_at_cpus=looks_at_cpus)
    result = servers.served(tmp_path, processes=lambda _: (11,)).conduct(profile=True, **servers.OPTIONS)
    assert result.of(CpuProfile)
    assert [caution.code for caution in told(result)] == ([] if looks_at_cpus else ["profile-limited"])


@pytest.mark.parametrize(
    "fake", [{"said_of_cpus": "Access to performance monitoring is limited"}, {"dies_on_cpus_at": "disable"}]
)
def test_where_whole_cpus_cannot_be_sampled_all_of_the_run_follows_threads(
    fake: dict[str, Any], sitting: Sitting, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = install(_bin(sitting.base), monkeypatch, REPORTS, looks_at_cpus=True, **fake)
    result = sitting.scripted(rows=by_trials).conduct(profile=True, workload="order-entry", min_rounds=3, max_rounds=3)
    done = log.read_text().split()
    assert done.count("all") == ("dies_on_cpus_at" in fake)
    (profile,) = result.of(CpuProfile)
    assert {profile.baseline.trials, profile.condition.trials} == {done.count("1")} == {done.count("2")}
    check_messages(told(result), "profile-limited")
    assert check(result, "rows-after").ok
    for twin in of_rounds(sitting):
        ranges = sorted((job.first_op, job.first_op + job.operations) for job in (*twin.jobs, *twin.searched))
        assert all(end <= begin for (_, end), (begin, _) in pairwise(ranges))


def test_samples_of_whole_cpus_and_of_threads_are_never_put_together(
    sitting: Sitting, monkeypatch: pytest.MonkeyPatch
) -> None:
    everything = {"": REPORTS["2"]}
    twins = sitting.scripted(cost_ns=NEVER_PRECISE, before_trial=press_ctrl_c(at_stream=2), processes=lambda _: (11,))
    install(_bin(sitting.base), monkeypatch, everything, looks_at_cpus=True)
    before = twins.conduct(profile=True).of(CpuProfile)
    install(_bin(sitting.base), monkeypatch, everything)
    again = Sitting(sitting.base).resume()
    assert again.of(CpuProfile) == before != ()
    check_messages(told(again), "profile-limited", why=Part("whole CPUs"))


def test_a_pass_of_which_perf_lost_a_part_does_not_count(sitting: Sitting, monkeypatch: pytest.MonkeyPatch) -> None:
    log = install(_bin(sitting.base), monkeypatch, REPORTS, loses=(3,))
    result = sitting.conduct(profile=True)
    (profile,) = result.of(CpuProfile)
    assert profile.baseline.trials == profile.condition.trials == len(log.read_text().split()) // 2 - 1
    check_messages(told(result), "profile-limited", why=Part("1"))


def test_where_every_pass_was_lost_there_is_no_profile(sitting: Sitting, monkeypatch: pytest.MonkeyPatch) -> None:
    install(_bin(sitting.base), monkeypatch, REPORTS, loses=tuple(range(1, 99)))
    result = sitting.scripted(rows=by_trials).conduct(profile=True, workload="order-entry", min_rounds=2, max_rounds=2)
    assert result.of(CpuProfile) == ()
    check_messages(told(result), "no-profile", why=Part("2 passes"))
    assert check(result, "rows-after").ok


def test_the_profile_of_an_earlier_sitting_is_kept(sitting: Sitting, log: Path) -> None:
    twins = sitting.scripted(cost_ns=NEVER_PRECISE, before_trial=press_ctrl_c(at_stream=2))
    result = twins.conduct(profile=True)
    assert result.interrupted
    assert result.of(CpuProfile)
    before = log.read_text()
    again = Sitting(sitting.base).resume()
    assert len(log.read_text()) > len(before)
    passes = log.read_text().count("2")
    assert [one.condition.trials for one in again.of(CpuProfile)] == [passes]
    assert [one.condition.samples for one in again.of(CpuProfile)] == [passes * 1410]


def test_an_interruption_ends_it(sitting: Sitting, log: Path) -> None:
    def before_trial(twin: FakeTwin, job: Any) -> None:
        if job.stream >= PROFILES:
            signal.raise_signal(signal.SIGINT)

    result = sitting.scripted(before_trial=before_trial).conduct(profile=True)
    assert result.interrupted
    assert result.of(CpuProfile) == ()
    assert len(log.read_text().split()) == 1


def test_no_file_of_perf_stays(sitting: Sitting, log: Path) -> None:
    sitting.conduct(profile=True)
    assert not list(sitting.base.rglob("perf-*.data*"))
    assert sitting.state().profile
