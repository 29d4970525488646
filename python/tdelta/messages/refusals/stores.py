"""Refusals of the results database and of files of exported runs."""

_ELSEWHERE = "choose another with --store FILE or TDELTA_STORE"

STORES = {
    "store-damaged": f"results database {{path}} is damaged ({{fault}}); {_ELSEWHERE}",
    "store-unusable": f"results database {{path}}: {{fault}}; {_ELSEWHERE}",
    "store-changed": (
        f"results database {{path}}: {{part}} differs from the data written by tdelta; restore an intact copy, or"
        f" {_ELSEWHERE}"
    ),
    "store-too-new": (
        f"results database {{path}} has schema version {{found}}, newer than {{known}}; upgrade tdelta, or {_ELSEWHERE}"
    ),
    "not-a-store": f"{{path}} is not a results database but {{found}}; {_ELSEWHERE}",
    "store-disk-full": f"results database {{path}}: the disk is full ({{fault}}); free some space, or {_ELSEWHERE}",
    "run-without-result": (
        "run {run} has no result yet ({status}); once it has ended, complete it: tdelta run --resume {run}{store}"
    ),
    "no-last-run": (
        "no run yet in {store}, only {others} pilot, calibration or imported runs; list them with: tdelta runs --kind"
        " all"
    ),
    "run-at-work": "run {run} is running; wait until it finishes, or end it with Ctrl-C",
    "run-removed": "run {run} was removed in the meantime; start a new one with: tdelta run",
    "run-imported": "run {run} was imported and cannot be resumed",
    "pack-damaged": "damaged or edited export file ({fault}); use another copy",
    "pack-of-other-run": "results database {store} has another run {run}; import the file into another --store",
}
