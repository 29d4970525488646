"""AES instructions on and off: shown by what a page costs, and harmless to everything else in the process."""

import json
import os
import shutil
import signal
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.running import PATIENCE_SECONDS, Place
from tdelta.engines.embedded.pricing import ask_proof
from tdelta.engines.sqlite.engine import WORKER, SqliteEngine, TwinSettings
from tdelta.measure.aes import CryptoKind, PreloadMode, cannot_hide, hidden_environment
from tdelta.processes import TwinFolder, Worker
from tdelta.processes.protocol import CipherProof

ENGINE = SqliteEngine()
KEY = "correct horse battery staple"
HIDDEN = hidden_environment(CryptoKind.OWN)

WITHOUT_COSTS_AT_LEAST = 2.5
"""Times what AES costs with the instructions: far below benches/results/instrument.md, above luck."""

ASK = """
    import ctypes, faulthandler, os, signal, sys, threading
    import apsw

    mine = ctypes.CDLL(None)

    def answered():
        mine.no_aes_answered.restype = ctypes.c_uint64
        return mine.no_aes_answered()

    def opened(path):
        connection = apsw.Connection(path)
        connection.execute("PRAGMA cipher='aes256cbc'")
        connection.execute("PRAGMA key='throwaway'")
        return connection

    def encrypt_and_read(path="asked.db"):
        before = answered()
        opened(path).execute("CREATE TABLE t (a); INSERT INTO t VALUES (42)")
        assert opened(path).execute("SELECT a FROM t").get == 42
        return answered() > before

    def run_invalid_instruction():
        import mmap
        page = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
        page.write(b"\\x0f\\x0b\\xc3")
        ctypes.CFUNCTYPE(None)(ctypes.addressof(ctypes.c_char.from_buffer(page)))()
"""
"""The beginning of the programs below. The library asks CPUID once in a process, at its first encrypted page."""


@pytest.fixture(autouse=True, scope="module")
def instructions() -> None:
    if reason := cannot_hide(CryptoKind.OWN):
        if os.environ.get("TDELTA_REQUIRE_ENGINES") == "1":
            pytest.fail(reason)
        pytest.skip(reason)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TwinFolder]:
    with TwinFolder(tmp_path_factory.mktemp("proof"), "proof") as folder:
        yield folder


def cheapest(folder: TwinFolder, environment: dict[str, str], cipher: str) -> CipherProof:
    proofs = []
    for _ in range(3):
        with Worker(environment, ENGINE.program) as worker:
            proofs.append(ask_proof(worker, ENGINE, folder, cipher, None))
    return min(proofs, key=lambda proof: proof.cipher_us_per_page)


def run(program: str, place: Place, hidden: dict[str, str], **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a program of its own, without core dumps and without what this process was told."""
    kept = {name: value for name, value in os.environ.items() if name not in ("LD_PRELOAD", "PYTHONFAULTHANDLER")}
    preamble = "import resource; resource.setrlimit(resource.RLIMIT_CORE, (0, 0))\n"
    return subprocess.run(
        [sys.executable, "-c", preamble + textwrap.dedent(ASK) + textwrap.dedent(program)],
        env=kept | hidden | environment,
        cwd=place.base,
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
        check=False,
    )


@pytest.mark.alone
@pytest.mark.parametrize("cipher", ["aes-128", "aes-256"])
def test_aes_costs_several_times_as_much_without_the_instructions(folder: TwinFolder, cipher: str) -> None:
    with_instructions = cheapest(folder, {}, cipher)
    without = cheapest(folder, HIDDEN, cipher)
    assert with_instructions.mode is PreloadMode.NONE
    assert without.mode is PreloadMode.PATCHING
    assert without.patched > 0
    assert without.answered > 0
    assert without.library == with_instructions.library
    assert without.cipher_us_per_page >= WITHOUT_COSTS_AT_LEAST * with_instructions.cipher_us_per_page > 0


@pytest.mark.alone
def test_a_cipher_that_is_not_aes_costs_the_same(folder: TwinFolder) -> None:
    with_instructions = cheapest(folder, {}, "chacha20")
    without = cheapest(folder, HIDDEN, "chacha20")
    assert 1 / 3 < without.cipher_us_per_page / with_instructions.cipher_us_per_page < 3  # AES: eleven times


@pytest.mark.alone
def test_the_variable_for_openssl_does_not_move_a_library_that_asks_itself(folder: TwinFolder) -> None:
    told = cheapest(folder, hidden_environment(CryptoKind.OPENSSL), "aes-256")
    assert told.cipher_us_per_page < WITHOUT_COSTS_AT_LEAST * cheapest(folder, {}, "aes-256").cipher_us_per_page


def test_rows_written_without_the_instructions_are_read_with_them_and_the_other_way_round(tmp_path: Path) -> None:
    settings = TwinSettings("aes-256", cache_bytes=64 * 1024)
    for number, (writes, reads) in enumerate([(HIDDEN, {}), ({}, HIDDEN)]):
        path = tmp_path / f"{number}.db"
        with Worker(writes, WORKER) as worker:
            worker.ask("open", **ENGINE.making(path, settings, KEY))
            make = "CREATE TABLE t (id INTEGER PRIMARY KEY, body TEXT)"
            rows = (
                "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2000) "
                "INSERT INTO t SELECT i, printf('row %d', i) FROM n"
            )
            worker.ask("facts", queries={"make": make, "rows": rows})
        with Worker(reads, WORKER) as worker:
            worker.ask("open", **ENGINE.opening(path, settings, KEY) | {"connections": 4})
            queries = {str(row): f"SELECT body FROM t WHERE id = {row}" for row in (1, 999, 2000)}
            found = worker.ask("facts", queries=queries)
            intact = worker.ask("facts", queries={"check": "PRAGMA integrity_check"})
        assert found == {row: f"row {row}" for row in queries}
        assert intact == {"check": "ok"}


def test_threads_and_forked_children_are_answered(place: Place) -> None:
    ran = run(
        """
        together, read = threading.Barrier(4), []

        def read_together(number):
            together.wait()
            read.append(encrypt_and_read(f"{number}.db"))

        threads = [threading.Thread(target=read_together, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert any(read) and len(read) == 4, read
        child = os.fork()
        if child == 0:
            os._exit(0 if opened("0.db").execute("SELECT a FROM t").get == 42 else 1)
        assert os.waitpid(child, 0)[1] == 0
        """,
        place,
        HIDDEN,
    )
    assert (ran.returncode, ran.stderr) == (0, "")


FAULTHANDLER = [("", {"PYTHONFAULTHANDLER": "1"}), ("faulthandler.enable()", {})]
CRASHES = [
    ("faulthandler._sigsegv()", signal.SIGSEGV, "Segmentation fault"),
    ("faulthandler._read_null()", signal.SIGSEGV, "Segmentation fault"),
    ("faulthandler._stack_overflow()", signal.SIGSEGV, "Segmentation fault"),
    ("os.kill(os.getpid(), signal.SIGSEGV)", signal.SIGSEGV, "Segmentation fault"),
    ("ctypes.string_at(0)", signal.SIGSEGV, "Segmentation fault"),
    ("run_invalid_instruction()", signal.SIGILL, "Illegal instruction"),
    ("os.kill(os.getpid(), signal.SIGILL)", signal.SIGILL, "Illegal instruction"),
]


@pytest.mark.parametrize(("enable", "environment"), FAULTHANDLER, ids=["variable", "call"])
@pytest.mark.parametrize(("crash", "number", "told"), CRASHES, ids=[crash for crash, _, _ in CRASHES])
def test_cpuid_is_answered_under_faulthandler_which_still_tells_of_a_real_crash(
    place: Place, enable: str, environment: dict[str, str], crash: str, number: signal.Signals, told: str
) -> None:
    ran = run(f"{enable}\nprint(encrypt_and_read(), flush=True)\n{crash}", place, HIDDEN, **environment)
    assert ran.stdout == "True\n", ran.stderr
    assert f"Fatal Python error: {told}" in ran.stderr
    assert 'File "<string>", line' in ran.stderr
    assert ran.returncode == -number


@pytest.mark.parametrize("number", [signal.SIGSEGV, signal.SIGILL])
def test_a_programs_own_handler_is_kept_told_and_called(place: Place, number: signal.Signals) -> None:
    ran = run(
        f"""
        number = signal.Signals({int(number)})
        assert signal.getsignal(number) is signal.SIG_DFL
        received = []
        assert signal.signal(number, lambda n, frame: received.append(n)) is signal.SIG_DFL
        assert encrypt_and_read()
        os.kill(os.getpid(), number)
        assert received == [number], received
        signal.signal(number, signal.SIG_IGN)
        os.kill(os.getpid(), number)
        assert received == [number], received
        mine.signal.restype = ctypes.c_void_p
        assert mine.signal(int(number), None) == int(signal.SIG_IGN)
        print("default", flush=True)
        os.kill(os.getpid(), number)
        """,
        place,
        HIDDEN,
    )
    assert (ran.returncode, ran.stdout, ran.stderr) == (-number, "default\n", "")


def test_a_program_started_by_a_hidden_one_is_hidden_too(place: Place) -> None:
    ran = run(
        """
        import subprocess
        subprocess.run([sys.executable, "-c", "import ctypes; print(ctypes.CDLL(None).no_aes_mode())"], check=True)
        """,
        place,
        HIDDEN,
    )
    assert ran.stdout in ("1\n", "2\n"), ran.stderr


PATCHED = """
    import _hashlib, json

    code = {}
    for fields in map(str.split, open("/proc/self/maps")):
        if len(fields) == 6 and "x" in fields[1] and fields[5].startswith("/"):
            code.setdefault(fields[5], []).append([int(part, 16) for part in (*fields[0].split("-"), fields[2])])
    memory, found = open("/proc/self/mem", "rb", 0), {}
    for path, segments in code.items():
        for start, end, offset in segments:
            memory.seek(start)
            there = memory.read(end - start)
            original = open(path, "rb").read()[offset : offset + len(there)]
            changed = [at for at, (new, old) in enumerate(zip(there, original)) if new != old]
            assert all(original[at - 1 : at + 1] == b"\\x0f\\xa2" and there[at] == 0x0B for at in changed), path
            found.setdefault(path, []).extend(offset + at - 1 for at in changed)
    print(json.dumps([mine.no_aes_patched(), found]))
"""


def instructions_by_objdump(path: str) -> set[int]:
    """Where another disassembler sees the instruction, as offsets in the file."""
    listing = subprocess.run(["objdump", "-dw", path], capture_output=True, text=True, check=True)
    headers = subprocess.run(["readelf", "-lW", path], capture_output=True, text=True, check=True).stdout
    loads = [[int(word, 16) for word in line.split()[1:6]] for line in headers.splitlines() if " LOAD " in line]
    addresses = [int(line.split(":")[0], 16) for line in listing.stdout.splitlines() if "\tcpuid" in line]
    return {
        address - start + offset
        for address in addresses
        for offset, start, _, bytes_in_file, _ in loads
        if start <= address < start + bytes_in_file
    }


@pytest.mark.skipif(shutil.which("objdump") is None, reason="objdump is not installed: apt-get install binutils")
def test_what_was_replaced_is_an_instruction_to_another_disassembler_too(place: Place) -> None:
    ran = run(PATCHED, place, HIDDEN)
    patched, found = json.loads(ran.stdout or pytest.fail(ran.stderr))
    assert sum(map(len, found.values())) == patched
    assert patched > 0
    for path, offsets in found.items():
        if offsets:
            assert set(offsets) <= instructions_by_objdump(path), path
    (engine,) = [path for path in found if "/apsw/__init__" in path]
    assert set(found[engine]) == instructions_by_objdump(engine)
