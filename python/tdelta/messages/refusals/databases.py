"""The English of refusals of databases and dumps of the user's, and of statements, by code."""

DATABASES: dict[str, str] = {
    "nothing-restored": "expected tables in database tdelta, found none{left}; restore into {{database}}",
    "own-table-refused": "it cannot take a table of tdelta's: {said}",
    "no-rows": "its tables hold no rows, so there is nothing to read; or give a --workload",
    "dump-encrypts": (
        "--restore: the dump says of tables whether they are encrypted ({said}), which each kind of twin decides: take "
        "{options} out of it, for example with {remedy}"
    ),
    "restore-too-slow": "--restore: not done after {seconds:g} s, and ended: {command}{tail}",
    "restore-failed": "--restore: expected exit code 0, found {found}: {command}{tail}",
    "nothing-proposed": "no workload can be proposed: {why}; give one of your own with --workload",
}
