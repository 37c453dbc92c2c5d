"""Mesh plans keep the invariant and the limits in every order, and say where they cannot."""

from collections import deque
from collections.abc import Callable
from itertools import combinations, permutations

import networkx as nx
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from regraft.model import BadInput, Ends, Infeasible, Limits, Plan, Topology, ends
from regraft.plan import mesh_search
from regraft.plan.mesh import make_mesh_plan
from regraft.plan.verify import verify

Keeps = Callable[[frozenset[Ends]], bool]
NO_LIMITS = Limits()


def split(text: str) -> list[Ends]:
    return [(pair[0], pair[1]) for pair in text.split()]


def mesh(text: str) -> Topology:
    return Topology.of(split(text), kind="mesh")


def connected(brokers: str) -> Keeps:
    """Connected: these brokers and all others that have a link."""

    def keeps(links: frozenset[Ends]) -> bool:
        graph = nx.Graph()
        graph.add_nodes_from(brokers)
        graph.add_edges_from(links)
        return bool(nx.is_connected(graph))

    return keeps


def two_connected(links: frozenset[Ends]) -> bool:
    return bool(nx.is_biconnected(nx.Graph(links)))


def planned(current: Topology, goal: Topology, limits: Limits, keeps: Keeps) -> Plan:
    plan = make_mesh_plan(current, goal, limits, keeps)
    assert isinstance(plan, Plan)
    verify(plan, current, goal, limits, keeps)
    return plan


def shown(plan: Plan) -> list[str]:
    return [" ".join(sorted(map(str, step))) for step in plan.steps]


def test_links_come_before_unlinks_and_two_steps_are_proven_fewest() -> None:
    plan = planned(mesh("ab bc cd da"), mesh("ab cd ac bd"), NO_LIMITS, connected("abcd"))
    assert shown(plan) == ["link(a, c) link(b, d)", "unlink(a, d) unlink(b, c)"]
    assert plan.optimal


def test_one_step_is_enough_when_any_order_is_safe() -> None:
    plan = planned(mesh("ab bc cd da"), mesh("ab bc cd ac"), NO_LIMITS, connected("abcd"))
    assert shown(plan) == ["link(a, c) unlink(a, d)"]
    assert plan.optimal


def test_equal_meshes_need_no_step() -> None:
    plan = planned(mesh("ab bc ca"), mesh("ab bc ca"), NO_LIMITS, connected("abc"))
    assert plan.steps == ()
    assert plan.optimal


def test_a_degree_limit_interleaves_links_and_unlinks() -> None:
    limits = Limits(max_degree=3)
    plan = planned(mesh("ab bc cd da ac"), mesh("ab bc cd da bd"), limits, connected("abcd"))
    assert shown(plan) == ["link(b, d) unlink(a, c)"]
    full = mesh("ab ac ad bc bd ce de"), mesh("ab ac ae bd be cd ce")
    assert len(planned(*full, limits, connected("abcde")).steps) > 1


def test_a_full_ring_can_not_be_reordered_and_that_is_proven() -> None:
    answer = make_mesh_plan(mesh("ab bc cd da"), mesh("ac cb bd da"), Limits(max_degree=2), connected("abcd"))
    assert isinstance(answer, Infeasible)
    assert (answer.limit, answer.proven) == ("max-degree", True)
    assert answer.where in {*"abcd"}


def test_a_search_that_gives_up_does_not_claim_a_proof(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mesh_search, "MOST_STATES", 3)
    answer = make_mesh_plan(mesh("ab bc cd da"), mesh("ac cb bd da"), Limits(max_degree=2), connected("abcd"))
    assert isinstance(answer, Infeasible)
    assert (answer.limit, answer.proven) == ("max-degree", False)


def test_a_foreign_link_helps_for_a_while_when_there_is_no_direct_way() -> None:
    current, goal = (Topology.of(links, "abcdef", "mesh") for links in (split("ab cd"), split("ac bd")))
    plan = planned(current, goal, Limits(max_degree=1), lambda links: len(links) >= 1)
    assert plan.actions == plan.bounds.actions == 6
    added = {action.brokers for step in plan.steps for action in step if action.operation == "link"}
    assert added - goal.by_ends.keys()


def test_exclusive_steps_use_no_broker_twice() -> None:
    limits = Limits(exclusive=True)
    plan = planned(mesh("ab bc cd de ea"), mesh("ac ce eb bd da"), limits, connected("abcde"))
    assert plan.actions == 10
    assert plan.bounds.steps >= 4


def test_brokers_join_by_append_and_leave_by_detach() -> None:
    plan = planned(mesh("ab bc ca ad bd"), mesh("ab bc ca an bn"), NO_LIMITS, two_connected)
    assert shown(plan) == ["append(n, a)", "link(b, n) unlink(b, d)", "detach(d, a)"]
    assert plan.bounds.actions == plan.actions


def test_chains_of_brokers_join_and_leave_from_the_near_end() -> None:
    plan = planned(mesh("ab bx xy"), mesh("ab an nm"), NO_LIMITS, connected("ab"))
    assert shown(plan) == ["append(n, a)", "append(m, n) detach(y, x)", "detach(x, b)"]


@pytest.mark.parametrize(
    ("current", "goal", "limits", "limit", "where"),
    [
        ("ab bc", "ab bc bn", Limits(operations=frozenset({"detach"})), "operations", "n"),
        ("ab bc bx", "ab bc", Limits(operations=frozenset({"append"})), "operations", "x"),
        ("ab bc", "ab bc mn", NO_LIMITS, None, "m"),
        ("ab bc xy", "ab bc", NO_LIMITS, None, "x"),
        ("ab bc bd", "ab bc cd", Limits(max_degree=2), "max-degree", "b"),
        ("ab bc cd", "ab bc bd", Limits(max_degree=2), "max-degree", "b"),
    ],
)
def test_what_can_never_be_is_said_at_once(
    current: str, goal: str, limits: Limits, limit: str | None, where: str
) -> None:
    answer = make_mesh_plan(mesh(current), mesh(goal), limits, lambda _: True)
    assert isinstance(answer, Infeasible)
    assert (answer.limit, answer.where, answer.proven) == (limit, where, True)


@pytest.mark.parametrize(("current", "goal"), [("ab cd", "ab bc cd"), ("ab bc cd", "ab cd")])
def test_a_mesh_outside_the_invariant_is_refused(current: str, goal: str) -> None:
    answer = make_mesh_plan(mesh(current), mesh(goal), NO_LIMITS, connected("abcd"))
    assert isinstance(answer, Infeasible)
    assert (answer.limit, answer.proven) == ("invariant", True)


def test_trees_are_bad_input() -> None:
    with pytest.raises(BadInput, match="both topologies must be meshes"):
        make_mesh_plan(Topology.of([("a", "b")]), mesh("ab"), NO_LIMITS, lambda _: True)


# An independent oracle: the fewest single changes, over all link sets.

FIVE = "abcde"
PAIRS = [ends(one, other) for one, other in combinations(FIVE, 2)]


def fewest_changes(current: Topology, goal: Topology, most: int, keeps: Keeps) -> int | None:
    def is_valid(links: frozenset[Ends]) -> bool:
        return all(sum(broker in link for link in links) <= most for broker in FIVE) and keeps(links)

    start, end = frozenset(current.by_ends), frozenset(goal.by_ends)
    steps, queue = {start: 0}, deque([start])
    while queue:
        links = queue.popleft()
        for pair in PAIRS:
            after = links ^ {pair}
            if after not in steps and is_valid(after):
                steps[after] = steps[links] + 1
                queue.append(after)
    return steps.get(end)


@st.composite
def meshes(draw: st.DrawFn) -> Topology:
    links = draw(st.sets(st.sampled_from(PAIRS), min_size=4, max_size=8))
    assume(nx.is_connected(nx.Graph(links)) and {end for link in links for end in link} == set(FIVE))
    return Topology.of(sorted(links), FIVE, "mesh")


def most_links(*both: Topology) -> int:
    return max(len(near) for topology in both for near in topology.neighbours.values())


@settings(max_examples=60)
@given(meshes(), meshes(), st.integers(0, 1))
def test_a_plan_is_found_exactly_when_there_is_one(current: Topology, goal: Topology, room: int) -> None:
    limits, keeps = Limits(max_degree=most_links(current, goal) + room), connected(FIVE)
    assert limits.max_degree is not None
    answer = make_mesh_plan(current, goal, limits, keeps)
    fewest = fewest_changes(current, goal, limits.max_degree, keeps)
    if isinstance(answer, Infeasible):
        assert (fewest, answer.proven) == (None, True)
    else:
        verify(answer, current, goal, limits, keeps)
        assert answer.bounds.actions <= (fewest or 0) <= answer.actions
        assert answer.bounds.steps <= len(answer.steps)


@settings(max_examples=40)
@given(meshes(), meshes(), st.booleans())
def test_every_order_of_every_step_keeps_the_invariant(
    current: Topology, goal: Topology, exclusive: bool
) -> None:
    limits, keeps = Limits(max_degree=most_links(current, goal) + 1, exclusive=exclusive), connected(FIVE)
    plan = planned(current, goal, limits, keeps)
    links = frozenset(current.by_ends)
    for step in plan.steps:
        changed = [ends(*action.brokers) for action in step]
        for order in list(permutations(changed))[:120]:
            now = links
            for link in order:
                now = now ^ {link}
                assert keeps(now)
        links = now
    assert links == frozenset(goal.by_ends)
