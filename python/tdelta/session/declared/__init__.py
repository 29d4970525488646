"""The options of ``tdelta run``, each declared once: a field of one of the records here, in the order of help texts.

`tdelta.session.options` says what is derived from a declaration. A new option is one such field, and what uses it; a
default that only some engines have stands in their profiles.
"""

from tdelta.session.declared.measuring import DecisionOptions, Design, Where
from tdelta.session.declared.subject import Tested, TwinOptions, Work
