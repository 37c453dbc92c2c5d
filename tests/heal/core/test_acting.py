"""What a leader does, and what is recorded of it."""

import pytest
from tests.heal.core.driving import CAUSE, GRANT, LINE, Driven, b1, owner

from regraft.heal.core.acting import Acting, ActingCallbacks
from regraft.heal.core.effects import SendClientsAway
from regraft.heal.core.recording import Recording
from regraft.heal.core.repairs import Repairs
from regraft.heal.core.requests import (
    Claim,
    Examine,
    Look,
    ReadComponents,
    Release,
    RemoveDeadDeployer,
    Retire,
    StandIn,
    Sync,
)
from regraft.heal.database.client import DatabasesAway
from regraft.heal.detection import Evidence
from regraft.heal.election import Act
from regraft.heal.owner import NotTaken, Seen
from regraft.heal.wire.messages import Message, NewOwner
from regraft.model import RegraftError
from regraft.model.intents import Delete, Intent, Migrate, MoveClients


class Leader:
    """The node of b1. Session 7 holds the presence of b2. `deputies`, `leaving`: those that were reported."""

    def __init__(self, found: Evidence = Evidence.REFUSED, kind: type[Acting] = Acting) -> None:
        self.known = known = b1(b2=owner())
        self.deputies: list[str] = []
        self.leaving: list[str] = []
        self.told: list[tuple[str, Message]] = []
        others = ActingCallbacks(lambda id, owner: False, self.deputies.append, self.leaving.append)
        self.acting = kind(known, Repairs(known), others)
        answers = {
            Look: Seen(owner(), 7, "what was seen"),
            Examine: found,
            StandIn: owner(2, by="b1"),
            RemoveDeadDeployer: None,
            Sync: None,
            Claim: "",
            Retire: None,
            ReadComponents: {},
        }
        self.driven = Driven(known, answers, lambda node, message: self.told.append((node, message)))

    def carry_out(self, intent: Intent, *, crash: bool) -> str:
        return self.driven.result(self.acting.carry_out(intent, crash=crash))


def test_a_leader_does_not_remove_itself_and_says_so() -> None:
    assert "does not remove itself" in Leader().carry_out(Delete(broker="b1"), crash=False)


@pytest.mark.parametrize(("reason", "asked"), [("b3 does not answer", 1), ("", 2)])
def test_a_broker_whose_components_could_not_leave_is_not_deleted(reason: str, asked: int) -> None:
    done: list[Intent] = []

    class Moves(Acting):
        async def carry_out(self, intent: Intent, *, crash: bool) -> str:
            done.append(intent)
            return reason

    leader = Leader(kind=Moves)
    for components in (("chat",), ()):  # those that are named, or all
        done.clear()
        decision = (Migrate(source="b2", targets=("b3",), components=components), Delete(broker="b2"))
        reasons = leader.driven.result(leader.acting.carry_out_all(decision, crash=False))
        assert len(done) == asked
        assert reasons == ([reason, "b2 stays: its components could not leave"] if reason else [])


def test_a_broker_that_still_has_a_component_is_not_deleted() -> None:
    leader = Leader(kind=type("Moves", (Acting,), {"carry_out": _done}))
    leader.driven.answers[ReadComponents] = {"b2": ("chat",)}
    decision = (Migrate(source="b2", targets=("b3",)), Delete(broker="b2"))
    reasons = leader.driven.result(leader.acting.carry_out_all(decision, crash=False))
    assert reasons == ["b2 stays: chat has not left it"]


async def _done(self: Acting, intent: Intent, *, crash: bool) -> str:
    return ""


def test_a_dead_broker_gets_a_deputy_which_its_neighbours_are_told_of() -> None:
    leader = Leader()
    assert leader.carry_out(Delete(broker="b2"), crash=True) == ""
    assert leader.deputies == ["b2"]
    assert leader.known.node_of("b2") == "b1"
    assert leader.known.here["b2"].neighbours == LINE.neighbours["b2"]
    ((node, here),) = leader.told
    assert isinstance(here, NewOwner)
    assert (node, here.broker, here.by, here.life) == ("b3", "b2", "b1", 2)
    assert "b1: is the deputy of b2, life 2" in leader.driven.notes
    leader.driven.pass_time(1.0)
    assert leader.driven.asked(RemoveDeadDeployer) == [RemoveDeadDeployer(7)]
    assert leader.driven.asked(Retire) == []


def test_a_deputy_serves_though_the_lease_of_a_dead_deployer_cannot_be_removed() -> None:
    leader = Leader()
    leader.driven.answers[RemoveDeadDeployer] = RegraftError("ZooKeeper is away")
    assert leader.carry_out(Delete(broker="b2"), crash=True) == ""
    leader.driven.pass_time(1.0)
    assert leader.driven.warnings == [f"b1: {RemoveDeadDeployer(7)}: ZooKeeper is away"]


def test_two_decisions_about_the_same_broker_make_one_deputy() -> None:
    """A second one in this process would end the first, and its end would be taken for that of both."""
    leader = Leader()
    first, second = (
        leader.known.begin(leader.acting.carry_out(Delete(broker="b2"), crash=True)) for _ in range(2)
    )
    leader.driven.pass_time(5.0)
    assert (first.over.value, second.over.value) == ("", "")
    assert len(leader.driven.asked(StandIn)) == 1
    assert leader.deputies == ["b2"]


def test_a_decision_whose_predecessor_has_failed_tries_again() -> None:
    leader = Leader()
    taken = [*[NotTaken("it has changed meanwhile")] * 5, owner(2, by="b1")]
    leader.driven.answers[StandIn] = lambda request: taken.pop(0)
    first, second = (
        leader.known.begin(leader.acting.carry_out(Delete(broker="b2"), crash=True)) for _ in range(2)
    )
    leader.driven.pass_time(5.0)
    assert (first.over.value, second.over.value) == ("it has changed meanwhile", "")
    assert leader.deputies == ["b2"]


def test_what_was_looked_at_when_the_connection_was_lost_need_not_be_looked_at_again() -> None:
    leader = Leader()
    leader.acting.expect("b2")
    leader.driven.pass_time(0.1)
    leader.carry_out(Delete(broker="b2"), crash=True)
    assert len(leader.driven.asked(Look)) == 1
    assert leader.driven.asked(StandIn)[0].seen.basis == "what was seen"


def test_a_takeover_that_finds_something_changed_looks_again_and_gives_up_in_the_end() -> None:
    leader = Leader()
    leader.driven.answers[StandIn] = NotTaken("it has changed meanwhile")
    assert leader.carry_out(Delete(broker="b2"), crash=True) == "it has changed meanwhile"
    assert len(leader.driven.asked(Look)) == len(leader.driven.asked(Sync)) == 5


def test_a_living_broker_is_removed_if_the_overlay_may_lose_one_and_it_was_not_a_crash() -> None:
    leader = Leader(Evidence.SILENT)
    assert leader.carry_out(Delete(broker="b2"), crash=True) == ""
    assert leader.leaving == [], "it lives again"
    leader.driven.answers[Claim] = "that is the limit"
    assert leader.carry_out(Delete(broker="b2"), crash=False) == "that is the limit"
    assert (leader.leaving, leader.driven.asked(Retire)) == ([], [])
    leader.driven.answers[Claim] = ""
    assert leader.carry_out(Delete(broker="b2"), crash=False) == ""
    assert (leader.leaving, leader.driven.asked(Retire)) == (["b2"], [Retire("b2")])


def test_a_dead_broker_that_was_to_go_is_out_of_service() -> None:
    leader = Leader()
    assert leader.carry_out(Delete(broker="b2"), crash=False) == ""
    leader.driven.pass_time(0.1)
    assert leader.driven.asked(Retire) == [Retire("b2")]


def test_clients_are_sent_away_here_or_by_the_node_of_the_broker() -> None:
    leader = Leader()
    assert leader.carry_out(MoveClients(broker="b1", to="b0"), crash=False) == ""
    assert leader.driven.others == [SendClientsAway("b1", 10.0)]
    assert leader.carry_out(MoveClients(broker="b2", to="b0"), crash=False) == "b2 does not answer"
    assert leader.acting.clients_leave("b2", 1.0) == "b2 is not here"


def test_what_cannot_be_done_is_a_reason_and_the_rest_is_done() -> None:
    leader = Leader()
    leader.driven.answers[Look] = RegraftError("ZooKeeper is away")
    decision = (Delete(broker="b2"), MoveClients(broker="b1", to="b0"))
    assert leader.driven.result(leader.acting.carry_out_all(decision, crash=True)) == ["ZooKeeper is away"]
    assert leader.driven.others == [SendClientsAway("b1", 10.0)]


def test_all_four_phases_are_written_down_when_the_database_is_back() -> None:
    known = b1()
    trouble = [1, 2]
    driven = Driven(known, {Release: lambda _: DatabasesAway("none") if trouble and trouble.pop() else None})
    recording = Recording(known)
    recording.caused(CAUSE)
    driven.pass_time(0.02)
    act = Act(GRANT.id, 2, (Delete(broker="b2", rule="mine"),))
    recording.elected(act)
    driven.result(recording.over(GRANT, act, 12.5, []))
    assert len(driven.asked(Release)) == 3
    released = driven.asked(Release)[-1]
    adaptation = released.adaptation
    assert adaptation is not None
    assert released.grant == GRANT.id
    assert (adaptation.timeout_ms, adaptation.vote_ms, adaptation.adaptation_ms) == (30.0, 5.0, 12.5)
    assert adaptation.election_ms == pytest.approx(20.0)
    assert (adaptation.rules, adaptation.leader, adaptation.view) == (("mine",), "b1", 2)
    assert (adaptation.outcome, adaptation.cause) == ("done", "b2 does not answer")
