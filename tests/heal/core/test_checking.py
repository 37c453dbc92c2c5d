"""The event checker: when a node asks for a grant, and when it does not."""

from itertools import pairwise
from typing import Any

import pytest
from msgspec.structs import replace
from tests.heal.core.driving import ANSWER_SECONDS, CRASH, GRANT, LINE, RULES, Driven, b1, owner

from regraft.heal.core.checking import EARLY_SECONDS, Checking
from regraft.heal.core.judging import Judging
from regraft.heal.core.recording import Recording
from regraft.heal.core.requests import AskGrant, Examine, FindOwner, ReadComponents, Release, WriteBroker
from regraft.heal.core.states import WishState
from regraft.heal.core.tasks import Request
from regraft.heal.core.watching import WatchCallbacks, Watching
from regraft.heal.database.client import DatabasesAway
from regraft.heal.detection import Evidence, Suspect
from regraft.heal.grant import Denied, Member
from regraft.heal.rules import PAPER_RULES, check, parse
from regraft.heal.wire.messages import Cause, Message
from regraft.model.facts import Event, Load

GONE = Suspect("b2", Evidence.REFUSED, 0.03)
FAILING = Event(
    name="migrateBrokerRequest",
    broker="b1",
    arguments={"max_input_rate": 1.0, "min_output_rate": 2.0},
)
RELIEVE = """type oblig relieve(target database, Broker<T> broker) {
subject AdaptationManager; on brokerOverloaded(); do database.moveClients(broker);}"""


class Checker:
    """An event checker of b1 whose elections begin and never end."""

    def __init__(self) -> None:
        self.known = known = b1(b2=owner(), b4=owner(by="b3"))
        self.begun: list[str] = []
        self.watching = watching = Watching(known, WatchCallbacks(*[lambda _: None] * 4))
        self.checking = Checking(
            known,
            watching,
            Judging(known, watching),
            Recording(known),
            lambda grant: self.begun.append(grant.id),
        )
        answers: dict[type[Request[Any]], Any] = {
            AskGrant: GRANT,
            Release: None,
            Examine: Evidence.REFUSED,
            FindOwner: owner(),
            ReadComponents: {},
        }
        self.told: list[tuple[str, Message]] = []
        self.driven = Driven(known, answers, lambda node, message: self.told.append((node, message)))

    @property
    def asked(self) -> list[tuple[str, str]]:
        return [(each.request.kind, each.request.target) for each in self.driven.asked(AskGrant)]

    @property
    def released(self) -> list[str]:
        return [each.grant for each in self.driven.asked(Release)]


def test_the_group_is_asked_for_while_the_timer_runs_and_used_when_it_ends() -> None:
    checker = Checker()
    checker.checking.expect("b2")
    checker.checking.expect("b2")
    checker.driven.pass_time(0.05)
    assert checker.begun == [], "no broker is suspected yet"
    checker.checking.gone(GONE)
    checker.driven.pass_time(0.05)
    assert checker.begun == [GRANT.id]
    said = "b1: b2 does not answer: its process is gone", f"b1: has the grant {GRANT.id} after 0.0 ms"
    assert checker.driven.notes == [*said]
    (asked,) = checker.driven.asked(AskGrant)
    assert (asked.request.kind, asked.request.target, asked.request.asker) == ("delete", "b2", "b1")
    assert asked.request.suspects == ("b4",), "one that has a deputy cannot vote"
    assert checker.checking.wishes["delete", "b2"].machine.state is WishState.ELECTING


def test_the_members_that_can_vote_are_told_the_cause_and_how_long_it_took() -> None:
    checker = Checker()
    checker.checking.gone(GONE)
    checker.driven.pass_time(0.05)
    what = "b2 does not answer: its process is gone"
    cause = Cause(election=GRANT.id, cause=what, event=CRASH, timeout_ms=30.0, vote_ms=10.0)
    assert checker.told == [(member, cause) for member in ("b0", "b3", "b4")]


def test_what_is_refused_is_asked_for_again_ever_more_rarely() -> None:
    checker = Checker()
    times: list[float] = []

    def refuse(request: object) -> Denied:
        times.append(checker.known.now)
        return Denied("another election is under way")

    checker.driven.answers[AskGrant] = refuse
    checker.checking.gone(GONE)
    checker.driven.pass_time(12.0)
    pauses = [later - earlier - ANSWER_SECONDS for earlier, later in pairwise(times)]
    assert pauses == pytest.approx([0.1, 0.2, 0.4, 0.8, 1.6, 3.0, 3.0])


def test_a_grant_that_was_asked_for_too_early_is_given_back() -> None:
    checker = Checker()
    checker.checking.expect("b2")
    checker.checking.back("b2")
    checker.driven.pass_time(0.1)
    assert (checker.begun, checker.released) == ([], [GRANT.id])


def test_a_grant_that_is_not_needed_after_a_second_is_given_back() -> None:
    checker = Checker()
    checker.checking.expect("b2")
    checker.driven.pass_time(EARLY_SECONDS)
    assert checker.released == []
    checker.driven.pass_time(0.1)
    assert checker.released == [GRANT.id]


def test_no_grant_is_asked_for_about_a_broker_that_has_another_owner_by_then() -> None:
    checker = Checker()
    checker.checking.gone(GONE)
    checker.known.owners["b2"] = owner(3, by="b3")
    checker.driven.pass_time(0.1)
    assert checker.begun == []


def test_a_grant_that_came_early_is_given_back_if_the_broker_has_another_owner_by_then() -> None:
    checker = Checker()
    checker.checking.expect("b2")
    checker.driven.pass_time(0.1)
    checker.checking.gone(GONE)
    checker.known.owners["b2"] = owner(3, by="b3")
    checker.driven.pass_time(0.1)
    assert (checker.begun, checker.released) == ([], [GRANT.id])
    assert checker.checking.wishes == {}


def test_a_crash_is_asked_about_until_it_is_done_and_the_grant_goes_back_if_too_few_answer() -> None:
    checker = Checker()
    away = DatabasesAway("none answers")
    checker.driven.answers[AskGrant] = away
    checker.checking.gone(GONE)
    checker.driven.pass_time(1.0)
    assert len(checker.asked) > 2
    assert f"b1: no grant to delete b2: {away}" in checker.driven.notes
    checker.driven.answers[AskGrant] = GRANT
    checker.driven.pass_time(4.0)
    assert checker.begun
    assert checker.released, "the group has not come to an end in time"
    checker.known.owners["b2"] = owner(2, by="b3")
    checker.driven.pass_time(4.0)
    asked = len(checker.asked)
    checker.driven.pass_time(30.0)
    assert (len(checker.asked), checker.checking.wishes) == (asked, {})


def test_a_group_that_knows_this_node_in_another_life_is_given_back_and_the_record_put_right() -> None:
    """Its members would ignore the votes of this one."""
    checker = Checker()
    members = tuple(Member(id, life=int(id == "b1")) for id in LINE.ids)
    checker.driven.answers |= {AskGrant: replace(GRANT, members=members), WriteBroker: None}
    checker.checking.gone(GONE)
    checker.driven.pass_time(0.05)
    assert (checker.begun, checker.released) == ([], [GRANT.id])
    assert [each.record.id for each in checker.driven.asked(WriteBroker)] == ["b1"]
    assert checker.driven.warnings == ["b1: the database knows of another life of ours"]
    checker.driven.answers[AskGrant] = GRANT
    checker.driven.pass_time(0.2)
    assert checker.begun == [GRANT.id]


def test_a_newcomer_is_asked_about_until_a_group_has_come_to_an_end() -> None:
    checker = Checker()
    checker.checking.join("b9")
    checker.driven.pass_time(3.0)
    assert len(checker.begun) == 2, "too few members of the first group have answered"
    checker.checking.settled(GRANT.id)
    checker.driven.pass_time(30.0)
    assert (len(checker.begun), checker.checking.wishes) == (2, {})


def test_a_group_whose_members_could_not_be_reached_is_followed_by_one_that_does_not_count_on_them() -> None:
    """Otherwise two that died at once, and do not watch each other, would delay each other's elections."""
    checker = Checker()
    checker.known.connected |= {"b0", "b3"}
    checker.checking.gone(GONE)
    checker.driven.pass_time(2.5)
    first = checker.driven.asked(AskGrant)[0]
    assert first.request.suspects == ("b4",)
    checker.known.owners["b4"] = owner(3)  # it has come back by itself, and does not answer
    checker.driven.pass_time(4.0)
    assert checker.driven.asked(AskGrant)[-1].request.suspects == ("b4",), "it is not connected"
    checker.driven.answers[AskGrant] = Denied("that is no majority")
    checker.driven.pass_time(8.0)
    assert checker.driven.asked(AskGrant)[-1].request.suspects == (), "perhaps it was only slow"


def test_a_broker_that_answers_again_is_not_asked_about_any_more() -> None:
    checker = Checker()
    checker.checking.gone(GONE)
    checker.driven.pass_time(0.1)
    checker.checking.back("b2")
    checker.driven.pass_time(5.0)
    asked = len(checker.asked)
    checker.driven.pass_time(30.0)
    assert (len(checker.asked), checker.checking.wishes) == (asked, {})


def test_the_rules_are_asked_what_to_do_about_a_broker_that_answers_again() -> None:
    checker = Checker()
    checker.known.rules = check(parse(RELIEVE.replace("brokerOverloaded", "brokerRecovered")), {})
    checker.checking.back("b2")
    checker.driven.pass_time(0.05)
    assert checker.asked == [("shift", "b2")]


def test_a_broker_that_dies_again_while_its_first_death_is_decided_about_is_not_forgotten() -> None:
    checker = Checker()
    checker.checking.gone(GONE)
    checker.driven.pass_time(0.1)
    checker.known.owners["b2"] = owner(2)  # it was started again,
    checker.checking.gone(GONE)  # and has died again
    asked = len(checker.asked)
    checker.driven.pass_time(5.0)
    assert len(checker.asked) > asked
    assert ("delete", "b2") in checker.checking.wishes


def test_a_newcomer_is_put_where_fewest_links_are() -> None:
    checker = Checker()
    assert checker.checking.join("b9") == ""
    checker.driven.pass_time(0.05)
    assert checker.asked == [("add", "b9")]
    assert checker.checking.place() == "b0", "b4 is a deputy's"
    checker.known.topology = None
    assert "not in the overlay" in checker.checking.join("b8")


def test_a_newcomer_is_put_where_the_load_is_least_among_those_with_the_fewest_links() -> None:
    checker = Checker()  # b4 has a deputy
    loads = checker.watching.loads
    loads |= {"b0": Load(cpu=0.9), "b1": Load(cpu=0.1)}
    assert checker.checking.place() == "b0", "fewer links count before less load"
    detector = checker.watching.detector
    detector.watch("b0", 0.0)
    detector.lost("b0", 0.0)
    detector.tick(1.0)
    assert checker.checking.place() == "b1", "b0 is suspected"
    loads |= {"b1": Load(cpu=0.6), "b3": Load()}
    assert checker.checking.place() == "b3", (
        "a load that was not measured counts as none, an unknown one as half"
    )
    loads |= {"b3": Load(cpu=0.55)}
    assert checker.checking.place() == "b2"
    for id in ("b1", "b2", "b3"):
        detector.watch(id, 1.0)
        detector.lost(id, 1.0)
    detector.tick(2.0)
    loads.clear()
    assert checker.checking.place() == "b0", "if nobody is known to live, anybody"


def test_a_broker_about_to_fail_lets_others_lead_because_it_is_deleted_in_the_end() -> None:
    """Rule 3 calls for rule 1, and no node removes itself."""
    checker = Checker()
    checker.driven.result(checker.checking.happened(FAILING))
    checker.driven.pass_time(0.05)
    assert checker.asked == [("delete", "b1")]


def test_an_adaptation_for_an_overload_does_not_hide_a_failure() -> None:
    checker = Checker()
    checker.known.rules = check(parse(RELIEVE + PAPER_RULES), {"User Defined": 3.0})
    for _ in range(2):
        checker.driven.result(checker.checking.happened(Event(name="brokerOverloaded", broker="b1")))
    checker.driven.result(checker.checking.happened(FAILING))
    checker.driven.pass_time(0.05)
    assert [kind for kind, _ in checker.asked] == ["shift", "delete"]


def test_for_a_while_the_same_event_causes_no_second_adaptation_unless_somebody_asks_for_it() -> None:
    checker = Checker()
    checker.known.rules = check(parse(RELIEVE), {})
    overloaded = Event(name="brokerOverloaded", broker="b1")
    asked = []
    for until, by_somebody in ((8.0, False), (9.0, True), (19.0, False), (20.0, False)):
        checker.driven.result(checker.checking.happened(overloaded, asked=by_somebody))
        checker.driven.pass_time(0.5)
        checker.checking.settled(GRANT.id)
        checker.driven.pass_time(until - 0.5 - checker.known.now)
        checker.driven.pass_time(0.5)
        asked.append(len(checker.asked))
    assert asked == [1, 2, 2, 3]


def test_an_event_for_which_the_rules_ask_nothing_causes_no_adaptation() -> None:
    checker = Checker()
    unlikely = RELIEVE.replace("do database", "when 1 > 2; do database")
    checker.known.rules = check(parse(unlikely), {})
    checker.driven.result(checker.checking.happened(Event(name="brokerOverloaded", broker="b1")))
    assert checker.asked == []


def test_no_grant_is_asked_for_without_a_rule() -> None:
    checker = Checker()
    assert all(each.rule.on.name != "brokerRecovered" for each in RULES.rules)
    checker.driven.result(checker.checking.happened(Event(name="brokerRecovered", broker="b2")))
    checker.known.topology = None
    checker.driven.result(checker.checking.happened(CRASH))
    assert checker.asked == []
