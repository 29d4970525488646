import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.refused import Part, check_messages, coded, has
from tdelta import _native
from tdelta.engines.sqlite.profile import DIALECT
from tdelta.processes.jobs import TrialJob
from tdelta.workloads.expressions import Apply, ExpressionFault, Number, Variable, parse
from tdelta.workloads.scripts import Command, Script, check_script, given_variables

GIVEN = given_variables(["t"])


def check(text: str) -> Script:
    return check_script(text, GIVEN)


def the_fault(text: str) -> tuple[int, str]:
    ((line, said),) = check(text).faults
    return line, said.text


def test_a_sound_script_has_no_faults_and_keeps_its_steps_in_order():
    script = check(
        "-- a comment\n"
        "\\set id 1 + permute(random_zipfian(1, :rows_t, 1.1) - 1, :rows_t)\n"
        "BEGIN;\n"
        "SELECT a,\n  b FROM t WHERE id = :id \\gset got_\n"
        "\\if :got_a > 3 and not :got_b = 1\n"
        "UPDATE t SET a = a + 1 WHERE id = :id;\n"
        "\\elif :op % 2 = 0\n"
        "DELETE FROM t WHERE id = :id;\n"
        "\\else\n"
        "\\repeat 3\n"
        "SELECT ':no', a::int /* :no; */ FROM t WHERE id = :client; -- ; :no\n"
        "\\endrepeat\n"
        "\\endif\n"
        "COMMIT;\n"
    )
    assert script.faults == ()
    words = [step.word if isinstance(step, Command) else step.piece.text.split()[0] for step in script.steps]
    expected = "set BEGIN SELECT if UPDATE elif DELETE else repeat SELECT endrepeat endif COMMIT"
    assert " ".join(words) == expected
    assert script.writes


def test_a_script_that_only_reads_does_not_write():
    assert not check("BEGIN;\nSELECT a FROM t;\nCOMMIT;").writes


@pytest.mark.parametrize(
    ("text", "connects"),
    [("\\connect\nSELECT 1;", True), ("BEGIN;\nSELECT 1;\nCOMMIT;\n\\connect", True), ("SELECT 1;", False)],
)
def test_a_script_says_whether_it_connects_anew(text, connects):
    script = check(text)
    assert (script.connects, script.writes, script.faults) == (connects, False, ())


@pytest.mark.parametrize("statement", ["INSERT INTO t (a) VALUES (1)", "UPDATE t SET a = 1", "DELETE FROM t"])
def test_each_kind_of_change_makes_a_script_a_writing_one(statement):
    assert check(f"{statement};").writes


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        ("SELECT a FROM t WHERE id = :idd;", 1, coded("unknown", found=Part("idd"), kind="variable")),
        ("\\set id 1\nSELECT a FROM t WHERE id = :ida;", 2, coded("unknown", found=Part("ida"), hint=Part("'id'"))),
        ("\\set a :b + 1\nSELECT 1;", 1, coded("unknown", found=Part("b"), kind="variable")),
        ("\\set op 3\nSELECT 1;", 1, coded("variable-given", name="op")),
        ("\\set 9a 3\nSELECT 1;", 1, coded("unexpected", expected="\\set name expression")),
        ("\\set a\nSELECT 1;", 1, coded("unexpected", expected="\\set name expression")),
        ("\\sett a 1\nSELECT 1;", 1, coded("unknown", found=Part("sett"), hint=Part("'set'"), kind="command")),
        ("SELECT 1", 1, coded("requires", what="this statement", needs="';' at its end")),
        ("SELECT 1\n\\set a 2\nSELECT :a;", 2, coded("requires", needs=Part("\\set"), what=Part("1"))),
        ("SELECT 'a;", 1, coded("requires", needs="its end")),
        ("SELECT 1;\n\\gset", 2, coded("requires", what="\\gset", needs=Part("a statement"))),
        ("SELECT * FROM t \\gset", 1, coded("gset-without-names")),
        ("SELECT COUNT(a) FROM t \\gset", 1, coded("gset-without-names")),
        ("UPDATE t SET a = 1 \\gset", 1, coded("requires", what="\\gset", needs="a SELECT")),
        ("SELECC a FROM t;", 1, coded("statement-not-readable")),
        ("SELECT 1 FROM t WHERE;;\nSELECT )", 2, coded("requires", what="this statement", needs="';' at its end")),
        ("DROP TABLE t;", 1, coded("not-of-a-transaction", statement="DROP")),
        ("VACUUM;", 1, coded("not-of-a-transaction", statement="VACUUM")),
        ("SELECT a FROM t WHERE id = ?;", 1, coded("question-mark")),
        ("\\if 1\nSELECT 1;", 1, coded("requires", what=Part("if"), needs=Part("\\endif"))),
        ("\\repeat 2\nSELECT 1;", 1, coded("requires", what=Part("repeat"), needs=Part("\\endrepeat"))),
        ("SELECT 1;\n\\endif", 2, coded("requires", what=Part("endif"), needs=Part("if"))),
        ("SELECT 1;\n\\else", 2, coded("requires", what=Part("else"), needs="an open \\if")),
        ("\\repeat 2\nSELECT 1;\n\\endif\n\\endrepeat", 3, coded("requires", what=Part("endif"), needs=Part("if"))),
        ("\\if 1\nSELECT 1;\n\\else\nSELECT 2;\n\\else\nSELECT 3;\n\\endif", 5, coded("requires", what="\\else")),
        ("\\set a 1", 1, coded("requires", what="a script", needs="at least one SQL statement")),
        ("\\connect elsewhere\nSELECT 1;", 1, coded("unexpected", found=Part("elsewhere"), expected="\\connect alone")),
        ("BEGIN;\n\\connect\nSELECT 1;\nCOMMIT;", 2, coded("conflict", one="\\connect", other="an open transaction")),
        ("\\conect\nSELECT 1;", 1, coded("unknown", found=Part("conect"), hint=Part("'connect'"), kind="command")),
        ("\\connect", 1, coded("requires", what="a script", needs="at least one SQL statement")),
        ("BEGIN;\nSELECT 1;", 1, coded("requires", what="this transaction", needs=Part("COMMIT;"))),
        ("BEGIN;\nBEGIN;\nCOMMIT;", 2, coded("conflict", one="BEGIN", other="an open transaction")),
        ("SELECT 1;\nCOMMIT;", 2, coded("requires", what="COMMIT", needs="an open transaction")),
        ("BEGIN;\n\\if :op > 1\nCOMMIT;\n\\endif\nCOMMIT;", 4, coded("transaction-half-done", line=2)),
        ("UPDATE t SET a = CURRENT_TIMESTAMP;", 1, coded("reads-the-clock", what="CURRENT_TIMESTAMP")),
        ("SELECT NOW();", 1, coded("reads-the-clock", what="NOW")),
        ("SELECT datetime('now');", 1, coded("reads-the-clock", what=Part("datetime()"))),
        ("SELECT a FROM t ORDER BY RANDOM();", 1, coded("draws-by-itself", function="RANDOM")),
    ],
)  # fmt: skip
def test_a_fault_is_named_with_its_line_and_remedy(text, line, said):
    faults = check(text).faults
    assert has([fault for found, fault in faults if found == line], said), faults


def test_all_faults_of_a_script_are_reported_at_once():
    faults = check("\\set a rando(1, 2)\nSELECT :b;\nSELECT NOW();\n\\endif\n").faults
    assert [line for line, _ in faults] == [1, 2, 3, 4]


@pytest.mark.parametrize(
    ("statement", "writes"),
    [
        ("SELECT rowid FROM f WHERE f MATCH 'a*' ORDER BY rank", False),
        ("SELECT [a b] FROM t INDEXED BY i WHERE c == x'00' AND a NOT MATCH :op", False),
        ("REPLACE INTO t VALUES (1)", True),
        ("update or ignore t SET a = 1", True),
    ],
)
def test_sqlites_own_sql_is_read_where_the_script_is_for_sqlite(statement, writes):
    script = check_script(f"{statement};\n", given_variables(()), DIALECT)
    assert (script.faults, script.writes) == ((), writes)
    assert check_script(f"{statement};\n", given_variables(())).faults


@pytest.mark.parametrize(
    ("statement", "writes"),
    [
        ("SELECT a FROM t WHERE a = :op NOT INDEXED", False),
        ("VALUES (1), ('DELETE')", False),
        ("WITH n AS (SELECT 1) INSERT INTO t SELECT * FROM n WHERE ? ? 1", True),
    ],
)
def test_what_no_parser_reads_is_the_engines_to_judge_where_it_is_tried(statement, writes):
    text = f"{statement.replace('? ?', '~=')};\n"
    script = check_script(text, given_variables(()), DIALECT, is_tried=True)
    assert (script.faults, script.writes, len(script.statements)) == ((), writes, 1)
    assert check_script(text, given_variables(()), DIALECT).faults


def test_what_is_no_statement_of_a_transaction_is_refused_though_it_is_tried():
    text = "SELCT 1;\nPRAGMA optimize;\nSELECT :x FORM;\nSELECT a FROM t WHERE a = 1 NOT INDEXED \\gset\n"
    script = check_script(text, given_variables(()), DIALECT, is_tried=True)
    assert [line for line, _ in script.faults] == [1, 2, 3, 4]


RAW = (
    "\\raw\nPRAGMA optimize;\n"
    "\\raw writes into id, b\nCALL p(:op, 'x') \\gset q_\n"
    "BEGIN;\n\\raw\nFROM t MATCH_RECOGNIZE ((1 :q_id);\n\\raw\nROLLBACK TO SAVEPOINT s;\nCOMMIT;\nSELECT :q_b;\n"
)


def test_a_raw_statement_goes_to_the_engine_unread_and_the_load_loop_takes_it():
    text = RAW.replace("((", "(")
    script = check(text)
    assert (script.faults, script.writes) == ((), True)
    assert [statement.is_raw for statement in script.statements] == [True, True, False, True, True, False, False]
    assert not check("\\raw\nSELECT 1 FROM t NOT ~ INDEXED;").writes
    trial = TrialJob(seed=1, stream=1, operations=3, first_op=1, deadline_seconds=9.0).as_json()
    transactions = json.dumps([{"name": "t", "weight": 1.0, "text": text}])
    assert _native.loop_cost(transactions, "{}", json.dumps(trial))["outcome"]["first_error"] is None


@pytest.mark.parametrize(
    ("text", "faults"),
    [
        ("\\raw", [(1, coded("requires", what="\\raw", needs="a statement directly after it"))]),
        ("\\raw\n\\set a 1\nSELECT :a;", [(1, coded("requires", what="\\raw", needs="a statement directly after it"))]),
        ("\\raw\n\\raw\nVACUUM;", [(1, coded("requires", what="\\raw", needs="a statement directly after it"))]),
        ("\\raw reads\nVACUUM;", [(1, coded("unexpected", expected=Part("\\raw writes")))]),
        ("\\raw into a-b\nSELECT 1 \\gset", [(1, coded("unexpected", expected=Part("\\raw writes")))]),
        ("\\raw\nCOMMIT;", [(2, coded("conflict", one="\\raw"))]),
        ("\\raw\nrollback work;", [(2, coded("conflict", one="\\raw"))]),
        ("\\raw\nSELECT 1 AS a \\gset", [(2, coded("requires", what="\\gset after \\raw", needs=Part("columns")))]),
        ("\\raw into a\nSELECT 1 AS a;", [(2, coded("requires", what="\\raw … into", needs=Part("\\gset")))]),
        ("\\raw into op\nSELECT 1 AS op \\gset", [(2, "variable-given")]),
        ("\\raw into a\nVALUES :b \\gset p_\nSELECT :a, NOW();",
         [(2, coded("unknown", kind="variable")), (3, "reads-the-clock"), (3, coded("unknown", kind="variable"))]),
    ],
)  # fmt: skip
def test_faults_around_raw_statements_have_codes_and_come_at_once(text, faults):
    found = sorted(check(text).faults, key=lambda fault: (fault[0], fault[1].code))
    assert [line for line, _ in found] == [line for line, _ in faults]
    check_messages((said for _, said in found), *(said for _, said in faults))


def test_words_that_only_look_like_the_clock_are_let_through():
    assert check("SELECT 'now', \"CURRENT_TIMESTAMP\", date('2024-01-01') FROM t; -- NOW()").faults == ()


def test_a_branch_that_ends_its_transaction_either_way_is_valid():
    assert check("BEGIN;\n\\if :op > 1\nCOMMIT;\n\\else\nROLLBACK;\n\\endif\n").faults == ()


def test_gset_names_its_columns_with_its_prefix():
    assert check("SELECT a AS x FROM t \\gset p_\nSELECT :p_x;").faults == ()
    assert ":x" in the_fault("SELECT a AS x FROM t \\gset p_\nSELECT :x;")[1]


def test_operators_bind_as_in_pgbench():
    assert parse("1 + 2 * :a") == Apply("+", (Number(1), Apply("*", (Number(2), Variable("a")))))
    assert parse("not 1 = 2 and true") == Apply("and", (Apply("not", (Apply("=", (Number(1), Number(2))),)), Number(1)))
    assert parse("8 - 4 - 2") == Apply("-", (Apply("-", (Number(8), Number(4))), Number(2)))
    assert parse("-(1 + 2) % .5") == Apply("%", (Apply("-", (Apply("+", (Number(1), Number(2))),)), Number(0.5)))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("1 +", "the end of the expression"),
        ("(1", "expected ')', found the end"),
        ("1 2", "found '2'"),
        ("1 & 2", "found '& 2'"),
        ("randm(1, 2)", "Did you mean 'random'?"),
        ("random(1)", "must be 2, found 1"),
        ("random(5, 1)", "found 5 to 1"),
        ("min()", "found ')'"),
        ("random_string(1, 1048577)", "exceeds 1,048,576 characters"),
        ("random_zipfian(1, 9, 1)", "1.001 to 1000"),
        ("random_gaussian(1, 9, 1.5)", "at least 2"),
        ("random_exponential(1, 9, 0)", "above 0"),
        ("99999999999999999999", "exceeds 64 bits"),
    ],
)
def test_an_expression_that_cannot_be_meant_is_refused(text, said):
    with pytest.raises(ExpressionFault, match=said.replace("(", r"\(").replace(")", r"\)").replace("?", r"\?")):
        parse(text)


BITS = (
    *("\\raw", "\\raw writes", "\\raw into x"),
    *("\\if 1", "\\else", "\\endif", "\\repeat 2", "\\endrepeat", "\\set a", ":a", ";", "\\gset", "SELECT", "BEGIN"),
    "\\connect",
    *("'", "--", "/*", "*/", "(", "1", "\n", "\x00", "é"),
)


@settings(max_examples=150, deadline=None)
@given(st.lists(st.sampled_from(BITS)).map(" ".join))
def test_no_text_at_all_makes_the_checker_fail(text):
    lines = text.count("\n") + 1
    assert all(1 <= line <= lines and said for line, said in check(text).faults)


@given(
    st.recursive(
        st.integers(0, 99).map(str),
        lambda inner: st.builds("({} {} {})".format, inner, st.sampled_from(["+", "-", "*", "<", "and", "or"]), inner),
    )
)
def test_parentheses_around_an_expression_change_nothing(text):
    assert parse(f"({text})") == parse(text)
