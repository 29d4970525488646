"""Texts for people in checks, cautions, reasons and refusals: a code with parameters, and its English in a catalogue.

Every layer may write a message, so this package is below all of them. A code is kebab-case and keeps its meaning:
programs match codes, people read texts, and texts may be reworded at any time. Each kind of message has one catalogue;
``docs/messages.md`` is generated from them.

Limits: parameters are text and numbers. Text of another program (a server's error, an engine's description) is a
parameter, unchanged. A parameter may be another message, or an error with its refusals: its text is used, and its code
is added as ``NAME_code``.
"""

from tdelta.messages.catalogue import Caution, Detail, Message, Parameter, Reason, Refusal, RunPart
