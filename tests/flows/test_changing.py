"""From one rule set to the next: what is sent is little, and no event notices."""

from dataclasses import replace
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.flows.flow_traffic import held, judge, run_change
from tests.flows.interleavings import Interleavings
from tests.flows.route_maker import Style, random_network, random_workload, tree_routes

from regraft.flows import AddressBlock, FlowRules, RuleChange, change, render
from regraft.flows.ordering import ordered
from regraft.flows.rules import (
    IN_CHANGE,
    ROUTES,
    Barrier,
    Command,
    FlowMod,
    Match,
    Message,
    Output,
    Phase,
    Rule,
)
from regraft.flows.simulated import Packet, SimulatedSwitch, filled
from regraft.flows.wiring import Port
from regraft.model import BadInput
from regraft.model.routes import Publisher, Routes, RouteWorkload, Subscriber
from regraft.model.switch_network import SwitchNetwork

BLOCK = AddressBlock.of("239.0.0.0/26")
"""Six digits: all events can be tried."""

styles = st.sampled_from(["publisher", "filter", "mixed"])
seeds = st.integers(0, 1 << 32)
kinds = st.sampled_from(["other trees", "other subscriber", "other hosts", "fewer cables"])


def two_routes(seed: int, style: Style, kind: str, largest: int = 7) -> tuple[Routes, Routes]:
    """Routes before and after; the first publisher stays where it is."""
    rng = Random(seed)
    network = random_network(rng.randint(2, largest), rng.randint(2, largest + 3), rng)
    before = random_workload(network, 2, 4, 4, rng)
    other = random_workload(network, 3, 5, 4, rng)
    old = tree_routes(network, before, style, Random(seed))
    if kind == "other trees":
        return old, tree_routes(network, before, style, rng)
    if kind == "other subscriber":
        joining = other.subscribers[0]._replace(id="new")
        after = RouteWorkload(before.publishers, (*before.subscribers[1:], joining))
        return old, tree_routes(network, after, style, Random(seed))
    if kind == "other hosts":
        after = RouteWorkload((before.publishers[0], *other.publishers[1:]), other.subscribers)
        return old, tree_routes(network, after, style, rng)
    kept = [(edge.source, edge.target) for edge in network.edges[: 2 * (len(network.switches) - 1) : 2]]
    return old, tree_routes(SwitchNetwork.of(kept, network.switches), before, style, rng)


def rendered(old: Routes, new: Routes) -> tuple[FlowRules, FlowRules]:
    before = render(old, BLOCK)
    return before, render(new, BLOCK, before.wiring)


def faults(seed: int, style: Style, kind: str, made: RuleChange | None = None) -> list[str]:
    old, new = two_routes(seed, style, kind)
    before, after = rendered(old, new)
    made = made or change(before, after)
    traffic = run_change(before, after, made, old.workload, new.workload, Random(seed))
    return judge(traffic, old.workload, new.workload)


@settings(max_examples=120)
@given(seeds, styles, kinds)
def test_no_event_is_lost_doubled_or_looped_while_rules_change(seed: int, style: Style, kind: str) -> None:
    assert faults(seed, style, kind) == []


@settings(max_examples=60)
@given(seeds, styles, kinds)
def test_afterwards_the_switches_hold_exactly_the_new_rules(seed: int, style: Style, kind: str) -> None:
    old, new = two_routes(seed, style, kind)
    before, after = rendered(old, new)
    made = change(before, after)
    traffic = run_change(before, after, made, old.workload, new.workload, Random(seed))
    assert held(traffic) == {switch: set(rules) for switch, rules in after.switches.items()}


@pytest.mark.parametrize("style", ["publisher", "filter", "mixed"])
@pytest.mark.parametrize(
    ("kind", "most"), [("other trees", 28), ("other subscriber", 11), ("other hosts", 36)]
)
def test_every_interleaving_of_a_small_change_delivers_exactly(style: Style, kind: str, most: int) -> None:
    versioned = 0
    for seed in range(40):
        old, new = two_routes(seed, style, kind, largest=4)
        made = change(*rendered(old, new))
        if made.changes > most:
            continue
        versioned += len(made.versioned)
        publisher = old.workload.publishers[0]
        host = made.old.wiring.hosts[publisher.id]
        explored = Interleavings(made)
        for event in {dz.ljust(BLOCK.digits, digit) for dz in publisher.advertisement for digit in "01"}:
            packet = Packet(4, host.address, BLOCK.event(event))
            before, after = (
                {
                    each.id
                    for each in load.subscribers
                    if any(event.startswith(dz) for dz in each.subscription)
                }
                for load in (old.workload, new.workload)
            )
            for ending in explored.endings(Port(host.switch, host.port), packet):
                assert not ending.looped
                assert len(set(ending.arrived)) == len(ending.arrived)
                assert before & after <= set(ending.arrived) <= before | after
    if kind != "other subscriber":
        assert versioned, "some of these changes must need versions"


def test_changing_everything_in_place_would_be_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("regraft.flows.units.Judge.direct", lambda *_: True)
    assert any(faults(seed, "publisher", "other trees") for seed in range(10))


def test_leaving_out_the_drain_would_be_caught() -> None:
    found = []
    for seed in range(20):
        made = change(*rendered(*two_routes(seed, "filter", "other trees")))
        hasty = replace(made, phases=tuple(replace(phase, drain=False) for phase in made.phases))
        found += faults(seed, "filter", "other trees", hasty)
    assert found


def test_leaving_out_the_barriers_would_be_caught() -> None:
    found = []
    for seed in range(60):
        made = change(*rendered(*two_routes(seed, "filter", "other subscriber")))
        phases = (
            replace(
                phase,
                messages={
                    switch: tuple(each for each in messages if not isinstance(each, Barrier))
                    for switch, messages in phase.messages.items()
                },
            )
            for phase in made.phases
        )
        found += faults(seed, "filter", "other subscriber", replace(made, phases=tuple(phases)))
    assert found


RING = SwitchNetwork.of([("a", "b"), ("b", "c"), ("c", "d"), ("d", "a")])


def ring_rules(
    *subscribers: tuple[str, str, str], seed: int = 1, known: FlowRules | None = None
) -> FlowRules:
    hosts = tuple(Subscriber(name, switch, (dz,)) for name, switch, dz in subscribers)
    workload = RouteWorkload((Publisher("p", "a", 1.0, ("0",)),), hosts)
    routes = tree_routes(RING, workload, "publisher", Random(seed))
    return render(routes, BLOCK, known.wiring if known else None)


def test_nothing_is_sent_when_nothing_changes() -> None:
    rules = ring_rules(("q", "b", "00"))
    made = change(rules, rules)
    assert made.changes == 0


def test_a_subscriber_who_joins_costs_one_message_per_rule_that_differs() -> None:
    old = ring_rules(("q", "b", "00"))
    new = ring_rules(("q", "b", "00"), ("r", "b", "001"), known=old)
    made = change(old, new)
    differing = sum(len(set(old.switches[each]) ^ set(new.switches[each])) for each in "abcd")
    assert not made.versioned
    assert len(made.phases) == 1
    assert 1 <= made.changes <= differing


def test_only_what_takes_another_way_gets_versions() -> None:
    old = ring_rules(("q", "c", "00"))
    for seed in range(2, 30):
        new = ring_rules(("q", "c", "00"), ("r", "a", "01"), seed=seed, known=old)
        made = change(old, new)
        if made.versioned:
            break
    assert {BLOCK.dz(BLOCK.prefix(unit.part.dz)) for unit in made.versioned} == {"00"}
    assert {unit.part.dz for unit in made.in_place} == {"01"}
    assert [phase.name for phase in made.phases] == ["prepare", "switch over", "settle", "unmark", "clean"]


def test_a_host_that_moves_gets_versions() -> None:
    old = ring_rules(("q", "b", "00"))
    new = ring_rules(("q", "a", "00"), known=old)
    assert change(old, new).versioned


def test_a_switch_of_which_nothing_is_known_is_wiped_first() -> None:
    rules = ring_rules(("q", "b", "00"))
    stale = Rule(ROUTES, 500, Match(4, prefix=BLOCK.prefix("01")), (Output(1),))
    switches = {name: SimulatedSwitch() for name in rules.switches}
    for switch in switches.values():
        switch.apply(FlowMod(Command.ADD, stale))
    for phase in change(None, rules).phases:
        for name, messages in phase.messages.items():
            for message in messages:
                switches[name].apply(message)
    assert {name: set(each.rules.values()) for name, each in switches.items()} == {
        name: set(each) for name, each in rules.switches.items()
    }


@settings(max_examples=60)
@given(seeds, styles, kinds)
def test_undo_leads_back_from_anywhere_in_the_first_phase(seed: int, style: Style, kind: str) -> None:
    old, new = two_routes(seed, style, kind)
    before, after = rendered(old, new)
    made = change(before, after)
    rng = Random(seed)
    switches = filled(before.switches)
    for name, messages in made.phases[0].messages.items():
        for message in messages[: rng.randint(0, len(messages))]:
            switches[name].apply(message)
    for name, messages in made.undo.messages.items():
        for message in messages:
            switches[name].apply(message)
    assert {name: set(each.rules.values()) for name, each in switches.items()} == {
        name: set(each) for name, each in before.switches.items()
    }


def half_done(messages: tuple[Message, ...], rng: Random) -> tuple[Message, ...]:
    """All messages up to some barrier and some of those behind it: the state of a switch that refuses a
    rule."""
    barriers = [place for place, each in enumerate(messages) if isinstance(each, Barrier)]
    places = [-1, *barriers, len(messages)]
    last = rng.randrange(len(places) - 1)
    window = messages[places[last] + 1 : places[last + 1]]
    some = [each for each in window if rng.random() < 0.5]
    return (*messages[: max(places[last] + bool(some), 0)], *some)


@settings(max_examples=100)
@given(seeds, styles, kinds, st.sampled_from(["prepare", "switch over", "settle"]))
def test_a_change_that_is_refused_in_any_phase_is_taken_back_and_no_event_notices(
    seed: int, style: Style, kind: str, refused: str
) -> None:
    old, new = two_routes(seed, style, kind)
    before, after = rendered(old, new)
    made, rng = change(before, after), Random(seed)
    names = [phase.name for phase in made.phases]
    place = names.index(refused) if refused in names else 0
    phase = made.phases[place]
    started = {name: half_done(each, rng) for name, each in phase.messages.items()}
    half = replace(phase, drain=False, messages={name: each for name, each in started.items() if each})
    tried = replace(made, phases=(*made.phases[:place], half, *made.undone(place)))
    traffic = run_change(before, after, tried, old.workload, new.workload, rng)
    assert judge(traffic, old.workload, new.workload) == []
    assert {name: held(traffic)[name] for name in before.switches} == {
        name: set(each) for name, each in before.switches.items()
    }


def test_taking_back_without_the_drain_or_in_another_order_would_be_caught() -> None:
    hasty, wrong = [], []
    for seed in range(40):
        old, new = two_routes(seed, "filter", "other trees")
        before, after = rendered(old, new)
        made = change(before, after)
        if len(made.phases) < 5:
            continue

        def faults_of(
            *back: Phase, made: RuleChange = made, old: Routes = old, new: Routes = new
        ) -> list[str]:
            tried = replace(made, phases=(*made.phases[:3], *back))
            traffic = run_change(made.old, made.new, tried, old.workload, new.workload, Random(len(back)))
            return judge(traffic, old.workload, new.workload)

        unsettle, close, undo = made.undone(2)
        assert faults_of(unsettle, close, undo) == []
        hasty += faults_of(unsettle, replace(close, drain=False), undo)
        wrong += faults_of(close, unsettle, undo)
    assert hasty
    assert wrong


def test_there_is_no_way_back_once_the_doors_take_the_mark_off() -> None:
    made = change(*rendered(*two_routes(3, "publisher", "other trees")))
    assert [phase.name for phase in made.phases][3:] == ["unmark", "clean"]
    assert made.undone(3) == made.undone(4) == ()


@settings(max_examples=100)
@given(seeds)
def test_within_a_switch_an_event_meets_its_old_rule_or_its_new_one(seed: int) -> None:
    """Also when the messages are sent again from the beginning after some of them."""
    rng = Random(seed)
    old, new = (_random_table(rng) for _ in range(2))
    sequence: list[Message] = list(ordered(old, new))
    sequence = sequence[: rng.randint(0, len(sequence))] + sequence
    current, before, after = (filled({"s": rules})["s"] for rules in (old, old, new))
    packets = [Packet(4, 1, BLOCK.event(format(number, "05b"))) for number in range(32)]
    for message in sequence:
        current.apply(message)
        for packet in packets:
            seen, was, will = (_out(switch, packet) for switch in (current, before, after))
            assert seen in (was, will)
    assert current.rules == after.rules


def _random_table(rng: Random) -> list[Rule]:
    chosen = {"".join(rng.choices("01", k=rng.randint(0, 4))) for _ in range(rng.randint(0, 7))}
    return [
        Rule(0, 16 + len(dz), Match(4, prefix=BLOCK.prefix(dz)), (Output(rng.randint(1, 3)),))
        for dz in sorted(chosen)
    ]


def _out(switch: SimulatedSwitch, packet: Packet) -> set[int]:
    return {port for port, _ in switch.process(packet, 9)}


def test_marks_are_only_there_while_rules_change() -> None:
    old, new = rendered(*two_routes(3, "publisher", "other trees"))
    made = change(old, new)
    assert made.versioned
    for rules in (*old.switches.values(), *new.switches.values()):
        assert not any(rule.match.mark == IN_CHANGE for rule in rules)


def test_another_address_block_needs_a_fresh_start() -> None:
    rules = ring_rules(("q", "b", "00"))
    with pytest.raises(BadInput, match=r"cannot change from 239.0.0.0/26"):
        change(rules, replace(rules, block=AddressBlock.of()))
