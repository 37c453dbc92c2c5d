"""One member's ballot, message by message: what is sent to whom, when, and what is ignored."""

import pytest

from regraft.heal.election import (
    Accepted,
    Act,
    Choose,
    Decided,
    Effect,
    Elections,
    ElectionSettings,
    GaveUp,
    GroupInfo,
    Learned,
    NewLeader,
    Send,
    Vote,
    decode,
    encode,
)
from regraft.heal.election.ballot import MOST_VIEWS, Ballot
from regraft.heal.election.core import EARLY, REMEMBERED
from regraft.heal.election.messages import MAX_BYTES, Message, Proposal
from regraft.heal.grant import Grant, Member
from regraft.model import BadInput
from regraft.model.intents import Delete

SETTINGS = ElectionSettings(timer=0.125, growth=2.0, longest=0.5, resend=0.03125, patience=8.0, keep=16.0)
GRANT = Grant(
    id="e", kind="delete", asker="a", target="x", members=tuple(map(Member, "abcdx")), suspects=("x",)
)
WHAT = (Delete(broker="x", rule="r"),)
OTHER = (Delete(broker="d", rule="r"),)


def ballot(me: str, suspected: set[str] | None = None, grant: Grant = GRANT) -> Ballot:
    return Ballot(me, grant, SETTINGS, suspected if suspected is not None else set())


def vote(leader: str, view: int, accepted: Proposal | None = None) -> Vote:
    return Vote(election="e", leader=leader, view=view, accepted=accepted)


def to(message: Message, *members: str) -> list[Effect]:
    return [Send(each, message) for each in members]


INFO = GroupInfo(election="e", grant=GRANT)


def new(view: int, what: tuple[Delete, ...] = WHAT) -> NewLeader:
    return NewLeader(election="e", view=view, decision=what)


def accepted(view: int) -> Accepted:
    return Accepted(election="e", view=view)


def decided(leader: str, view: int, what: tuple[Delete, ...] = WHAT) -> Decided:
    return Decided(election="e", leader=leader, view=view, decision=what)


def leading() -> Ballot:
    """a, elected in view 0 by b and c."""
    a = ballot("a")
    a.begin(0.0)
    assert a.receive("b", vote("a", 0), 0.01) == []
    assert a.receive("c", vote("a", 0), 0.01) == [Choose("e", 0, GRANT)]
    return a


def test_the_asker_tells_the_group_and_all_follow_the_first_candidate() -> None:
    assert ballot("a").begin(0.0) == [*to(INFO, *"bcdx"), *to(vote("a", 0), *"bcdx")]
    assert ballot("b").begin(0.0) == to(vote("a", 0), *"acdx")


def test_a_leader_that_is_suspected_is_passed_over_but_not_oneself() -> None:
    assert ballot("c", {"a", "b"}).begin(0.0) == to(vote("c", 2), *"abdx")
    assert ballot("a", {"a"}).begin(0.0)[-1] == Send("x", vote("a", 0))
    assert ballot("b", {"a", "b", "c", "d"}).begin(0.0) == to(vote("b", 1), *"acdx")
    assert ballot("x", set("abcd")).begin(0.0) == to(vote("a", 0), *"abcd"), "nobody else is left"


def test_without_a_candidate_it_is_given_up() -> None:
    nobody = Grant(id="e", kind="delete", asker="a", target="x", members=(Member("x"),), suspects=("x",))
    member = ballot("x", grant=nobody)
    assert member.begin(1.0) == [GaveUp("e", "every member is suspected")]
    assert (member.over, member.forgettable(1.0), member.forgettable(0.9)) == (True, True, False)


def test_from_the_votes_to_the_decision() -> None:
    a = leading()
    assert a.receive("d", vote("a", 0), 0.02) == [], "it is asked once"
    assert a.chosen(1, WHAT, 0.02) == [], "of another view"
    assert a.chosen(0, WHAT, 0.02) == to(new(0), *"bcdx")
    assert a.chosen(0, OTHER, 0.03) == []
    assert a.receive("b", accepted(0), 0.03) == []
    assert a.receive("c", accepted(1), 0.03) == []
    assert a.receive("c", accepted(0), 0.04) == [
        Act("e", 0, WHAT),
        Learned("e", 0, "a", WHAT),
        *to(decided("a", 0), *"bcdx"),
    ]
    assert a.chosen(0, OTHER, 0.05) == []


def test_without_a_question_there_is_no_choice() -> None:
    a = ballot("a")
    a.begin(0.0)
    assert a.chosen(0, WHAT, 0.01) == []


def test_an_earlier_decision_binds_the_leader_and_the_latest_one_counts() -> None:
    a = ballot("a")
    a.begin(0.0)
    early, late = Proposal(1, OTHER), Proposal(2, WHAT)
    a.receive("b", vote("a", 4, early), 0.01)
    assert a.view == 4
    assert a.receive("c", vote("a", 4, late), 0.02) == to(new(4), *"bcdx"), "nothing is asked"
    assert a.latest([None, late, early]) == late
    assert a.latest([None]) is None


def test_votes_of_other_views() -> None:
    b = ballot("b")
    b.begin(0.0)
    assert b.receive("c", vote("c", 0), 0.01) == [], "it orders the candidates differently"
    assert b.receive("c", vote("b", 1), 0.01) == to(vote("b", 1), *"acdx"), "b follows into view 1"
    assert b.receive("d", vote("a", 0), 0.02) == [Send("d", vote("b", 1))], "d is behind"
    assert b.receive("d", vote("b", 1), 0.02) == [Choose("e", 1, GRANT)]
    assert b.receive("a", vote("b", MOST_VIEWS + 1), 0.02) == []
    assert b.view == 1


def test_a_proposal_is_accepted_from_the_leader_of_a_view_that_is_not_over() -> None:
    c = ballot("c")
    c.begin(0.0)
    assert c.receive("b", new(0), 0.01) == [], "b does not lead view 0"
    assert c.receive("a", new(0), 0.01) == [Send("a", accepted(0))]
    assert c.receive("b", new(1, OTHER), 0.02) == [Send("b", accepted(1))]
    assert (c.view, c.accepted) == (1, Proposal(1, OTHER))
    behind = vote("b", 1, Proposal(1, OTHER))
    assert c.receive("a", new(0), 0.03) == [Send("a", behind)]
    assert c.receive("b", new(1, OTHER), 0.04) == [Send("b", accepted(1))], "it may have been lost"
    # It votes with what it has accepted when the next view begins.
    assert c.suspected("b", 0.05) == to(vote("c", 2, Proposal(1, OTHER)), *"abdx")
    assert c.receive("a", vote("c", 2), 0.06) == []
    assert c.receive("d", vote("c", 2), 0.06) == to(new(2, OTHER), *"abdx")


def test_a_suspected_leader_ends_its_view_and_nobody_else_does() -> None:
    b = ballot("b")
    b.begin(0.0)
    assert b.suspected("c", 0.01) == []
    assert b.suspected("b", 0.01) == []
    assert b.suspected("a", 0.01) == to(vote("b", 1), *"acdx")


def test_views_take_longer_and_longer() -> None:
    assert [SETTINGS.of_view(view) for view in range(5)] == [0.125, 0.25, 0.5, 0.5, 0.5]
    assert SETTINGS.of_view(10**6) == 0.5
    b = ballot("b")
    b.begin(0.0)
    entered: list[tuple[int, float]] = []
    now = 0.0
    while len(entered) < 4:
        now = b.due
        before = b.view
        b.tick(now)
        if b.view != before:
            entered.append((b.view, now))
    assert entered == [(1, 0.125), (2, 0.375), (3, 0.875), (4, 1.375)]


def test_what_may_be_lost_is_said_again() -> None:
    b = ballot("b")
    b.begin(0.0)
    b.receive("a", vote("a", 0), 0.01)
    assert b.tick(0.03) == []
    assert b.due == 0.03125
    assert b.tick(0.03125) == [*to(INFO, *"cdx"), *to(vote("a", 0), *"acdx")]
    assert b.due == 0.0625
    a = leading()
    a.chosen(0, WHAT, 0.02)
    assert a.due == 0.02 + 0.03125
    a.receive("b", accepted(0), 0.03)
    assert a.tick(0.055) == [*to(INFO, *"dx"), *to(new(0), *"cdx")]


def test_an_election_without_a_majority_is_given_up_in_the_end() -> None:
    b = ballot("b")
    b.begin(0.0)
    now, effects = 0.0, []
    while not b.over:
        now = b.due
        effects = b.tick(now)
    assert now == 8.0
    assert effects == [GaveUp("e", "no majority of 5 in 8 s")]
    assert b.tick(9.0) == []
    assert b.receive("a", new(0), 9.0) == []
    assert b.suspected("a", 9.0) == []
    assert b.chosen(b.view, WHAT, 9.0) == []


def test_a_decision_is_learned_once_and_told_to_whoever_does_not_know_it() -> None:
    d = ballot("d")
    d.begin(0.0)
    assert d.receive("a", decided("a", 3), 0.5) == [Learned("e", 3, "a", WHAT), Send("a", accepted(3))]
    assert d.receive("a", decided("a", 3), 0.6) == [Send("a", accepted(3))]
    assert d.receive("b", vote("b", 5), 0.6) == [Send("b", decided("a", 3))]
    assert d.receive("b", new(5, OTHER), 0.6) == [Send("b", decided("a", 3))]
    assert d.receive("b", accepted(5), 0.6) == []
    assert (d.view, d.due) == (3, 16.5), "only the leader says it again"
    assert d.tick(16.0) == []
    assert (d.forgettable(16.4), d.forgettable(16.5)) == (False, True)


def test_the_leader_says_what_was_decided_ever_more_rarely_to_those_that_have_not_confirmed() -> None:
    a = leading()
    a.chosen(0, WHAT, 0.0)
    a.receive("b", accepted(0), 0.0)
    a.receive("c", accepted(0), 0.0)
    assert a.due == 0.03125
    a.receive("b", accepted(0), 0.01)
    said = [Send(id, news) for id in "cdx" for news in (INFO, decided("a", 0))]
    assert a.tick(0.03125) == said
    assert a.due == 0.03125 + 0.0625
    for member in "cdx":
        a.receive(member, accepted(0), 0.05)
    assert a.tick(0.09375) == []
    assert a.due == 0.09375 + 0.125
    assert a.tick(16.0) == []


def test_the_next_leader_carries_the_decision_out_if_the_first_dies_before_it_has() -> None:
    for done in (False, True):
        b = ballot("b")
        b.begin(0.0)
        b.receive("a", decided("a", 0), 0.1)
        b.carried_out = done
        assert b.suspected("a", 0.2) == ([] if done else [Act("e", 1, WHAT)])
    c = ballot("c", suspects := {"b"})
    c.begin(0.0)
    c.receive("a", decided("a", 0), 0.1)
    assert c.suspected("b", 0.2) == [], "it does not lead"
    suspects.add("a")
    assert c.suspected("a", 0.2) == [Act("e", 2, WHAT)]
    d = ballot("d")
    d.begin(0.0)
    d.receive("a", decided("a", 0), 0.1)
    assert (d.suspected("a", 0.2), d.view) == ([], 1), "b is next"


@pytest.mark.parametrize("field", ["timer", "resend", "patience", "longest"])
def test_times_of_nothing_are_refused(field: str) -> None:
    with pytest.raises(BadInput, match="times must be positive"):
        ElectionSettings(**{field: 0.0})
    with pytest.raises(BadInput, match="growth at least 1"):
        ElectionSettings(growth=0.99)
    with pytest.raises(BadInput):
        ElectionSettings(keep=-0.1)
    assert ElectionSettings(growth=1.0, keep=0.0).growth == 1.0


# All elections of one broker


def lives(life: int) -> Grant:
    return Grant(id="e", kind="delete", asker="a", target="x", members=(Member("a"), Member("b", life)))


def test_only_members_in_the_life_that_the_group_knows_take_part() -> None:
    assert Elections("z").begin(GRANT, 0.0) == []
    assert Elections("b", 2).begin(lives(1), 0.0) == []
    b = Elections("b", 1)
    assert b.begin(lives(1), 0.0) != []
    assert b.begin(lives(1), 0.0) == [], "it has begun"
    assert b.receive("z", vote("a", 0), 0.0) == []
    assert b.receive("b", vote("a", 0), 0.0) == [], "from itself"
    another = Vote(election="e", life=1, leader="a", view=0, accepted=None)
    assert b.receive("a", another, 0.0) == []
    assert b.open["e"].heard == {"b"}
    b.receive("a", vote("a", 0), 0.0)
    assert b.open["e"].heard == {"a", "b"}


def test_a_group_is_believed_of_its_members() -> None:
    for sender, message in (
        ("z", INFO),
        ("a", GroupInfo(election="e", life=1, grant=GRANT)),
        ("a", GroupInfo(election="f", grant=GRANT)),
    ):
        b = Elections("b")
        assert b.receive(sender, message, 0.0) == []
        assert b.open == {}
    b = Elections("b")
    assert b.receive("c", INFO, 0.0) == to(vote("a", 0), *"acdx")


def test_what_comes_before_the_group_is_known_is_kept_for_it() -> None:
    c = Elections("c", settings=SETTINGS)
    for number in range(EARLY):
        c.receive("a", Vote(election=f"f{number}", leader="a", view=0, accepted=None), 0.0)
    assert c.receive("a", new(0), 0.0) == []
    assert c.begin(GRANT, 0.1)[-1] == Send("a", accepted(0))
    assert c.begin(GRANT, 0.1) == []


def test_an_election_that_is_over_does_not_begin_again() -> None:
    b = Elections("b", settings=SETTINGS)
    assert b.next_due() is None
    b.begin(GRANT, 0.0)
    assert b.next_due() == 0.03125
    b.receive("a", decided("a", 0), 0.0)
    b.tick(15.9)
    assert set(b.open) == {"e"}
    b.tick(16.0)
    assert (b.open, b.next_due()) == ({}, None)
    assert b.receive("c", INFO, 16.1) == []
    assert b.receive("c", vote("a", 0), 16.1) == []
    assert b.chosen("e", 0, WHAT, 16.1) == []
    b.carried_out("e")
    assert REMEMBERED > EARLY


def test_a_broker_that_is_suspected_leads_no_election_until_it_is_trusted_again() -> None:
    b = Elections("b", settings=SETTINGS)
    assert b.suspect("a", 0.0) == []
    assert b.begin(GRANT, 0.0) == to(vote("b", 1), *"acdx")
    b.trust("a")
    b.trust("a")
    assert b.suspected == set()
    b.carried_out("e")
    assert b.open["e"].carried_out


def test_messages_and_their_bytes() -> None:
    for message in (INFO, vote("a", 2, Proposal(1, WHAT)), new(3), accepted(4), decided("a", 5)):
        assert decode(encode(message)) == message
    with pytest.raises(BadInput, match="not a message"):
        decode(b"\xff")
    with pytest.raises(BadInput, match="views count from 0"):
        decode(encode(accepted(-1)))
    with pytest.raises(BadInput, match=f"a message of {MAX_BYTES + 1} bytes"):
        decode(bytes(MAX_BYTES + 1))
    with pytest.raises(BadInput, match="not a message"):
        decode(bytes(MAX_BYTES))
