"""The language of rules: the paper's four as printed, faults with their place, and conflicts."""

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regraft.heal.rules import PAPER_RULES, check, conflicts, parse
from regraft.heal.rules.check import Checked
from regraft.heal.rules.parser import MAX_LENGTH
from regraft.heal.rules.syntax import BadRule, Binary, Name


def rule(
    name: str = "mine", on: str = "brokerOverloaded(cpu, memory)", do: str = "moveClients", **more: str
) -> str:
    parameters = more.get("parameters", "target database, Broker<T> broker")
    when = f"when {more['when']};" if "when" in more else ""
    priority = f"priority {more['priority']};" if "priority" in more else ""
    return (
        f"type oblig {name}({parameters}) {{\n"
        f"  subject AdaptationManager;\n  on {on};\n  do database.{do}(broker);\n  {when}\n  {priority}\n}}\n"
    )


def checked(*texts: str) -> Checked:
    return check(parse("".join(texts)))


def refused(text: str, **definitions: float) -> str:
    with pytest.raises(BadRule) as fault:
        check(parse(text, "my.ponder"), definitions, place="my.ponder")
    return str(fault.value)


def test_the_four_rules_of_the_paper_parse_as_printed() -> None:
    rules = parse(PAPER_RULES)
    assert [(each.name, each.on.name, each.do[0].action) for each in rules] == [
        ("deleteBrokerRules", "deleteBrokerRequest", "deleteBroker"),
        ("addBrokerRules", "addBrokerRequest", "addBroker"),
        ("failureJudgmentRules", "migrateBrokerRequest", "goBroker"),
        ("taskTransferRules", "transferBrokerRequest", "goBroker"),
    ]
    assert [each.name for each in rules[2].on.arguments] == ["Monitor", "max_input_rate", "min_output_rate"]
    assert isinstance(rules[3].when, Binary)
    assert isinstance(rules[3].when.left, Name)
    assert (rules[3].when.left.parts, rules[3].when.left.call) == (("brokers", "getBrokersID"), True)
    assert len(check(rules, {"User Defined": 3}).rules) == 4
    assert conflicts(check(rules, {"User Defined": 3})) == ()


def test_each_rule_keeps_its_own_text_and_reads_the_same_again() -> None:
    rules = parse(PAPER_RULES)
    assert "\n\n".join(each.source for each in rules) == PAPER_RULES.rstrip()
    for each in rules:
        assert parse(each.source)[0].source == each.source


def test_a_value_that_the_paper_leaves_open_must_be_given_and_may_differ_by_rule() -> None:
    assert refused(PAPER_RULES) == "my.ponder:21:36: `User Defined` is still open: define it when storing"
    rules = check(parse(PAPER_RULES), {"User Defined": 9, "taskTransferRules.User Defined": 3})
    assert rules.rules[3].open == 3


def test_parameters_have_defaults_that_may_be_replaced() -> None:
    text = rule(parameters="target database, Broker<T> broker, float most = -0.5", when="cpu > most")
    assert checked(text).rules[0].names["most"].value == -0.5
    assert check(parse(text), {"mine.most": 0.25}).rules[0].names["most"].value == 0.25
    assert "'most' is a number, and its value 'x' is a text" in refused(text.replace("-0.5", "'x'"))


def test_comments_words_and_names_that_begin_like_words_are_read() -> None:
    text = rule(on="brokerOverloaded(order, android)", when="not order > 1 and android < 2 or order != 3")
    rules = parse("// first\n/* second\n type oblig */\n" + text)
    assert isinstance(rules[0].when, Binary)
    assert rules[0].when.operator == "||"


BAD = {
    "": "my.ponder:1:1: the text ends too early; expected `type`",
    "type oblig a(": "my.ponder:1:14: the text ends too early; expected `)` or a name",
    "§": "my.ponder:1:1: unexpected character '§'",
    rule(on="brokerExploded()"): "my.ponder:3:6: unknown event 'brokerExploded'; there are delete",
    rule(do="explode"): "my.ponder:4:15: unknown action 'explode'; there are deleteBroker",
    rule(when="cpu > 'much'"): "my.ponder:5:12: `>` cannot compare a number with a text",
    rule(when="cpu"): "my.ponder:5:8: `when` needs a condition, and this is a number",
    rule(when="cpu > 1 && memory"): "my.ponder:5:19: `&&` needs a truth, and this is a number",
    rule(when="broker.heat > 1"): "my.ponder:5:8: 'broker.heat' is not known: a broker has cpu, memory",
    rule(when="broker() > 1"): "my.ponder:5:8: 'broker()' is not known",
    rule(when="heat > 1"): "my.ponder:5:8: unknown name 'heat'; there are database, broker, cpu, memory",
    rule(when="cpu > 1e999"): "my.ponder:5:14: this number is too large",
    rule(priority="1.5"): "my.ponder:6:12: a priority is a whole number",
    rule(priority="'high'"): "my.ponder:6:12: a priority is a whole number",
    rule(priority="-5000"): "my.ponder:6:13: a priority is a whole number",
    rule(parameters="target database, Broker<T> broker, Tree t"): "unknown type 'Tree'",
    rule(parameters="target database, Broker<T> broker, Broker<T> broker"): "the name 'broker' stands twice",
    rule(parameters="target database, Broker<T> broker, int most"): "'most' has no value",
    rule(parameters="Broker<T> database, Broker<T> broker"): "'database' is no target",
    rule(parameters="target database, int broker = 1"): "moveClients takes a broker, not a number",
    rule(on="brokerOverloaded(a, b, c, d, e, f, g)"): "brokerOverloaded has 6 arguments, and 'g' is one more",
    rule(on="brokerOverloaded(String cpu)"): "argument 'cpu' of brokerOverloaded is a number, not a text",
    rule(on="deleteBrokerRequest("): "my.ponder:3:26: unexpected ';'; expected `)` or a name",
    rule() + rule(): "my.ponder:8:12: the rule 'mine' stands twice, first at 1:12",
    rule().replace("AdaptationManager", "Somebody"): "the subject of 'mine' must be AdaptationManager",
    rule().replace("subject AdaptationManager;", ""): "the rule 'mine' has no `subject`",
    rule().replace("subject", "on brokerRecovered(); subject"): "a second `on` in the rule 'mine'",
    rule().replace("(broker);", "(broker, broker);"): "moveClients takes one argument, not 2",
    rule().replace("(broker);", "(1);"): "my.ponder:4:27: moveClients takes a broker, not a number",
    rule(when="!" * 100 + "true"): "the condition is nested more than 60 deep",
    rule(when="cpu > 1 && " * 100 + "true"): "the condition is nested more than 60 deep",
    "x" * (MAX_LENGTH + 1): "65537 characters of rules, where 65536 are allowed",
}


@pytest.mark.parametrize("text", BAD, ids=[reason[-40:] for reason in BAD.values()])
def test_an_invalid_rule_is_refused_with_place_and_reason(text: str) -> None:
    assert BAD[text] in refused(text)


def test_more_nested_brackets_than_the_interpreter_could_take_are_read() -> None:
    deep = 5_000
    assert len(checked(rule(when="(" * deep + "cpu > 1" + ")" * deep)).rules) == 1


@given(st.text(max_size=60), st.integers(0, len(PAPER_RULES)), st.integers(0, 40))
def test_whatever_is_written_is_read_or_refused(text: str, at: int, cut: int) -> None:
    damaged = PAPER_RULES[:at] + text + PAPER_RULES[at + cut :]
    with contextlib.suppress(BadRule):
        check(parse(damaged), {"User Defined": 3})


# Conflicts


def found(*texts: str) -> list[str]:
    return [str(each) for each in conflicts(checked(*texts))]


ON = "brokerOverloaded(cpu, memory)"


def test_two_rules_that_cannot_both_hold_are_reported() -> None:
    one, other = rule("a", do="deleteBroker", when="cpu > 0.9"), rule("b", do="shiftAway", when="cpu > 0.8")
    assert found(one, other) == [
        "a and b: on brokerOverloaded both may apply, and deleteBroker and shiftAway contradict "
        "(the order of arrival decides)"
    ]
    assert found(rule("a", do="deleteBroker", priority="2"), other)[0].endswith("(the priority of a decides)")


@pytest.mark.parametrize(
    ("first", "second", "conflict"),
    [
        ("cpu > 0.9", "cpu <= 0.9", False),
        ("cpu > 0.9", "0.9 >= cpu", False),
        ("cpu >= 0.9", "cpu <= 0.9", True),
        ("cpu > memory", "memory >= cpu", False),
        ("cpu > memory", "memory < cpu", True),
        ("cpu == 1", "cpu != 1", False),
        ("cpu > 0.9 || memory > 0.9", "cpu < 0.1 && memory < 0.1", False),
        ("cpu > 0.9 || memory > 0.9", "cpu < 0.1", True),
        ("!(cpu > 0.9)", "cpu > 0.95", False),
        ("!(cpu > 0.9 && memory > 0.5)", "cpu > 0.95 && memory > 0.6", False),
        ("cpu * 2 > 1", "cpu * 2 <= 1", True),  # not understood: reported rather than missed
        ("broker.degree > 3", "broker.degree < 3", False),
        ("cpu > -1", "cpu < -2", False),
        ("2 < 1", "cpu > 0", False),
    ],
)
def test_conditions_that_exclude_each_other_are_no_conflict(first: str, second: str, conflict: bool) -> None:
    pair = found(rule("a", do="deleteBroker", when=first), rule("b", do="shiftAway", when=second))
    assert any(text.startswith("a and b") for text in pair) == conflict


def test_rules_for_other_events_or_with_actions_that_agree_are_no_conflict() -> None:
    assert found(rule("a", do="deleteBroker"), rule("b", do="moveClients")) == []
    assert found(rule("a", do="deleteBroker"), rule("b", on="brokerRecovered()", do="addBroker")) == []


def test_a_conflict_in_the_last_of_many_cases_is_reported() -> None:
    first = " || ".join(f"cpu == {number}" for number in range(20))
    second = " || ".join([*(f"cpu == {number}" for number in range(100, 119)), "cpu == 19"])
    pair = found(rule("a", do="deleteBroker", when=first), rule("b", do="shiftAway", when=second))
    assert any(text.startswith("a and b") for text in pair)


def test_a_condition_that_can_never_hold_is_reported() -> None:
    assert found(rule("a", when="cpu > 0.9 && cpu < 0.5")) == ["a: its condition can never hold"]
    assert found(rule("a", when="false")) == ["a: its condition can never hold"]
