import re

import pytest

from support.json_docs import check_documented
from tdelta.cli.main import main
from tdelta.messages import Refusal
from tdelta.records.contracts import Contract, ContractStep, Outcome
from tdelta.report.contract import contract_document, contract_text

STEPS = (
    ContractStep("servers reached", Outcome.PASSED, 1.25, {"settings that differ": 2}),
    ContractStep("rows loaded", Outcome.FAILED, 4.0, refusals=(Refusal.of("contract-rows-differ", tables="orders"),)),
    ContractStep("work done", Outcome.NOT_TRIED, refusals=(Refusal.of("contract-not-tried", needs="rows loaded"),)),
    ContractStep("caches emptied", Outcome.NOT_OFFERED, 0.0, refusals=(Refusal.of("contract-not-cold"),)),
)
BROKEN = Contract("mysql", "MySQL", ("9.7.4", "9.7.4"), "PyMySQL 1.2.4", {"tdelta": "0.1.0"}, 12.3, STEPS)
HELD = Contract("mysql", "MySQL", ("9.7.4", "9.7.5"), "PyMySQL 1.2.4", {"tdelta": "0.1.0"}, 12.3, STEPS[:1])


def test_the_text_names_what_failed_first_and_then_every_ability_with_why() -> None:
    text = contract_text(BROKEN, 100)
    first, *_ = text.splitlines()
    assert first == "The contract is not held on MySQL 9.7.4: 1 of 4 abilities failed, 1 not offered, 1 not tried."
    assert re.search(r"servers reached +passed +1\.2 +settings that differ 2\n", text)
    assert re.search(r"work done +not tried *\n", text)
    assert "- rows loaded: expected the rows as they were generated" in text
    assert "This report can be sent" in text


def test_a_contract_that_is_held_says_so_with_both_versions() -> None:
    text = contract_text(HELD, 100)
    assert text.startswith("The contract is held on MySQL 9.7.4 and 9.7.5: 1 of 1 abilities passed.")


def test_the_documentation_of_a_contract_names_exactly_its_fields() -> None:
    check_documented("tdelta.contract/1", contract_document(BROKEN, 4))


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ((), "expected two servers: --baseline DSN (plain) and --encrypted DSN"),
        (("--baseline", "mysql://a@b/"), "expected both --baseline and --encrypted"),
        (
            ("--baseline", "mysql://a@b/?client=x", "--encrypted", "mysql://a@c/"),
            "client: expected dbapi (a driver of Python's)",
        ),
    ],
)
def test_servers_that_are_not_named_rightly_are_refused(
    words: tuple[str, ...], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(("contract", *words))
    written = capsys.readouterr()
    assert (ended.value.code, written.out) == (2, "")
    assert told in written.err
