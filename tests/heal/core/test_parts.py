"""Recording, repairs, tidying and watching: the parts of one node's healing, each by itself."""

from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
from tests.heal.core.driving import CAUSE, GRANT, LINE, Driven, b1, owner

from regraft.heal.core import LocalBroker
from regraft.heal.core.effects import DropConnection, KeepConnection, SendClientsAway
from regraft.heal.core.knowledge import Knowledge
from regraft.heal.core.recording import ATTEMPTS, KEPT, PAUSE, Recording, record_of
from regraft.heal.core.repairs import Repairs
from regraft.heal.core.requests import (
    Demand,
    EndDeputy,
    Examine,
    Execute,
    ExecutionLimits,
    FinishOthers,
    MarkLeft,
    ReadDemand,
    ReadTopology,
    Release,
    WriteBroker,
)
from regraft.heal.core.tidying import AWAY_SECONDS, DELAY_SECONDS, Tidying
from regraft.heal.core.watching import FRESH_SECONDS, LOOK_SECONDS, WatchCallbacks, Watching
from regraft.heal.database.records import Adaptation, BrokerRecord
from regraft.heal.detection import Evidence, Suspect
from regraft.heal.election import Act
from regraft.heal.owner import Owner
from regraft.heal.wire import messages as wire
from regraft.model import Plan, RegraftError, Topology
from regraft.model.facts import Load
from regraft.model.intents import Delete
from regraft.model.traffic import TrafficClass

ACT = Act(GRANT.id, 3, (Delete(broker="b2", rule="r1"), Delete(broker="b3", rule="r1")))
LIMITS = ExecutionLimits(seconds=5.0, attempts=3)


# Recording


def recorded(recording: Recording, node: Driven, act: Act, reasons: list[str]) -> Adaptation:
    node.result(recording.over(GRANT, act, 250.0, reasons))
    release = node.asked(Release)[-1]
    assert release.grant == GRANT.id
    assert release.adaptation is not None
    return release.adaptation


def test_an_adaptation_is_recorded_with_its_cause_and_its_four_phases() -> None:
    node = Driven(b1(), {Release: None})
    recording = Recording(node.known)
    recording.caused(CAUSE)
    recording.caused(wire.Cause(election=GRANT.id, cause="another", event=CAUSE.event))
    assert recording.cause(GRANT) == CAUSE, "the first that is heard counts"
    recording.judged(GRANT.id, "the rule says so")
    node.pass_time(0.125)
    recording.elected(ACT)
    assert recorded(recording, node, ACT, ["b3 did not answer", ""]) == Adaptation(
        id=GRANT.id,
        kind="delete",
        cause="b2 does not answer",
        at=0.0,
        rules=("r1",),
        leader="b1",
        view=3,
        intents=ACT.decision,
        timeout_ms=30.0,
        vote_ms=5.0,
        election_ms=125.0,
        adaptation_ms=250.0,
        outcome="failed",
        reason="b3 did not answer; the rule says so",
    )
    assert node.notes == [
        f"b1: {GRANT.id}: failed b2 does not answer: {ACT.decision} b3 did not answer; the rule says so"
    ]


def test_an_adaptation_of_unknown_cause_says_who_asked() -> None:
    node = Driven(b1(), {Release: None})
    recording = Recording(node.known)
    done = recorded(recording, node, ACT, [])
    assert (done.cause, done.timeout_ms, done.vote_ms, done.election_ms) == ("asked for by b1", 0.0, 0.0, 0.0)
    assert (done.outcome, done.reason) == ("done", "")
    nothing = recorded(recording, node, Act(GRANT.id, 1, ()), [])
    assert (nothing.outcome, nothing.rules) == ("nothing", ())


def test_what_is_known_of_elections_is_bounded() -> None:
    recording = Recording(b1())
    recording.caused(CAUSE)
    for number in range(KEPT - 1):
        recording.judged(f"e{number}", "")
    assert recording.cause(GRANT) == CAUSE
    recording.judged("one more", "")
    assert recording.cause(GRANT) is None


def test_a_write_is_tried_again_for_a_while() -> None:
    away: list[object] = [RegraftError("away")] * (ATTEMPTS - 1)
    node = Driven(b1(), {Release: lambda request: away.pop() if away else None})
    node.result(Recording(node.known).give_back(GRANT))
    assert len(node.asked(Release)) == ATTEMPTS
    assert {each.adaptation for each in node.asked(Release)} == {None}
    assert node.notes == []
    assert node.known.now == pytest.approx((ATTEMPTS - 1) * PAUSE + ATTEMPTS * 0.01)
    never = Driven(b1(), {Release: RegraftError("away")})
    never.result(Recording(never.known).give_back(GRANT))
    assert len(never.asked(Release)) == ATTEMPTS
    assert never.warnings == [f"b1: the end of {GRANT.id} was not written: away"]


def test_the_record_of_a_broker_says_where_it_is_and_who_stands_in() -> None:
    known = b1()
    known.settings = replace(known.settings, region="north")
    here = LocalBroker(owner(4), frozenset())
    assert record_of("b1", here, known) == BrokerRecord(
        id="b1", host="127.0.0.1", port=7000, region="north", life=4, state="up", heir=""
    )
    deputy = record_of("b2", LocalBroker(owner(5, by="b1"), frozenset()), known)
    assert (deputy.state, deputy.heir, deputy.life) == ("down", "b1", 5)


def test_the_record_of_a_broker_is_not_written_when_another_owns_it_by_then() -> None:
    node = Driven(b1(), {WriteBroker: None})
    recording = Recording(node.known)
    node.result(recording.broker("b1", later=0.5))
    assert node.known.now == pytest.approx(0.51)
    assert [each.record.id for each in node.asked(WriteBroker)] == ["b1"]
    for change in ("gone", "another"):
        other = Driven(b1(), {WriteBroker: None})
        task = other.known.begin(Recording(other.known).broker("b1", later=0.5))
        other.pass_time(0.1)
        if change == "gone":
            del other.known.here["b1"]
        else:
            other.known.here["b1"].owner = owner(9)
        other.pass_time(5.0, task)
        assert (task.done, other.asked(WriteBroker)) == (True, [])


def test_a_broker_that_has_left_keeps_its_place_and_notes() -> None:
    node = Driven(b1(), {MarkLeft: None})
    node.result(Recording(node.known).left("b2"))
    assert [each.record for each in node.asked(MarkLeft)] == [BrokerRecord(id="b2", state="left", heir="b1")]


# Repairs

PLAN: Plan = "a plan"  # type: ignore[assignment]  # nothing looks inside


def repairing(*plans: Plan | None, execute: Any = "", topology: Any = LINE) -> tuple[Driven, Repairs, Any]:
    """`make` returns the plans one after the other, and then None."""
    left = list(plans)
    answers = {ReadTopology: topology, Execute: execute, FinishOthers: None}
    node = Driven(b1(), answers)
    return node, Repairs(node.known), lambda topology: left.pop(0) if left else None


def test_plans_are_carried_out_until_there_is_nothing_to_do() -> None:
    node, repairs, make = repairing(PLAN, PLAN)
    assert node.result(repairs.carry_out(make, LIMITS, 10.0)) == ""
    assert [each.plan for each in node.asked(Execute)] == [PLAN, PLAN]
    assert {each.limits for each in node.asked(Execute)} == {LIMITS}
    assert len(node.asked(ReadTopology)) == 3
    assert node.known.now == pytest.approx(0.05), "one answer after the other, no pause"


def test_without_a_topology_there_is_nothing_to_do() -> None:
    node, repairs, make = repairing(PLAN, topology=None)
    assert node.result(repairs.carry_out(make, LIMITS, 10.0)) == ""
    assert not node.asked(Execute)


def test_what_does_not_work_is_tried_until_the_time_is_over_and_the_reason_told() -> None:
    node, repairs, make = repairing(*[PLAN] * 99, execute="b3 is away")
    assert node.result(repairs.carry_out(make, LIMITS, 0.5)) == "b3 is away"
    # Each attempt asks twice (0.02 s), and the pauses between them are of 25 to 75 ms.
    assert 0.5 < node.known.now < 0.62
    assert 6 <= len(node.asked(Execute)) <= 11
    assert not node.asked(FinishOthers)
    endless, repairs, make = repairing(*[PLAN] * 99)
    assert endless.result(repairs.carry_out(make, LIMITS, 0.5)) == "no time left"


def test_a_fault_lets_the_runs_of_others_be_finished_first() -> None:
    node, repairs, make = repairing(PLAN, PLAN, execute=RegraftError("locked"))
    assert node.result(repairs.carry_out(make, LIMITS, 5.0)) == ""
    assert [each.limits for each in node.asked(FinishOthers)] == [LIMITS, LIMITS]
    node, repairs, make = repairing(*[PLAN] * 9, execute=RegraftError("locked"))
    node.answers[FinishOthers] = RegraftError("away")
    assert node.result(repairs.carry_out(make, LIMITS, 0.0)) == "locked"


def test_two_repairs_take_turns() -> None:
    under_way: list[str] = []
    node, repairs, _ = repairing()

    def make(name: str) -> Callable[[Topology], Plan | None]:
        left = [PLAN]

        def made(topology: Topology) -> Plan | None:
            under_way.append(name)
            return left.pop() if left else None

        return made

    first = node.known.begin(repairs.carry_out(make("first"), LIMITS, 5.0))
    second = node.known.begin(repairs.carry_out(make("second"), LIMITS, 5.0))
    node.pass_time(0.015)
    assert len(node.asked(ReadTopology)) == 1, "the second waits for the first"
    node.pass_time(5.0, first)
    node.pass_time(5.0, second)
    assert (first.done, second.done) == (True, True)
    assert sorted(under_way) == ["first", "first", "second", "second"]
    assert len(node.asked(Execute)) == 2


# Tidying


def tidying(topology: Topology | None, demand: Any = None) -> tuple[Driven, Tidying, list[str]]:
    left: list[str] = []
    node = Driven(b1(), {ReadDemand: demand, Execute: "", FinishOthers: None, EndDeputy: None})
    node.answers[ReadTopology] = topology
    node.known.here["b2"] = LocalBroker(owner(2, by="b1"), LINE.neighbours["b2"])
    return node, Tidying(node.known, Repairs(node.known), left.append), left


def test_a_deputy_is_taken_out_in_two_plans_after_a_while() -> None:
    node, tidy, left = tidying(LINE)
    without = Topology.of([("b0", "b1"), ("b1", "b3"), ("b3", "b4")])
    seen: list[Plan] = []

    def execute(request: Execute) -> str:
        seen.append(request.plan)
        joined = Topology.of([("b0", "b1"), ("b1", "b2"), ("b1", "b3"), ("b3", "b4")])
        node.answers[ReadTopology] = without if len(seen) > 1 else joined
        return ""

    node.answers[Execute] = execute
    node.known.begin(tidy.run())
    tidy.add("b2")
    node.pass_time(DELAY_SECONDS - 0.01)
    assert node.requests == []
    assert tidy.leaving == {"b2"}
    node.pass_time(1.0)
    assert len(seen) == 2
    assert [each for each in node.others if isinstance(each, SendClientsAway)] == [
        SendClientsAway("b2", AWAY_SECONDS)
    ]
    assert [each.broker for each in node.asked(EndDeputy)] == ["b2"]
    assert (left, tidy.leaving, set(node.known.here)) == (["b2"], set(), {"b1"})
    asked = len(node.requests)
    node.pass_time(30.0)
    assert len(node.requests) == asked, "nothing is left to do"


def test_a_broker_that_has_left_already_is_only_told_of() -> None:
    node, tidy, left = tidying(Topology.of([("b0", "b1")]))
    node.known.begin(tidy.run())
    tidy.add("b9")
    tidy.add("b2")
    node.pass_time(2.0)
    assert left == ["b2", "b9"]
    assert [each.broker for each in node.asked(EndDeputy)] == ["b2"], "the other does not run here"
    assert not node.asked(Execute)
    assert not node.asked(ReadDemand)


def test_one_that_does_not_leave_is_tried_again_ever_more_rarely() -> None:
    node, tidy, left = tidying(LINE)
    reads: list[float] = []

    def read(request: object) -> Any:
        reads.append(node.known.now)
        return RegraftError("away")

    node.answers[ReadTopology] = read
    node.known.begin(tidy.run())
    tidy.add("b2")
    node.pass_time(12.0)
    pauses = [round(b - a - 0.01, 2) for a, b in pairwise(reads)]
    assert pauses[:6] == [0.4, 0.8, 1.6, 2.0, 2.0, 2.0]
    assert node.warnings[0] == "b1: the removal of ['b2']: away"
    assert left == []
    tidy.drop("b2")
    node.pass_time(5.0)
    asked = len(reads)
    node.pass_time(30.0)
    assert len(reads) == asked


def test_measured_traffic_replaces_what_was_known_and_is_kept_when_it_cannot_be_read() -> None:
    measured = Demand((TrafficClass(frozenset({"b0", "b4"}), 9.0),), {("b0", "b1"): 2.0})
    node, tidy, _ = tidying(LINE, measured)
    assert tidy.demand == Demand((), {})
    node.result(tidy.learn_demand())
    assert tidy.demand == measured
    for answer, notes in (
        (None, []),
        (RegraftError("away"), ["b1: the measured traffic cannot be read: away"]),
    ):
        node.answers[ReadDemand] = answer
        node.result(tidy.learn_demand())
        assert (tidy.demand, node.warnings) == (measured, notes)


def test_only_brokers_of_the_overlay_are_joined_around() -> None:
    _, tidy, _ = tidying(LINE)
    plan = tidy.joined(LINE, ["b2", "b9"])
    assert plan is not None
    assert tidy.joined(LINE, ["b9"]) is None
    assert tidy.joined(LINE, []) is None


# Watching


def watching(**owners: Owner) -> tuple[Driven, Watching, dict[str, list[Any]]]:
    told: dict[str, list[Any]] = {"suspected": [], "trusted": [], "doubted": [], "expected": []}
    said: list[tuple[str, Any]] = []
    node = Driven(b1(None, **owners), {}, lambda node, message: said.append((node, message)))
    told["said"] = said
    callbacks = WatchCallbacks(
        told["suspected"].append, told["trusted"].append, told["doubted"].append, told["expected"].append
    )
    return node, Watching(node.known, callbacks), told


def lost(evidence: Evidence, at_once: bool = False) -> tuple[Driven, Watching, dict[str, list[Any]]]:
    """The connection to b2 has just ended; `evidence` is what its address shows."""
    node, watch, told = watching(b2=owner(1))
    node.known.settings = replace(node.known.settings, at_once=at_once)
    node.known.connected |= {"b2"}
    watch.watch()
    node.answers[Examine] = evidence
    watch.down("b2")
    return node, watch, told


def kept(node: Driven) -> list[Any]:
    node.pass_time(0.0)
    effects, node.others = node.others, []
    return effects


def test_neighbours_and_leaders_are_watched_and_their_nodes_kept() -> None:
    node, watch, _ = watching(b0=owner(), b2=owner(2, by="b4"))
    watch.watch()
    assert kept(node) == [KeepConnection("b0"), KeepConnection("b4")], "b2 runs at b4"
    watch.watch(["b3", "b1"])
    assert kept(node) == [KeepConnection("b3")]
    node.known.here["b1"].neighbours = frozenset({"b2"})
    watch.watch()
    assert kept(node) == [DropConnection("b0")], "leaders stay until others are named"
    watch.watch([])
    assert kept(node) == [DropConnection("b3")]
    node.known.here["b2"] = LocalBroker(owner(3, by="b1"), frozenset({"b1", "b3"}))
    watch.watch()
    assert kept(node) == [DropConnection("b4"), KeepConnection("b3")]


def test_a_broker_is_watched_when_it_was_reached_or_the_node_has_settled() -> None:
    node, watch, told = watching(b0=owner())
    watch.start()
    watch.watch()
    assert watch.detector.peers == set()
    node.known.connected.add("b0")
    watch.up("b0")
    assert watch.detector.peers == {"b0"}
    node.pass_time(9.9)
    watch.watch()
    assert watch.detector.peers == {"b0"}
    node.pass_time(0.1)
    watch.watch()
    assert watch.detector.peers == {"b0"}, "where b2 is, is not known"
    node.known.owners["b2"] = owner(1)
    node.answers[Examine] = Evidence.SILENT
    watch.watch()
    assert watch.detector.peers == {"b0", "b2"}
    node.pass_time(0.001)
    assert [each.broker for each in node.asked(Examine)] == ["b2"], "it is doubted from the beginning"
    assert told["doubted"] == []


def test_watches_are_brought_up_to_date_now_and_then() -> None:
    node, watch, _ = watching(b0=owner())
    node.known.connected |= {"b0", "b3"}
    watch.watch()
    node.known.here["b1"].neighbours = frozenset({"b0", "b3"})
    kept(node)
    node.pass_time(LOOK_SECONDS)
    watch.seen([])
    assert DropConnection("b2") not in kept(node)
    node.pass_time(0.001)
    watch.seen([])
    assert DropConnection("b2") in kept(node)
    assert watch.detector.peers == {"b0", "b3"}


def test_neighbours_to_which_messages_go_are_asked_more_often() -> None:
    node, watch, told = watching()
    node.known.connected |= {"b0", "b2"}
    watch.watch()
    watch.seen(["b2"])
    node.pass_time(0.0)
    assert [to for to, _ in told["said"]] == ["b0", "b2"]
    for to, ping in list(told["said"]):
        watch.pong(to, wire.Pong(number=ping.number, broker=to, load=Load(cpu=0.5) if to == "b0" else None))
    assert watch.loads == {"b0": Load(cpu=0.5)}
    assert watch.next_due() == pytest.approx(0.01)
    node.pass_time(0.01)
    watch.tick()
    node.pass_time(0.0)
    assert [to for to, _ in told["said"][2:]] == ["b2"]


def test_a_ping_is_answered_for_brokers_that_run_here() -> None:
    node, watch, told = watching()
    watch.own_load = Load(cpu=0.25)
    watch.ping("b0", wire.Ping(number=7, broker="b1"))
    watch.ping("b0", wire.Ping(number=8, broker="b5"))
    node.pass_time(0.0)
    assert told["said"] == [("b0", wire.Pong(number=7, broker="b1", load=Load(cpu=0.25)))]


def test_a_lost_connection_is_doubted_looked_at_and_suspected() -> None:
    node, watch, told = lost(Evidence.REFUSED)
    assert told["doubted"] == ["b2"]
    node.pass_time(0.015)
    assert told["expected"] == ["b2"]
    assert told["suspected"] == [], "the timer still runs"
    assert watch.refused("b2", owner(1))
    assert not watch.refused("b2", owner(2))
    assert not watch.refused("b0", owner(1))
    node.pass_time(0.02)
    watch.tick()
    ((suspect),) = told["suspected"]
    assert (suspect.peer, suspect.evidence) == ("b2", Evidence.REFUSED)
    node.known.connected.add("b2")
    assert not watch.reaches("b2")
    watch.up("b2")
    assert told["trusted"] == ["b2"]
    assert watch.reaches("b2")
    assert not watch.reaches("b0")
    node.pass_time(FRESH_SECONDS + 0.01)
    assert not watch.refused("b2", owner(1)), "that was too long ago"


def test_what_a_look_finds_counts_only_for_the_owner_that_was_looked_at() -> None:
    node, watch, told = lost(Evidence.REFUSED)
    node.pass_time(0.005)
    node.known.owners["b2"] = owner(2, by="b3")
    node.pass_time(0.01)
    assert told["expected"] == []
    assert not watch.refused("b2", owner(1))
    failing, other, heard = watching(b2=owner(1), b0=Owner(life=1, host="", port=0, by=""))
    failing.known.connected |= {"b0", "b2"}
    other.watch()
    failing.answers[Examine] = RegraftError("no answer")
    other.down("b0")
    other.down("b2")
    failing.pass_time(0.05)
    assert [each.broker for each in failing.asked(Examine)] == ["b2"], "where b0 listens is not known"
    assert heard["expected"] == []


def test_a_process_that_is_gone_is_suspected_at_once_if_that_is_wanted() -> None:
    for evidence, suspected in ((Evidence.REFUSED, True), (Evidence.SILENT, False)):
        node, _, told = lost(evidence, at_once=True)
        node.pass_time(0.015)
        assert told["suspected"] == ([Suspect("b2", evidence, 0.0)] if suspected else [])


def test_a_broker_with_another_owner_is_watched_anew() -> None:
    node, watch, _ = watching(b2=owner(1))
    node.known.connected |= {"b2", "b3"}
    watch.watch()
    kept(node)
    node.answers[Examine] = Evidence.GONE
    watch.down("b2")
    node.pass_time(0.05)
    watch.tick()
    assert watch.detector.suspected == {"b2"}
    node.known.owners["b2"] = owner(2, by="b3")
    watch.moved("b2")
    assert watch.detector.suspected == set()
    assert kept(node) == [DropConnection("b2"), KeepConnection("b3")]
    watch.down("b3")
    node.pass_time(0.02)
    assert watch.detector.peers == {"b2"}
    assert node.asked(Examine)[-1].owner == owner(2, by="b3")


# What a node knows


def test_the_latest_owner_of_a_broker_is_known_and_told_of_once() -> None:
    moved: list[str] = []
    known: Knowledge = b1()
    known.moved = moved.append
    for life in (2, 1, 2, 3):
        known.learn("b2", owner(life, by="b4" if life == 3 else ""))
    assert (moved, known.owners["b2"].life) == (["b2", "b2"], 3)
    assert [known.node_of(id) for id in ("b2", "b0")] == ["b4", "b0"]
    assert known.in_overlay("b2")
    assert not known.in_overlay("b9")
    known.topology = None
    assert not known.in_overlay("b2")


def test_a_question_is_answered_in_time_or_not_at_all() -> None:
    said: list[Any] = []
    node = Driven(b1(), {}, lambda node, message: said.append(message))
    ask = node.known.begin(node.known.ask("b0", lambda n: wire.Ping(number=n, broker="b0"), 1.0))
    node.pass_time(0.5)
    node.known.answered(99, "to nobody")
    node.known.answered(said[0].number, "here")
    node.pass_time(0.0, ask)
    assert ask.over.value == "here"
    assert node.result(node.known.ask("b0", lambda n: wire.Ping(number=n, broker="b0"), 1.0)) is None
    assert [each.number for each in said] == [1, 2]
    assert node.known.now == pytest.approx(1.5)
