"""Is it really encrypted? Rows that can be recognised, a search of every file that could hold them, what that shows.

In a run, markers are planted in every twin's rows, and all files of a twin are searched for them while it is at work
and afterwards (`files_of`, `search`, `classify`). Elsewhere, a user's own files are read for a marker that the user
knows, for headers, and for what kind of bytes they hold (`tdelta.evidence.reading`).

Limits: bytes cannot show that a key is safe, nor which cipher made them, nor tell encrypted from compressed. Absence of
plaintext is shown only where a marker is known to be in the rows.
"""

from tdelta.evidence.leak_verdict import Searched, classify, validity
from tdelta.evidence.markers import COLUMNS, TABLE, Markers, table_sql
from tdelta.evidence.search import FileClass, MarkerHit, TwinFile, file_class, files_of, merged, search
