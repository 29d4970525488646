"""Names of conditions, metrics and transactions for people.

Only factors that vary in the run are named: a run at one thread does not say "1 thread" in every row.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from tdelta.design.actions import NOTHING, parse_action
from tdelta.design.factors import VERSIONS, key_latency_ms, share_of_capacity
from tdelta.design.layout import COMPARED, PLAIN
from tdelta.document.quantities import amounts, counted, interval, percent, share
from tdelta.engines.registry import profile, servers
from tdelta.records import (
    PLAIN_STORAGE,
    CheckState,
    Condition,
    Contrast,
    DatabaseFacts,
    Decision,
    Level,
    Metric,
    Role,
    RunSettings,
    ServersFacts,
    Validity,
)
from tdelta.records.instrument import CarryOver

MARKS = {CheckState.FAILED: "FAILED", CheckState.NOT_SHOWN: "not shown", CheckState.OK: "ok"}
"""How each is set off on a terminal, the worst first."""


def listed(checks: Iterable[Validity]) -> list[tuple[str, str]]:
    """Each check's mark with its text, the worst first, else in their order."""
    worst_first = tuple(MARKS)
    ordered = sorted(checks, key=lambda check: worst_first.index(check.state))
    return [(_mark(c), f"{c.check}: {c.detail}" if c.detail else c.check) for c in ordered]


def _mark(check: Validity) -> str:
    """A check that failed and leaves the figures right is no alarm."""
    return "warning" if check.failed and not check.is_invalid else MARKS[check.state]


def summed_up(checks: Iterable[Validity]) -> list[tuple[str, str]]:
    given = tuple(checks)
    names = [check.check for check in given if check.ok]
    worse = listed(check for check in given if not check.ok)
    return [*worse, *([("ok", f"{counted(len(names), 'check')}: {'; '.join(names)}")] if names else [])]


def carried_words(found: CarryOver) -> str:
    """The carry-over with its interval, or that it was not estimated."""
    if found.after_encrypted is None:
        return "not estimated"
    low, high = found.after_encrypted.interval95
    share = percent(1 + found.after_encrypted.share, 2)
    return f"a trial right after an encrypted one, against any other: {share} ({interval((1 + low, 1 + high), 2)})"


_ENCRYPTED = "encrypted"
_SHORT = 16
"""Longer names of builds are too wide for titles of columns."""

_WITHOUT = "without AES instructions"
_AES = re.compile(r"\b(aes|gcm|cbc|ctr|xts)\b")
METRICS = {
    Metric.RESPONSE_TIME: "response time",
    Metric.TIME_WITH_CHECKPOINT: "time with checkpoint",
    Metric.CPU_PER_OPERATION: "CPU per operation",
    Metric.READ_BYTES_PER_OPERATION: "bytes read per operation",
    Metric.WRITTEN_BYTES_PER_OPERATION: "bytes written per operation",
}


_SCOPES = {
    "data": "tables only",
    "+log": "tables + redo log",
    "+temp": "tables + temporary files",
    "+binlog": "tables + binary log",
    "all": "everything",
}
"""The encrypted parts, by the level of the factor ``scope``."""

_KEYS = {
    "file": "keys in a file",
    "vault": "keys from a service",
    "vault-down": "keys from a service that is down",
}


def metric_name(metric: Metric, settings: RunSettings) -> str:
    """A metric in words: ``CPU per operation``, of a server ``server CPU per operation``."""
    is_of_server = metric is Metric.CPU_PER_OPERATION and is_served(settings)
    return f"server {METRICS[metric]}" if is_of_server else METRICS[metric]


def is_served(settings: RunSettings) -> bool:
    """Whether the engine is a server, whose CPU is told apart from its client's."""
    return settings.engine in servers()


_OF_TIME = {
    Decision.NEGLIGIBLE: "no relevant difference",
    Decision.OVER: "over budget",
    Decision.WITHIN: "within budget",
}
_OF_CPU = _OF_TIME | {Decision.SLOWER: "more CPU", Decision.FASTER: "less CPU"}
_OF_OTHER = _OF_TIME | {Decision.SLOWER: "more", Decision.FASTER: "less"}
_OF_BYTES = _OF_TIME | {
    Decision.SLOWER: "more bytes",
    Decision.FASTER: "fewer bytes",
}
_BY_KIND = {"bytes": _OF_BYTES, "cpu": _OF_CPU, "time": _OF_TIME, "throughput": _OF_TIME}


def decision_word(decision: Decision, metric: str) -> str:
    """The name of a decision: ``slower`` is called more CPU or more bytes where the metric is that.

    Args:
        decision: as the JSON has it.
        metric: a `Metric`, or a metric of the user's files in words.
    """
    words = metric.casefold()
    names = next((names for kind, names in _BY_KIND.items() if kind in words), _OF_OTHER)
    return names.get(decision, decision.value)


def decision_names() -> tuple[str, ...]:
    """All that a decision is called: the JSON's names, then those of `decision_word`, each once."""
    words = (word for names in (_OF_TIME, _OF_CPU, _OF_BYTES, _OF_OTHER) for word in names.values())
    return tuple(dict.fromkeys((*(decision.value for decision in Decision), *words)))


def is_called(decision: Decision, metric: str, name: str) -> bool:
    """Whether that is a name of the decision, the JSON's or the one that answers print."""
    return name in (decision.value, decision_word(decision, metric))


def metric_label(metric: Metric, settings: RunSettings) -> str:
    """A metric as a row of a table of costs per operation is called: ``CPU``, ``server CPU``."""
    return metric_name(metric, settings).removesuffix(" per operation")


def scope_words(scope: Level) -> str:
    """The encrypted parts, in words: ``tables + redo log``."""
    return _SCOPES.get(str(scope), str(scope))


def database_text(facts: DatabaseFacts) -> str:
    """A user's database by its name and size: ``database app.db: 24.10 MiB, 30 tables, 123,456 rows``."""
    size = amounts((facts.size_bytes,), "bytes")[0]
    kind = "" if facts.restored else "database "
    return f"{kind}{facts.file}: {size}, {counted(facts.tables, 'table')}, {counted(facts.rows, 'row')}"


def origin_text(facts: DatabaseFacts) -> str:
    if facts.in_place:
        return "only read, in place"
    return "each kind of copy restored it" if facts.restored else "only read, copies are made of it"


def external_servers_text(facts: ServersFacts) -> str:
    """The user's servers by product and address: ``your servers: MariaDB 10.11.19 at app@db1:3306, …``."""
    addresses = (
        f"{one.product} {one.version} at {one.where}, {one.connection}" for one in (facts.baseline, facts.encrypted)
    )
    other = facts.encrypted.option.removeprefix("--")
    return f"your servers: {' (baseline); '.join(addresses)} ({other}); schema {facts.schema}"


def condition_label(condition: Condition, settings: RunSettings) -> str:
    """A condition as a row is called: ``AES-256, 16 threads``, ``identical copy``, ``injected 5% slowdown``."""
    return ", ".join((kind_label(condition, settings), *surroundings(condition, settings)))


def with_labels(text: str, settings: RunSettings) -> str:
    for condition in sorted(settings.conditions, key=lambda one: -len(one.key)):
        text = text.replace(condition.key, condition_label(condition, settings))
    return text


def cipher_name(words: str) -> str:
    """``AES-256-GCM`` as people write it, for the option's ``aes-256-gcm``."""
    return _AES.sub(lambda found: found[0].upper(), words)


def kind_label(condition: Condition, settings: RunSettings) -> str:
    """A condition without its surroundings: ``AES-256``, ``identical copy``, of builds ``MariaDB 11.8.3``."""
    compared = build_label(condition, settings) if settings.compares_builds else compared_label(condition)
    match condition.role:
        case Role.IDENTICAL:
            return "identical copy"
        case Role.INJECTED:
            return f"injected {share(condition.injected or 0.0)} slowdown"
        case Role.AA:
            return "A/A control"
        case Role.BB:
            return f"B/B control of {compared}"
        case _:
            return compared


def build_label(condition: Condition, settings: RunSettings) -> str:
    """The build of a condition: ``MariaDB 11.8.3``, ``SQLCipher 4.19.0 community``."""
    level = str(condition.level(settings.contrast))
    return f"{profile(settings.engine).product.partition(',')[0]} {level}" if level[:1].isdigit() else level


@dataclass(frozen=True, slots=True)
class Sides:
    """Names of the baseline and of the configurations judged over it, ``titles`` as columns of a table."""

    baseline: str
    judged: str
    titles: tuple[str, str]

    @property
    def copies(self) -> str:
        """``the unencrypted copies``, ``the copies of MariaDB 10.11.14``."""
        return f"the {self.baseline} copies" if self.judged == _ENCRYPTED else f"the copies of {self.baseline}"


def sides_of(settings: RunSettings) -> Sides:
    if not settings.compares_builds:
        return Sides("unencrypted", _ENCRYPTED, ("plain", _ENCRYPTED))
    builds = dict.fromkeys(build_label(c, settings) for c in settings.conditions)
    baseline, *judged = builds
    other = judged[0] if len(judged) == 1 else "other build"
    is_short = len(baseline) <= _SHORT and len(other) <= _SHORT
    return Sides(baseline, other, (baseline, other) if is_short else ("first build", "other build"))


def baseline_label(settings: RunSettings) -> str:
    """A baseline by one word: ``plain``, or its build."""
    return sides_of(settings).baseline if settings.compares_builds else sides_of(settings).titles[0]


def compared_label(condition: Condition) -> str:
    """The levels that are compared: ``AES-256, tables only``, ``AES-256 without AES instructions``."""
    levels = dict(condition.levels)
    cipher = cipher_name(str(levels.get("cipher", condition.key)))
    is_without = levels.get("aes_instructions") == "off"
    if condition.is_on_encrypted_storage:
        on = storage_words(levels["storage"])
        cipher = on if cipher == PLAIN else f"{cipher} on {on}"
    name = "plain" if cipher == PLAIN and is_without else cipher
    of_encrypted = ""
    if levels.get("cipher") != PLAIN:
        of_encrypted += f", {scope_words(levels['scope'])}" if "scope" in levels else ""
        of_encrypted += f", {keys_words(levels['keys'])}" if "keys" in levels else ""
    during = str(levels.get("during", NOTHING))
    if during != NOTHING:
        name = f"{'plain' if cipher == PLAIN else cipher}, during {action_label(during)}"
    if name == PLAIN and condition.role is Role.TREATMENT:
        name = next((str(levels[factor]) for factor in VERSIONS if factor in levels), name)
    return f"{name}{of_encrypted}{f' {_WITHOUT}' if is_without else ''}"


def keys_words(keys: Level) -> str:
    """The place that keys come from: ``keys in a file``, ``keys from a service 20 ms away``."""
    latency = key_latency_ms(str(keys))
    return f"keys from a service {latency} ms away" if latency else _KEYS[str(keys)]


def storage_words(storage: Level) -> str:
    """The storage of a twin, in words: ``fscrypt``, a folder of the user's by its path."""
    return "plain storage" if storage == PLAIN_STORAGE else str(storage)


def action_label(level: str) -> str:
    """An action with its knobs: ``encrypt (iops 200, threads 4)``, ``backup (dump, zstd)``."""
    asked = parse_action(level)
    knobs = ", ".join([*asked.choices.values(), *(f"{name} {value:,}" for name, value in asked.knobs.items())])
    return f"{asked.name} ({knobs})" if knobs else asked.name


def compared_words(condition: Condition) -> str:
    """The same within a sentence: ``AES-256 (tables only)``."""
    cipher, *scope = compared_label(condition).split(", ", 1)
    return f"{cipher} ({scope[0]})" if scope else cipher


def surroundings(condition: Condition, settings: RunSettings, *, besides: str = "") -> tuple[str, ...]:
    """The levels of a condition, other than what is compared, that vary: ``("16 threads", "cache 10%")``.

    Args:
        besides: a factor that is left out.
    """
    varied = _varying(settings) - {besides, settings.contrast}
    return tuple(level_text(name, level) for name, level in condition.levels if name in varied)


def contrast_label(contrast: Contrast, settings: RunSettings) -> str:
    """A contrast as a row is called, under its factor's title: ``AES-256, 4 threads: off over on``."""
    condition, versus = contrast.condition, contrast.versus
    varied = _varying(settings) - {contrast.factor}
    shared = _shared_of_what_is_compared(contrast)
    shared += [level_text(name, level) for name, level in condition.levels if name in varied]
    levels = " over ".join(_level_name(contrast.factor, of.level(contrast.factor)) for of in (condition, versus))
    return f"{', '.join(shared)}: {levels}" if shared else levels


def _shared_of_what_is_compared(contrast: Contrast) -> list[str]:
    """The levels that both have in common: the cipher, the scope, or that the AES instructions are off."""
    levels = dict(contrast.condition.levels)
    cipher = str(levels["cipher"])
    shared = [] if contrast.factor == "cipher" else ["plain" if cipher == PLAIN else cipher_name(cipher)]
    if contrast.factor != "scope" and "scope" in levels:
        shared.append(scope_words(levels["scope"]))
    if contrast.factor != "keys" and "keys" in levels and cipher != PLAIN:
        shared.append(keys_words(levels["keys"]))
    if contrast.factor != "storage" and "storage" in levels:
        shared.append(storage_words(levels["storage"]))
    if contrast.factor != "aes_instructions" and levels.get("aes_instructions") == "off":
        shared.append(_WITHOUT)
    return shared


def _level_name(factor: str, level: Level) -> str:
    names = {"during": action_label, "storage": storage_words, "scope": scope_words, "keys": keys_words}
    return names.get(factor, cipher_name)(str(level))


_TITLES = {
    "aes_instructions": "effect of the AES instructions",
    "scope": "effect of the scope alone",
    "keys": "one source of keys over another",
    "storage": "one storage over another",
    "during": "one operation during the workload over another",
    "compression": "effect of page compression alone",
}


def contrast_title(factor: str) -> str:
    """The effect of one factor alone: ``effect of the AES instructions``."""
    return _TITLES.get(factor, f"effect of {_factor_name(factor)} alone")


def cache_text(level: Level) -> str:
    """A cache as it was asked for: ``10%`` of the data, or ``4 GB``."""
    return re.sub(r"(?<=\d)(?=[A-Za-z])", " ", level) if isinstance(level, str) else share(level)


def level_text(factor: str, level: Level) -> str:
    """A level of a factor in words: ``16 threads``, ``cache 10%``, ``4 KiB pages``."""
    if factor == "threads":
        return f"{level} thread{'' if level == 1 else 's'}"
    if factor == "cores":
        return f"{level} core{'' if level == 1 else 's'}"
    if factor == "cache":
        return f"cache {cache_text(level)}"
    if factor == "work":
        return f"{level} caches" if level in ("warm", "cold") else action_label(str(level))
    if factor == "page_size" and isinstance(level, int):
        return f"{_page(level)} pages"
    if factor == "rate":
        part = share_of_capacity(level)
        return f"{level:,.12g} operations/s" if part is None else f"{share(part)} of capacity"
    if factor == "compression":
        return "pages not compressed" if level == "none" else f"pages compressed by {level}"
    return f"{_factor_name(factor)} {level}"


def _factor_name(factor: str) -> str:
    return "AES instructions" if factor == "aes_instructions" else factor.replace("_", " ")


def _varying(settings: RunSettings) -> frozenset[str]:
    seen: dict[str, set[Level]] = {}
    for condition in settings.conditions:
        for name, level in condition.levels:
            seen.setdefault(name, set()).add(level)
    return frozenset(name for name, levels in seen.items() if len(levels) > 1 and name not in COMPARED)


def _page(size_bytes: int) -> str:
    if size_bytes % 1024 == 0:
        return f"{size_bytes // 1024} KiB"
    return amounts((size_bytes,), "bytes")[0]
