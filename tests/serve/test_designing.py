"""Networks, designs within limits, meshes, previews: how the loop finds a better topology."""

import itertools
from dataclasses import replace

import pytest

from regraft.estate.windows import MeasuredWindow, fitting, together
from regraft.evaluate import saving_error
from regraft.forecast import Errors, Forecast
from regraft.loop.goals import Limits
from regraft.loop.policy import Policy
from regraft.model import Action, Bounds, Broker, Link, Plan, Topology
from regraft.model import Limits as PlanLimits
from regraft.model.changes import changed
from regraft.model.traffic import TrafficClass
from regraft.model.workload import Workload
from regraft.plan.verify import verify
from regraft.serve.designing import TopologyDesigner
from regraft.serve.history import plan_document
from regraft.serve.network_facts import NetworkFacts
from regraft.serve.previews import preview

CHAIN = Topology.of(itertools.pairwise("abcdef"))


def designer(network: Topology | None = None, **limits: object) -> TopologyDesigner:
    goals = Limits(**limits)  # type: ignore[arg-type]
    return TopologyDesigner(
        NetworkFacts(network), goals, Policy(confirm=1), PlanLimits(time_limit=0.05), time_limit=0.2
    )


def window(workload: Workload) -> MeasuredWindow:
    return MeasuredWindow(0.0, 10.0, workload, 100, 100, 1, None, None, None, None, {})


def talk(*pairs: str) -> Workload:
    return Workload(tuple(TrafficClass(frozenset(pair), 100.0) for pair in pairs))


def expecting(measured: Workload, coming: Workload, *, seasonal: bool = True) -> MeasuredWindow:
    forecast = Forecast(coming.traffic, 20, seasonal, Errors(0.1, 0.3, 50))
    return replace(window(measured), forecast=forecast)


def sampled(workload: Workload, one_in: int) -> Workload:
    """The same demands, estimated from one publication in so many."""
    variances = {members: (one_in - 1) * demand for members, demand in workload.traffic}
    return replace(workload, variances=variances)


def test_the_same_traffic_is_designed_for_if_it_is_exact_and_may_be_chance_if_sampled_thinly() -> None:
    traffic, think = talk("af"), designer()
    exact, some, few = (
        think.design(CHAIN, 1, [window(each)])
        for each in (traffic, sampled(traffic, 5), sampled(traffic, 101))
    )
    assert not isinstance(exact, str)
    assert not isinstance(some, str)
    assert not isinstance(few, str)
    assert exact.goal == some.goal == few.goal
    assert (exact.comparison.error, exact.comparison.against) == (0.0, None)
    # A message over five links and six brokers costs 11, over one link and two brokers 3; 100 were estimated.
    assert exact.comparison.gain == some.comparison.gain == pytest.approx(8 / 11)
    assert some.comparison.error == pytest.approx(8 * (5 / 4 * 4 * 100) ** 0.5 / 1100)
    assert some.comparison.against is None
    assert few.comparison.against == (
        "72.7% less routing cost, but 143.3% may be chance: one publication in 101 was recorded"
    )


def test_a_proposal_that_waits_needs_half_as_clear_a_gain_as_a_candidate() -> None:
    traffic, think = talk("af"), designer()
    found = think.design(CHAIN, 1, [window(traffic)])
    assert not isinstance(found, str)
    for one_in, candidate, proposal in ((20, True, True), (80, False, True), (120, False, False)):
        judged = think.assess(CHAIN, window(sampled(traffic, one_in)), found, found)
        assert judged.candidate is not None
        assert judged.proposal is not None
        assert (judged.candidate.against is None, judged.proposal.against is None) == (candidate, proposal)


def test_a_gain_in_a_forecast_has_the_error_of_what_was_measured() -> None:
    think = replace(designer(), design_for="forecast")
    now, coming = talk("ab", "bc", "ef"), talk("af")
    found = think.design(CHAIN, 1, [expecting(sampled(now, 11), coming)])
    assert not isinstance(found, str)
    goal = changed(CHAIN, found.added, found.removed)
    error = saving_error(CHAIN, goal, sampled(now, 11), 11) / (3 * 100 * 3)
    assert error > 0
    assert found.comparison.error == pytest.approx(error)
    assert found.comparison.gain == pytest.approx(8 / 11)


def test_a_change_is_for_the_traffic_that_is_expected_if_the_forecast_is_worth_using() -> None:
    think = replace(designer(), design_for="forecast")
    now, coming = talk("ab", "bc"), talk("af")
    found = think.design(CHAIN, 1, [expecting(now, coming)])
    assert not isinstance(found, str)
    assert ("a", "f") in found.added
    assert (
        found.comparison.expects
        == "the forecast for 20 windows (error 10% lately; that of repeating the last windows: 30%)"
    )
    # All of what comes over five links and six brokers, then over one link and two brokers.
    assert found.saved == pytest.approx(100.0 * (5 + 6 - 1 - 2))
    judged = think.assess(CHAIN, expecting(now, coming), found)
    assert judged.candidate == found.comparison
    assert judged.candidate_saved == found.saved
    assert judged.cost == pytest.approx(2 * 100.0 * 3), "what the window has cost is measured, not forecast"
    for other in (replace(think, design_for="measured"), think):
        unused = expecting(now, coming, seasonal=other is not think)
        assert isinstance(other.design(CHAIN, 1, [unused]), str), "for what was measured the chain is best"


def test_without_a_file_a_tree_is_designed_for_the_round_trips_that_were_measured() -> None:
    """a and b are on one site, c and d on another; f is far from all, and nobody measured it against b."""
    near, far, farther = 2.0, 40.0, 90.0
    trips = {
        ("a", "b"): near,
        ("c", "d"): near,
        ("a", "f"): farther,
        ("c", "f"): farther,
        ("d", "f"): farther,
    }
    trips |= dict.fromkeys((("a", "c"), ("a", "d"), ("b", "c"), ("b", "d")), far)
    tree = Topology.of([("a", "f"), ("f", "b"), ("b", "c"), ("a", "d")])
    traffic = talk("ab", "cd", "ac", "bd", "af")
    think = replace(designer(), network=NetworkFacts(measures=True))
    plain = think.assess(tree, window(traffic)).cost
    think.network.learn(trips, tree)
    measured = think.assess(tree, window(traffic)).cost
    assert plain is not None
    assert measured is not None
    assert measured != plain
    found = think.design(tree, 1, [window(traffic)])
    assert not isinstance(found, str)
    links = set(tree.by_ends) - set(found.removed) | set(found.added)
    assert {("a", "b"), ("c", "d")} <= links
    assert len([pair for pair in links if "f" in pair]) == 1, "nothing goes by way of f"
    by_file = replace(designer(Topology.of(tree.by_ends)), design_for="measured")
    by_file.network.learn(trips, tree)
    assert by_file.assess(tree, window(traffic)).cost == plain, "a file says what links cost"


def test_a_forecast_does_not_excuse_that_a_hard_goal_breaks_in_what_was_measured() -> None:
    """Whichever link of the chain goes for af, what it carries goes through all brokers."""
    now, coming = talk("ab", "bc", "cd", "de", "ef"), talk("af")
    free = replace(designer(), design_for="forecast")
    found = free.design(CHAIN, 1, [expecting(now, coming)])
    assert not isinstance(found, str)
    assert found.comparison.against is None
    bound = replace(designer(broker_capacity=25.0), design_for="forecast")
    judged = bound.assess(CHAIN, expecting(now, coming), found)
    assert judged.candidate is not None
    assert judged.candidate.against is not None
    assert "capacity" in judged.candidate.against


def test_costs_latencies_and_places_come_from_the_network_file() -> None:
    brokers = tuple(Broker(id, latitude=0.0, longitude=float(place)) for place, id in enumerate("abc"))
    stated = Topology(brokers, (Link(("a", "b"), 7.0, 3.0), Link(("b", "c"), 1.0)), "mesh")
    annotated = NetworkFacts(stated).annotated(Topology.of([("a", "b"), ("a", "c")]))
    assert annotated.by_ends["a", "b"] == Link(("a", "b"), 7.0, 3.0)
    latency = annotated.by_ends["a", "c"].latency_ms
    assert latency == pytest.approx(2 * 111.19 / 200, rel=0.01), "light over two degrees at the equator"


def test_only_links_of_a_network_are_designed() -> None:
    ring = Topology.of([*itertools.pairwise("abcdef"), ("a", "f")], kind="mesh")
    free = designer().design(CHAIN, 1, [window(talk("ad", "af"))])
    bound = designer(ring).design(CHAIN, 1, [window(talk("ad", "af"))])
    assert not isinstance(free, str)
    assert not isinstance(bound, str)
    assert set(bound.added) == {("a", "f")}
    assert ("a", "d") in free.added


def test_brokers_that_have_left_have_no_part_in_the_traffic() -> None:
    seen = fitting(talk("ax", "ab", "yz"), CHAIN)
    assert {each.members for each in seen.traffic} == {frozenset("a"), frozenset("ab")}
    seen = fitting(sampled(talk("ax", "ay", "ab", "yz"), 3), CHAIN)
    assert seen.variances == {frozenset("a"): 400.0, frozenset("ab"): 200.0}


def test_windows_are_designed_for_together() -> None:
    both = together([window(talk("ad")), window(talk("ad", "be"))])
    assert {"".join(sorted(each.members)): each.demand for each in both.traffic} == {"ad": 200.0, "be": 100.0}
    both = together(
        [window(talk("ad")), window(sampled(talk("ad", "be"), 3)), window(sampled(talk("ad"), 2))]
    )
    assert both.variances == {frozenset("ad"): 300.0, frozenset("be"): 200.0}
    assert window(both).one_in == pytest.approx(1 + 500 / 400)


def test_a_mesh_that_has_become_weak_is_mended_and_the_plan_keeps_what_it_has() -> None:
    path = Topology.of(itertools.pairwise("abcd"), kind="mesh")
    wanted = Workload(interest={"t": frozenset("abcd")})
    think = designer(k=2)
    found = think.design(path, 1, [window(wanted)])
    assert not isinstance(found, str)
    assert found.comparison.mends
    assert found.comparison.improves == "k"
    made = think.plan(path, 1, changed(path, found.added, found.removed), wanted, 10.0)
    assert not isinstance(made, str)


def test_a_mesh_without_interest_stays_as_it_is() -> None:
    path = Topology.of(itertools.pairwise("abcd"), kind="mesh")
    assert designer(k=2).design(path, 1, [window(Workload())]) == "nobody is interested in any topic"


@pytest.mark.parametrize(("most", "actions"), [(None, 3), (3, 3), (2, 2), (1, 2)])
def test_a_plan_with_more_actions_than_the_loop_is_allowed_is_made_again_for_fewest_actions(
    most: int | None, actions: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def made(current: Topology, goal: Topology, limits: PlanLimits, planner: str) -> Plan:
        count = 2 if limits.minimise == "actions" else 3
        steps = tuple((Action("shift", ("a", "b", "c")),) for _ in range(count))
        return Plan("tree", current.sha256, goal.sha256, steps, planner, Bounds(1, 1), None)

    monkeypatch.setattr("regraft.plan.make.make_plan", made)
    think = replace(designer(), policy=Policy(max_actions=most))
    found = think.plan(CHAIN, 1, CHAIN, Workload(), 10.0)
    assert not isinstance(found, str)
    assert found[1].actions == actions


def test_a_plan_with_too_many_actions_gives_way_to_that_of_the_design(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ids = [f"b{number:02}" for number in range(16)]
    chain = Topology.of(itertools.pairwise(ids))
    star = Workload(tuple(TrafficClass(frozenset((ids[0], id)), 10.0) for id in ids[1:]))
    think = replace(designer(), policy=Policy(max_actions=9))
    found = think.design(chain, 1, [window(star)], 9)
    assert not isinstance(found, str)
    goal = changed(chain, found.added, found.removed)

    def long(current: Topology, goal: Topology, limits: PlanLimits, planner: str) -> Plan:
        steps = tuple((Action("shift", ("a", "b", "c")),) for _ in range(20))
        return Plan("tree", current.sha256, goal.sha256, steps, planner, Bounds(1, 1), None)

    monkeypatch.setattr("regraft.plan.make.make_plan", long)
    made = think.plan(chain, 1, goal, star, 10.0)
    assert not isinstance(made, str)
    plan, planned = made
    assert 0 < planned.actions <= 9
    assert planned.steps <= planned.actions
    verify(plan, chain, goal)
    other = think.plan(chain, 1, Topology.of([("b01", "b02"), *((ids[0], id) for id in ids[2:])]), star, 10.0)
    assert not isinstance(other, str)
    assert other[1].actions == 20, "the way leads somewhere else"


def test_warming_up_works_whatever_the_network_and_the_limits_are() -> None:
    only = Topology.of([("p", "q"), ("q", "r"), ("p", "r")], kind="mesh")
    think = designer(only, max_degree=2)
    think.warm()
    assert think == designer(only, max_degree=2)


def test_a_preview_adds_up_from_step_to_step() -> None:
    think, workload = designer(), talk("ad", "be", "cf")
    found = think.design(CHAIN, 1, [window(workload)])
    assert not isinstance(found, str)
    goal = changed(CHAIN, found.added, found.removed)
    made = think.plan(CHAIN, 1, goal, workload, 10.0)
    assert not isinstance(made, str)
    plan, planned = made
    view = preview(plan_document(plan, CHAIN, window(workload)), workload, 10.0, think)
    assert set(view.steps[-1].links) == set(goal.by_ends)
    total = sum(each.cost_change or 0.0 for each in view.steps)
    before, after = (view.steps[at].numbers["routing_cost"] for at in (0, -1))
    assert before is not None
    assert after is not None
    assert total == pytest.approx(after - before)
    assert -total == pytest.approx(found.saved)
    assert sum(each.buffered or 0.0 for each in view.steps) == pytest.approx(planned.buffered, rel=0.5)
    assert view.sha256 == plan.sha256
