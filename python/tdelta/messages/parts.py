"""The English of the parts of a run, by code: what is void where a server died in it."""

PARTS = {
    "calibration": "calibration",
    "before-trials": "what came before the first trial",
    "block": "block {block}",
    "timed-calls": "the timed calls",
    "file-search": "the search of the files",
    "cpu-profile": "the CPU profile",
    "rows-compared": "the comparison of the rows after the last trial",
}
