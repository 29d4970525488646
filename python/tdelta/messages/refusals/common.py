"""Refusals of every area: rules between options, names and values, and files that cannot be used.

``unexpected`` is for text that does not parse; a value that parses and is not allowed is ``out-of-range``.
"""

COMMON = {
    # rules
    "requires": "{what} requires {needs}",
    "conflict": "{one} cannot be combined with {other}",
    "unsupported": "not supported by {by}: {what}",
    "not-supported": "{what} is only {only}, not for {by}",
    "twice": "{what} is given more than once",
    # values
    "unknown": "unknown {kind} {found}.{hint}",
    "unexpected": "expected {expected}, found {found}",
    "invalid": "invalid {kind}: {fault}",
    "missing": "{what} is missing",
    "out-of-range": "{what} must be {wanted}, found {found}",
    "too-many": "at most {most} {what} are allowed",
    "too-large": "{what} exceeds {most}",
    "not-utf-8": "expected UTF-8 text, found the byte 0x{byte:02x}; convert the file (iconv -f LATIN1 -t UTF-8)",
    "more-faults": "and {more} more",
    # files and folders
    "file-missing": "the file is missing.{hint}",
    "file-exists": "{path} exists; name another file, or overwrite it with --force",
    "path-unusable": "{path}: {fault}; name another file or folder",
    "folder-unusable": "{folder}: {fault}; choose another folder with --dir",
    "unreadable": "cannot be read: {fault}",
    "cannot-copy": "cannot copy {source} to {target}: {fault}; free some space, or use --dir or a smaller --size",
    # other programs
    "database-says": "{said}",
    "database-answer": "{said}; {fix}",
    "library-missing": "{library} is not installed ({fault}): pip install 'tdelta[{extra}]'",
    "program-missing": "{program} cannot be started: {remedy}",
    "program-failed": "{program} failed with exit status {status}: {said}",
    "version-mismatch": "{what} requires {expected}, found {found}; install the same version",
}
