"""Reasons to distrust an answer from other tools' files, in few words."""

from __future__ import annotations

from tdelta.document.quantities import counted, printable
from tdelta.records import AnalysisResult, NoteCode

_WORST_FIRST = {
    code: at
    for at, code in enumerate(
        (
            # the figures are not of what is compared
            "tests-differ",
            "copy-suspected",
            "run-aborted",
            "report-missing",
            "file-cut-off",
            "clock-coarser-than-means",
            "confounded",
            "repetitions-in-process",
            "runs-of-one-file",
            "two-clusters",
            "two-clusters-of-condition",
            # the interval may be wrong
            "clock-too-coarse",
            "unequal-lengths",
            "heavy-tailed",
            "failed-included",
            "rows-failed",
            "failed-transactions",
            "mean-with-failed",
            "few-runs",
        )
    )
}
"""Reasons and cautions by their weight; all others come after them."""

_NOTES = {
    NoteCode.UNSTEADY: "throughput is not steady within {runs}",
    NoteCode.WARM_UP: "a warm-up is in {runs}",
    NoteCode.ZEROS: "response times of 0 in {runs} (a clock too coarse)",
    NoteCode.HEAVY_TAIL: "values with a heavy tail in {runs}",
    NoteCode.SERIES_SHORT: "few figures over time in {runs}",
    NoteCode.SERIES_TOO_SHORT: "few figures over time in {runs}",
    NoteCode.FEW_VALUES: "few values in {runs}",
}
"""Of notes that speak against trusting an answer, in few words; worst first."""


def files_against_trust(result: AnalysisResult) -> list[str]:
    """Reasons to distrust the answer, worst first; of the same reason for many comparisons, the worst."""
    messages = (*(r for c in result.primary for r in c.reasons), *result.cautions)
    of_code: dict[str, dict[str, float]] = {}
    for message in messages:
        if text := message.against_trust:
            drift = message.parameters.get("drift", 0.0)
            of_code.setdefault(message.code, {})[text] = abs(drift) if isinstance(drift, float) else 0.0
    said = []
    for code in sorted(of_code, key=lambda code: _WORST_FIRST.get(code, len(_WORST_FIRST))):
        texts = sorted(of_code[code], key=lambda text: -of_code[code][text])
        more = f" (and {len(texts) - 1} more like it)" if len(texts) > 1 else ""
        said.append(f"{texts[0]}{more}")
    notes = [note for comparison in result.primary for note in comparison.notes]
    for words in dict.fromkeys(_NOTES.values()):
        if runs := {(note.condition, note.run) for note in notes if _NOTES.get(note.code) == words}:
            said.append(words.format(runs=counted(len(runs), "run")))
    return [printable(text) for text in said]
