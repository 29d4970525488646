"""Results from the processes' batches. The processes here are fakes; tests/live has real ones."""

import os

import pytest

from support.refused import Part, check_messages, coded, refused
from tdelta.errors import Defect, EngineUnavailable, EnvironmentFault, UnknownName, UsageError
from tdelta.measure import cipher_cost
from tdelta.measure.children import Declined
from tdelta.measure.cipher_cost import PageTask, check_levels, measure_cipher_cost, page_tasks
from tdelta.records import Phase

from .fakes import FakeChild, usual

CBC = PageTask("aes-256", "cbc", 4096, "decrypt")


class Levels:
    """Makes fake children, remembers them and what they were told, in order."""

    def __init__(self):
        self.log = []
        self.children = {}
        self.cpu_ns = usual
        self.refusal = None

    def __call__(self, level):
        child = self.children[level] = FakeChild(level, self.log, self.cpu_ns)
        child.refusal = self.refusal
        return child

    def told(self, do):
        return [entry[1:] for entry in self.log if entry[0] == do]


@pytest.fixture
def levels(monkeypatch):
    made = Levels()
    monkeypatch.setattr("tdelta.measure.cipher_cost.level_child", made)
    monkeypatch.setattr(
        "tdelta.measure.cipher_cost.machine_facts", lambda _: {"cpu_model": "a CPU", "load_average": [9.0]}
    )
    monkeypatch.setattr("tdelta.measure.cipher_cost.PressureMeter.stop", lambda _: {"cpu_some": 0.0})
    return made


def small(**changed):
    given = {"sizes": [4096], "algorithms": ["aes-256", "hmac-sha1"], "modes": ["cbc"], "seconds": 0.0, "seed": 7}
    return measure_cipher_cost(**(given | changed))


def test_a_cell_is_made_of_medians_and_quartiles_of_cpu_time(levels):
    cell = small().cell(CBC, "on")
    assert (cell.batches, cell.pages) == (3, 30)  # 512, 1536 and 512 ns a page
    assert (cell.us_per_page, cell.us_per_page_least) == (0.512, 0.512)
    assert cell.us_per_page_quartiles == pytest.approx((0.512, 1.024))
    assert cell.elapsed_us_per_page == 1.024
    assert cell.gigabytes_per_second == pytest.approx(8.0)


def test_each_level_is_a_process_and_they_take_turns_pass_by_pass(levels):
    found = small()
    assert levels.told("pass") == [("on", 0), ("off", 0), ("off", 1), ("on", 1), ("on", 2), ("off", 2)]
    assert found.passes == 3
    assert levels.told("start") == [("on",), ("off",)]
    assert sorted(levels.told("end")) == [("off",), ("on",)]


def test_both_levels_get_the_same_plan(levels):
    small()
    assert levels.children["on"].plan == levels.children["off"].plan
    assert levels.children["on"].plan["seed"] == 7
    assert levels.children["on"].plan["tasks"][0] == {
        "algorithm": "aes-256", "mode": "cbc", "page_bytes": 4096, "direction": "decrypt"
    }  # fmt: skip


def test_more_passes_are_made_while_there_is_time(levels, monkeypatch):
    now = [0.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])

    def slow(task, level, index):
        now[0] += 0.1
        return usual(task, level, index)

    levels.cpu_ns = slow
    found = small(algorithms=["aes-256"], seconds=10.0)  # two tasks, two levels, asked twice: 0.8 s a pass
    assert found.passes == 12
    assert found.elapsed_seconds == pytest.approx(12 * 0.8)


def test_the_slowdown_proves_that_the_instructions_were_hidden(levels):
    found = small()
    assert found.slowdown_without_instructions == pytest.approx(10.0)
    assert {cell.aes_instructions for cell in found.cells} == {"on", "off"}
    assert found.cautions == ()
    assert found.library_cpu == {"on": "flags on", "off": "flags off"}


@pytest.mark.parametrize(
    ("machine", "reason"),
    [
        ({"cpu_architecture": "aarch64"}, "x86"),
        ({"cpu_architecture": "x86_64", "cpu_flags": {"aes": False}}, "this CPU"),
        ({"cpu_architecture": "x86_64", "cpu_flags": {"aes": True}}, "provider"),
    ],
)
def test_a_switch_that_does_not_work_leaves_the_level_out_with_a_caution(levels, monkeypatch, machine, reason):
    monkeypatch.setattr("tdelta.measure.cipher_cost.machine_facts", lambda _: machine)
    levels.cpu_ns = lambda task, level, index: usual(task, "on", index)
    found = small()
    assert found.slowdown_without_instructions == pytest.approx(1.0)
    assert {cell.aes_instructions for cell in found.cells} == {"on"}
    check_messages(found.cautions, "instructions-not-hidden", times=pytest.approx(1.0), least=1.5, why=Part(reason))


def test_the_proof_is_measured_and_not_shown_where_nobody_asked_for_it(levels):
    found = small(algorithms=["hmac-sha1"], sizes=[512])
    assert {cell.algorithm for cell in found.cells} == {"hmac-sha1"}
    assert found.slowdown_without_instructions == pytest.approx(10.0)
    assert [task["page_bytes"] for task in levels.children["on"].plan["tasks"]] == [512, 4096]


def test_pages_too_short_to_tell_do_not_serve_as_proof(levels):
    small(algorithms=["aes-256"], sizes=[16])
    assert {"algorithm": "aes-256", "mode": "cbc", "page_bytes": 4096, "direction": "decrypt"} in levels.children[
        "off"
    ].plan["tasks"]


def test_without_instructions_alone_needs_the_proof_from_both(levels):
    found = small(levels=["off"])
    assert {cell.aes_instructions for cell in found.cells} == {"off"}
    assert len(levels.children["on"].plan["tasks"]) == 1
    assert found.slowdown_without_instructions == pytest.approx(10.0)


def test_with_instructions_alone_needs_one_process_and_no_proof(levels):
    found = small(levels=["on"])
    assert (list(levels.children), found.slowdown_without_instructions) == (["on"], None)


def test_a_busy_machine_is_a_caution(levels, monkeypatch):
    monkeypatch.setattr("tdelta.measure.cipher_cost.PressureMeter.stop", lambda _: {"cpu_some": 0.25})
    check_messages(small().cautions, coded("cipher-delayed", share=0.25))


def test_only_facts_that_bear_on_the_cpu_are_kept(levels):
    assert small().machine == {"cpu_model": "a CPU"}


def test_the_seed_is_drawn_and_recorded_where_none_is_given(levels):
    assert small().seed == 7
    assert small(seed=None).seed != small(seed=None).seed


def test_progress_is_told_pass_by_pass_and_ends_full(levels):
    events = []
    small(observe=events.append)
    assert events[0] == Phase("prepare", "OpenSSL is loaded, and every cipher checked")
    assert [(e.name, e.done, e.total) for e in events[1:]] == [
        ("measure", 0, 0),  # nobody knows yet how long a pass takes
        ("measure", 1, 3),
        ("measure", 2, 3),
        ("measure", 3, 3),
    ]


@pytest.mark.parametrize(
    ("kind", "fault", "code"),
    [
        ("library", EngineUnavailable, coded("database-answer", fix=Part("install OpenSSL's"))),
        ("cipher", EnvironmentFault, coded("database-answer", fix=Part("omit it with"))),
        ("wrong", Defect, "defect"),
    ],
)
def test_what_openssl_refuses_is_told_with_a_remedy_and_ends_both_processes(levels, kind, fault, code):
    levels.refusal = Declined(kind, "nope")
    with refused(fault, code, said="nope") as caught:
        small()
    assert type(caught.value) is fault
    assert sorted(levels.told("end")) == [("off",), ("on",)]


def test_a_name_that_does_not_exist_starts_nothing(levels):
    with pytest.raises(UnknownName):
        small(modes=["cfb"])
    with pytest.raises(UnknownName):
        small(levels=["half"])
    assert levels.log == []


def test_the_environment_of_a_level_hides_aes_or_hides_nothing(monkeypatch):
    monkeypatch.setenv("OPENSSL_ia32cap", "")  # as a user might have it: everything hidden
    others = {name: value for name, value in os.environ.items() if name != "OPENSSL_ia32cap"}
    assert cipher_cost.level_environment("on") == others
    assert cipher_cost.level_environment("off") == others | {"OPENSSL_ia32cap": "~0x200000200000000:~0x60000000000"}


def test_aes_has_both_directions_and_hmac_has_one_and_no_mode_and_each_is_measured_once():
    assert page_tasks([4096, 4096], ["aes-256", "hmac-sha1", "aes-256"], ["cbc", "cbc"]) == (
        CBC,
        PageTask("aes-256", "cbc", 4096, "encrypt"),
        PageTask("hmac-sha1", None, 4096, "authenticate"),
    )
    assert len(page_tasks([4096], ["hmac-sha512"], [])) == 1
    assert {task.name for task in page_tasks([4096], ["aes-128", "aes-192"], ["xts"])} == {"aes-128-xts"}


AES_NEEDS = coded("requires", what="AES", needs="a mode, and XTS has no AES-192")
OUT_OF_RANGE = coded("out-of-range", wanted=Part("16"), what="a page size")


@pytest.mark.parametrize(
    ("sizes", "algorithms", "modes", "fault", "code"),
    [
        ([4096], ["aes-192"], ["xts"], UsageError, AES_NEEDS),
        ([4096], ["aes-128"], [], UsageError, AES_NEEDS),
        ([], ["aes-128"], ["cbc"], UsageError, coded("requires", what="the cipher benchmark")),
        ([4096], ["aes-257"], ["cbc"], UnknownName, coded("unknown", kind="algorithm", hint=Part("aes-256"))),
        *(([size], ["aes-128"], ["cbc"], UsageError, OUT_OF_RANGE) for size in (-16, 0, 8, 4095, 2**20 + 16)),
    ],
)
def test_one_fault_is_told_with_what_there_is(sizes, algorithms, modes, fault, code):
    with refused(fault, code):
        page_tasks(sizes, algorithms, modes)


def test_all_faults_are_told_at_once():
    said = ("unknown", "unknown", "out-of-range", "out-of-range")
    with refused(UsageError, *said, found=("des", "cfb", 4095, 2**20 + 16)):
        page_tasks([4095, 2**20 + 16], ["des"], ["cfb"])


def test_levels_come_once_and_in_order():
    assert check_levels(["off", "on", "off"]) == ("on", "off")
    with refused(UnknownName, "unknown", found="half"):
        check_levels(["on", "half"])
    with refused(UsageError, "requires", needs=Part("level"), what="the cipher benchmark"):
        check_levels([])
