"""The project file, ``tdelta.toml``: which runs a repository has. Read with all its faults at once, each with its line.

Its keys are the options of ``tdelta run`` under their own names, without the dashes (``max-time = "5m"``), and three
lists, ``studies``, ``engines`` and ``labels``. Options stand for all runs, or in ``[engine.NAME]`` and ``[study.NAME]``
for some of them; the latter go before the former, and what is typed goes before all of these. Paths are meant from the
file's folder. No password stands in it: a DSN names the environment variable that has it.
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any, TypeGuard

from tdelta.engines.registry import profiles
from tdelta.errors import EngineUnavailable, ProjectError, TdeltaError, UsageError
from tdelta.inputs import out_of_range, unexpected
from tdelta.messages import Refusal
from tdelta.processes.load_generator.command import passwords_in
from tdelta.session.options import Option
from tdelta.session.preflight import dry_run
from tdelta.session.project_file import FILE
from tdelta.session.request import OPTIONS, RunRequest
from tdelta.session.run_plan import check
from tdelta.session.staging import require_data
from tdelta.session.studies import studies
from tdelta.session.values import Choice, Factors, Flag, PathValue, Rate, Value, WholeNumber
from tdelta.workloads import limits
from tdelta.workloads.faults import Fault, hint, shown
from tdelta.workloads.files import FolderFiles

LISTS = {"studies": "study", "engines": "engine", "labels": "label"}
"""The lists of a project, and the table or the option that has one of each."""

KEYS: Mapping[str, Option] = {
    option.flag.removeprefix("--"): option for option in OPTIONS.values() if option.flag.startswith("--")
}
"""Every option by its key in the file."""

_TABLES = ("study", "engine")
_OF_RUNS = tuple(key for key in KEYS if key not in _TABLES)
_CREDENTIALS = re.compile(r"(:)[^\s:@'\"]+@")
"""Where a DSN has its password, wherever in the file a DSN stands by mistake."""

_LARGEST = 1e300
_COMMANDS = ("load-generator", "restore")
_DSNS = ("baseline", "encrypted")
_BY_VARIABLE = "use an environment variable: {way}"


@dataclass(frozen=True, slots=True)
class Project:
    """The content of a project file.

    ``options`` are the values for all runs, ``of`` those of the runs of one study or engine, by table and name; each by
    the option's name, as a request takes them. A study that is None is a run without one.
    """

    path: Path
    studies: tuple[str | None, ...]
    engines: tuple[str | None, ...]
    options: Mapping[str, Any]
    of: Mapping[tuple[str, str], Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class ProjectRun:
    """One run of a project; ``study`` and ``engine`` as the project has them."""

    study: str | None
    engine: str | None
    request: RunRequest

    @property
    def title(self) -> str:
        return f"{self.study or 'run'} on {self.request.engine}"


def read_project(path: Path, content: str | None = None) -> Project:
    """The project of a file.

    Args:
        content: what would be in it; None to read the file.
    """
    reader = ProjectReader(path, content)
    project = reader.read()
    if project is None or reader.faults:
        raise ProjectError(str(path), reader.faults.refusals())
    return project


def runs_of(project: Project, typed: Mapping[str, Any]) -> tuple[ProjectRun, ...]:
    """The project's runs, each study in turn, on each engine; what is typed goes before what the file says.

    Args:
        typed: values by the names of options; a study or an engine leaves only runs of that.
    """
    chosen_studies = (typed["study"],) if "study" in typed else project.studies
    chosen_engines = (typed["engine"],) if "engine" in typed else project.engines
    runs, faults = list[ProjectRun](), list[Refusal]()
    for study, engine in itertools.product(chosen_studies, chosen_engines):
        named = {name: one for name, one in (("study", study), ("engine", engine)) if one is not None}
        layers = (project.options, *(project.of.get((name, one), {}) for name, one in reversed(named.items())))
        place = f"{study or 'run'} on {engine or 'its engine'}"
        values = {**{name: value for layer in layers for name, value in layer.items()}, **named, **typed}
        try:
            runs.append(ProjectRun(study, engine, checked(values)))
        except UsageError as error:
            faults += [Fault(place, 0, _quoting_none(refusal)).placed() for refusal in error.refusals]
    if faults:
        raise ProjectError(str(project.path), list(dict.fromkeys(faults)))
    return tuple(runs)


def checked(values: Mapping[str, Any]) -> RunRequest:
    """The request of these values, seen to be one that can be stored and run; its engine may be missing here."""
    try:
        request = RunRequest(**values)
        request.to_json()  # as the run would be stored
        check(request)
    except EngineUnavailable:
        pass  # it is said when the run's turn comes, or the engine is on the node
    except OSError as error:  # a path that is too long, or leads through what is not a folder
        said = Refusal.of("path-unusable", path=str(error.filename), fault=error.strerror or error)
        raise UsageError(said) from error
    return request


def read_value(value: Value, found: object) -> Any:
    """A TOML value by the option's kind of value, before all of one option are gathered; None: not given.

    Raises:
        ValueError: of a refusal, which says what was expected.
    """
    if value.is_repeated:
        return [_one(value, one) for one in _several(value, found)]
    return _one(value, found)


def _several(value: Value, found: object) -> Iterable[object]:
    if isinstance(value, Factors) and isinstance(found, dict):
        return [f"{factor}={_levels(levels)}" for factor, levels in found.items()]
    return found if isinstance(found, list) else [found]


def _levels(levels: object) -> str:
    return ",".join(map(_level, levels if isinstance(levels, list) else [levels]))


def _level(level: object) -> str:
    if isinstance(level, bool) or not isinstance(level, str | int | float):
        raise ValueError(unexpected("a level: text or a number", shown(level)))
    return str(level)


def _one(value: Value, found: object) -> Any:
    match value:
        case Flag() if isinstance(found, bool):
            return value.stands_for if found else None
        case Flag():
            raise ValueError(unexpected("true or false", shown(found)))
        case WholeNumber():
            limit = f"a whole number of at least {value.least}" + (f" and at most {value.most}" if value.most else "")
            is_whole = isinstance(found, int) and not isinstance(found, bool) and value.least <= found < 2**63
            if not is_whole or (value.most is not None and isinstance(found, int) and found > value.most):
                raise ValueError(unexpected(limit, shown(found)))
            return found
        case Rate() if not isinstance(found, str):
            if isinstance(found, bool) or not isinstance(found, int | float) or not 0 < found < _LARGEST:
                raise ValueError(unexpected("a number above 0, or a percentage as text", shown(found)))
            return float(found)
        case Choice():
            if found not in value.names:
                raise ValueError(unexpected(f"one of {', '.join(value.names)}", shown(found)))
            return found
    if not isinstance(found, str) or not found.isprintable() or not found:
        raise ValueError(unexpected(f"text, as it is typed for {value.metavar or 'the option'}", shown(found)))
    return Path(found) if isinstance(value, PathValue) else value.parse(found)


class ProjectReader(FolderFiles):
    toml = FILE

    def __init__(self, path: Path, content: str | None = None) -> None:
        super().__init__(path.absolute().parent)
        self.path = path
        self.toml = path.name
        self._content = content

    def text(self, name: str) -> str | None:
        return super().text(name) if self._content is None else self._content

    def fault(self, said: Refusal, *path: str) -> None:
        """A fault that repeats no password, whatever it quotes."""
        super().fault(_quoting_none(said), *path)

    def read(self) -> Project | None:
        """The content of the file; None where it is invalid TOML."""
        document = self.document()
        if document is None:
            return None
        self.unknown_keys(document, (*KEYS, *LISTS, *_TABLES_AS_KEYS))
        named = {name: self._names(document, name) for name in ("studies", "engines")}
        studies_, engines = (named[name] or self._single(document, LISTS[name]) for name in named)
        return Project(
            path=self.path,
            studies=studies_ or (None,),
            engines=engines or (None,),
            options=self.options(self.with_labels(document, _OF_RUNS)),
            of=dict(self._tables(document, {"study": studies_, "engine": engines})),
        )

    def unknown_keys(self, table: Mapping[str, object], known: Iterable[str], *path: str) -> None:
        """Faults for the keys that nobody reads; there are too many others to list them."""
        names = tuple(known)
        for key in sorted(table.keys() - set(names))[: limits.MOST_FAULTS]:
            near = get_close_matches(key, names, n=1)
            said = f" Did you mean {near[0]!r}?" if near else " `tdelta run --help` lists the options."
            self.fault(Refusal.of("unknown", kind="key", found=shown(".".join((*path, key))), hint=said), *path, key)

    def _names(self, document: Mapping[str, object], key: str) -> tuple[str, ...]:
        if key not in document:
            return ()
        singular = LISTS[key]
        if isinstance(document.get(singular), str):
            self.fault(Refusal.of("conflict", one=singular, other=key), key)
        found = self.typed(document, list, key)
        if found is None:
            return ()
        if not found:
            self.fault(Refusal.of("missing", what=f"an entry of {key}"), key)
        return tuple(dict.fromkeys(name for name in found if self.is_known(name, singular, key)))

    def _single(self, document: Mapping[str, object], key: str) -> tuple[str, ...]:
        """The name that stands alone; a table of that name is none."""
        name = document.get(key)
        return (name,) if isinstance(name, str) and self.is_known(name, key, key) else ()

    def is_known(self, name: object, kind: str, *path: str) -> bool:
        """Whether there is a study or an engine of that name; a fault where there is none."""
        known = _KNOWN[kind]()
        if isinstance(name, str) and name in known:
            return True
        near = hint(name, known) if isinstance(name, str) else ""
        self.fault(Refusal.of("unknown", kind=kind, found=shown(name), hint=near), *path)
        return False

    def with_labels(self, table: Mapping[str, object], known: Iterable[str], *path: str) -> dict[str, object]:
        """The options of a table that are known, its list of labels as the option of that."""
        given = {key: table[key] for key in known if key in table}
        if "labels" in table:
            if "label" in table:
                self.fault(Refusal.of("conflict", one="label", other="labels"), *path, "labels")
            given["label"] = table["labels"]
        return given

    def _tables(
        self, document: Mapping[str, object], named: Mapping[str, tuple[str, ...]]
    ) -> Iterator[tuple[tuple[str, str], dict[str, Any]]]:
        for kind in _TABLES:
            found = document.get(kind)
            if not isinstance(found, dict):
                if kind in document and not isinstance(found, str):
                    said = unexpected("a name, or tables with the options of each", shown(found), kind)
                    self.fault(said, kind)
                continue
            for name, options in self.entries(found, kind).items():
                if not self.is_table(options, kind, name):
                    continue
                if name not in named[kind]:
                    plural = next(key for key, one in LISTS.items() if one == kind)
                    known = ", ".join(named[kind]) or "none named"
                    said = Refusal.of(
                        "unknown", kind="table", found=shown(name), hint=f" The {plural} of the project: {known}."
                    )
                    self.fault(said, kind, name)
                self.unknown_keys(options, _OF_RUNS, kind, name)
                given = {key: value for key, value in options.items() if key in _OF_RUNS}
                yield (kind, name), self.options(given, kind, name)

    def is_table(self, found: object, *path: str) -> TypeGuard[dict[str, object]]:
        if not isinstance(found, dict):
            self.fault(out_of_range(".".join(path), "a table", shown(found)), *path)
        return isinstance(found, dict)

    def options(self, given: Mapping[str, object], *path: str) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for key, value in given.items():
            at = (*path, "labels" if key == "label" and "label" not in self._keys_at(path) else key)
            try:
                found |= self._option(KEYS[key], key, value, at)
            except ValueError as fault:
                said = fault.args[0] if fault.args else None
                if not isinstance(said, Refusal):  # a number that Python does not read
                    said = unexpected(f"a value of {KEYS[key].flag}", shown(value))
                self.fault(said.at(key), *at)
            except UsageError as error:
                for refusal in error.refusals:
                    self.fault(_without_password(refusal, key), *at)
        return found

    def _keys_at(self, path: tuple[str, ...]) -> frozenset[str]:
        return frozenset(at[-1] for at in self.lines if at[:-1] == path)

    def _option(self, option: Option, key: str, value: object, at: tuple[str, ...]) -> dict[str, Any]:
        """The value of one option, its paths from the file's folder; nothing for a flag that is false."""
        if key in _DSNS and not (isinstance(value, str) and value.isprintable()):
            kind = type(value).__name__  # what stands there may be a password
            raise ValueError(unexpected("a DSN as text", f"another {kind}"))
        parsed = read_value(option.value, value)
        if parsed is None:
            return {}
        if key in _COMMANDS and passwords_in(str(parsed)):
            remedy = _BY_VARIABLE.format(way="$NAME in the command, or one that the tool reads")
            self.fault(Refusal.of("project-password", key=key, remedy=remedy), *at)
            return {}
        return {
            name: one if name == option.also else option.value.within(self.folder, one)
            for name, one in option.fields(parsed).items()
        }


def _quoting_none(said: Refusal) -> Refusal:
    return Refusal(said.code, {name: _masked(value) for name, value in said.parameters.items()})


def _masked(value: Any) -> Any:
    return _CREDENTIALS.sub(r"\1…@", value) if isinstance(value, str) else value


def _without_password(said: Refusal, key: str) -> Refusal:
    """A DSN's fault; of one with a password the remedy for a file that a team shares."""
    if said.code != "dsn-password":
        return said.at(key)
    remedy = _BY_VARIABLE.format(way="?password-env=NAME")
    return Refusal.of("project-password", key=key, remedy=remedy)


def _study_names() -> tuple[str, ...]:
    return tuple(study.name for study in studies() if study.runs)


def _engine_names() -> tuple[str, ...]:
    return tuple(one.name for one in profiles())


_KNOWN = {"study": _study_names, "engine": _engine_names}
_TABLES_AS_KEYS = ("study",)
"""A table, or a study alone, which is an argument and no option."""


def project_text(values: Mapping[str, object], path: Path) -> str:
    """A project file with these values, by their keys; empty lists and None are left out.

    Args:
        values: of its options and lists.
        path: where it is to be, which paths in it are meant from.

    Raises:
        ProjectError: the file would have faults, or ``tdelta run --dry-run`` would refuse one of its runs. A user's
            database is not copied for that, and a user's servers are not connected to.
    """
    given = {key: value for key, value in values.items() if value not in (None, [], ())}
    lines = (f"{key} = {_toml(value)}" for key, value in given.items())
    text = "\n".join((*_HEAD, *lines, ""))
    faults = [fault for run in runs_of(read_project(path, text), {}) for fault in _faults_of(run)]
    if faults:
        raise ProjectError(str(path), list(dict.fromkeys(faults)))
    return text


def _faults_of(run: ProjectRun) -> Iterator[Refusal]:
    """The faults that a dry run of it is refused for."""
    request = run.request
    try:
        if request.database is not None or request.restore is not None:
            require_data(run.request)
        elif request.baseline is not None or request.encrypted is not None:
            check(run.request)
        else:
            yield from (Fault(run.title, 0, refusal).placed() for refusal in dry_run(run.request).faults)
    except TdeltaError as error:
        yield from (Fault(run.title, 0, refusal).placed() for refusal in error.refusals)


_HEAD = (
    "# Which runs this project has: `tdelta run` makes them, here and in any folder below.",
    "# Every option of `tdelta run` may stand here under its own name without the dashes; options for the runs of one",
    "# study or engine stand under [study.NAME] or [engine.NAME]. No password belongs here.",
    "",
)


def _toml(value: object) -> str:
    match value:
        case bool() | int() | float():
            return json.dumps(value)
        case list() | tuple():
            return f"[{', '.join(map(_toml, value))}]"
    return json.dumps(str(value), ensure_ascii=False).replace("\x7f", "\\u007f")  # JSON's escapes are TOML's
