import shlex

from sqlite.test_answers import checks

from support.running import ONCE, Place
from tdelta.engines.sqlite.driver import ask_library
from tdelta.engines.sqlite.libraries import SQLCIPHER


def test_a_run_compares_levels_of_the_library_that_was_named(place: Place) -> None:
    document = place.answer(
        *("--library", "sqlcipher", "--workload", "read-only", "--size", "5MB"),
        *("--vary", "cipher=aes-256,aes-256-no-hmac", "--no-aa", *ONCE),
    )
    primary = [verdict for verdict in document["verdicts"] if verdict["primary"]]
    assert [verdict["condition"]["cipher"] for verdict in primary] == ["aes-256", "aes-256-no-hmac"]
    assert "failed" not in {state for state, _ in checks(document).values()}
    options = document["settings"]["options"]
    assert (options["library"], options["key"]) == ("sqlcipher", "raw")
    assert document["versions"]["library under test"].startswith("SQLCipher 4.")
    assert document["versions"]["sqlcipher3"] == SQLCIPHER.installed_version()
    assert "--library sqlcipher" in document["settings"]["repeat"]
    assert len({trial["files_bytes"]["database"] for trial in place.trials()}) == 1, "all reserve the same"


def test_the_command_that_repeats_a_run_draws_the_same_run(place: Place) -> None:
    first = place.answer(
        *("--library", "sqlcipher", "--workload", "point-select", "--key", "passphrase", "--rate", "2000"),
        *("--no-aa", *ONCE),
    )
    second = place.tdelta(*shlex.split(first["settings"]["repeat"])[1:], "--json").document
    assert second["settings"]["options"] == first["settings"]["options"]


def test_the_wheels_library_is_the_kind_and_has_the_cryptography_that_it_is_listed_with() -> None:
    facts = ask_library(SQLCIPHER.name)
    assert (facts["kind"], facts["crypto"]) == (SQLCIPHER.kind, SQLCIPHER.crypto)
