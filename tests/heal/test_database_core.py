"""The pure functions of the destination database: grants, groups, placement, replicas that differ."""

import asyncio
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from regraft.heal.database import grants
from regraft.heal.database.grants import GrantQueue
from regraft.heal.database.group import concerned, distances, grant_of, neighbours, path
from regraft.heal.database.placement import asked, lacking, placed
from regraft.heal.database.protocol import PutRules
from regraft.heal.database.records import (
    BrokerRecord,
    Garbled,
    Map,
    RuleSet,
    RuleText,
    broker_record,
    encoded,
    merged,
)
from regraft.heal.database.rule_sets import RuleSets
from regraft.heal.grant import Grant, GrantRequest, Member
from regraft.model import BadInput

LINE = Map(epoch=3, brokers=[f"b{i}" for i in range(9)], links=[(f"b{i}", f"b{i + 1}") for i in range(8)])
STAR = Map(epoch=1, brokers=["hub", *(f"b{i}" for i in range(6))], links=[("hub", f"b{i}") for i in range(6)])


def delete(target: str, asker: str = "b0", **more: str) -> GrantRequest:
    return GrantRequest(kind="delete", asker=asker, target=target, **more)  # type: ignore[arg-type]


def queue(*requests: tuple[str, set[str]]) -> tuple[GrantQueue, list[str]]:
    found, ids = GrantQueue(), []
    for target, brokers in requests:
        added = grants.requested(found, delete(target), brokers)
        assert added is not None
        found, id = added
        ids.append(id)
    return found, ids


# Grants


def test_requests_about_the_same_brokers_wait_for_each_other_in_order_of_arrival() -> None:
    waiting, (a, b, c, d) = queue(("x", {"1", "2"}), ("y", {"2", "3"}), ("z", {"4"}), ("w", {"3"}))
    assert [entry.id for entry in grants.in_turn(waiting)] == [a, c]
    assert [getattr(grants.before(waiting, id), "id", None) for id in (a, b, c, d)] == [None, a, None, b]
    after = grants.released(waiting, a)
    assert [entry.id for entry in grants.in_turn(after)] == [b, c]
    assert [entry.id for entry in grants.in_turn(grants.released(after, b))] == [c, d]


def test_all_nodes_that_notice_one_crash_share_one_grant() -> None:
    first, id = grants.requested(GrantQueue(), delete("x", "b1"), {"b1"}) or (GrantQueue(), "")
    assert grants.requested(first, delete("x", "b2"), {"b2"}) == (first, id)
    other = grants.requested(first, GrantRequest(kind="migrate", asker="b1", target="x"), {"b1"})
    assert other is not None
    assert other[1] != id


def test_the_group_is_written_once() -> None:
    waiting, (id,) = queue(("x", {"1"}))
    one, two = (Grant(id=id, kind="delete", asker=asker, target="x", members=()) for asker in ("1", "2"))
    kept = grants.granted(grants.granted(waiting, id, one), id, two)
    assert getattr(grants.entry_of(kept, id), "grant", None) == one


def test_an_asker_that_dies_with_a_grant_makes_way_after_a_while_by_each_observers_own_clock() -> None:
    waiting, (a, b) = queue(("x", {"1"}), ("y", {"1"}))
    seen = grants.observed(waiting, {}, 100.0)
    assert seen == {a: 100.0}  # a request that waits is not counted
    assert grants.overdue(waiting, seen, 109.0, 10.0) == ()
    assert grants.overdue(waiting, seen, 111.0, 10.0) == (a,)
    assert grants.observed(grants.released(waiting, a), seen, 111.0) == {b: 111.0}


def test_a_full_queue_takes_no_request(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(grants, "MOST_WAITING", 1)
    waiting, _ = queue(("x", {"1"}))
    assert grants.requested(waiting, delete("y"), {"2"}) is None


@given(
    st.lists(st.tuples(st.integers(0, 30), st.sets(st.integers(0, 5), min_size=1, max_size=3)), max_size=12)
)
def test_no_two_grants_share_a_broker_and_every_request_gets_its_turn(
    wanted: list[tuple[int, set[int]]],
) -> None:
    waiting, _ = queue(*((f"t{target}", {str(each) for each in brokers}) for target, brokers in wanted))
    served: list[str] = []
    while waiting.entries:
        now = grants.in_turn(waiting)
        assert now
        everybody = [broker for entry in now for broker in entry.brokers]
        assert len(everybody) == len(set(everybody))
        served.append(now[-1].id)
        waiting = grants.released(waiting, now[-1].id)
    assert len(served) == len({f"t{target}" for target, _ in wanted})


# Groups


def test_the_group_is_the_brokers_of_the_path_ordered_from_the_publisher() -> None:
    assert concerned(LINE, delete("b4", "b3", source="b6", destination="b2")) == (
        "b6",
        "b5",
        "b4",
        "b3",
        "b2",
    )
    assert path(neighbours(LINE), "b2", "b5") == ("b2", "b3", "b4", "b5")
    assert path(neighbours(LINE), "b2", "x") == ()


def test_all_neighbours_of_the_dead_broker_are_in_the_group() -> None:
    found = concerned(STAR, delete("hub", "b2", source="b2", destination="b5"))
    assert found == ("b2", "hub", "b0", "b1", "b3", "b4", "b5")


def test_a_short_path_gets_the_nearest_others_so_that_one_more_may_crash() -> None:
    assert concerned(LINE, delete("b0", "b1")) == ("b1", "b0", "b2", "b3", "b4")
    suspected = msgspec.structs.replace(delete("b1", "b2"), suspects=("b0",))
    group = concerned(LINE, suspected)
    assert len(group) == 7
    assert 2 * (len(set(group) - {"b0", "b1"}) - 1) > len(group)


def test_a_group_without_a_living_majority_is_refused() -> None:
    two = Map(brokers=["a", "b"], links=[("a", "b")])
    assert concerned(two, delete("b", "a")) == "1 of 2 brokers live: that is no majority"
    three = Map(brokers=["a", "b", "c"], links=[("a", "b"), ("b", "c")])
    assert concerned(three, delete("b", "a")) == ("a", "b", "c")


@pytest.mark.parametrize(
    ("request_", "reason"),
    [
        (delete("x"), "'x' is no broker of the overlay"),
        (delete("b1", "x"), "the asker 'x' is no broker of the overlay"),
        (GrantRequest(kind="add", asker="b0", target="b1"), "'b1' is in the overlay already"),
    ],
)
def test_a_request_about_brokers_that_are_not_there_is_refused(request_: GrantRequest, reason: str) -> None:
    assert concerned(LINE, request_) == reason
    assert grant_of("1", LINE, request_, {}) == reason


def test_a_request_of_another_kind_is_refused() -> None:
    with pytest.raises(BadInput, match="kind: must be one of delete, add"):
        GrantRequest(kind="explode", asker="a", target="b")


def test_a_grant_has_the_members_lives_and_addresses_and_those_that_may_not_lead() -> None:
    records = {
        "b3": BrokerRecord(id="b3", host="h", port=7, life=4),
        "b5": BrokerRecord(id="b5", state="down"),
    }
    found = grant_of("1-delete-b4", LINE, delete("b4", "b3", source="b3", destination="b5"), records)
    assert isinstance(found, Grant)
    assert found.members[0] == Member("b3", 4, "h", 7)
    assert (found.suspects, found.epoch) == (("b4", "b5"), 3)
    assert found.candidates[0] == "b3"


def test_a_new_broker_is_decided_on_by_its_neighbours_to_be() -> None:
    found = concerned(LINE, GrantRequest(kind="add", asker="b4", target="new", source="b3", destination="b4"))
    assert found == ("b3", "b4", "b5")  # one of the three may crash


def test_distances_are_counted_up_to_the_given_broker() -> None:
    assert distances(neighbours(LINE), "b0", "b2") == {"b0": 0, "b1": 1, "b2": 2}


# Placement


@given(
    st.dictionaries(st.sampled_from("abcdefghij"), st.sampled_from(["", "eu", "us"]), min_size=1),
    st.dictionaries(st.sampled_from(["d1", "d2", "d3", "d4"]), st.sampled_from(["eu", "us"]), min_size=1),
    st.sets(st.sampled_from(["d1", "d2", "d3", "d4"])),
)
def test_every_broker_has_two_living_holders_and_few_copies_are_made(
    brokers: dict[str, str], databases: dict[str, str], lost: set[str]
) -> None:
    before = placed(brokers, databases, {})
    assert all(len(set(holders)) == min(2, len(databases)) for holders in before.values())
    left = {id: region for id, region in databases.items() if id not in lost}
    if left:
        after = placed(brokers, left, before)
        assert all(set(holders) <= left.keys() for holders in after.values())
        assert all(len(holders) == min(2, len(left)) for holders in after.values())
        assert all(set(before[id]) & left.keys() <= set(after[id]) for id in brokers)


def test_a_database_of_the_brokers_region_comes_first_and_loads_are_even() -> None:
    databases = {"d1": "eu", "d2": "us", "d3": "us"}
    assert placed({"a": "us"}, databases, {})["a"] == ("d2", "d1")
    many = placed({f"b{i}": "" for i in range(30)}, databases, {})
    counts = [sum(database in holders for holders in many.values()) for database in databases]
    assert counts == [20, 20, 20]


def test_each_missing_broker_is_asked_for_at_a_holder_that_was_not_tried() -> None:
    holders = {"a": ("d1", "d2"), "b": ("d2", "d3"), "c": ("d1", "d3")}
    assert asked(["a", "b", "c", "x"], holders, "d1", ()) == {"d2": ("a", "b"), "d3": ("c",)}
    assert asked(["a", "b"], holders, "d1", ["d2"]) == {"d3": ("b",)}
    assert lacking({"a": ("d1",)}, {"a": ("d1", "d2"), "b": ("d2",)}) == {"d2": ("a", "b")}


# Replicas that differ


def record(version: int, writer: str = "d1", id: str = "a", **more: int) -> BrokerRecord:
    return BrokerRecord(id=id, version=version, writer=writer, **more)  # type: ignore[arg-type]


def test_the_newest_record_is_valid_and_databases_with_an_older_one_are_told() -> None:
    answers = {"d1": {"a": record(1)}, "d2": {"a": record(2)}, "d3": {}}
    result = merged(answers, {"a": ("d1", "d2", "d3", "d4")})
    assert result.records == {"a": record(2)}
    assert result.stale == {"d1": (record(2),), "d3": (record(2),)}  # d4 did not answer


def test_two_records_of_one_version_are_settled_the_same_way_everywhere() -> None:
    answers = {"d1": {"a": record(2, "d1")}, "d2": {"a": record(2, "d2")}}
    turned = dict(reversed(answers.items()))
    assert merged(answers, {}).records == merged(turned, {}).records == {"a": record(2, "d2")}


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "holds no BrokerRecord"),
        (b"{}", "holds no BrokerRecord"),
        (b'{"id": 5}', "holds no BrokerRecord"),
        (b"\xff", "holds no BrokerRecord"),
        (b"[" * 5000, "holds no BrokerRecord"),
        (encoded(record(1, id="b")), "is the record of 'b'"),
        (encoded(record(1, port=70_000)), "a port is below 65536"),
        (encoded(record(-1)), "must not be negative"),
        (encoded(BrokerRecord(id="a", state="mad")), "its state must be one of up, down, left, not 'mad'"),
        (encoded(BrokerRecord(id="a", notes={"x": "y" * 70_000})), "its notes are longer than"),
    ],
)
def test_an_impossible_record_is_refused_with_the_reason(data: bytes, reason: str) -> None:
    with pytest.raises(Garbled, match="d1: broker 'a': ") as fault:
        broker_record(data, "a", "d1")
    assert reason in str(fault.value)


def test_rules_that_are_too_many_together_are_not_stored() -> None:
    """Each is short enough, but brokers parse all of them as one text, and would have no rules."""
    head = "type oblig r{0}(target d, Broker<T> b) {{subject AdaptationManager;"
    text = head + " on addBrokerRequest(); do d.addBroker(b); // {1}\n}}"
    texts = tuple(RuleText(name=f"r{n}", text=text.format(n, "x" * 30_000)) for n in range(3))
    metadata: Any = SimpleNamespace(head=SimpleNamespace(value=None))
    nobody: Any = None
    answer = asyncio.run(RuleSets(nobody, metadata).put(PutRules(rules=RuleSet(rules=texts), expected=0)))
    assert "all rules together" in answer.refused
    assert "65536 are allowed" in answer.refused
