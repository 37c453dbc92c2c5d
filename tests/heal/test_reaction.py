"""From events and measurements to Intents: the rules at work, priorities, contradictions, limits."""

import msgspec
import pytest

from regraft.heal.limits import RemovalLimits, permitted
from regraft.heal.reaction import Reaction, Silent, react
from regraft.heal.rules import PAPER_RULES, check, parse
from regraft.model import BadInput, Topology
from regraft.model.facts import Event, Facts, Load, Removal
from regraft.model.intents import (
    Add,
    Clone,
    Delete,
    Intent,
    Migrate,
    MoveClients,
    Refused,
    ShiftAway,
    as_json,
    brokers_of,
    describe,
)

PATH = Topology.of([("b0", "b1"), ("b1", "b2"), ("b2", "b3"), ("b3", "b4")])
"""Mimosa Pudica, Figure 2."""
STAR = Topology.of([("hub", f"b{i}") for i in range(6)])
PAPER = check(parse(PAPER_RULES), {"User Defined": 2})


def rules(*texts: str) -> str:
    heads = "type oblig r{}(target database, Broker<T> broker){{ subject AdaptationManager; {} }}"
    return "\n".join(heads.format(number, text) for number, text in enumerate(texts))


def reaction(text: str, *events: Event, overlay: Topology = STAR, **facts: object) -> Reaction:
    return react(Facts(overlay, events, **facts), check(parse(text)))  # type: ignore[arg-type]


def test_rule_1_deletes_the_broker() -> None:
    facts = Facts(PATH, (Event(name="deleteBrokerRequest", broker="b2"),), dead=frozenset({"b2"}))
    assert react(facts, PAPER) == Reaction(
        (Delete(broker="b2", rule="deleteBrokerRules"),), (), ("deleteBrokerRules",)
    )


def test_rule_2_adds_the_broker_between_the_neighbours_of_the_one_that_it_replaces() -> None:
    facts = Facts(PATH, (Event(name="addBrokerRequest", broker="b5", brokers=("b1", "b3")),))
    assert react(facts, PAPER).intents == (Add(broker="b5", between=("b1", "b3"), rule="addBrokerRules"),)


def test_rule_3_migrates_the_components_before_the_failure_and_then_deletes_by_rule_1() -> None:
    failing = Event(
        name="migrateBrokerRequest", broker="b2", arguments={"max_input_rate": 5, "min_output_rate": 9}
    )
    loads = {"b1": Load(cpu=0.7), "b3": Load(cpu=0.2)}
    facts = Facts(PATH, (failing,), loads, components={"b2": ("chat", "search", "update")})
    by = {"rule": "failureJudgmentRules"}
    assert react(facts, PAPER).intents == (
        Migrate(source="b2", targets=("b3",), components=("chat", "update"), **by),  # type: ignore[arg-type]
        Migrate(source="b2", targets=("b1",), components=("search",), **by),  # type: ignore[arg-type]
        Delete(broker="b2", rule="deleteBrokerRules"),
    )


FAILING = Event(
    name="migrateBrokerRequest", broker="b2", arguments={"max_input_rate": 5, "min_output_rate": 9}
)
MOVING = "on migrateBrokerRequest(); do database.goBroker(broker);"


def test_components_leave_first_however_urgent_the_rule_for_deletions_is() -> None:
    urgent = rules(MOVING, "on deleteBrokerRequest(); do database.deleteBroker(broker); priority 9;")
    done = reaction(urgent, FAILING, overlay=PATH, components={"b2": ("chat",)})
    assert [type(each) for each in done.intents] == [Migrate, Delete]
    assert done.refused == ()


def test_a_broker_that_its_components_may_not_leave_is_not_deleted() -> None:
    """They are to go to b9, which is not in the overlay."""
    moving = """type oblig moving(target database, Broker<List<T>> brokers){ subject AdaptationManager;
        on migrateBrokerRequest(); do database.goBroker(brokers); }"""
    deleting = rules("on deleteBrokerRequest(); do database.deleteBroker(broker);")
    nowhere = msgspec.structs.replace(FAILING, brokers=("b9",))
    done = reaction(moving + deleting, nowhere, overlay=PATH, components={"b2": ("chat",)})
    assert done.intents == ()
    assert [type(each.intent) for each in done.refused] == [Migrate, Delete]
    somewhere = msgspec.structs.replace(FAILING, brokers=("b4",))
    done = reaction(moving + deleting, somewhere, overlay=PATH, components={"b2": ("chat",)})
    assert [type(each) for each in done.intents] == [Migrate, Delete]


def test_rule_3_does_not_apply_while_the_broker_takes_in_more_than_must_leave_it() -> None:
    healthy = Event(
        name="migrateBrokerRequest", broker="b2", arguments={"max_input_rate": 10, "min_output_rate": 9}
    )
    assert react(Facts(PATH, (healthy,)), PAPER) == Reaction()


def test_what_came_with_the_event_is_missing_and_was_measured() -> None:
    failing = Event(name="migrateBrokerRequest", broker="b2")
    load = Load(max_input_rate=1, min_output_rate=2)
    assert len(react(Facts(PATH, (failing,), {"b2": load}), PAPER).intents) == 2


def test_what_was_never_measured_is_not_zero_and_the_rule_does_not_apply() -> None:
    failing = Event(name="migrateBrokerRequest", broker="b2")
    silent = react(Facts(PATH, (failing,)), PAPER)
    missing = Silent("failureJudgmentRules", "migrateBrokerRequest", "max_input_rate of b2")
    assert silent == Reaction(silent=(missing,))
    wrong = Event(name="migrateBrokerRequest", broker="b2", arguments={"max_input_rate": "much"})
    assert react(Facts(PATH, (wrong,)), PAPER).intents == ()


def test_rule_4_sends_the_components_to_as_many_brokers_as_allowed() -> None:
    update = Event(
        name="transferBrokerRequest", broker="b0", brokers=("b2", "b4"), components=("app.Update",)
    )
    by = {"components": ("app.Update",), "rule": "taskTransferRules"}
    assert react(Facts(PATH, (update,)), PAPER).intents == (
        Migrate(source="b0", targets=("b2", "b4"), **by),  # type: ignore[arg-type]
    )
    many = Event(name="transferBrokerRequest", broker="b0", brokers=("b1", "b2", "b3"))
    assert react(Facts(PATH, (many,)), PAPER) == Reaction()


def test_users_rules_read_every_measurement() -> None:
    when = (
        "cpu > 0.9 && broker.memory > 0.5 && broker.threads >= 10 && broker.queue + 1 > 100 && "
        "!(input_rate / 2 > broker.output_rate * 2) && broker.degree == 6 && broker.id == 'hub' && "
        "!broker.dead"
    )
    text = rules(
        f"on brokerOverloaded(cpu, a, b, c, input_rate); do database.shiftAway(broker); when {when};"
    )
    load = Load(cpu=0.95, memory=0.6, threads=10, queue=100, input_rate=8, output_rate=2)
    calm = {f"b{i}": Load(cpu=i / 10) for i in range(6)}
    event = Event(name="brokerOverloaded", broker="hub")
    assert reaction(text, event, loads={**calm, "hub": load}).intents == (
        ShiftAway(broker="hub", neighbour="b5", to="b0", rule="r0"),
    )
    idle = Load(cpu=0.95, memory=0.6, threads=10, queue=100, input_rate=8.1, output_rate=2)
    assert reaction(text, event, loads={**calm, "hub": idle}).intents == ()


def test_a_division_by_zero_makes_a_rule_silent() -> None:
    text = rules("on brokerOverloaded(cpu); do database.moveClients(broker); when 1 / cpu > 0;")
    done = reaction(text, Event(name="brokerOverloaded", broker="hub"), loads={"hub": Load(cpu=0)})
    assert done.intents == ()
    assert "division by zero" in done.silent[0].missing


def test_several_actions_are_done_in_their_order() -> None:
    text = rules("on brokerOverloaded(); do database.moveClients(broker) -> database.cloneBroker(broker);")
    done = reaction(text, Event(name="brokerOverloaded", broker="b1"), components={"b1": ("chat",)})
    assert done.intents == (
        MoveClients(broker="b1", to="hub", rule="r0"),
        Clone(source="b1", targets=("hub",), components=("chat",), rule="r0"),
    )


def test_the_higher_priority_wins_then_the_earlier_arrival() -> None:
    low = "on brokerOverloaded(); do database.deleteBroker(broker);"
    high = "on brokerOverloaded(); do database.shiftAway(broker); priority 1;"
    event = Event(name="brokerOverloaded", broker="hub")
    won = reaction(rules(low, high), event)
    assert [type(each) for each in won.intents] == [ShiftAway]
    assert won.refused[0].reason == "hub is deleted by one and needed by the other of r0 and r1"
    same = reaction(rules(low, high.replace("priority 1;", "")), event)
    assert [type(each) for each in same.intents] == [Delete]
    first, second = (
        Event(name="deleteBrokerRequest", broker="b1"),
        Event(name="deleteBrokerRequest", broker="b2"),
    )
    facts = Facts(STAR, (second, first))
    assert [each.intent for each in react(facts, PAPER).refused] == [
        Delete(broker="b1", rule="deleteBrokerRules")
    ]


def test_the_same_thing_asked_for_twice_is_done_once() -> None:
    twice = Event(name="deleteBrokerRequest", broker="b1")
    facts = Facts(STAR, (twice, twice), dead=frozenset({"b1"}))
    assert react(facts, PAPER) == Reaction(
        (Delete(broker="b1", rule="deleteBrokerRules"),), (), ("deleteBrokerRules",)
    )


# Limits


def allowed(
    intent: Intent, overlay: Topology = STAR, limits: RemovalLimits | None = None, **facts: object
) -> str | None:
    return permitted(intent, Facts(overlay, now=100.0, **facts), limits or RemovalLimits())  # type: ignore[arg-type]


def test_a_limited_number_of_brokers_may_be_removed_in_a_window() -> None:
    removed = tuple(Removal(90.0 + i, f"x{i}", False) for i in range(3))
    few = RemovalLimits(removals=3, window=10.0)
    dead = frozenset({"b1"})
    assert allowed(Delete(broker="b1"), limits=few, dead=dead, removed=removed[:2]) is None
    assert (
        allowed(Delete(broker="b1"), limits=few, dead=dead, removed=removed) is None
    )  # the first is 10 s old
    late = (*removed, Removal(99.0, "x9", False))
    reason = allowed(Delete(broker="b1"), limits=few, dead=dead, removed=late)
    assert reason == "3 brokers were removed within 10 s, and no more may be"


def test_living_brokers_are_removed_one_at_a_time() -> None:
    before = (Removal(99.0, "b2", True),)
    assert allowed(Delete(broker="b1")) is None
    assert "'b1' lives, and 1 living brokers may be removed" in str(
        allowed(Delete(broker="b1"), removed=before)
    )
    assert allowed(Delete(broker="b1"), dead=frozenset({"b1"}), removed=before) is None


def test_one_that_died_is_replaced_however_many_living_ones_were_removed() -> None:
    before = tuple(Removal(99.0, "", True) for _ in range(7))
    wide = RemovalLimits(removals=100, healthy=100)
    assert allowed(Delete(broker="b1"), limits=wide, dead=frozenset({"b1"}), removed=before) is None
    assert allowed(Delete(broker="b1"), limits=wide, removed=before) == "a healthy majority would be removed"


def test_a_rule_that_would_delete_every_broker_is_stopped() -> None:
    text = rules("on brokerMeasured(); do database.deleteBroker(broker);")
    events = tuple(Event(name="brokerMeasured", broker=id) for id in STAR.ids)
    checked = check(parse(text))
    done = react(Facts(STAR, events), checked)
    assert len(done.intents) == 1
    assert len(done.refused) == 6
    wide = react(Facts(STAR, events), checked, RemovalLimits(removals=100, healthy=100))
    assert len(wide.intents) == 3
    assert {each.reason for each in wide.refused} == {"a healthy majority would be removed"}


def test_the_last_path_is_never_removed() -> None:
    pair = Topology.of([("a", "b")])
    assert allowed(Delete(broker="a"), pair, dead=frozenset({"a"})) == (
        "only 1 living brokers would stay: the last path is never removed"
    )
    three = Topology.of([("a", "b"), ("b", "c")])
    assert allowed(Delete(broker="b"), three, dead=frozenset({"b"})) is None
    assert allowed(Delete(broker="b"), three, dead=frozenset({"a", "b"})) is not None


@pytest.mark.parametrize(
    ("intent", "reason"),
    [
        (Delete(broker="x"), "'x' is no broker of the overlay"),
        (Add(broker="b1"), "'b1' is in the overlay already"),
        (Add(broker=""), "the event names no broker to be added"),
        (Add(broker="x", between=("b1", "y")), "'y' is no broker of the overlay"),
        (MoveClients(broker="b1", to="b5"), "'b5' does not answer"),
        (MoveClients(broker="x", to="b1"), "'x' is no broker of the overlay"),
        (Migrate(source="b1", targets=("b5",)), "'b5' does not answer"),
        (Clone(source="x", targets=("b1",)), "'x' is no broker of the overlay"),
        (ShiftAway(broker="b1", neighbour="b2", to="hub"), "'b1' has no link to 'b2'"),
        (ShiftAway(broker="hub", neighbour="b2", to="b2"), "a shift needs two neighbours"),
        (ShiftAway(broker="hub", neighbour="b2", to="b5"), "'b5' does not answer"),
    ],
)
def test_an_intent_about_brokers_that_are_not_there_is_refused(intent: Intent, reason: str) -> None:
    assert allowed(intent, dead=frozenset({"b5"})) == reason


def test_actions_that_find_no_broker_are_refused_with_the_reason() -> None:
    alone = frozenset({"b1", "b2", "b3", "b4", "b5", "hub"})
    for action, reason in {
        "shiftAway": "b0 has fewer than two living neighbours",
        "moveClients": "no other broker lives",
        "goBroker": "no other broker lives to which the components of b0 could go",
    }.items():
        text = rules(f"on brokerOverloaded(); do database.{action}(broker);")
        done = reaction(text, Event(name="brokerOverloaded", broker="b0"), dead=alone)
        assert (done.intents, [each.reason for each in done.refused]) == ((), [reason])


def test_limits_that_make_no_sense_are_refused() -> None:
    with pytest.raises(BadInput, match="limits"):
        RemovalLimits(window=0)


def test_intents_say_what_they_are() -> None:
    every: dict[Intent, str] = {
        Delete(broker="a"): "delete a",
        Add(broker="a", between=("b", "c")): "add a at b, c",
        Add(broker="a"): "add a",
        ShiftAway(broker="a", neighbour="b", to="c"): "shift b away from a to c",
        MoveClients(broker="a", to="b"): "move the clients of a to b",
        Migrate(source="a", targets=("b",)): "migrate all from a to b",
        Clone(source="a", targets=("b", "c"), components=("x",)): "clone x from a to b, c",
    }
    assert [describe(each) for each in every] == list(every.values())
    assert as_json(Delete(broker="a", rule="r")) == {
        "intent": "delete",
        "rule": "r",
        "priority": 0,
        "broker": "a",
    }
    assert [sorted(brokers_of(each)) for each in every] == [
        *(["a"], ["a", "b", "c"], ["a"], ["a", "b", "c"], ["a", "b"], ["a", "b"], ["a", "b", "c"])
    ]
    assert Refused(Delete(broker="a"), "why").reason == "why"
