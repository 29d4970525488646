"""The English of checks: their names and findings, by code."""

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
BUILDS = "builds-differ"
UNENCRYPTED = "nothing-encrypted"
AA_CHECK = "aa-twins"
BB_CHECK = "bb-twins"

CHECKS = {
    ROWS_BEFORE: "all copies have the same rows before the first trial",
    ROWS_AFTER: "all copies have the same rows after the last trial",
    SETTINGS: "settings match",
    FILES: "files are encrypted as requested",
    IN_FORCE: "cipher in use",
    SAME_WORK: "all copies did the same work",
    INSTRUCTIONS: "AES instructions are as requested",
    NO_MARKER: "no marker in files of encrypted copies",
    FINDS: "the search finds plaintext in unencrypted copies",
    SPILLED: "temporary data was written to files",
    REPLICAS: "replicas match their primary",
    BUILDS: "the builds differ",
    UNENCRYPTED: "nothing is encrypted",
    AA_CHECK: "A/A copies agree",
    BB_CHECK: "B/B copies agree",
}

_TWINS = "identical copies differ by {interval} (95% interval), "

DETAILS = {
    "not-checked": "not checked: {why}",
    # rows
    "rows-same": "{rows:,} rows in {tables} tables, with the same checksums as {source}",
    "rows-keys": "only the keys of {tables} of {total} tables were compared",
    "rows-differ": "table {table}: {name} has {rows:,} rows and {other} {expected:,}",
    "values-differ": "table {table}: {name} has {rows:,} rows and {other} {expected:,}, with other values",
    "rows-after-rounds": "same checksums at the end of {rounds} rounds",
    "rows-after-not-threaded": "not compared: {twins} copies with several threads",
    "rows-after-not-tables": "not compared: {tables}, which use the clock or chance",
    # settings
    "settings-compared": "{settings}",
    "settings-varied": "varied: {settings}",
    "setting-differs": "{setting} is {value} on {condition} and {other} on {first}",
    "settings-not-in-force": "{settings} not as expected ({differences})",
    # ciphers
    "cipher-seen": "{seen}",
    "cipher-observed": "observed of {cipher}: {seen}",
    "cipher-fault": "{condition}: {fault}",
    "file-unlike-cipher": "the file for cipher {cipher} is {found}",
    "other-cipher": "{cipher} was requested; the server used {observed}, so the results are for {found}",
    "wrong-count": "{what}: {count}, expected {expected}",
    "data-directory": "the data directory must be {wanted}, the server reports {found}",
    "tables-unlike": "tables must be {wanted}, the server's catalog reports: {found}",
    # work
    "work-done": "{operations:,} operations in {trials} trials, {errors:,} errors",
    "trial-stopped": "block {block}, {condition}: ended by {stopped_by}",
    "trial-errors": "block {block}, {condition}: {errors} errors",
    "trial-unequal": "block {block}, {condition}: {operations} operations, another copy did {expected}",
    "many-errors": "{condition}: {errors:,} errors in {operations:,} operations",
    # builds
    "build": "{build} is {said}",
    # AES instructions
    "instructions-shown": "on {on}, off {off}, in each worker before its first trial",
    "instructions-wrong": "without them a page must cost at least {times:g} times the median with them",
    "instructions-not-compared": "all {level}: {cost}, without the other level to compare",
    # markers
    "plaintext-found": "plaintext in {files} ({file_class}) of {condition}: {markers:,} {markers:marker|markers} found",
    "markers-absent": "not found in {classes} of {twins} {twins:copy|copies}, {read:,} bytes read",
    "markers-present": "markers in {classes} of {twins} {twins:copy|copies}",
    "left-in-the-clear": "in the clear and out of the scope of {condition}: {classes}",
    "clear-while-mounted": "{condition}: readable while its file system is mounted: {classes}",
    "home-without-marker": "no marker in the {home} of {condition}, whose rows contain them: the search proves nothing",
    # temporary data
    "spilled": "in all {trials} trials ({counted})",
    "not-spilled": "{condition}: {kept} of {trials} trials did not spill to disk",
    "spill-remedy": "use more data or less session memory",
    # replicas
    "replicas-compared": "{replicas} replicas equal their primaries after each round; {commits:,} commits waited",
    "commits-unconfirmed": "{condition}: {commits:,} commits did not wait for the replica",
    # what a proposal leaves out
    "left-out": "{what} is omitted: {why}",
    "no-update": "no update of table {table!r}: no plain column with values outside of its keys",
    "no-insert": "no insert into table {table!r}: {why}",
    # identical copies
    "twins-outside": _TWINS + "outside ±{limit:g%}, {called}",
    "twins-outside-by-little": _TWINS + "outside ±{limit:g%}, {called}, but only in few rounds or single trials",
    "twins-within": _TWINS + "within the required ±{needed:.3g%}",
    "twins-too-wide": _TWINS + "too wide for the required ±{needed:.3g%}",
    "twins-beyond": _TWINS + "beyond the required ±{needed:.3g%}",
}
