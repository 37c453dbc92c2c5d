"""The core of one node as its shell sees it: events in, effects out."""

from collections.abc import Iterable
from itertools import pairwise
from random import Random
from typing import Any, TypeVar

from tests.diagrams import assert_drawn
from tests.heal.core.driving import GRANT, LINE, RULES, owner

from regraft.heal.core import Healing, HealingSettings, LocalBroker, events
from regraft.heal.core.acting import LATER_SECONDS
from regraft.heal.core.effects import (
    DialBroker,
    Do,
    DropConnection,
    Effect,
    Follow,
    Joined,
    Judged,
    KeepConnection,
    Left,
    Note,
    Tell,
)
from regraft.heal.core.leading import LEADER_SECONDS
from regraft.heal.core.requests import (
    AskGrant,
    Examine,
    Look,
    Reinstate,
    Release,
    StandIn,
    WriteBroker,
)
from regraft.heal.core.states import DUTIES, WISHES, DutyState, WishState
from regraft.heal.core.tasks import Request
from regraft.heal.detection import Evidence
from regraft.heal.election import Accepted, Decided, GroupInfo, NewLeader, Vote, decode, encode
from regraft.heal.owner import Seen
from regraft.heal.wire import messages as wire
from regraft.model import RegraftError, Topology
from regraft.model.facts import Event
from regraft.model.intents import Delete

M = TypeVar("M")


class Node:
    """b1 of a line of five; `now` is the time of the next event."""

    def __init__(self, id: str = "b1", topology: Topology | None = LINE) -> None:
        self.now = 100.0
        self.open: dict[int, Request[Any]] = {}
        owners = {each: owner() for each in LINE.ids}
        near = LINE.neighbours.get(id, frozenset())
        self.core = Healing(
            HealingSettings(id=id, life=0), LocalBroker(owner(0), near), Random(1), topology, owners
        )
        self.effects = self._noted(self.core.start(self.now))
        if topology is not None:
            self.tell(events.TopologySeen(topology))
        self.tell(events.RulesSeen(RULES))

    def tell(self, event: events.Event) -> list[Effect]:
        """The effects of this event; all of them are kept as well."""
        effects = self._noted(self.core.handle(event, self.now))
        self.effects += effects
        return effects

    def _noted(self, effects: list[Effect]) -> list[Effect]:
        self.open |= {each.number: each.request for each in effects if isinstance(each, Do)}
        return effects

    def answer(self, kind: type[Request[Any]], answer: object = None) -> list[Effect]:
        """Answers all open requests of this kind."""
        numbers = [number for number, request in self.open.items() if isinstance(request, kind)]
        assert numbers, f"{kind} was not asked for"
        effects: list[Effect] = []
        for number in numbers:
            del self.open[number]
            effects += self.tell(events.Answered(number, answer))
        return effects

    def wait(self, seconds: float) -> None:
        """Ticks at each due time."""
        end = self.now + seconds
        while (due := self.core.next_due()) is not None and due <= end:
            self.now = max(self.now, due)
            self.tell(events.Tick())
        self.now = end

    def connected(self, *nodes: str) -> None:
        for node in nodes:
            self.tell(events.Connected(node))


def told(effects: Iterable[Effect], kind: type[M]) -> list[tuple[str, M]]:
    tells = [each for each in effects if isinstance(each, Tell)]
    return [(each.node, each.message) for each in tells if isinstance(each.message, kind)]


def test_the_drawings_of_an_adaptation_are_the_tables() -> None:
    assert_drawn(WishState.__doc__, WISHES)
    assert_drawn(DutyState.__doc__, DUTIES)


def test_neighbours_are_watched_and_owners_nearby_followed() -> None:
    node = Node()
    assert {each.node for each in node.effects if isinstance(each, KeepConnection)} == {"b0", "b2"}
    assert Follow(frozenset(LINE.ids)) in node.effects
    node.tell(events.LinksSeen({"b1": frozenset({"b0", "b3"})}))
    assert {each.node for each in node.effects if isinstance(each, DropConnection)} == {"b2"}
    assert KeepConnection("b3") in node.effects, "links that have changed are watched at once"


def test_a_broker_in_the_overlay_has_joined_when_its_record_is_written() -> None:
    node = Node()
    assert not any(isinstance(each, Joined) for each in node.effects)
    assert Joined() in node.answer(WriteBroker)
    assert not any(isinstance(each, Reinstate) for each in node.open.values())


def test_a_broker_outside_asks_one_after_the_other_until_it_is_in_the_overlay() -> None:
    node = Node("b9")
    node.answer(WriteBroker)
    ((first, _),) = told(node.effects, wire.AskJoin)
    node.wait(1.0)
    (_, (second, asked)) = told(node.effects, wire.AskJoin)
    assert first != second
    node.tell(events.Heard(second, wire.Answer(number=asked.number, refused="")))
    node.wait(2.9)
    assert len(told(node.effects, wire.AskJoin)) == 2
    joined = Topology.of([*LINE.by_ends, ("b4", "b9")])
    node.tell(events.TopologySeen(joined))
    assert Joined() in node.answer(Reinstate)
    assert Left() in node.tell(events.TopologySeen(LINE))
    assert Left() not in node.tell(events.TopologySeen(LINE)), "it is said once"


def test_a_broker_has_joined_though_its_mark_of_being_out_of_service_cannot_be_removed() -> None:
    node = Node("b9")
    node.answer(WriteBroker)
    ((beside, asked),) = told(node.effects, wire.AskJoin)
    node.tell(events.Heard(beside, wire.Answer(number=asked.number, refused="")))
    node.tell(events.TopologySeen(Topology.of([*LINE.by_ends, ("b4", "b9")])))
    (number,) = (number for number, request in node.open.items() if isinstance(request, Reinstate))
    assert node.tell(events.Failed(number, RegraftError("away"))) == [
        Note("b9: the mark that it was out of service stays: away", warning=True),
        Joined(),
    ]


def test_a_raised_event_is_judged_when_the_node_is_in_the_overlay() -> None:
    node = Node("b9")
    raised = events.Raised(4, Event(name="brokerRecovered", broker="b9"))
    assert Judged(4) not in node.tell(raised)
    effects = node.tell(events.TopologySeen(Topology.of([*LINE.by_ends, ("b4", "b9")])))
    assert effects[-2:] == [Note("b9: brokerRecovered was raised"), Judged(4)]


def test_a_broker_that_has_moved_is_dialled_where_it_is_now() -> None:
    node = Node()
    moved = events.OwnerSeen("b3", owner(2, by="b0"))
    assert DialBroker("b3") in node.tell(moved)
    assert node.tell(moved) == [], "that is known"


def test_a_deputy_that_has_ended_does_not_answer() -> None:
    node = Node()
    ping = events.Heard("b0", wire.Ping(number=1, broker="b1"))
    assert told(node.tell(ping), wire.Pong)
    other = events.Heard("b0", wire.Ping(number=1, broker="b2"))
    assert not told(node.tell(other), wire.Pong)
    node.core.known.here["b2"] = LocalBroker(owner(2, by="b1"), LINE.neighbours["b2"])
    assert told(node.tell(other), wire.Pong)
    node.tell(events.DeputyLost("b2"))
    assert not told(node.tell(other), wire.Pong)


def _ballots(effects: Iterable[Effect]) -> list[tuple[str, Any]]:
    return [(to, decode(ballot.data)) for to, ballot in told(effects, wire.PackedBallot)]


def _vote_for(node: Node, leader: str, view: int) -> list[Effect]:
    """b0 and b3 follow; with b1 itself that is a majority of five."""
    effects: list[Effect] = []
    for voter in ("b0", "b3"):
        vote = Vote(election=GRANT.id, life=0, leader=leader, view=view, accepted=None)
        effects += node.tell(events.Heard(voter, wire.PackedBallot(data=encode(vote))))
    return effects


def test_from_a_lost_connection_to_the_deputy() -> None:
    """What was asked for while the timer ran is used, and given back when it was not needed after all."""
    node = Node()
    node.answer(WriteBroker)
    node.connected("b2")
    node.wait(0.001)
    node.tell(events.Disconnected("b2"))
    assert [type(each) for each in node.open.values()] == [Look, Examine]
    node.answer(Look, Seen(owner(), 7, "what was seen"))
    node.answer(Examine, Evidence.REFUSED)
    assert [type(each) for each in node.open.values()] == [AskGrant], "the timer still runs"
    node.answer(AskGrant, GRANT)
    assert not _ballots(node.effects)
    node.wait(0.03)
    informed = [to for to, each in _ballots(node.effects) if isinstance(each, GroupInfo)]
    assert informed == ["b0", "b3", "b4"]
    assert {to for to, _ in told(node.effects, wire.Cause)} == {"b0", "b3", "b4"}
    leader = next(each.leader for _, each in _ballots(node.effects) if isinstance(each, Vote))
    view = GRANT.candidates.index("b1")
    effects = _vote_for(node, "b1", view)
    assert leader == GRANT.candidates[0]
    proposed = [each for _, each in _ballots(effects) if isinstance(each, NewLeader)]
    assert proposed[0].decision == (Delete(broker="b2", rule="deleteBrokerRules"),), "the refusal is fresh"
    for member in ("b0", "b3"):
        accepted = Accepted(election=GRANT.id, life=0, view=view)
        node.tell(events.Heard(member, wire.PackedBallot(data=encode(accepted))))
    assert any(isinstance(each, Decided) for _, each in _ballots(node.effects))
    assert Note(f"b1: leads {GRANT.id}, view {view}: {proposed[0].decision}") in node.effects
    (stand_in,) = [each for each in node.open.values() if isinstance(each, StandIn)]
    assert stand_in.seen.basis == "what was seen"
    _becomes_the_deputy(node)


def _becomes_the_deputy(node: Node) -> None:
    effects = node.answer(StandIn, owner(2, by="b1"))
    assert DialBroker("b2") in effects
    assert KeepConnection("b3") in effects, "the neighbours of the deputy are ours now"
    far = Follow(frozenset(LINE.ids))
    assert far in effects, "the brokers around it are followed from now on"
    assert told(effects, wire.NewOwner) == [("b3", told(effects, wire.NewOwner)[0][1])]
    node.wait(LATER_SECONDS / 4 - 0.001)
    assert not [each for each in node.open.values() if isinstance(each, Release)], "neighbours are first"
    node.wait(0.2)
    (released,) = [each for each in node.open.values() if isinstance(each, Release)]
    assert released.adaptation is not None
    assert (released.adaptation.outcome, released.adaptation.leader) == ("done", "b1")
    assert released.adaptation.timeout_ms >= 30.0
    node.wait(LATER_SECONDS)
    (record,) = (each.record for each in node.open.values() if isinstance(each, WriteBroker))
    assert (record.id, record.state, record.heir) == ("b2", "down", "b1"), "clients find it there"


def test_a_broker_that_died_before_its_place_in_the_overlay_was_known_is_asked_about_when_it_is() -> None:
    without = Topology.of(pairwise(["b0", "b1"]))
    node = Node(topology=without)
    node.tell(events.LinksSeen({"b1": frozenset({"b0", "b2"})}))
    node.connected("b2")
    node.wait(0.001)
    node.tell(events.Disconnected("b2"))
    node.answer(Examine, Evidence.REFUSED)
    node.wait(0.05)
    assert not [each for each in node.open.values() if isinstance(each, AskGrant)]
    node.tell(events.TopologySeen(LINE))
    assert [each.request.target for each in node.open.values() if isinstance(each, AskGrant)] == ["b2"]


def test_a_grant_that_was_asked_for_early_goes_back_when_another_has_become_the_deputy() -> None:
    node = Node()
    node.connected("b2")
    node.wait(0.001)
    node.tell(events.Disconnected("b2"))
    node.answer(Examine, Evidence.REFUSED)
    node.answer(AskGrant, GRANT)
    here = wire.NewOwner(broker="b2", life=2, host="127.0.0.1", port=7001, by="b3")
    effects = node.tell(events.Heard("b3", here))
    assert DialBroker("b2") in effects
    assert [each.grant for each in node.open.values() if isinstance(each, Release)] == [GRANT.id]
    assert KeepConnection("b3") in effects, "b2 is watched where its deputy is"


def test_a_grant_that_was_asked_for_early_goes_back_when_this_node_is_the_deputy_itself() -> None:
    """The grant of another node was first, and this node leads that group."""
    node = Node()
    node.answer(WriteBroker)
    node.connected("b2")
    node.wait(0.001)
    node.tell(events.Disconnected("b2"))
    node.answer(Examine, Evidence.REFUSED)
    node.answer(AskGrant, GRANT)
    node.core.known.begin(node.core.acting.carry_out(Delete(broker="b2"), crash=True))
    node.tell(events.Tick())
    node.answer(Look, Seen(owner(), 7, "what was seen"))
    node.answer(StandIn, owner(2, by="b1"))
    assert [each.grant for each in node.open.values() if isinstance(each, Release)] == [GRANT.id]


def test_the_leader_of_an_election_is_watched_until_it_is_done_or_for_a_while() -> None:
    for says_so in (True, False):
        node = Node("b0")
        node.tell(
            events.Heard("b1", wire.PackedBallot(data=encode(GroupInfo(election=GRANT.id, grant=GRANT))))
        )
        what = (Delete(broker="b2", rule="r"),)
        decided = Decided(election=GRANT.id, leader="b3", view=2, decision=what)
        effects = node.tell(events.Heard("b3", wire.PackedBallot(data=encode(decided))))
        assert KeepConnection("b3") in effects
        assert node.core.leading.leaders == ["b3"]
        if says_so:
            effects = node.tell(events.Heard("b3", wire.CarriedOut(election=GRANT.id)))
        else:
            node.wait(LEADER_SECONDS - 0.1)
            assert node.core.leading.leaders == ["b3"]
            before = len(node.effects)
            node.wait(0.2)
            effects = node.effects[before:]
        assert DropConnection("b3") in effects
        assert node.core.leading.leaders == []


def _judging() -> Node:
    """b0 is elected, and examines the broker."""
    node = _member("b0")
    for voter in ("b1", "b3"):
        vote = Vote(election=GRANT.id, life=0, leader="b0", view=0, accepted=None)
        node.tell(events.Heard(voter, wire.PackedBallot(data=encode(vote))))
    return node


def test_a_leader_that_judges_while_another_has_decided_proposes_nothing() -> None:
    node = _judging()
    decided = Decided(election=GRANT.id, leader="b3", view=2, decision=())
    node.tell(events.Heard("b3", wire.PackedBallot(data=encode(decided))))
    assert node.answer(Examine, Evidence.REFUSED) == []


def test_a_leader_that_cannot_judge_says_so_and_proposes_nothing() -> None:
    node = _judging()
    (number,) = (number for number, request in node.open.items() if isinstance(request, Examine))
    effects = node.tell(events.Failed(number, RegraftError("no route")))
    assert effects == [Note(f"b0: {GRANT.id} cannot be judged: no route", warning=True)]


def test_a_broker_that_answers_again_may_lead() -> None:
    for back in (False, True):
        node = Node()
        node.connected("b0")
        node.wait(0.001)
        node.tell(events.Disconnected("b0"))
        node.wait(1.0)
        if back:
            node.connected("b0")
        group = encode(GroupInfo(election=GRANT.id, grant=GRANT))
        effects = node.tell(events.Heard("b3", wire.PackedBallot(data=group)))
        leaders = {each.leader for _, each in _ballots(effects) if isinstance(each, Vote)}
        assert leaders == {"b0" if back else "b1"}


def test_an_election_without_a_majority_is_warned_of() -> None:
    node = _member("b0")
    node.wait(10.1)
    assert Note(f"b0: the election {GRANT.id}: no majority of 5 in 10 s", warning=True) in node.effects


def _member(id: str) -> Node:
    """A node that has been told of the group."""
    node = Node(id)
    node.tell(events.Heard("b1", wire.PackedBallot(data=encode(GroupInfo(election=GRANT.id, grant=GRANT)))))
    return node


def test_a_leader_with_nothing_to_do_need_not_be_watched() -> None:
    node = Node("b0")
    node.tell(events.Heard("b1", wire.PackedBallot(data=encode(GroupInfo(election=GRANT.id, grant=GRANT)))))
    decided = Decided(election=GRANT.id, leader="b3", view=2, decision=())
    assert KeepConnection("b3") not in node.tell(events.Heard("b3", wire.PackedBallot(data=encode(decided))))
    assert node.core.leading.leaders == []


def test_garbage_from_another_node_is_noted_and_changes_nothing() -> None:
    node = Node()
    (note,) = node.tell(events.Heard("b0", wire.PackedBallot(data=b"garbage")))
    assert isinstance(note, Note)
    assert note.warning
    assert note.text.startswith("b1: b0 says election: not a message")
