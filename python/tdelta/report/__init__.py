"""What people and programs read: sentences, terminal text, live progress, the JSON document.

Everything here turns finished values into words; nothing is measured, estimated or decided. No function prints: text
is returned, so that a pipe, a terminal and a golden file see the same characters.
"""

from tdelta.report.document import document, to_json
from tdelta.report.progress import LiveProgress, PlainProgress, progress
from tdelta.report.sentence import answer, floor
from tdelta.report.terminal import render

__all__ = ["LiveProgress", "PlainProgress", "answer", "document", "floor", "progress", "render", "to_json"]
