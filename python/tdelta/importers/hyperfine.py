"""hyperfine's results (``--export-json``): the time of each run of each command, and the CPU time of a run.

A command is a condition where its name or its words say so (``-n plain``, ``-n tde``), else a transaction type;
parameters (``-L``, ``-P``) are levels. Times of one invocation are samples of one run of the comparison: what differs
from one day, or from one instance of the database, to the next is not in them. Runs with an exit code are left out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from tdelta.errors import ImportFault
from tdelta.importers.conditions import other_words, said_of_encryption
from tdelta.importers.faults import Problems, number, plain_name, shown
from tdelta.importers.importer import Belonging, Importer, Naming, json_object
from tdelta.importers.reading import Source
from tdelta.importers.samples import LONGEST_MS, Gathering
from tdelta.inputs import missing, unexpected
from tdelta.messages import Caution, Refusal
from tdelta.records.conditions import Level
from tdelta.records.observed import ALL, Figure, Group, Observation

MOST_COMMANDS = 1000
CPU = "cpu"


class Hyperfine(Importer):
    name = "hyperfine"

    def recognizes(self, source: Source) -> bool:
        head = source.head_text
        return head.startswith("{") and '"results"' in head and '"command"' in head and '"user"' in head

    def says_conditions(self, source: Source) -> bool:
        try:
            results = _results(json_object(source, Problems(source.name)))
        except ImportFault:
            return False
        return len(results) > 1 and all(said_of_encryption(_command(it)) for it in results)

    def read(self, source: Source, naming: Naming) -> Iterator[Observation]:
        problems = Problems(source.name)
        results = _results(json_object(source, problems))
        if not results and not problems:
            problems.add(missing("a result of a command with its times"))
        problems.raise_if_any()
        says = naming.condition is None
        if says and not all(said_of_encryption(_command(it)) for it in results):
            raise ImportFault(
                Refusal.of("file-without-condition", format=self.name, name=source.path.name).at(source.name)
            )
        names = _names(results, has_conditions=says)
        seen: Counter[Group] = Counter()
        for result, transaction in zip(results, names, strict=True):
            condition = naming.condition or said_of_encryption(_command(result))
            belonging = Belonging(source.name, self.name, condition, naming.run, naming.levels)
            for name, level in _levels(result, has_conditions=says):
                belonging = belonging.with_level(name, level)
            seen[belonging.response_times(transaction)] += 1
            position = seen[belonging.response_times(transaction)]
            yield from _observations(result, transaction, belonging.of_run(position, position), problems)
        problems.raise_if_any()


IMPORTERS: tuple[Importer, ...] = (Hyperfine(),)


def _results(document: Mapping[str, object]) -> Sequence[Mapping[str, object]]:
    found = document.get("results")
    return [it for it in found[:MOST_COMMANDS] if isinstance(it, dict)] if isinstance(found, list) else ()


def _command(result: Mapping[str, object]) -> str:
    return str(result.get("command") or "")[:1000]


def _names(results: Sequence[Mapping[str, object]], *, has_conditions: bool) -> list[str]:
    """Transaction types: commands without the values of their parameters, or what differs besides their conditions."""
    commands = [_without_values(it) for it in results]
    if not has_conditions:
        return [plain_name(it[:200]) or ALL for it in commands] if len(set(commands)) > 1 else [ALL] * len(commands)
    words = [other_words(command.lower()) for command in commands]
    common = set.intersection(*map(set, words)) if words else set()
    return [" ".join(it for it in of if it not in common)[:200] or ALL for of in words]


def _without_values(result: Mapping[str, object]) -> str:
    """``sleep 0.0{d}`` of ``sleep 0.01``, whose parameter d is 1."""
    command = _command(result)
    for name, value in _parameters(result):
        command = command.replace(value, f"{{{name}}}")
    return command


def _parameters(result: Mapping[str, object]) -> Iterator[tuple[str, str]]:
    found = result.get("parameters")
    for key, value in list(found.items())[:20] if isinstance(found, dict) else ():
        name, text = plain_name(key), plain_name(str(value))
        if name is not None and text is not None:
            yield name, text


def _levels(result: Mapping[str, object], *, has_conditions: bool) -> Iterator[tuple[str, Level]]:
    """Parameters of the command, but for the one that is the condition: numbers are numbers."""
    for name, text in _parameters(result):
        if has_conditions and said_of_encryption(f"{name} {text}"):
            continue
        value = number(text)
        yield name, text if value is None else int(value) if value.is_integer() else value


def _observations(
    result: Mapping[str, object], transaction: str, belonging: Belonging, problems: Problems
) -> Iterator[Observation]:
    times, codes = result.get("times"), result.get("exit_codes")
    values = [number(it) for it in times] if isinstance(times, list) else []
    if not values or any(it is None or not 0 <= 1e3 * it <= LONGEST_MS for it in values):
        problems.add(unexpected(f"the times of {shown(_command(result))} in seconds, each 0 or more", shown(times)))
        return
    ended = codes if isinstance(codes, list) and len(codes) == len(values) else [0] * len(values)
    good = [it for it, code in zip(values, ended, strict=True) if it is not None and code == 0]
    failed = len(values) - len(good)
    if not good:
        problems.add(Refusal.of("no-successful-requests", failed=failed))
        return
    noted = (Caution.of("rows-failed", rows=failed),) if failed else ()
    gathering: Gathering[str] = Gathering(belonging.file, "commands")
    for value in good:
        gathering.add(transaction, 1e3 * value)
    yield from gathering.samples(belonging.response_times, belonging.origin(None, *noted))
    cpu = [number(result.get(key)) for key in ("user", "system")]
    seconds = sum(it for it in cpu if it is not None)
    if None not in cpu and 0 < 1e3 * seconds <= LONGEST_MS:
        group = replace(belonging.response_times(transaction), metric=CPU)
        yield Figure(group, belonging.origin(None, *noted), 1e3 * seconds)
