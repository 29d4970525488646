import csv
import io
import shutil
from pathlib import Path
from typing import Any

import pytest

import tdelta.workloads
from support.codes import details
from support.refused import check_messages
from support.running import ANSWERED, ONCE, SMALL, Answered, Place
from tdelta.engines.sqlite.engine import SqliteEngine
from tdelta.messages.checks import AA_CHECK, ROWS_AFTER

CIPHERS = [cipher for cipher in SqliteEngine().ciphers if cipher != "none"]
EXIT_CODES = {"slower": 0, "negligible": 0, "faster": 0, "undecided": 3, "over": 5, "within": 0, "invalid": 4}
POINTS = ("--workload", "point-select", "--no-aa")


def checks(document) -> dict[str, tuple[str, str]]:
    return {found["code"]: (found["state"], found["detail"]) for found in document["validity"]}


def misses_share(trials: list[dict[str, Any]]) -> float:
    counters = [trial["engine_counters"] for trial in trials]
    misses = sum(found["cache_misses"] for found in counters)
    return misses / (misses + sum(found["cache_hits"] for found in counters))


def levels(document, name: str) -> list[object]:
    return [found["levels"].get(name) for found in document["settings"]["conditions"]]


def test_a_run_answers_with_every_field_that_is_promised_and_can_be_shown_and_exported(default_run: Answered) -> None:
    place, document = default_run.place, default_run.document
    assert document["exit_code"] == default_run.code == EXIT_CODES[document["decision"]]
    assert document["seed"] == 7
    promised = {"run_id", "noise_floor", "loop_cost_ns", "client_overhead_share", "validity", "cautions", "verdicts"}
    assert promised <= document.keys()
    (primary,) = [verdict for verdict in document["verdicts"] if verdict["primary"]]
    assert primary["condition"] == {"cipher": "aes-256", "threads": 1}
    assert primary["baseline"] == {"cipher": "none", "threads": 1}
    assert (primary["metric"], primary["transaction"], primary["unit"]) == ("response_time", "all", "µs")
    assert primary["decision"] == document["decision"]
    low, high = primary["ratio_of_means"]["hdi95"]
    assert low < primary["ratio_of_means"]["median"] < high
    assert primary["baseline_value"] > 0 < primary["condition_value"]
    assert document["loop_cost_ns"] > 0
    assert 0 < document["client_overhead_share"] < 1
    assert {name for name, (state, _) in checks(document).items() if state == "failed"} <= {AA_CHECK}
    assert document["counts"]["trials"] == 2 * 2 * 3

    shown = place.tdelta("show", "last", "--json")
    assert (shown.code, shown.document) == (default_run.code, document)

    rows = list(csv.DictReader(io.StringIO(place.tdelta("export", "last", "--format", "csv").out)))
    exported = place.tdelta("export", "last", "--format", "json").document["trials"]
    assert len(rows) == len(exported) == 12
    assert [one["measurement"]["elapsed_ns"] for one in exported] == [one["elapsed_ns"] for one in place.trials()]
    assert {int(row["total_operations"]) for row in rows} == {document["counts"]["operations_per_trial"]}


def test_the_same_seed_does_the_same_work_again(tmp_path: Path) -> None:
    def work(place: Place):
        trials = sorted(place.trials(), key=lambda trial: (trial["block"], trial["position"]))
        return [(trial["block"], trial["position"], trial["condition"], trial["instance"]) for trial in trials]

    places = [Place(tmp_path / name) for name in ("one", "other")]
    for place in places:
        place.base.mkdir()
    # An open loop, whose operations a trial follow from the rate and not from the machine.
    documents = [place.answer("--seed", "11", "--rate", "4000") for place in places]
    assert work(places[0]) == work(places[1])
    assert documents[0]["counts"]["operations_per_trial"] == documents[1]["counts"]["operations_per_trial"] == 120
    one, other = (checks(document)["rows-before"] for document in documents)
    assert one == other == ("ok", one[1])
    spans = [[trial["transactions"] for trial in place.trials()] for place in places]
    counts = [[{name: span["count"] for name, span in trial.items()} for trial in found] for found in spans]
    assert counts[0] == counts[1]


def test_every_cipher_loads_runs_and_holds_the_same_rows(every_cipher: Answered) -> None:
    document = every_cipher.document
    primary = [verdict for verdict in document["verdicts"] if verdict["primary"]]
    assert [verdict["condition"]["cipher"] for verdict in primary] == CIPHERS
    found = checks(document)
    assert {state for state, _ in found.values()} <= {"ok", "not shown"}
    hidden = ", ".join(f"{cipher} hides its header" for cipher in CIPHERS)
    assert found["files-encrypted"] == ("ok", f"none shows its header, {hidden}")


def test_files_are_equally_large(place: Place) -> None:
    place.answer("--vary", "cipher=sqlcipher", *POINTS, *ONCE)
    assert len({trial["files_bytes"]["database"] for trial in place.trials()}) == 1


@pytest.mark.parametrize(("budget", "codes"), [("1000%", (0, 3)), ("0.001%", (3, 5))])
def test_a_workload_that_only_reads_writes_nothing_and_a_budget_ends_in_an_exit_code_of_its_own(
    place: Place, budget: str, codes: tuple[int, ...]
) -> None:
    ran = place.run("--workload", "read-only", "--no-aa", "--budget", budget)
    document = ran.document
    assert ran.code in codes
    assert document["decision"] in ("within", "undecided", "over")
    assert document["exit_code"] == ran.code == EXIT_CODES[document["decision"]]
    assert document["settings"]["workload"] == "read-only"
    trials = place.trials()
    assert {trial["transactions"].keys() == {"read_only"} for trial in trials} == {True}
    assert {trial["engine_counters"]["cache_writes"] for trial in trials} == {0}
    assert all(trial["engine_counters"]["cache_misses"] > 0 for trial in trials)


def test_a_run_with_everything_in_the_cache_counts_no_page_and_shows_no_figure_of_too_few_blocks(place: Place) -> None:
    document = place.answer("--cache", "300%", "--size", "2MB", *POINTS, *ONCE)
    (encrypted,) = [v["condition"] for v in document["verdicts"] if v["primary"]]
    assert encrypted["cipher"] == "aes-256"
    assert list(document["barely_encrypted"].values()) == [0.0]
    assert document["decision"] == "undecided"
    assert document["sentence"].startswith("NO ANSWER YET")


def test_every_condition_has_its_checkpoints_with_what_they_wrote(default_run: Answered) -> None:
    found = default_run.document["checkpoints"]
    assert [one["condition"] for one in found] == [c["levels"] for c in default_run.document["settings"]["conditions"]]
    trials = default_run.place.trials()
    for one in found:
        assert one["checkpoints"] == one["trials"] > 0
        assert 0 < one["seconds"]["low"] <= one["seconds"]["median"] <= one["seconds"]["high"]
        assert one["written_bytes"]["median"] > 4096
    # The log is copied into the database; bytes of the checkpoint are some of the trial's.
    for trial in trials:
        assert 0 < trial["checkpoint_syscall_written_bytes"] < trial["syscall_written_bytes"]


def test_writes_leave_the_same_rows_on_every_twin(default_run: Answered) -> None:
    document = default_run.document
    assert document["settings"]["workload"] == "order-entry"
    assert checks(document)[ROWS_AFTER][0] == "ok"
    check_messages(details(document, ROWS_AFTER), "rows-after-rounds", rounds=2)
    assert all(trial["syscall_written_bytes"] > 0 for trial in default_run.place.trials())


def test_a_folder_of_the_users_own_runs_in_an_open_loop_at_the_rate_that_was_asked(place: Place) -> None:
    mine = place.base / "mine"
    shutil.copytree(Path(tdelta.workloads.__file__).parent / "point_select", mine)
    open_loop = ("--rate", "500", "--trial-time", "0.1s")
    document = place.answer("--workload", "./mine", "--no-aa", *open_loop, *ONCE)
    assert (document["settings"]["study"], document["settings"]["workload"]) == ("", "point-select")
    assert {name for trial in place.trials() for name in trial["transactions"]} == {"point_select"}
    assert document["counts"]["operations_per_trial"] == 50
    # Fifty operations of which one falls due every 2 ms on average: a loop that did not wait would need far less.
    assert all(trial["elapsed_ns"] >= 25 * 2_000_000 for trial in place.trials())


def test_factors_can_be_varied_together_and_the_twins_have_what_was_asked(place: Place) -> None:
    """How logs are written is varied in test_evidence.py."""
    varied = {"cache": {0.1, 1.2}, "page_size": {1024, 16384}}
    document = place.answer("--vary", "cache=10%,120%", "--vary", "page_size=1024,16384", "--no-aa", *ONCE)
    assert checks(document)["settings"][0] == "ok"
    trials = place.trials()
    for factor, found in varied.items():
        assert set(levels(document, factor)) == {trial[factor] for trial in trials} == found
    shares = {level: misses_share([t for t in trials if t["cache"] == level]) for level in varied["cache"]}
    assert shares[0.1] > shares[1.2]


@pytest.mark.alone
def test_an_injected_cost_is_spun_and_recorded(place: Place) -> None:
    document = place.answer("--self-test", "--inject", "20%", "--trial-time", "0.1s")
    injected = [v for v in document["verdicts"] if v["condition"].get("injected") == 0.2 and v["transaction"] == "all"]
    identical = [v for v in document["verdicts"] if v["primary"] and v["condition"].get("twin") == "identical"]
    actual = {verdict["metric"]: verdict["actual"] for verdict in injected}
    assert actual["cpu_per_operation"] == pytest.approx(1.2, abs=0.05)
    assert actual["response_time"] > 1.0
    assert len(identical) == 1
    assert set(levels(document, "cipher")) == {"none"}


def test_the_terminal_shows_a_sentence_first_and_progress_goes_to_standard_error(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    ran = place.tdelta("run", *SMALL, *POINTS)
    assert ran.code in ANSWERED
    assert ran.out[:2].isupper()
    assert len(ran.out.splitlines()) <= 24
    details = place.tdelta("show", "--details").out.splitlines()
    assert len([line for line in details if line.startswith("p95 ")]) == 1
    assert "load: none" in ran.err
    assert "round 2" in ran.err
    again = place.tdelta("show")
    assert (again.code, again.out) == (ran.code, ran.out)
