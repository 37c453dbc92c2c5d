"""The rule interpreter: whether a broker has crashed, what rules ask for, what counts against the limits."""

import pytest
from msgspec.structs import replace
from tests.heal.core.driving import CAUSE, GRANT, LINE, Driven, b1, owner

from regraft.heal.core.judging import Judgement, Judging
from regraft.heal.core.requests import Examine, FindOwner
from regraft.heal.core.watching import WatchCallbacks, Watching
from regraft.heal.detection import Evidence
from regraft.heal.election import Learned
from regraft.heal.limits import RemovalLimits
from regraft.heal.owner import Owner
from regraft.heal.wire.messages import AskReach, Cause, Message
from regraft.model.facts import Event
from regraft.model.intents import Delete


class Judge:
    """At the node of b1: `found` is what the address of b2 shows, `reached` the nodes that reach b2."""

    def __init__(
        self,
        found: Evidence,
        reached: dict[str, bool] | None = None,
        of_b2: Owner | None = None,
        limits: RemovalLimits | None = None,
    ) -> None:
        known = b1(limits, b2=of_b2 or owner())
        self.driven = Driven(known, {Examine: found}, self._said)
        self.judging = Judging(known, Watching(known, WatchCallbacks(*[lambda _: None] * 4)))
        self.asked: list[str] = []
        self._reached = reached or {}

    def _said(self, node: str, message: Message) -> None:
        assert isinstance(message, AskReach)
        assert message.broker == "b2"
        self.asked.append(node)
        if node in self._reached:
            self.driven.known.answered(message.number, self._reached[node])

    def decide(self, cause: Cause = CAUSE) -> Judgement:
        return self.driven.result(self.judging.decide(GRANT, cause))

    def learned(self, broker: str, *, crash: bool) -> None:
        self.judging.learned(Learned(f"0-delete-{broker}", 0, "b0", (Delete(broker=broker),)), crash=crash)


def test_a_process_that_is_gone_is_deleted_by_the_rule() -> None:
    judge = Judge(Evidence.REFUSED)
    assert judge.decide().intents == (Delete(broker="b2", rule="deleteBrokerRules"),)
    assert judge.asked == []


@pytest.mark.parametrize(
    ("reached", "reason"), [({"b3": True}, "the link has failed"), ({}, "nothing shows that it is gone")]
)
def test_a_broker_whose_machine_answers_is_not_deleted(reached: dict[str, bool], reason: str) -> None:
    """If a member reaches it, only the link has failed; if none does, it may be slow."""
    judge = Judge(Evidence.SILENT, reached)
    found = judge.decide()
    assert found.intents == ()
    assert reason in found.reason
    assert judge.asked == ["b0", "b3", "b4"], "those of the group that may vote"


def test_a_broker_that_is_to_go_is_deleted_though_it_lives() -> None:
    judge = Judge(Evidence.SILENT, {"b3": True})
    leaving = Event(name="deleteBrokerRequest", broker="b2")
    assert [type(each) for each in judge.decide(replace(CAUSE, event=leaving)).intents] == [Delete]
    assert (judge.asked, judge.driven.asked(Examine)) == ([], [])


def test_a_broker_whose_session_has_ended_is_deleted_though_its_machine_answers() -> None:
    assert [type(each) for each in Judge(Evidence.GONE).decide().intents] == [Delete]


def test_one_that_has_a_deputy_already_is_left_alone() -> None:
    found = Judge(Evidence.SILENT, of_b2=owner(by="b3")).decide()
    assert found.intents == ()
    assert "deputy at b3" in found.reason


def test_where_an_unknown_broker_was_is_read_and_without_that_it_is_left_alone() -> None:
    judge = Judge(Evidence.REFUSED)
    judge.driven.known.owners.clear()
    judge.driven.answers[FindOwner] = owner()
    assert [type(each) for each in judge.decide().intents] == [Delete]
    judge.driven.known.owners.clear()
    judge.driven.answers[FindOwner] = None
    assert "it is not known where b2 was" in judge.decide().reason


def test_limits_count_what_was_decided_and_refuse_more() -> None:
    judge = Judge(Evidence.REFUSED, limits=RemovalLimits(removals=1))
    judge.learned("b9", crash=True)
    found = judge.decide()
    assert found.intents == ()
    assert "1 brokers were removed" in found.reason


def test_a_removal_counts_no_longer_than_the_window_of_the_limits() -> None:
    judge = Judge(Evidence.REFUSED, limits=RemovalLimits(removals=1, window=60.0))
    judge.learned("b9", crash=True)
    judge.driven.pass_time(59.9)
    assert len(judge.driven.result(judge.judging.facts(())).removed) == 1
    judge.driven.pass_time(0.1)
    assert judge.driven.result(judge.judging.facts(())).removed == ()
    assert [type(each) for each in judge.decide().intents] == [Delete]


def test_one_that_has_joined_again_is_not_missing() -> None:
    """Of five brokers four died and joined again: the fifth may still be removed, though b1 watched none."""
    judge = Judge(Evidence.REFUSED, limits=RemovalLimits(removals=100))
    for id in ("b0", "b1", "b3", "b4"):
        judge.learned(id, crash=True)
    assert [type(each) for each in judge.decide().intents] == [Delete]


def test_a_removal_that_was_decided_and_not_carried_out_does_not_count() -> None:
    """The components of b3 could not leave, so it stayed. It may be tried again."""
    judge = Judge(Evidence.REFUSED)
    judge.learned("b3", crash=False)
    assert judge.driven.result(judge.judging.facts(())).removed == ()
    judge.learned("b9", crash=False)
    facts = judge.driven.result(judge.judging.facts(()))
    assert [each.broker for each in facts.removed] == ["b9"]
    assert facts.overlay == LINE
