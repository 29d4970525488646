"""The English of refusals of stores, by code."""

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
}
