"""The English of checks: what each is called, and what it may have found, by code."""

ROWS_BEFORE = "rows-before"
ROWS_AFTER = "rows-after"
SETTINGS = "settings"
FILES = "files-encrypted"
IN_FORCE = "cipher-in-force"
SAME_WORK = "same-work"
INSTRUCTIONS = "aes-instructions"
NO_MARKER = "no-marker"
FINDS = "search-finds"
SPILLED = "temporary-data"
REPLICAS = "replicas"
AA_CHECK = "aa-twins"
BB_CHECK = "bb-twins"

CHECKS = {
    ROWS_BEFORE: "rows are the same before the first trial",
    ROWS_AFTER: "rows are the same after the last trial",
    SETTINGS: "settings are the same",
    FILES: "files are encrypted as asked",
    IN_FORCE: "the cipher in force is the one asked for",
    SAME_WORK: "the same work was done",
    INSTRUCTIONS: "AES instructions are as asked",
    NO_MARKER: "no marker in any file of an encrypted twin",
    FINDS: "the search finds what is there",
    SPILLED: "temporary data went to files",
    REPLICAS: "replicas are their primaries' replicas",
    AA_CHECK: "a/a twins are alike",
    BB_CHECK: "b/b twins are alike",
}
"""What each check is called."""

_TWINS = "{place:*: }the 95% interval of identical twins, {interval}, "

DETAILS = {
    # rows
    "rows-as-generated": "{rows:,} rows in {tables} tables, by checksum, as generated",
    "rows-as-original": "{rows:,} rows in {tables} tables, by checksum, as in the original",
    "rows-as-original-and-keys": (
        "{rows:,} rows in {tables} tables, by checksum, as in the original ({own} of them tdelta's own, of keys)"
    ),
    "rows-differ": "table {table}: {name} has {rows:,} rows and {other} {expected:,}",
    "values-differ": "table {table}: {name} has {rows:,} rows and {other} {expected:,}, with other values",
    "rows-after-rounds": "by checksum, at the end of {rounds} rounds",
    "rows-after-not-threaded": "not on the {twins} twins with more than one thread",
    "rows-after-not-tables": "not of {tables}, which the clock or chance writes to",
    "rows-after-not-compared": "NOT compared: more than one thread, or no round came to its end",
    # settings
    "settings-compared": "{settings}",
    "settings-varied": "varied: {settings}",
    "setting-differs": "{setting} is {value} on {condition} and {other} on {first}",
    # ciphers
    "files-seen": "{seen}",
    "file-unlike-cipher": "the file loaded with cipher {cipher} is {found}",
    "cipher-seen": "{seen}",
    "cipher-observed": "observed of {cipher}: {seen}",
    "cipher-not-observed": "observed of {cipher}: nothing",
    "cipher-fault": "{condition}: {fault}",
    "settings-not-in-force": "{settings} not as expected ({differences})",
    "tablespaces-encrypted": "{count} tablespaces are encrypted, expected none",
    "tablespaces-plain": "{count} tablespaces are not encrypted, expected none",
    "system-tablespaces-plain": "{count} of the server's own tablespaces are encrypted, expected all",
    "tables-compressed": "pages of {count} tables are compressed, expected of none",
    "tables-not-compressed": "pages of {count} tables are not compressed by {compression}, expected of none",
    "data-directory-elsewhere": "expected the data directory {wanted}, the server sees it on {found}",
    "data-directory-not-in-folder": "expected the data directory {wanted} {folder}, and the server has it otherwise",
    "tables-unlike": "expected {wanted} tables, found by the server's catalog: {found}",
    "file-not-plain": "its file does not begin as a plain database does",
    "file-begins-plain": "the library says {cipher}, and its file begins as a plain one",
    "other-cipher": (
        "{cipher} was asked for, and what the server was seen to start for its pages is {observed}: the figures are of"
        " {found}"
    ),
    # work
    "work-done": "{operations:,} operations in {trials} trials, no errors",
    "work-done-with-errors": "{operations:,} operations in {trials} trials, {errors:,} errors",
    "work-not-compared": "NOT compared: the load generator decides how much it does",
    "trial-stopped": "block {block}, {condition}: ended by {stopped_by}",
    "trial-errors": "block {block}, {condition}: {errors} errors",
    "trial-unequal": "block {block}, {condition}: {operations} operations, another twin did {expected}",
    "many-errors": "{condition}: {errors:,} errors beside {operations:,} operations",
    # AES instructions
    "instructions-shown": "on {on}, off {off}, in each worker before its first trial",
    "instructions-wrong": "without them a page must cost at least {times:g} times the median with them",
    "instructions-not-compared": "all {level}: {cost}, NOT compared with the other level",
    # markers
    "plaintext-found": "plaintext in {files} ({file_class}) of {condition}: {markers:,} {markers:marker|markers} found",
    "markers-absent": "not found in {classes} of {twins} {twins:twin|twins}, {read:,} bytes read",
    "markers-not-tested": "NOT tested: no twin is encrypted, or no plain twin shows markers",
    "left-in-the-clear": "left in the clear by {condition}, which does not cover it: {classes}",
    "clear-while-mounted": "in the clear on {condition} for anyone who reads it mounted: {classes}",
    "classes-not-tested": "not tested: {classes}",
    "home-without-marker": (
        "no marker in the {home} of {condition}, whose rows hold them: absence elsewhere says nothing"
    ),
    "plain-not-searched": "NOT tested: no plain twin was searched",
    "markers-present": "markers in {classes} of {twins} {twins:twin|twins}",
    "search-interrupted": "NOT searched: the run ended before the search",
    "twins-out-of-reach": "{twins} twins NOT searched: {why}",
    "twins-not-searched": "{left} of {twins} twins NOT searched: the run ended before",
    # temporary data
    "spilled": "in all {trials} trials, by {counted}",
    "not-spilled": ("{condition}: {kept} of {trials} trials kept what they made in memory"),
    "spill-remedy": "such trials show nothing of temporary files: more data or less memory for a session is needed",
    "spill-not-counted": "NOT shown: the engine counts no temporary files, and its transactions write rows, too",
    # replicas
    "replicas-compared": (
        "{replicas} replicas with the rows of their primaries, by checksum, at the ends of rounds; {commits:,} commits"
        " waited for one, as asked"
    ),
    "replicas-not-compared": "NOT compared: no round came to its end",
    "commits-unconfirmed": "{condition}: {commits:,} commits did not wait for the replica, as they were to",
    # what a proposal leaves out
    "table-without-key-left-out": "table {table!r} is left out: it has no key to find a row by",
    "table-name-left-out": "table {table!r} is left out: its name has a character that scripts lack",
    "transaction-left-out": "{transaction} is left out: {fault}",
    "no-update": (
        "no update of table {table!r}: no column of texts, integers, decimals or doubles is outside of keys, not "
        "computed and not empty"
    ),
    "no-insert-key": "no insert into table {table!r}: its primary key is not one integer",
    "no-insert-unique": "no insert into table {table!r}: the unique index {index} would refuse a copy of a row",
    "no-insert-room": "no insert into table {table!r}: there is no room for keys above the highest one",
    "no-insert-name": "no insert into table {table!r}: a column's name has a character that scripts lack",
    # identical twins
    "twins-outside": _TWINS + "lies wholly outside ±{limit:g%}, {called}",
    "twins-outside-by-little": _TWINS + "lies outside ±{limit:g%}, {called}, but by few rounds or single trials alone",
    "twins-within": _TWINS + "lies within ±{needed:.3g%}, which is what the verdict needs",
    "twins-too-wide": _TWINS + "is too wide: the verdict needs them within ±{needed:.3g%}",
    "twins-beyond": _TWINS + "reaches beyond ±{needed:.3g%}, which is what the verdict needs",
}
