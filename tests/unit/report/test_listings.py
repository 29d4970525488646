from dataclasses import replace

from support.listed import OWN_PLAN
from tdelta.engines.profile import EngineInfo
from tdelta.report.drawing import draw
from tdelta.report.listings import dry_run_blocks, engines_blocks, engines_document
from tdelta.session.outlook import TableLine


def test_a_library_of_an_engine_is_listed_with_the_option_that_tests_it() -> None:
    library = EngineInfo("sqlite", True, "0.6.4", ("none",), "SQLCipher", "", "", "sqlcipher", "openssl")
    missing = EngineInfo("sqlite", False, None, ("none",), "SQLCipher", "pip install it", "", "sqlcipher", "openssl")
    assert draw(engines_blocks((library,)), 100).splitlines()[0] == "sqlite       0.6.4  (--library sqlcipher)"
    assert (
        draw(engines_blocks((missing,)), 100).splitlines()[0]
        == "sqlite       not available here  (--library sqlcipher)"
    )
    (listed,) = engines_document((library,))["engines"]  # type: ignore[misc]
    assert (listed["option"], listed["crypto"]) == ("sqlcipher", "openssl")


def test_a_name_cannot_move_the_cursor() -> None:
    hostile = replace(OWN_PLAN, tables=(TableLine("red\x1b[31m\n", 1, 1),), notes=("no insert into 'a\rb'",))
    text = draw(dry_run_blocks(hostile), 100)
    assert "red?[31m?" in text
    assert "no insert into 'a?b'" in text
    assert "\x1b" not in text


def test_whether_the_aes_instructions_can_be_switched_off_is_told_with_the_reason() -> None:
    library = EngineInfo("sqlite", True, "1", ("none",), "SQLCipher", "", "", crypto="openssl")
    assert "    AES instructions: on, off" in draw(engines_blocks((library,), {"openssl": None}), 100).splitlines()
    told = draw(engines_blocks((library,), {"openssl": "this CPU has none"}), 100)
    assert "AES instructions: on (off cannot be had here: this CPU has none)" in told
    assert "AES instructions" not in draw(engines_blocks((library,), {}), 100)
    levels = [
        engines_document((library,), reasons)["engines"][0]["aes_instructions"] for reasons in ({}, {"openssl": None})
    ]  # type: ignore[index]
    assert levels == [[], ["on", "off"]]
