"""What people read of a check, a caution, a reason or a refusal: a code and parameters, its English in a catalogue.

Every layer may write a message, so this package stands below all of them. A code is kebab-case and never changes its
meaning: programs match codes, people read texts, and a text may be worded better at any time. There is one catalogue
for each kind; ``docs/messages.md`` is generated from them.

Limits: parameters are text and numbers. A text of another program (a server's error, an engine's description) is a
parameter, as it stands. A parameter may be another message, or an error with its refusals: then its text stands there,
and its code beside it, as ``NAME_code``.
"""

from tdelta.messages.catalogue import Caution, Detail, Message, Parameter, Reason, Refusal, RunPart
