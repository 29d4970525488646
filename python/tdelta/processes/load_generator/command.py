"""The user's load generator: read once, checked as a whole, then filled in for each twin and trial.

No shell reads it unless the user writes ``sh -c '…'``. Placeholders in braces stand for what differs between twins and
trials; options of known tools that the user left out are added, so that ``sysbench oltp_read_only run`` is enough.
"""

from __future__ import annotations

import dataclasses
import os
import re
import shlex
import shutil
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath

from tdelta.errors import LoadGeneratorError
from tdelta.messages import Caution, Refusal
from tdelta.processes.load_generator.connections import MYSQL, OPTION_FILE, POSTGRES, Connection, from_users_home
from tdelta.processes.load_generator.pgbench import Pgbench
from tdelta.processes.load_generator.sysbench import Sysbench
from tdelta.processes.load_generator.tools import (
    Amount,
    Filled,
    Finished,
    Given,
    Tool,
    histograms_of,
    unreadable,
)
from tdelta.records import Measurement, SpanTotals

# Passwords in the commands that users give: found by where programs take them, and never repeated.
#
# Such a command is stored with the run, packed, repeated on the page and seen by every user of the machine
# while it runs. What a shell fills in (``$NAME``) and placeholders are no passwords.

_FOLLOWS = r"['\"]?(?![\s'\"${`]|\Z)"
"""Where a value follows that is written out."""

_SPACED = rf"\s+(?![-<>|&;]){_FOLLOWS}"
_WORDS = r"(?:pass(?:w(?:o(?:rd?)?|d)?|phrase)?\d*|pwd|secret(?:[-_]access[-_]key)?|token|api[-_]?key)"
_MYSQLS = r"(?:mysql|mariadb|mydumper|myloader|mariabackup|xtrabackup)[\w-]*"


def _of(programs: str, option: str) -> re.Pattern[str]:
    """An option that has a password with these programs alone."""
    return re.compile(rf"(?<![\w-]){programs}(?![\w-])[^|;&\n]*?\s{option}")


_PATTERNS = (
    re.compile(rf"(?i)(?<![\w-])(--(?:[a-z0-9]+[-_])*{_WORDS})(?:={_FOLLOWS}|{_SPACED})"),
    re.compile(rf"(?i)(?<![\w$-])(\w*(?:password|passwd|passphrase)|(?:[a-z0-9]+_)*{_WORDS})\s*=\s*{_FOLLOWS}"),
    re.compile(r"(?i)\b([a-z][a-z0-9+.-]*://)[^\s/@:'\"]*:(?![$'\"{`])[^\s@'\"]+@"),
    _of(_MYSQLS, rf"(-p){_FOLLOWS}"),
    _of("(?:7z[arz]?|rar|unrar)", rf"(-p){_FOLLOWS}"),
    _of("(?:sshpass|mydumper|myloader|mongo[a-z]*|cqlsh)", rf"(-p)(?:{_FOLLOWS}|{_SPACED})"),
    _of("(?:zip|unzip|sqlcmd|bcp|isql|osql)", rf"(-P)(?:{_FOLLOWS}|{_SPACED})"),
    _of("(?:redis-cli|valkey-cli)", rf"(-a){_SPACED}"),
    _of("(?:curl|wget|https?|xh)", rf"(-u|-U|-a|--user|--proxy-user|--auth)[ =]*['\"]?[^\s:'\"=]+:{_FOLLOWS}"),
    _of("openssl", rf"(-[kK])(?:{_SPACED})"),
    re.compile(rf"(?<!\w)(-pass(?:in|out)?)\s+['\"]?pass:{_FOLLOWS}"),
    re.compile(
        rf"(?i)\b((?:proxy-)?authorization|x-api-key|[\w-]*-token)\s*:\s*(?:(?:bearer|basic|token)\s+)?{_FOLLOWS}"
    ),
    _of("(?:sqlplus|impdp|imp|sqlldr|rman)", r"['\"]?([\w$#]+/)(?![$'\"{`])[^\s/@'\"]+@"),
    re.compile(rf"(?i)\b(identified\s+by)\s+(?:password\s+)?{_FOLLOWS}"),
)


def passwords_in(command: str) -> tuple[str, ...]:
    """The words before each password in a command: an option, a variable, the scheme of an address."""
    found = [match[1] for pattern in _PATTERNS for match in pattern.finditer(command)]
    return tuple(dict.fromkeys(found))


TOOLS: tuple[Tool, ...] = (Sysbench(), Pgbench())
"""The load tools whose options and reports are known."""

_PLACES = ("{socket}", "{host}", "{port}", "{option_file}")
_MARKS = {"{operations}": Amount.ASKED, "{operations_per_thread}": Amount.ASKED, "{seconds}": Amount.TIMED}


class AnyCommand(Tool):
    """The tool that knows nothing: nothing is added to its words.

    The command has what it needs by placeholders, or in its environment.

    Args:
        operations: a pattern whose group is the number of operations in what the command prints.
    """

    install = "install it, or give its path"

    def __init__(self, program: str, operations: re.Pattern[str] | None = None) -> None:
        self.name = PurePath(program).name or program
        self._operations = operations

    def _given(self, words: Sequence[str]) -> Given:
        return Given({}, tuple(words))

    def _added(self, given: Given, _protocol: str) -> tuple[Amount, list[str]]:
        text = " ".join(given.others)
        return next((amount for mark, amount in _MARKS.items() if mark in text), Amount.OWN), []

    def _cautions(self, given: Given, amount: Amount, protocol: str) -> Iterator[Caution]:
        yield from super()._cautions(given, amount, protocol)
        if protocol == MYSQL and not any(place in word for word in given.others for place in _PLACES):
            yield Caution.of("load-names-no-twin", product="MySQL")

    def read(self, finished: Finished) -> Measurement:
        """The result by the pattern; by the report of a tool that a script ran; else one operation."""
        if self._operations is not None:
            return self._counted(finished, self._operations)
        for tool in TOOLS:
            if tool.recognises(finished.out):
                return tool.read(dataclasses.replace(finished, log_folder=None))
        times = {self.name: {finished.elapsed_ns: 1}}
        totals = {self.name: SpanTotals(1, finished.elapsed_ns)}
        return Measurement(1, finished.elapsed_ns, totals, {}, histograms=histograms_of(times))

    def _counted(self, finished: Finished, pattern: re.Pattern[str]) -> Measurement:
        found = [match.group(1) for match in pattern.finditer(finished.out)]
        numbers = [int(text.replace(",", "")) for text in found if re.fullmatch(r"[0-9][0-9,]{0,17}", text or "")]
        if not numbers or numbers[-1] == 0:
            raise unreadable(finished, f"a number above 0 that matches --load-operations {pattern.pattern!r}")
        count = numbers[-1]
        return Measurement(count, finished.elapsed_ns, {self.name: SpanTotals(count, finished.elapsed_ns)}, {})


PLACEHOLDERS = (
    *("socket", "host", "port", "user", "database", "option_file", "threads", "jobs"),
    *("operations", "operations_per_thread", "seconds", "seed", "folder", "log"),
)
"""The names that may stand in braces; docs/workloads.md says for what."""

HOME, LOG_NAME = "home", "load-log"
"""The names in the private folder: of the clients' home, which has ``{option_file}``, and that ``{log}`` ends in."""

_PLACEHOLDER = re.compile(r"\{\{([a-z_]+)\}\}|(?<!\$)\{([a-z_]+)\}")
_WRAPPERS = frozenset(["chrt", "env", "ionice", "nice", "numactl", "setarch", "stdbuf", "taskset", "time", "timeout"])
_SHELLS = frozenset(["ash", "bash", "dash", "ksh", "mksh", "sh", "zsh"])
_SHELL_SIGNS = frozenset(["|", "||", "&&", ";", "&", ">", ">>", "<", "<<", "2>", "2>&1", "&>", ">&2"])
_SEED_SPAN = (1 << 31) - 2
"""sysbench reads its seed as an int and takes 0 for the clock."""


@dataclass(frozen=True, slots=True)
class Work:
    """The amount of one trial of a command. ``seed`` is the block's, the same for every twin in it."""

    threads: int
    operations: int
    seconds: float
    seed: int

    def placeholders(self) -> dict[str, str]:
        return {
            "threads": str(self.threads),
            "jobs": str(min(self.threads, os.cpu_count() or 1)),
            "operations": str(self.operations),
            "operations_per_thread": str(max(1, -(-self.operations // self.threads))),
            "seconds": str(max(1, round(self.seconds))),
            "seed": str(1 + self.seed % _SEED_SPAN),
        }


@dataclass(frozen=True, slots=True)
class LoadGenerator:
    """A command that was checked. ``text`` is the user's, ``head`` the words up to the tool's own name.

    ``tool`` knows the options, ``reader`` the results; they are one unless a pattern says what to read.
    ``filled.added`` and ``filled.cautions`` are for the report, ``filled.amount`` says what ends a trial.
    """

    text: str
    head: tuple[str, ...]
    tool: Tool
    reader: Tool
    filled: Filled

    @property
    def calibrates(self) -> bool:
        return self.filled.amount is Amount.ASKED

    @property
    def does_equal_work(self) -> bool:
        """Whether a trial is a number of operations, so that twins can be held to the same."""
        return self.filled.amount in (Amount.ASKED, Amount.FIXED)

    @property
    def cautions(self) -> tuple[Caution, ...]:
        return self.filled.cautions

    def argv(self, connection: Connection, work: Work, folder: Path) -> tuple[str, ...]:
        """The words for one trial on one twin. ``folder`` is the private one."""
        files = {"folder": folder, "option_file": folder / HOME / OPTION_FILE, "log": folder / LOG_NAME}
        work = work if self.filled.threads is None else dataclasses.replace(work, threads=self.filled.threads)
        named = {name: str(path) for name, path in files.items()}
        values = connection.placeholders() | work.placeholders() | named
        words = self.head[1:] + self.filled.words
        script = _script_index(self.head + self.filled.words)
        rest = [expand(word, values, is_script=1 + i == script) for i, word in enumerate(words)]
        at = len(self.head) - 1  # behind the tool's own name, where no option of a wrapper can be meant
        added = self.tool.connection_words(self.filled.words, connection)
        return (self.head[0], *rest[:at], *added, *rest[at:])


def parse_load(
    text: str, protocol: str, *, threads_levels: Collection[int] = (), operations: str | None = None
) -> LoadGenerator:
    """Read and check a load generator.

    Args:
        protocol: what the twins speak, ``mysql`` or ``postgres``.
        threads_levels: the levels of ``threads`` that the run varies; empty where the command may choose.
        operations: a pattern whose group is the number of operations in what the command prints.

    Raises:
        LoadGeneratorError: it cannot be run as it is; all that is wrong, at once.
    """
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise LoadGeneratorError("", [Refusal.of("invalid", kind="command", fault=error)]) from error
    if not words:
        raise LoadGeneratorError("", [Refusal.of("missing", what="the command ('sysbench oltp_read_only run')")])
    at = _tool_index(words)
    pattern, pattern_faults = _pattern(operations)
    any_command = AnyCommand(words[at], pattern)
    tool: Tool = next((tool for tool in TOOLS if tool.name == PurePath(words[at]).name), any_command)
    reader = tool if pattern is None else any_command
    filled = tool.fill(words[at + 1 :], protocol, threads_levels)
    why = "every user of this machine can read a password there"
    secrets = [Refusal.of("load-option", option=f"{option}…", why=why) for option in passwords_in(text)]
    faults = [*secrets, *_program_faults(words, at, tool), *_word_faults(words, protocol)]
    faults += [*filled.faults, *pattern_faults]
    if faults:
        raise LoadGeneratorError(PurePath(words[at]).name, faults)
    return LoadGenerator(text, tuple(words[: at + 1]), tool, reader, filled)


def expand(word: str, values: Mapping[str, str], *, is_script: bool = False) -> str:
    """Fill in the placeholders of one word; ``{{name}}`` stands for itself. In a shell's script, values are quoted."""

    def value(match: re.Match[str]) -> str:
        literal, name = match.groups()
        if literal is not None:
            return "{" + literal + "}"
        return shlex.quote(values[name]) if is_script else values[name]

    return _PLACEHOLDER.sub(value, from_users_home(word) if is_script else word)


def _tool_index(words: Sequence[str]) -> int:
    """Where the program is that does the work: behind ``taskset -c 1`` and the like where a known tool follows."""
    if PurePath(words[0]).name not in _WRAPPERS:
        return 0
    names = {tool.name for tool in TOOLS}
    return next((at for at, word in enumerate(words) if PurePath(word).name in names), 0)


def _script_index(words: Sequence[str]) -> int:
    is_shell = PurePath(words[0]).name in _SHELLS
    for at, word in enumerate(words[:-1]):
        if is_shell and re.fullmatch(r"-[a-z]*c", word):
            return at + 1
    return -1


def _program_faults(words: Sequence[str], at: int, tool: Tool) -> Iterator[Refusal]:
    for program in dict.fromkeys((words[0], words[at])):
        if shutil.which(program) is None:
            yield Refusal.of("program-missing", program=program, remedy=tool.install)


def _word_faults(words: Sequence[str], protocol: str) -> Iterator[Refusal]:
    named = {match.group(2) for word in words for match in _PLACEHOLDER.finditer(word)} - {None}
    if "option_file" in named and protocol == POSTGRES:
        why = "PostgreSQL's clients read no option file; they use PGHOST, PGPORT, PGUSER and PGDATABASE, which are set"
        yield Refusal.of("load-option", option="{option_file}", why=why)
    for name in sorted(named):
        if name not in PLACEHOLDERS:
            usable = [known for known in PLACEHOLDERS if known != "option_file" or protocol != POSTGRES]
            listed = ", ".join(f"{{{known}}}" for known in usable)
            hint = f" Expected one of {listed}. Double braces are literal ones."
            yield Refusal.of("unknown", kind="placeholder", found=name, hint=hint)
    for sign in sorted(_SHELL_SIGNS.intersection(words)):
        yield Refusal.of("load-shell-sign", sign=sign)


def _pattern(text: str | None) -> tuple[re.Pattern[str] | None, list[Refusal]]:
    if text is None:
        return None, []
    where, what = f"--load-operations {text!r}", "the number of groups, as in 'done ([0-9]+)',"
    try:
        pattern = re.compile(text, re.MULTILINE)
    except re.error as error:
        return None, [Refusal.of("invalid", kind="regular expression", fault=error).at(where)]
    if pattern.groups == 1:
        return pattern, []
    return None, [Refusal.of("out-of-range", what=what, wanted="1", found=pattern.groups).at(where)]
