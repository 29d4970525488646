"""One decision as a page of two printed sheets, as a few lines of a terminal, and as JSON."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tdelta import __version__
from tdelta.design.storages import storage_of
from tdelta.document.blocks import MARKER, Block, Cell, Column, Line, Lines, Listing, Page, Paragraph, Section, Table
from tdelta.document.labels import compared_label
from tdelta.document.quantities import MINUS, MISSING, counted, cut, duration, share
from tdelta.document.wording import label
from tdelta.engines.registry import profile
from tdelta.findings import answer_lines
from tdelta.findings.actions import PROJECTED, ActionMeasure
from tdelta.findings.backups import BackupMeasure
from tdelta.findings.base import FOUND
from tdelta.findings.storage import StorageLayer
from tdelta.findings.temporary import CLASSES as TEMPORARY
from tdelta.inference.decisions import FEWEST_BLOCKS, WIDEST
from tdelta.messages import Refusal
from tdelta.records import PLAIN_STORAGE, Decision, EvidenceState, FileEvidence, RunResult
from tdelta.report.answer import against_trust, ciphers_found, companion, run_answer, verdict_words
from tdelta.report.answer import found as found_in
from tdelta.report.command import run_command
from tdelta.report.outcome import Outcome, of_run
from tdelta.report.subject import megabytes, subject
from tdelta.report.values import values_of

if TYPE_CHECKING:
    from tdelta.session.deciding import Answered, Decided, Open, Outline, Step

DECISION_SCHEMA = "tdelta.decide/1"
OUTLINE_SCHEMA = "tdelta.decide-dry-run/1"

_HOURS_A_MONTH = 730
_US = 1e6
_IN_CLEAR = (EvidenceState.LEAK, EvidenceState.UNCOVERED, EvidenceState.MOUNTED)
_NO_RATE = "not computed: --rate 2000/s is your peak, in transactions per second on each server"
_NO_CPU = "no answer yet: daily work measured too little CPU time"
_OF_DAILY = ("Response time", "CPU")
_NOISE, _MOST_CAUTIONS = "Noise", 1
_LONGEST_REASON, _SHORTEST_QUOTE = 200, 60
_MOST_READABLE, _MOST_NAMED = 2, 3
_NUMBER = re.compile(r"\d+(?:,\d{3})*(?:\.\d+)?")
_ON_PLAINTEXT = re.compile("(files )?readable|no plaintext")
_MOUNTED = " while it is mounted"
_ROWS, _CHANGED, _DELETED, _QUERIED = "whole rows", "rows as they change", "deleted rows", "rows in sorts and joins"
_LOGS = ("wal", "redo log", "undo", "doublewrite", "journal", "binlog", "relay log")
_CONTENTS = {
    **dict.fromkeys(_LOGS, _CHANGED),
    **dict.fromkeys(TEMPORARY, _QUERIED),
    "temp tables": _ROWS,
    "server logs": "statements with their values",
    "other": "single values",
    "dictionary": "names of tables and columns",
}
"""The content of classes of files (`tdelta.evidence.FileClass`); of all others it is whole rows."""

_GRAVEST = (_ROWS, _DELETED, _CHANGED, _QUERIED)
_NO_EFFECT = "encryption is not in effect here: do not rely on it"
_ON_DISK = "put them on an encrypted disk"
_IN_MEMORY = "keep them in memory (PRAGMA temp_store = MEMORY)"
_TERM = re.compile(r"\b(rounds?|blocks?)\b")
_TERMS = "A round makes new copies of the database; a block measures every configuration once."
_CONTINUED = "the same command with a longer --max-time continues; with --rerun it measures everything again"
_OUTSIDE = "Outside this decision: key management, key services and their outages, restore drills, licenses."


@dataclass(frozen=True, slots=True)
class Load:
    """The user's peak: transactions per second on each of so many servers, and the price of a core for an hour."""

    rate: float | None = None
    servers: int = 1
    core_hour_price: float | None = None
    currency: str = ""

    def price(self, number: str) -> str:
        return f"{number} {self.currency}".strip()


@dataclass(frozen=True, slots=True)
class Cores:
    """Busy cores of one server at the peak, unencrypted and encrypted with its 95% interval, and what more costs.

    ``month_costs`` are of all servers for 730 hours: the best estimate, then the ends of the interval.
    """

    plain: float
    encrypted: float
    low: float
    high: float
    month_costs: tuple[float, float, float] | None


def cores_at(load: Load, found: Decided) -> Cores | None:
    """CPU time per transaction, as daily work has it, at the user's rate; None where either is not known."""
    daily = found.answered[0].result
    verdicts = [cpu for v in daily.primary if v.condition.is_protected and (cpu := companion(v, daily)) is not None]
    own = daily.settings.external_servers
    is_unseen = own is not None and not (own.baseline.has_cpu_time and own.encrypted.has_cpu_time)
    if load.rate is None or daily.decision is Decision.INVALID or is_unseen or not verdicts:
        return None
    ratio = verdicts[0].ratio
    if daily.counts.blocks < FEWEST_BLOCKS or ratio.hdi95[1] - ratio.hdi95[0] > WIDEST:
        return None
    plain = load.rate * verdicts[0].baseline_value / _US
    best, low, high = (plain * one for one in (ratio.median, *ratio.hdi95))
    month = (load.core_hour_price or 0.0) * load.servers * _HOURS_A_MONTH
    costs = ((best - plain) * month, (low - plain) * month, (high - plain) * month) if month else None
    return Cores(plain, best, low, high, costs)


def _cores_text(load: Load, found: Decided) -> str:
    cores = cores_at(load, found)
    if cores is None:
        return _NO_RATE if load.rate is None else _NO_CPU
    text = f"{cores.plain:.3g} → {cores.encrypted:.3g} busy at {load.rate:,.6g}/s on each server"
    if cores.month_costs is None:
        return text
    cost = cores.month_costs[0]
    return f"{text}; {load.price(f'{abs(cost):,.2f}')} {'less' if cost < 0 else 'more'} per month"


def _cores_blocks(load: Load, found: Decided) -> Iterator[Block]:
    cores = cores_at(load, found)
    if cores is None:
        yield Paragraph(f"{_cores_text(load, found)}.")
        return
    rows = []
    for count in dict.fromkeys((1, load.servers)):
        plain, *ends = (count * one for one in (cores.plain, cores.encrypted, cores.low, cores.high))
        more, low, high = (f"{one - plain:+.3g}".replace("-", MINUS) for one in ends)
        rows.append(
            (f"busy cores, {counted(count, 'server')}", f"{plain:.3g}", f"{ends[0]:.3g}", more, f"{low} to {high}")
        )
    if cores.month_costs is not None:
        more, low, high = (f"{one:+,.2f}".replace("-", MINUS) for one in cores.month_costs)
        rows.append(("cost per month", MISSING, MISSING, load.price(more), load.price(f"{low} to {high}")))
    titles = ("unencrypted", "encrypted", "more", "95% interval")
    numbers = [Column(title, is_number=True) for title in titles]
    at = f"at {load.rate:,.6g}/s on each server"
    yield Table("Busy cores", [Column(at), *numbers], rows)
    yield Paragraph(_CORES_NOTE, "note")


def decision_blocks(found: Decided, load: Load, page: str) -> Iterator[Block]:
    daily, *others = found.answered
    yield Paragraph(run_answer(daily.result).sentence, "answer", state=daily.result.decision.value)
    readable = [f"{one.text} ({one.content})" for one in still_readable(found)]
    if len(readable) > _MOST_READABLE:
        readable[_MOST_READABLE:] = [f"{len(readable) - _MOST_READABLE} more on the page"]
    lines = [
        *(Line("Cipher", text, is_warning=True) for text in ciphers_found(daily.result)),
        *(Line(one.question.title.partition(" of ")[0], brief(one.result)) for one in others),
        Line("Cores", _cores_text(load, found)),
        Line("Still readable", "; ".join(readable) or _nothing_readable(found), is_warning=bool(readable)),
        *([Line("Not measured", "; ".join(one.question.title for one in found.open))] if found.open else []),
        *([Line("Next", _CONTINUED)] if _is_open(found) else []),
        Line("Page", page),
    ]
    yield Lines(lines)


def _is_open(found: Decided) -> bool:
    return bool(found.open) or any(one.result.decision is Decision.UNDECIDED for one in found.answered)


def brief(result: RunResult) -> str:
    """A run's answer in a few words: ``SLOWER, +12% (+10% to +14%)``, with the size of a backup."""
    sentence, outcomes = run_answer(result).sentence.removeprefix("CONVERSION"), of_run(result)
    head = sentence.partition(":")[0].removeprefix(", ")
    effects = [
        (
            ", ".join(filter(None, (one.operation or compared_label(verdict.condition), one.place))),
            one.effect,
            one.seconds,
        )
        for one, verdict in zip(outcomes, result.primary, strict=True)
        if one.effect
    ]
    if head.startswith(("NO ANSWER", "INVALID")) or not effects:
        return head
    if len(effects) == 1:
        ((_, effect, seconds),) = effects
        took = f"{duration(seconds)}, " if seconds else ""
        return f"{head}, {took}{effect.signed()} ({effect.signed_span()}){_sizes(result)}"
    if len(effects) > _MOST_NAMED:
        least, *_, most = sorted((effect for _, effect, _ in effects), key=lambda effect: effect.median)
        return f"{head}, {least.signed()} to {most.signed()}{_sizes(result)}"
    texts = (f"{name}{f' {duration(took)},' if took else ''} {effect.signed()}" for name, effect, took in effects)
    return "; ".join(filter(None, (head, *texts))) + _sizes(result)


def _sizes(result: RunResult) -> str:
    return "".join(f"; {line.text}" for line in answer_lines(result, (BackupMeasure,)))


@dataclass(frozen=True, slots=True)
class Readable:
    """Data that can be read without the key: where, the classes of files, their content, and a step that helps.

    ``questions`` are the titles of those whose runs found it.
    """

    where: str
    files: tuple[str, ...]
    content: str
    helps: str
    questions: tuple[str, ...]

    @property
    def text(self) -> str:
        return f"{self.where}: {', '.join(self.files)}"


def still_readable(found: Decided) -> list[Readable]:
    """The gravest first."""
    files, titles = defaultdict[tuple[str, ...], list[str]](list), defaultdict[tuple[str, ...], list[str]](list)
    for one in found.answered:
        for file_class, *key in _readable_in(one.result):
            files[tuple(key)].append(file_class)
            titles[tuple(key)].append(one.question.title)
    order = [*_GRAVEST, *_CONTENTS.values()]
    several = [
        Readable(where, tuple(dict.fromkeys(files[key])), content, helps, tuple(dict.fromkeys(titles[key])))
        for key in files
        for where, content, helps in [key]
    ]
    return sorted(several, key=lambda one: order.index(one.content.split(", ")[0]))


def _readable_in(result: RunResult) -> Iterator[tuple[str, str, str, str]]:
    """The class of the files or backups, where they are, their content, and what helps."""
    for evidence in result.of(FileEvidence):
        name, where = evidence.file_class, compared_label(evidence.condition)
        if evidence.state in _IN_CLEAR and evidence.condition.is_protected:
            if evidence.state is EvidenceState.MOUNTED:
                yield name, f"{where}{_MOUNTED}", _ROWS, "let the database encrypt as well"
            else:
                yield name, where, _CONTENTS.get(name, _ROWS), _remedy(evidence, result.settings.engine)
    for left in (left for action in result.of(ActionMeasure) for left in action.left):
        helps = "erase the old logs" if left.file_class in _LOGS else "rebuild the tables, erase the old files"
        contents = ((left.there, _CONTENTS.get(left.file_class, _ROWS)), (left.deleted, _DELETED))
        if found := [content for number, content in contents if number]:
            yield left.file_class, "after a conversion", ", ".join(found), helps
    for backup in result.of(BackupMeasure):
        if backup.condition.is_protected and backup.in_the_clear:
            kind = "logical" if backup.is_logical else "physical"
            yield kind, "backups", _ROWS, "encrypt backups as they are written"


def _remedy(evidence: FileEvidence, engine: str) -> str:
    """A setting, or a step, after which these files cannot be read without the key."""
    name, found, is_leak = evidence.file_class, profile(engine), evidence.state is EvidenceState.LEAK
    if name in TEMPORARY and "temp_store" in found.settings:
        return f"{_NO_EFFECT}; {_IN_MEMORY}" if is_leak else _IN_MEMORY
    return _NO_EFFECT if is_leak else found.widened_by.get(name, _ON_DISK)


def _nothing_readable(found: Decided) -> str:
    """The classes of files that were searched, and in which nothing was readable anywhere."""
    searched = {
        evidence.file_class
        for one in found.answered
        for evidence in one.result.of(FileEvidence)
        if evidence.state is EvidenceState.ENCRYPTED
    }
    clean = searched.difference(*(one.files for one in still_readable(found)))
    return f"no plaintext in {', '.join(sorted(clean))}" if clean else "" if searched else "not tested in files"


def decision_page(found: Decided, load: Load) -> Page:
    daily = found.answered[0].result
    headline = run_answer(daily).sentence
    runs = "; ".join(f"{one.question.title}: {one.result.settings.run_id}" for one in found.answered)
    return Page(
        title=f"tdelta: {headline}",
        eyebrow=f"Encryption at rest: {subject(daily)}",
        headline=headline,
        is_alarm=daily.decision is Decision.INVALID,
        sections=[section for section in _sections(found, load) if section.blocks],
        marker=f"{MARKER}: decision",
        is_compact=True,
        footer=f"tdelta {__version__}, {found.name}. Charts and checks: tdelta report RUN. Runs: {runs}.",
    )


def _sections(found: Decided, load: Load) -> Iterator[Section]:
    daily, *others = found.answered
    rows = [_row(daily, brief(daily.result), ()), *(_row(one, "", (daily,)) for one in others)]
    columns = list(map(Column, ("question", "answer", "measured")))
    warnings = [Paragraph(f"{text}.", "note") for text in ciphers_found(daily.result)]
    following = [Paragraph(f"Open answers: {_CONTINUED}.", "note")] if _is_open(found) else []
    answers: list[Block] = [Paragraph(_measured_on(found)), *warnings, Table("Answers", columns, rows), *following]
    yield Section("answer", "Answers", answers)
    yield Section("cores", "Cores and cost", list(_cores_blocks(load, found)))
    yield Section("readable", "Still readable without the key", list(_readable_blocks(found)))
    said = " ".join(cell.text if isinstance(cell, Cell) else cell for row in rows for cell in row)
    yield Section("cautions", "Cautions", list(_caution_blocks(found, said)))
    yield Section("layers", "TDE, the disk, or both", list(_layers(found)))
    left = [(one.question.title, _shortened(one.why)) for one in found.open]
    columns = [Column("question"), Column("why")]
    yield Section("open", "Not measured", [Table("Open questions", columns, left)] if left else [])
    yield Section("assumptions", "Assumptions", [Listing([("", text) for text in _assumptions(found, load)], "facts")])


_CORES_NOTE = (
    "Busy cores: CPU time per transaction of daily work times your rate; the interval is that of the overhead. A"
    " server needs more cores than are busy, and a faster CPU needs fewer."
)


def _shortened(why: Refusal) -> str:
    """A reason in few words: its longest quotation is cut, and what follows it, such as a remedy, stays."""
    excess = len(why.text) - _LONGEST_REASON
    quoted = {name: value for name, value in why.parameters.items() if isinstance(value, str)}
    if excess <= 0 or not quoted:
        return why.text
    name, text = max(quoted.items(), key=lambda one: len(one[1]))
    return Refusal(why.code, {**why.parameters, name: cut(text, max(_SHORTEST_QUOTE, len(text) - excess))}).text


def _measured_on(found: Decided) -> str:
    """The size that daily work was measured at, and those of other questions."""
    daily, *others = found.answered
    whose = "your rows" if daily.has_own_rows else "generated rows"
    size, different = _size(daily.result), defaultdict[str, list[str]](list)
    for one in others:
        if (other := _size(one.result)) not in ("data", size):
            different[other].append(one.question.title)
    sizes = "".join(f"; {', '.join(titles)} on {other}" for other, titles in different.items())
    is_projected = any(PROJECTED in line.text for one in found.answered for line in answer_lines(one.result))
    projection = f" The time for {PROJECTED} is a projection." if is_projected else ""
    return f"Daily work was measured on {size} of {whose}{sizes}.{projection}"


def _size(result: RunResult) -> str:
    settings = result.settings
    size = settings.options.get("size_bytes") if settings.database is None else settings.database.size_bytes
    return megabytes(size) if isinstance(size, int) else "data"


def _facts(result: RunResult) -> list[str]:
    """The facts of a run, without those on plaintext, which have a section."""
    return "; ".join(text for text in found_in(result) if not _ON_PLAINTEXT.match(text)).split("; ")


def _row(one: Answered, head: str, before: Sequence[Answered]) -> tuple[str | Cell, ...]:
    """One row: ``head``, of daily work, in place of the sentence that heads the page; nothing that is said ``before``.

    The page is headed by the conditions of daily work, so that its row has none.
    """
    answer, counts = run_answer(one.result), one.result.counts
    known = [fact for other in before for fact in _facts(other.result)]
    more = [line for line in answer.lines if head and line.title in _OF_DAILY]
    if facts := [fact for fact in _facts(one.result) if fact and fact not in known]:
        more.append(Line(FOUND, "; ".join(facts)))
    text = " ".join((f"{head}." if head else answer.sentence, *(f"{line.title}: {line.text}." for line in more)))
    daily = [part for other in before or (one,) for part in subject(other.result).split(", ")]
    conditions = ", ".join(part for part in subject(one.result).split(", ") if part not in daily)
    measured = f"{counted(counts.blocks, 'comparison')} in {duration(counts.elapsed_seconds)}"
    return (
        one.question.title,
        Cell(text, "bad" if one.result.decision is Decision.INVALID else ""),
        f"{measured}; {conditions}" if conditions else measured,
    )


def _readable_blocks(found: Decided) -> Iterator[Block]:
    rows, nothing = still_readable(found), _nothing_readable(found)
    if rows:
        cells = [
            (Cell(one.text, "" if _MOUNTED in one.where else "bad"), one.content, one.helps, ", ".join(one.questions))
            for one in rows
        ]
        titles = ("readable", "content", "step that helps", "found by")
        yield Table("Plaintext that was found", list(map(Column, titles)), cells)
    if nothing:
        yield Paragraph(f"{nothing[0].upper()}{nothing[1:]}.")


def _caution_blocks(found: Decided, answers: str) -> Iterator[Block]:
    """The noise of daily work, and the worst reasons to distrust each answer; the terms of these and of ``answers``."""
    noise = [line.text for line in run_answer(found.answered[0].result).lines if line.title == _NOISE]
    yield from (Paragraph(f"{_NOISE}: {text}.", "note") for text in noise)
    rows = defaultdict[str, list[tuple[str, str]]](list)
    for one in found.answered:
        for text in against_trust(one.result)[:_MOST_CAUTIONS]:
            rows[_NUMBER.sub("#", text)].append((text, one.question.title))
    cells = [(spanning([text for text, _ in of]), ", ".join(title for _, title in of)) for of in rows.values()]
    if cells:
        yield Table("Reasons to distrust an answer", [Column("caution"), Column("answer")], cells)
    if any(_TERM.search(text) for text in (answers, *noise, *(text for text, _ in cells))):
        yield Paragraph(_TERMS, "note")


def spanning(texts: Sequence[str]) -> str:
    """Texts that differ in their numbers as one, with the range of each number: ``during 12 to 58% of the time``."""
    numbers = iter(zip(*(_NUMBER.findall(text) for text in texts), strict=True))

    def span(_found: re.Match[str]) -> str:
        ends = sorted(set(next(numbers)), key=lambda number: float(number.replace(",", "")))
        return ends[0] if len(ends) == 1 else f"{ends[0]} to {ends[-1]}"

    return _NUMBER.sub(span, texts[0])


def _layers(found: Decided) -> Iterator[Block]:
    """The threats that each layer protects from, and its cost where that was measured."""
    rows: list[tuple[str, ...]] = []
    for one in found.answered:
        primary = (verdict.condition for verdict in one.result.primary)
        outcomes = dict(zip(primary, of_run(one.result), strict=True))
        for layer in one.result.of(StorageLayer):
            cost = _cost_words(outcomes.get(layer.condition))
            rows.append((label(layer.condition, one.result.settings), cost, layer.protects, layer.in_clear))
    if not rows:
        tde, disk = storage_of(PLAIN_STORAGE), storage_of("luks")
        rows = [
            ("TDE", brief(found.answered[0].result), tde.protects, tde.in_clear),
            ("disk", MISSING, disk.protects, disk.in_clear),
            ("both", MISSING, tde.protects, tde.in_clear),
        ]
    first = {text: name for name, _, *texts in reversed(rows) for text in texts}
    shown = [
        (name, cost, *(text if first[text] == name else f"as {first[text]}" for text in texts))
        for name, cost, *texts in rows
    ]
    titles = ("layer", "cost", "protects from", "leaves readable")
    yield Table("Layers of encryption", list(map(Column, titles)), shown)


def _cost_words(outcome: Outcome | None) -> str:
    """A verdict, with its figures if enough was measured for them."""
    if outcome is None or (outcome.effect is None and not outcome.is_little and outcome.at_most is None):
        return "no answer yet"
    effect, words = outcome.effect, verdict_words(outcome).lower().replace("cpu", "CPU")
    return words if effect is None else f"{words}: {effect.signed()} ({effect.signed_span()})"


def _assumptions(found: Decided, load: Load) -> Iterator[str]:
    daily = found.answered[0].result
    yield from (f"{line.title}: {line.text}." for line in run_answer(daily).lines if line.title == "Valid for")
    if daily.settings.database is not None and daily.settings.database.proposed:
        yield "The transactions are a proposal from the schema; --workload DIR measures yours."
    if generated := [one.question.title for one in found.answered if not one.has_own_rows]:
        titles = "; ".join(generated) if len(generated) < len(found.answered) else "all questions"
        yield f"Generated rows, not yours: {titles}. Times of operations grow with the data."
    tolerance = share(daily.settings.tolerance)
    yield f"Differences under {tolerance} count as none (--tolerance); every interval is 95% for its question alone."
    if load.core_hour_price is not None:
        price = load.price(f"{load.core_hour_price:g}")
        yield f"A core costs {price} per hour, and a month has {_HOURS_A_MONTH} hours."
    yield _OUTSIDE


def outline_blocks(planned: Outline) -> Iterator[Block]:
    """The plan of a decision, run by run."""
    rows = []
    for step in planned.steps:
        times = map(duration, (step.least_seconds, step.seconds))
        spent = f" (continued after {duration(step.spent_seconds)})" if step.spent_seconds else ""
        rows.append((f"{step.question.title}{spent}", *times, "" if step.has_own_rows else "generated"))
    if rows:
        rows.append(("all", "", duration(sum(step.seconds for step in planned.steps)), ""))
        titles = ("", "at least", "planned", "rows")
        yield Table("Runs", [Column(title, title in titles[1:3]) for title in titles], rows, name="run")
    done = "; ".join(question.title for question in planned.answered)
    yield Listing([("", f"done: {done} (--rerun measures again)")] if done else [])
    yield Listing([("", f"not measured: {one.question.title}: {one.why.text}") for one in planned.open])


def outline_document(planned: Outline) -> dict[str, object]:
    runs = [
        {
            **_named(step),
            "least_seconds": step.least_seconds,
            "planned_seconds": step.seconds,
            "spent_seconds": step.spent_seconds,
            "has_own_rows": step.has_own_rows,
            "command": run_command(step.request.to_json()),
        }
        for step in planned.steps
    ]
    answered = [question.name for question in planned.answered]
    return {"schema": OUTLINE_SCHEMA, "answered": answered, "runs": runs, "open": _open(planned.open)}


def decision_document(found: Decided, load: Load, page: str, exit_code: int) -> dict[str, object]:
    answers = [
        {
            **_named(one),
            "run_id": one.result.settings.run_id,
            "decision": one.result.decision.value,
            "sentence": run_answer(one.result).sentence,
            "has_own_rows": one.has_own_rows,
        }
        for one in found.answered
    ]
    return {
        "schema": DECISION_SCHEMA,
        "name": found.name,
        "exit_code": exit_code,
        "page": page,
        "answers": answers,
        "cores": values_of(cores_at(load, found)),
        "currency": load.currency,
        "still_readable": [values_of(one) for one in still_readable(found)],
        "open": _open(found.open),
        "assumptions": list(_assumptions(found, load)),
    }


def _named(one: Answered | Open | Step) -> dict[str, object]:
    return {"question": one.question.name, "title": one.question.title}


def _open(found: Sequence[Open]) -> list[dict[str, object]]:
    return [
        {**_named(one), "why": values_of(one.why), "text": one.why.text, "command": run_command(one.request.to_json())}
        for one in found
    ]
