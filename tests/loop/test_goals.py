"""Goals give their verdicts in words and numbers; a later goal never breaks an earlier one."""

from regraft.evaluate import assess
from regraft.loop.goals import Limits, Seen, Verdict
from regraft.loop.judging import compare, judge, weigh
from regraft.model import Link, Topology
from regraft.model.traffic import TrafficClass
from regraft.model.workload import Workload

TALK = Workload((TrafficClass(frozenset({"a", "d"}), 100.0),))
CHAIN = Topology.of([("a", "b"), ("b", "c"), ("c", "d")])
STAR = Topology.of([("a", "b"), ("a", "c"), ("a", "d")])


def seen(topology: Topology, workload: Workload = TALK, seconds: float = 10.0) -> Seen:
    return Seen(topology, assess(topology, workload), seconds)


def named(topology: Topology, limits: Limits, workload: Workload = TALK) -> dict[str, bool | None]:
    return {verdict.goal: verdict.kept for verdict in judge(seen(topology, workload), limits)}


def test_goals_without_a_limit_are_silent_and_the_order_is_that_of_priority() -> None:
    assert list(named(CHAIN, Limits())) == ["validity", "routing_cost", "balance"]
    limits = Limits(max_degree=2, broker_capacity=1e9, link_capacity=1e9, latency_ms=5)
    assert list(named(CHAIN, limits)) == [
        "validity",
        "degree",
        "capacity",
        "latency",
        "routing_cost",
        "balance",
    ]


def test_degree_is_broken_by_a_hub_and_says_by_how_much() -> None:
    verdict = next(each for each in judge(seen(STAR), Limits(max_degree=2)) if each.goal == "degree")
    assert verdict.kept is False
    assert "is 3, above the limit of 2" in verdict.reason


def test_capacity_counts_messages_a_second() -> None:
    assert named(CHAIN, Limits(broker_capacity=10.0))["capacity"] is True
    assert named(CHAIN, Limits(broker_capacity=9.9))["capacity"] is False
    assert named(CHAIN, Limits(link_capacity=9.9))["capacity"] is False


def test_capacity_reports_the_fuller_of_brokers_and_links() -> None:
    verdict = next(
        each
        for each in judge(seen(CHAIN), Limits(broker_capacity=1000.0, link_capacity=20.0))
        if each.goal == "capacity"
    )
    assert "link" in verdict.reason


def test_a_latency_that_is_not_known_is_neither_kept_nor_broken() -> None:
    unknown = next(each for each in judge(seen(CHAIN), Limits(latency_ms=5)) if each.goal == "latency")
    assert (unknown.kept, unknown.hard) == (None, True)
    assert unknown.reason.endswith("cannot be said (at most 5 ms)")
    timed = Topology(CHAIN.brokers, tuple(Link(link.ends, latency_ms=2.0) for link in CHAIN.links))
    assert named(timed, Limits(latency_ms=5))["latency"] is False
    assert named(timed, Limits(latency_ms=6))["latency"] is True


def test_a_mesh_is_judged_by_k_links_and_diameter() -> None:
    ring = Topology.of([("a", "b"), ("b", "c"), ("c", "d"), ("a", "d")], kind="mesh")
    wanted = Workload(interest={"t": frozenset("abcd")})
    assert named(ring, Limits(k=2), wanted) == {
        "validity": True,
        "k": True,
        "routing_cost": True,
        "diameter": True,
    }
    assert named(ring, Limits(k=3), wanted)["k"] is False
    line = Topology.of([("a", "b"), ("b", "c"), ("c", "d")], kind="mesh")
    assert named(line, Limits(), wanted)["validity"] is True  # connected once is connected
    path = Topology.of([("a", "b"), ("b", "c")], ["d"], kind="mesh")
    assert named(path, Limits(), wanted)["validity"] is False


def test_a_mesh_says_how_many_topics_are_not_connected() -> None:
    wanted = Workload(interest={"t": frozenset("abcd"), "u": frozenset("ad"), "v": frozenset("ab")})
    reasons = []
    for links in ([("a", "b"), ("b", "c")], [("a", "b"), ("b", "c"), ("a", "d")]):
        verdicts = judge(seen(Topology.of(links, "abcd", kind="mesh"), wanted), Limits())
        reasons += [each.reason for each in verdicts if each.goal == "validity"]
    assert reasons == ["2 topics are not connected", "every topic is connected"]


def test_a_candidate_is_taken_for_the_first_goal_that_it_improves() -> None:
    found = compare(seen(CHAIN), seen(STAR), Limits(), 0.005)
    assert found.against is None
    assert found.improves == "routing_cost"
    assert 0.0 < found.gain < 1.0
    assert not found.mends


def test_a_candidate_that_breaks_a_hard_goal_is_refused_whatever_it_saves() -> None:
    found = compare(seen(CHAIN), seen(STAR), Limits(max_degree=2), 0.005)
    assert found.against is not None
    assert found.against.startswith("degree")


def test_a_later_goal_does_not_make_an_earlier_one_worse() -> None:
    """The chain is better balanced, but its routing cost is higher."""
    found = compare(seen(STAR), seen(CHAIN), Limits(), 0.005)
    assert found.against is not None
    assert found.against.startswith("routing cost would get worse")


def test_mending_a_broken_hard_goal_may_cost() -> None:
    found = compare(seen(STAR), seen(CHAIN), Limits(max_degree=2), 0.005)
    assert found.against is None
    assert (found.improves, found.mends) == ("degree", True)


def test_a_hard_goal_that_is_broken_may_not_get_worse() -> None:
    ids = [("h", f"b{number}") for number in range(6)]
    hub = Topology.of(ids)
    less = Topology.of([*ids[:5], ("b0", "b5")])
    limits = Limits(max_degree=3)
    talk = Workload((TrafficClass(frozenset({"b0", "b5"}), 100.0),))
    assert compare(seen(hub, talk), seen(less, talk), limits, 0.005).improves == "routing_cost"
    against = compare(seen(less, talk), seen(hub, talk), limits, 0.005).against
    assert against is not None
    assert against.startswith("degree")


def test_a_link_that_is_fuller_than_the_broker_was_is_worse_whatever_the_counts_say() -> None:
    """Both limits are broken: 11 of 10 at a broker is better than 3 of 1 on a link, though 3 is less."""

    def verdict(number: float, limit: float) -> tuple[Verdict, ...]:
        return (
            Verdict(goal="capacity", hard=True, kept=False, reason="full", number=number, limit=limit),
            Verdict(goal="routing_cost", hard=False, kept=True, reason="", number=100.0 / number),
        )

    broker, link = verdict(11.0, 10.0), verdict(3.0, 1.0)
    assert weigh(broker, link, 0.005).against == "capacity: full"
    assert weigh(link, broker, 0.005).against is None


def test_the_same_topology_gains_nothing() -> None:
    assert compare(seen(CHAIN), seen(CHAIN), Limits(), 0.005).against == "no goal gets better"
