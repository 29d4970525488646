_ELSEWHERE = "name another store with --store FILE or TDELTA_STORE"

STORES = {
    "not-json": "expected JSON, found {text} ({fault})",
    "key-not-a-number": "expected a whole number as the key, found {key}",
    "not-a-finding": "expected a finding ({known}), found {name}",
    "unknown-fields": "expected the fields of {kind}, found also {unknown}",
    "record-incomplete": "incomplete ({fault})",
    "items-miscounted": "expected {expected} items, found {found}",
    "value-of-no-kind": "expected one of {kinds}, found {data}",
    "value-of-other-kind": "expected {kind}, found {data}",
    "store-damaged": f"store {{path}}: it is damaged ({{fault}}); {_ELSEWHERE}",
    "store-out-of-reach": f"store {{path}}: {{fault}}; {_ELSEWHERE}",
    "store-not-readable": f"store {{path}}: {{fault}}; {_ELSEWHERE}",
    "store-damaged-by": f"store {{path}}: it is damaged ({{kind}}: {{fault}}); {_ELSEWHERE}",
    "store-changed": (
        f"store {{path}}: {{part}} is not what tdelta wrote: the file was damaged, or edited; take a copy of it that"
        f" is not, or {_ELSEWHERE}"
    ),
    "store-too-new": (
        f"store {{path}}: expected schema version {{known}} or older, found {{found}}: a newer tdelta wrote it."
        f" Upgrade tdelta, or {_ELSEWHERE}"
    ),
    "not-a-store": f"store {{path}}: expected a store of tdelta's, found {{found}}; {_ELSEWHERE}",
    "store-disk-full": f"store {{path}}: the disk is full ({{fault}}); free some space, or {_ELSEWHERE}",
    "store-not-writable": f"store {{path}}: cannot be opened or written ({{fault}}); check the folder, or {_ELSEWHERE}",
    "store-held": f"store {{path}}: another process holds it ({{fault}}); wait for that one, or {_ELSEWHERE}",
    "store-fails": f"store {{path}}: {{fault}} ({{kind}}); {_ELSEWHERE}",
    "run-without-result": "run {run} has no result yet (it is {status}); resume it: tdelta run --resume {run}{store}",
    "no-last-run": (
        "store {store} holds only pilots, runs of calibrations and imported runs ({others}): expected one that was"
        " asked for by itself; `tdelta runs --kind all` lists them"
    ),
    "not-a-label": (
        "expected a label of 1 to {most} characters without blanks and commas, which does not begin with '-' and is not"
        " 'last', found {found}"
    ),
    "too-many-labels": "expected at most {most} labels, found {found}",
    "no-such-label": "run {run}: expected one of its labels ({known}), found {found}",
    "not-a-note": "expected a note of at most {most} characters without control characters, found {found} characters",
    "run-at-work": "run {run} is at work: wait for it, or end it with Ctrl-C, before it is removed",
    "run-removed": "run {run} was removed after it was found: nothing is left to resume; tdelta run makes a new one",
    "nothing-to-label": "expected a LABEL to give the run, or --remove LABEL, found neither",
    "nothing-to-prune-by": "expected --older-than, --larger-than, or both: name what is to be removed",
    "pack-not-writable": "pack {path}: cannot be written: {fault}",
    "pack-not-readable": "pack {path}: cannot be read: {fault}",
    "not-over-this": "{path} is there and is not a pack of tdelta's: name another file with --output, or give --force",
    "not-a-pack": "expected a pack, which `tdelta pack` writes, found another file ({fault})",
    "pack-too-large": "expected at most {most}, found more: it is not read",
    "pack-too-new": "expected a pack of version {known}, found {found}: upgrade tdelta",
    "pack-cut-off": "it ends before its digest: it was cut off on its way, take a whole copy",
    "pack-changed": "its digest does not fit: it was damaged or edited, take another copy",
    "pack-line": "expected {expected}, found {found}: no version of tdelta wrote this",
    "pack-damaged": "{fault}: no version of tdelta wrote this",
    "pack-damaged-by": "it holds values that no run has ({kind}: {fault})",
    "pack-of-other-run": (
        "run {run} is in store {store} already, with another answer: import the pack with --store FILE, or show the"
        " file itself"
    ),
    "run-imported": (
        "run {run} came out of a pack and is not resumed: that would run what its maker named, on what is not here"
    ),
}
