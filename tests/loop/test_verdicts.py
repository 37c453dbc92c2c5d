"""Every goal's verdict as a whole: kept or broken, hard or soft, its number, its limit and its words."""

import pytest

from regraft.loop.goals import GOALS, Limits, Seen, Verdict, goal_name
from regraft.loop.judging import beyond_chance, compare, weigh
from regraft.model import Topology
from regraft.model.assessment import Assessment, Number

STAR = Topology.of([("a", "b"), ("a", "c"), ("a", "d")])
RING = Topology.of([("a", "b"), ("b", "c"), ("c", "d"), ("a", "d")], kind="mesh")
TREE_NUMBERS: dict[str, Number] = {
    "routing_cost": 12.0,
    "max_broker_load": 90.0,
    "max_link_load": 60.0,
    "broker_load_balance": 0.8,
    "expected_latency_ms": 7.0,
    "max_topic_diameter": 3.0,
}


def verdict(
    topology: Topology,
    goal: str,
    limits: Limits,
    numbers: dict[str, Number] | None = None,
    k: dict[str, Number] | None = None,
) -> Verdict | None:
    known = TREE_NUMBERS if numbers is None else numbers
    seen = Seen(topology, Assessment(topology.sha256, known, {"k": k} if k else {}), 10.0)
    return next(each for each in GOALS if each.name == goal).judge(seen, limits)


def hard(goal: str, kept: bool | None, reason: str, number: float | None, limit: float | None) -> Verdict:
    return Verdict(goal=goal, hard=True, kept=kept, reason=reason, number=number, limit=limit)


def soft(goal: str, reason: str, number: float) -> Verdict:
    return Verdict(goal=goal, hard=False, kept=True, reason=reason, number=number)


def test_hard_goals_say_that_they_are_hard() -> None:
    assert [(each.name, each.hard) for each in GOALS] == [
        *((name, True) for name in ("validity", "degree", "capacity", "latency", "k")),
        *((name, False) for name in ("routing_cost", "diameter", "balance")),
    ]


def test_a_tree_is_valid_and_a_mesh_is_if_no_topic_is_cut() -> None:
    assert verdict(STAR, "validity", Limits()) == hard(
        "validity", True, "connected and without a cycle", 0.0, 0.0
    )
    assert verdict(RING, "validity", Limits(), k={"t": 1.0, "u": None}) == hard(
        "validity", True, "every topic is connected", 0.0, 0.0
    )
    assert verdict(RING, "validity", Limits(), k={"t": 0.0, "u": 0.0, "v": 2.0, "w": None}) == hard(
        "validity", False, "2 topics are not connected", 2.0, 0.0
    )


def test_a_degree_may_reach_its_limit() -> None:
    most = "the largest number of links of a broker is 3"
    assert verdict(STAR, "degree", Limits(max_degree=3)) == hard(
        "degree", True, f"{most}, at most 3", 3.0, 3.0
    )
    assert verdict(STAR, "degree", Limits(max_degree=2)) == hard(
        "degree", False, f"{most}, above the limit of 2", 3.0, 2.0
    )
    assert verdict(Topology.of([], ["a"]), "degree", Limits(max_degree=2)) == hard(
        "degree", True, "the largest number of links of a broker is 0, at most 2", 0.0, 2.0
    )
    nothing = Topology.of([], kind="mesh")
    assert verdict(nothing, "degree", Limits(max_degree=2)) == hard(
        "degree", True, "the largest number of links of a broker is 0, at most 2", 0.0, 2.0
    )
    assert verdict(STAR, "degree", Limits()) is None


def test_capacity_is_that_of_what_is_nearer_to_its_limit() -> None:
    broker = hard(
        "capacity", True, "the largest load of a broker is 9 messages/s, at most 9 messages/s", 9, 9
    )
    link = hard(
        "capacity", False, "the largest load of a link is 6 messages/s, above the limit of 5 messages/s", 6, 5
    )
    assert verdict(STAR, "capacity", Limits(broker_capacity=9.0)) == broker
    assert verdict(STAR, "capacity", Limits(link_capacity=5.0)) == link
    assert verdict(STAR, "capacity", Limits(broker_capacity=9.0, link_capacity=5.0)) == link
    assert verdict(STAR, "capacity", Limits(broker_capacity=9.0, link_capacity=7.0)) == broker
    assert verdict(STAR, "capacity", Limits()) is None
    assert verdict(RING, "capacity", Limits(broker_capacity=9.0)) is None


def test_a_capacity_that_cannot_be_said_comes_first() -> None:
    only_links: dict[str, Number] = {"max_link_load": 600.0}
    assert verdict(STAR, "capacity", Limits(broker_capacity=9.0, link_capacity=5.0), only_links) == hard(
        "capacity", None, "the largest load of a broker cannot be said (at most 9 messages/s)", None, None
    )


def test_what_may_carry_nothing_is_the_fullest() -> None:
    found = verdict(STAR, "capacity", Limits(broker_capacity=0.0, link_capacity=0.1))
    assert found is not None
    assert (found.kept, found.limit) == (False, 0.0)


def test_latency_may_reach_its_limit() -> None:
    assert verdict(STAR, "latency", Limits(latency_ms=7.0)) == hard(
        "latency", True, "the expected latency is 7 ms, at most 7 ms", 7.0, 7.0
    )
    assert verdict(STAR, "latency", Limits()) is None


def test_k_is_the_least_of_all_topics_and_its_number_is_what_is_missing() -> None:
    assert verdict(RING, "k", Limits(k=2), k={"t": 2.0, "u": None}) == hard(
        "k", True, "every topic is 2-connected", 0.0, 0.0
    )
    assert verdict(RING, "k", Limits(k=3), k={"t": 2.0, "u": 1.0, "v": 3.0}) == hard(
        "k", False, "2 topics are not 3-connected, the least is 1-connected", 2.0, 0.0
    )
    assert verdict(RING, "k", Limits(k=2), k={"t": 5.0}) == hard(
        "k", True, "every topic is 2-connected", 0.0, 0.0
    )
    assert verdict(RING, "k", Limits(k=2)) == hard("k", True, "every topic is 2-connected", 0.0, 0.0)
    assert verdict(RING, "k", Limits()) is None
    assert verdict(STAR, "k", Limits(k=2), k={"t": 1.0}) is None


def test_soft_goals_are_always_kept_and_silent_without_a_number() -> None:
    assert verdict(STAR, "routing_cost", Limits()) == soft("routing_cost", "the routing cost is 12", 12.0)
    assert verdict(RING, "routing_cost", Limits()) == soft("routing_cost", "the number of links is 4", 4.0)
    assert verdict(RING, "diameter", Limits()) == soft("diameter", "the largest topic diameter is 3", 3.0)
    assert verdict(STAR, "diameter", Limits()) is None
    assert verdict(STAR, "balance", Limits()) == soft(
        "balance", "the largest load of a broker, in units of the average, is 1.25", 1.25
    )
    for goal in ("routing_cost", "balance"):
        assert verdict(STAR, goal, Limits(), {}) is None
    assert verdict(STAR, "balance", Limits(), {"broker_load_balance": 0.0}) is None
    assert verdict(RING, "diameter", Limits(), {}) is None


def test_goals_in_words() -> None:
    names = [goal_name(goal) for goal in (None, "routing_cost", "k", "degree", "")]
    assert names == ["routing cost", "routing cost", "k-connectivity", "degree", ""]


KEPT, UNKNOWN, BROKEN = (
    hard("degree", kept, words, number, 2.0)
    for kept, words, number in ((True, "kept", 1.0), (None, "unknown", None), (False, "broken", 4.0))
)
CHEAP, DEAR = soft("routing_cost", "", 1.0), soft("routing_cost", "", 2.0)


@pytest.mark.parametrize(
    ("now", "then", "against"),
    [
        (KEPT, KEPT, None),
        (UNKNOWN, KEPT, None),
        (BROKEN, KEPT, None),
        (None, KEPT, None),
        (KEPT, UNKNOWN, "degree: unknown"),
        (UNKNOWN, UNKNOWN, None),
        (BROKEN, UNKNOWN, "degree: unknown"),
        (None, UNKNOWN, "degree: unknown"),
        (KEPT, BROKEN, "degree: broken"),
        (UNKNOWN, BROKEN, "degree: broken"),
        (BROKEN, BROKEN, None),
        (None, BROKEN, "degree: broken"),
    ],
)
def test_a_hard_goal_stays_what_it_was_or_gets_better(
    now: Verdict | None, then: Verdict, against: str | None
) -> None:
    found = weigh((*([now] if now else []), DEAR), (then, CHEAP), 0.0)
    assert found.against == against
    if against is None:
        mends = now is BROKEN and then is KEPT
        assert (found.improves, found.mends) == ("degree" if mends else "routing_cost", mends)
        assert found.gain == (0.75 if mends else 0.5)


def test_a_goal_that_is_mended_by_a_larger_number_gains_nothing() -> None:
    """A broken goal may be mended although its number grows, if its limit grows more."""
    more = Verdict(goal="degree", hard=True, kept=True, reason="", number=40.0, limit=10.0)
    found = weigh((BROKEN,), (more,), 0.0)
    assert (found.improves, found.mends, found.gain) == ("degree", True, 0.0)


def test_a_number_that_was_nothing_can_only_get_worse_and_one_below_nothing_can_get_better() -> None:
    def of(number: float) -> tuple[Verdict, ...]:
        return (soft("routing_cost", "", number),)

    assert weigh(of(0.0), of(1.0), 0.5).against == "routing cost would get worse: "
    assert weigh(of(-2.0), of(-3.0), 0.4).gain == 0.5


def test_what_was_compared_is_kept_in_the_comparison() -> None:
    seen = Seen(STAR, Assessment(STAR.sha256, TREE_NUMBERS, {}), 10.0)
    found = compare(seen, seen, Limits(max_degree=3), 0.0)
    assert [each.goal for each in found.now] == ["validity", "degree", "routing_cost", "balance"]
    assert found.now == found.then
    assert (found.improves, found.gain, found.mends, found.against) == (
        None,
        0.0,
        False,
        "no goal gets better",
    )


def test_a_gain_that_may_be_chance_is_none() -> None:
    found = weigh((DEAR,), (CHEAP,), 0.0)
    assert beyond_chance(found, 0.0, 2.0, 1.0) == found, "exact traffic"
    clear = beyond_chance(found, 0.2, 2.0, 50.0)
    assert (clear.gain, clear.error, clear.improves, clear.against) == (0.5, 0.2, "routing_cost", None)
    assert clear.gain_numbers == {"gain": 0.5, "gain_error": 0.2}
    for error in (0.25, 0.3):
        unclear = beyond_chance(found, error, 2.0, 50.0)
        assert unclear.against == (
            f"50.0% less routing cost, but {2 * error:.1%} may be chance: one publication in 50 was recorded"
        )
        assert unclear.gain_numbers == {"gain": 0.5, "gain_error": error}


def test_what_is_not_a_gain_of_the_routing_cost_is_not_tested_for_chance() -> None:
    mends = weigh((BROKEN, DEAR), (KEPT, CHEAP), 0.0)
    refused = weigh((CHEAP,), (DEAR,), 0.0)
    for found in (mends, refused):
        assert beyond_chance(found, 9.0, 2.0, 50.0) == found
