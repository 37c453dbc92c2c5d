"""The switch in memory does what OpenFlow says."""

import pytest

from regraft.flows import Wiring
from regraft.flows.block import Prefix
from regraft.flows.rules import Command, FlowMod, Match, Output, Readdress, Rule, SetMark
from regraft.flows.simulated import Loop, Packet, SimulatedSwitch, filled, trace
from regraft.flows.wiring import Port
from regraft.model import RegraftError

PACKET = Packet(4, source=1, destination=0xEF000001)
WIDE, NARROW = Prefix(0xEF000000, 8), Prefix(0xEF000000, 24)


def switch(*rules: Rule) -> SimulatedSwitch:
    return filled({"s": rules})["s"]


def test_the_highest_priority_decides_whatever_the_order() -> None:
    low, high = Rule(0, 1, Match(), (Output(1),)), Rule(0, 2, Match(4, prefix=WIDE), (Output(2),))
    assert switch(low, high).process(PACKET, 9) == switch(high, low).process(PACKET, 9) == [(2, PACKET)]


def test_two_fitting_rules_of_one_priority_are_an_error() -> None:
    rules = (Rule(0, 1, Match(4, prefix=WIDE)), Rule(0, 1, Match(4, prefix=NARROW)))
    with pytest.raises(RegraftError, match="same priority"):
        switch(*rules).process(PACKET, 1)


def test_a_packet_never_leaves_by_the_port_it_came_in_by() -> None:
    rule = Rule(0, 1, Match(), (Output(1), Output(2)))
    assert [port for port, _ in switch(rule).process(PACKET, 2)] == [1]


def test_actions_change_what_is_sent_after_them_only() -> None:
    actions = (Output(1), SetMark(3), Output(2), Readdress(0xAA, 0xBB), Output(3))
    out = dict(switch(Rule(0, 1, Match(), actions)).process(PACKET, 9))
    assert out[1] == PACKET
    assert out[2] == PACKET._replace(mark=3)
    assert out[3] == PACKET._replace(mark=3, mac=0xAA, destination=0xBB)


def test_the_next_table_sees_the_changed_packet() -> None:
    rules = (Rule(0, 1, Match(), (SetMark(3),), goto=1), Rule(1, 1, Match(4, mark=3), (Output(1),)))
    assert switch(*rules).process(PACKET, 9) == [(1, PACKET._replace(mark=3))]


@pytest.mark.parametrize("match", [Match(6), Match(in_port=1), Match(4, mark=1), Match(4, source=2)])
def test_a_packet_that_differs_in_one_field_does_not_match(match: Match) -> None:
    assert switch(Rule(0, 1, match, (Output(1),))).process(PACKET, 9) == []


def test_add_replaces_modify_does_not_add_and_delete_takes_only_its_own() -> None:
    rule, other = Rule(0, 1, Match(), (Output(1),)), Rule(0, 2, Match(), (Output(1),))
    changed = rule._replace(actions=(Output(2),))
    one = switch(rule)
    one.apply(FlowMod(Command.ADD, changed))
    one.apply(FlowMod(Command.MODIFY, other))
    assert set(one.rules.values()) == {changed}
    one.apply(FlowMod(Command.ADD, other))
    one.apply(FlowMod(Command.DELETE, rule))
    assert set(one.rules.values()) == {other}


def test_delete_within_takes_what_is_narrower_in_its_table() -> None:
    narrow, wide = Rule(1, 7, Match(4, mark=3, prefix=NARROW)), Rule(1, 7, Match(4, prefix=WIDE))
    elsewhere = Rule(0, 7, Match(4, mark=3, prefix=NARROW))
    one = switch(narrow, wide, elsewhere)
    one.apply(FlowMod(Command.DELETE_WITHIN, Rule(1, 0, Match(4, mark=3))))
    assert set(one.rules.values()) == {wide, elsewhere}
    one.apply(FlowMod(Command.DELETE_WITHIN, Rule(1, 0, Match(4, prefix=NARROW))))
    assert set(one.rules.values()) == {wide, elsewhere}
    one.apply(FlowMod(Command.DELETE_WITHIN, Rule(1, 0, Match())))
    assert set(one.rules.values()) == {elsewhere}


def test_a_loop_is_told() -> None:
    wiring = Wiring(
        {(here, f"{here}{there}"): 1 for here, there in ("ab", "bc", "ca")}
        | {(there, f"{here}{there}"): 2 for here, there in ("ab", "bc", "ca")}
    )
    around = {name: (Rule(0, 1, Match(), (Output(1),)),) for name in "abc"}
    with pytest.raises(Loop, match="'a' sees one packet twice"):
        trace(filled(around), wiring, Port("a", 7), PACKET)
