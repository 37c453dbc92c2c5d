"""The replay accepts what is safe in every order and names the step, the action and the rule if not."""

import sys
from collections.abc import Callable
from dataclasses import replace
from itertools import permutations
from typing import Any

import networkx as nx
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from regraft.model import Action, Bounds, BrokenPlan, Ends, Limits, Plan, Step, Topology, ends
from regraft.model.limits import TREE_OPERATIONS
from regraft.plan.verify import check_tree, verify
from regraft.testing.trees import joins_and_leaves

ALL = Limits(operations=frozenset(TREE_OPERATIONS))


def act(text: str) -> Action:
    """`shift dcb` for shift(d, c, b): brokers of these tests have one letter."""
    operation, brokers = text.split()
    return Action(operation, tuple(brokers))


def links(text: str) -> list[tuple[str, str]]:
    return [(pair[0], pair[1]) for pair in text.split()]


def plan_of(current: Topology, goal: Topology, *steps: str) -> Plan:
    """Steps as text, the actions of each separated by commas."""
    parsed = tuple(tuple(act(part) for part in step.split(", ")) for step in steps)
    return Plan(current.kind, current.sha256, goal.sha256, parsed, "test", Bounds(0, 0))


CURRENT = Topology.of(links("ab bc cd de ex"))
GOAL = Topology.of(links("ab bc bd ae en"))
STEPS = ("append ne, shift dcb", "shift edb", "shift eba", "detach xe")
PLAN = plan_of(CURRENT, GOAL, *STEPS)


def test_a_plan_with_every_framing_operation_is_accepted() -> None:
    verify(PLAN, CURRENT, GOAL)


def test_an_empty_plan_is_accepted_only_for_equal_topologies() -> None:
    verify(plan_of(GOAL, GOAL), GOAL, GOAL)
    with pytest.raises(BrokenPlan, match=r"^end: "):
        verify(plan_of(CURRENT, GOAL), CURRENT, GOAL)


def test_dropping_any_action_is_noticed() -> None:
    for number, step in enumerate(PLAN.steps):
        for index in range(len(step)):
            rest = step[:index] + step[index + 1 :]
            steps = PLAN.steps[:number] + ((rest,) if rest else ()) + PLAN.steps[number + 1 :]
            with pytest.raises(BrokenPlan):
                verify(replace(PLAN, steps=steps), CURRENT, GOAL)


def test_repeating_any_action_is_noticed() -> None:
    for number, step in enumerate(PLAN.steps):
        for action in step:
            within = (*PLAN.steps[:number], (*step, action), *PLAN.steps[number + 1 :])
            after = (*PLAN.steps[: number + 1], (action,), *PLAN.steps[number + 1 :])
            for steps in (within, after):
                with pytest.raises(BrokenPlan):
                    verify(replace(PLAN, steps=steps), CURRENT, GOAL)


def test_swapping_dependent_steps_is_noticed() -> None:
    first, second, third, last = PLAN.steps
    for steps in ((second, first, third, last), (first, third, second, last)):
        with pytest.raises(BrokenPlan, match=r"^step \d, shift"):
            verify(replace(PLAN, steps=steps), CURRENT, GOAL)


def test_merging_dependent_steps_is_noticed() -> None:
    for number in range(2):
        merged = PLAN.steps[number] + PLAN.steps[number + 1]
        steps = (*PLAN.steps[:number], merged, *PLAN.steps[number + 2 :])
        with pytest.raises(BrokenPlan, match=rf"^step {number + 1}, shift"):
            verify(replace(PLAN, steps=steps), CURRENT, GOAL)


def test_a_leaf_may_leave_beside_a_shift_of_its_neighbour() -> None:
    verify(plan_of(CURRENT, GOAL, *STEPS[:2], "shift eba, detach xe"), CURRENT, GOAL)


@pytest.mark.parametrize(
    ("steps", "message"),
    [
        (["append ne, shift dbc"], r"step 1, shift\(d, b, c\): the link 'b' - 'd' is not there"),
        (["append ne, shift dca"], r"step 1, shift\(d, c, a\): the guard link 'a' - 'c' is not there"),
        (["shift dcd"], r"step 1, shift\(d, c, d\): the brokers must be different"),
        (["shift dc"], r"step 1, shift\(d, c\): needs 3 brokers"),
        (["shift abc"], r"shift\(a, b, c\): the link 'a' - 'b' is in the goal and must stay"),
        (["shift dcb, shift edc"], r"shift\(d, c, b\) removes the guard link 'c' - 'd' in this step"),
        (["shift dcb, shift cde"], r"shift\(d, c, b\) removes the same link in this step"),
        (["append ne, append nd"], r"append\(n, e\): another action of the step uses 'n'"),
        (["append ne, append ne"], r"append\(n, e\) adds the same link in this step"),
        (["append ae"], r"append\(a, e\): 'a' is in the overlay already"),
        (["append qe"], r"append\(q, e\): 'q' is not in the goal"),
        (["append nq"], r"append\(n, q\): 'q' is not in the overlay"),
        (["append ne, shift dcn"], r"append\(n, e\): another action of the step uses 'n'"),
        (["detach ab"], r"detach\(a, b\): 'a' is in the goal"),
        (["detach xd"], r"detach\(x, d\): the link 'd' - 'x' is not there"),
        (["detach xe, shift dex"], r"detach\(x, e\): another action of the step uses 'x'"),
        (["append ne", "shift xed", "shift edx", "detach xd"], r"step 4, detach\(x, d\): 'x' is not a leaf"),
        (["detach xe", "append xe"], r"step 2, append\(x, e\): 'x' is not in the goal"),
        (["link ac"], r"link\(a, c\): no operation of a tree"),
        (["swap ac"], r"swap\(a, c\): no operation of a tree"),
        (["move dcae"], r"move\(d, c, a, e\): no operation of a tree"),
    ],
)
def test_a_planted_fault_is_named(steps: list[str], message: str) -> None:
    with pytest.raises(BrokenPlan, match=message) as caught:
        verify(plan_of(CURRENT, GOAL, *steps), CURRENT, GOAL, ALL)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("limits", "message"),
    [
        (Limits(operations=frozenset({"shift", "detach"})), r"step 1, append\(n, e\): operation not allowed"),
        (
            Limits(operations=frozenset({"append", "detach"})),
            r"step 1, shift\(d, c, b\): operation not allowed",
        ),
        (Limits(max_degree=1), r"start: 'b' has 2 links, over max-degree 1"),
        (Limits(max_degree=2), r"step 1, append\(n, e\): 'e' gets more than 2 links \(max-degree\)"),
        (Limits(max_degree=3), r"step 2, shift\(e, d, b\): 'b' gets more than 3 links \(max-degree\)"),
    ],
)
def test_a_limit_that_is_not_kept_is_named(limits: Limits, message: str) -> None:
    with pytest.raises(BrokenPlan, match=message):
        verify(PLAN, CURRENT, GOAL, limits)


def test_the_degree_counts_new_links_before_old_ones_go() -> None:
    verify(PLAN, CURRENT, GOAL, Limits(max_degree=4))
    path, goal = Topology.of(links("ab bc cd")), Topology.of(links("ab bd dc"))
    turned = plan_of(path, goal, "shift bcd")
    verify(turned, path, goal, Limits(max_degree=3))
    with pytest.raises(BrokenPlan, match="'b' gets more than 2 links"):
        verify(turned, path, goal, Limits(max_degree=2))


def test_exclusive_refuses_a_broker_in_two_actions_even_as_a_shared_guard() -> None:
    star, goal = Topology.of(links("ca cb cd ce")), Topology.of(links("ca cb da eb"))
    shared = plan_of(star, goal, "shift dca, shift ecb")
    verify(shared, star, goal)
    with pytest.raises(BrokenPlan, match=r"'c' takes part in two actions of the step \(exclusive\)"):
        verify(shared, star, goal, Limits(exclusive=True))
    verify(plan_of(star, goal, "shift dca", "shift ecb"), star, goal, Limits(exclusive=True))


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda plan: replace(plan, initial=GOAL.sha256), "initial hash"),
        (lambda plan: replace(plan, goal=CURRENT.sha256), "goal hash"),
        (lambda plan: replace(plan, kind="mesh"), "a mesh plan from a tree to a tree"),
        (lambda plan: replace(plan, bounds=Bounds(5, 0)), "below the stated bounds"),
        (lambda plan: replace(plan, bounds=Bounds(0, 6)), "below the stated bounds"),
        (lambda plan: replace(plan, steps=((), *plan.steps)), "step 1: a step needs at least one action"),
        (lambda plan: replace(plan, steps=plan.steps[:-1]), "end: broker 'x' should have left"),
    ],
)
def test_a_false_claim_is_named(spoil: Callable[[Plan], Plan], message: str) -> None:
    with pytest.raises(BrokenPlan, match=message):
        verify(spoil(PLAN), CURRENT, GOAL)


def test_a_goal_that_is_nearly_reached_is_refused() -> None:
    other = Topology.of(links("ab bc bd ae an"))
    with pytest.raises(BrokenPlan, match="end: the link 'a' - 'n' is missing"):
        verify(plan_of(CURRENT, other, *STEPS), CURRENT, other)


MESH = Topology.of(links("ab bc cd da"), kind="mesh")


def connected(links: frozenset[tuple[str, str]]) -> bool:
    return bool(nx.is_connected(nx.Graph(links)))


def test_a_mesh_step_is_refused_when_one_order_breaks_the_invariant() -> None:
    goal = Topology.of(links("ab cd ac bd"), kind="mesh")
    late = plan_of(MESH, goal, "link ac, link bd", "unlink bc, unlink ad")
    verify(late, MESH, goal, keeps=connected)
    mixed = plan_of(MESH, goal, "link ac, link bd, unlink bc, unlink ad")
    with pytest.raises(BrokenPlan, match="step 1: some order of its actions breaks the invariant"):
        verify(mixed, MESH, goal, keeps=connected)


def test_a_mesh_that_breaks_the_invariant_from_the_start_is_refused() -> None:
    with pytest.raises(BrokenPlan, match="start: the current topology breaks the invariant"):
        verify(plan_of(MESH, MESH), MESH, MESH, keeps=lambda _: False)


@pytest.mark.parametrize(
    ("steps", "message"),
    [
        (["link ab"], r"link\(a, b\): the link 'a' - 'b' is there already"),
        (["unlink ac"], r"unlink\(a, c\): the link 'a' - 'c' is not there"),
        (["link ac, link ca"], r"link\(a, c\) adds the same link"),
        (["shift abc"], r"shift\(a, b, c\): no operation of a mesh"),
        (["append na, link nb"], r"append\(n, a\): another action of the step uses 'n'"),
        (["link nb"], r"link\(n, b\): 'n' is not in the overlay at the start of the step"),
        (["detach da"], r"detach\(d, a\): 'd' is not a leaf"),
        (["append nd"], r"append\(n, d\): a broker that joins gets goal links only"),
        (["link db"], r"link\(d, b\): a broker that joins gets goal links only, one that leaves gets none"),
        (["append na", "unlink na"], r"unlink\(n, a\): the link of a broker that joins must stay"),
    ],
)
def test_a_planted_mesh_fault_is_named(steps: list[str], message: str) -> None:
    goal = Topology.of(links("ab bc na nb ca"), kind="mesh")
    with pytest.raises(BrokenPlan, match=message):
        verify(plan_of(MESH, goal, *steps), MESH, goal, keeps=connected)


def test_brokers_half_way_in_or_out_do_not_count_for_the_invariant() -> None:
    goal = Topology.of(links("ab bc na nb ca"), kind="mesh")
    plan = plan_of(MESH, goal, "append na, link ac", "link nb", "unlink cd", "detach da")

    def biconnected(links: frozenset[tuple[str, str]]) -> bool:
        return bool(nx.is_biconnected(nx.Graph(links)))

    verify(plan, MESH, goal, keeps=biconnected)
    # Before a - c is there, the mesh needs d.
    early = plan_of(MESH, goal, "append na, unlink cd", "link nb, link ac", "detach da")
    with pytest.raises(BrokenPlan, match="step 1: some order"):
        verify(early, MESH, goal, keeps=biconnected)


@st.composite
def mesh_steps(draw: st.DrawFn) -> tuple[Topology, Topology, Step]:
    """A step on a mesh where a, b and c stay, x leaves, and n joins, as a leaf or not."""
    triangle = links("ab bc ca")
    inner = st.sets(st.sampled_from(triangle), min_size=1)
    of_x, of_n = (st.sets(st.sampled_from(links(text)), min_size=1) for text in ("ax bx cx", "an bn cn"))
    current = Topology.of(draw(inner) | draw(of_x), "abcx", "mesh")
    goal = Topology.of(draw(inner) | draw(of_n), "abcn", "mesh")
    assume(
        connected(frozenset(current.by_ends))
        and set("abc") <= {end for link in current.by_ends for end in link}
    )
    actions = [Action("unlink", link) for link in current.by_ends]
    actions += [Action("link", link) for link in triangle if ends(*link) not in current.by_ends]
    actions += [Action("append", ("n", other)) for other in goal.neighbours["n"]]
    actions += [Action("detach", ("x", other)) for other in current.neighbours["x"]]
    return current, goal, tuple(draw(st.lists(st.sampled_from(actions), min_size=1, max_size=4, unique=True)))


def counted_links(now: frozenset[Ends], current: Topology, goal: Topology) -> frozenset[Ends]:
    """What the invariant is asked about: without n until it is all there, without x once it goes."""
    half = {"n"} if any("n" in link and link not in now for link in goal.by_ends) else set()
    half |= {"x"} if any("x" in link and link not in now for link in current.by_ends) else set()
    return frozenset(link for link in now if not half.intersection(link))


@settings(max_examples=300)
@given(mesh_steps(), *[st.sampled_from([*links("ab bc ac"), None])] * 2)
def test_a_mesh_step_is_accepted_exactly_when_every_order_keeps_the_invariant(
    case: tuple[Topology, Topology, Step], for_n: Ends | None, for_x: Ends | None
) -> None:
    current, goal, step = case

    def keeps(links: frozenset[Ends]) -> bool:
        """Connected; and n and x, while they count, each need a link between others."""
        graph = nx.Graph([*links])
        graph.add_nodes_from("abc")
        needs = {for_n if "n" in graph else None, for_x if "x" in graph else None}
        return bool(nx.is_connected(graph)) and needs <= links | {None}

    def is_accepted(keeps: Callable[[frozenset[Ends]], bool]) -> bool:
        plan = Plan("mesh", current.sha256, goal.sha256, (step,), "test", Bounds(0, 0))
        try:
            verify(plan, current, goal, keeps=keeps)
        except BrokenPlan as broken:
            return str(broken).startswith("end: ")
        return True

    assume(is_accepted(lambda _: True) and keeps(frozenset(current.by_ends)))
    safe = True
    for order in permutations(ends(action.brokers[0], action.brokers[1]) for action in step):
        now = frozenset(current.by_ends)
        for link in order:
            now ^= {link}
            safe = safe and keeps(counted_links(now, current, goal))
    assert is_accepted(keeps) == safe


def test_a_broker_counts_as_soon_as_it_has_joined_in_some_order() -> None:
    current, goal = (Topology.of(links(text), kind="mesh") for text in ("ab bc ca", "bc ca an"))
    plan = plan_of(current, goal, "append na, unlink ab")
    verify(plan, current, goal, keeps=connected)
    with pytest.raises(BrokenPlan, match="step 1: some order"):
        verify(plan, current, goal, keeps=lambda links: ("a", "n") not in links or ("a", "b") in links)


def test_a_broker_that_joins_may_meet_one_that_leaves_in_the_same_step() -> None:
    current, goal = (Topology.of(links(text), kind="mesh") for text in ("ab ax", "ab an"))

    def never_both(links: frozenset[Ends]) -> bool:
        return not {"n", "x"} <= {end for link in links for end in link}

    verify(plan_of(current, goal, "detach xa", "append na"), current, goal, keeps=never_both)
    with pytest.raises(BrokenPlan, match="step 1: some order"):
        verify(plan_of(current, goal, "detach xa, append na"), current, goal, keeps=never_both)


@pytest.mark.parametrize(
    ("around", "message"),
    [
        ({"a": "b", "b": "a", "c": "d", "d": "c"}, "step 7: not a tree after it, no path joins 'a' and 'c'"),
        ({"a": "bc", "b": "ac", "c": "ab"}, "step 7: not a tree after it, there is a cycle"),
    ],
)
def test_a_tree_that_broke_in_spite_of_all_rules_is_noticed(around: dict[str, str], message: str) -> None:
    with pytest.raises(BrokenPlan, match=message):
        check_tree(7, {broker: set(near) for broker, near in around.items()})


def test_the_tree_is_checked_after_every_step(monkeypatch: pytest.MonkeyPatch) -> None:
    checked: list[int] = []
    # The package exports a function of the module's name, so the module is looked up by name.
    module = sys.modules["regraft.plan.verify"]
    monkeypatch.setattr(module, "check_tree", lambda number, around: checked.append(number))
    verify(PLAN, CURRENT, GOAL)
    assert checked == [1, 2, 3, 4]


# The same question, asked one action at a time with another library.


def applies(graph: Any, action: Action, goal: Topology) -> bool:
    """Carry out one action; false if a precondition fails or the result is no tree."""
    operation, (i, j, *rest) = action
    if operation == "append":
        if i in graph or j not in graph or i not in goal.ids:
            return False
        graph.add_edge(i, j)
    elif operation == "detach":
        if not graph.has_edge(i, j) or graph.degree(i) != 1 or i in goal.ids:
            return False
        graph.remove_node(i)
    else:
        new = (i, rest[0]) if operation == "shift" else (rest[0], rest[1])
        needed = [(i, j), (j, rest[0])] if operation == "shift" else [(i, j)]
        if not all(graph.has_edge(*link) for link in needed) or graph.has_edge(*new):
            return False
        if tuple(sorted((i, j))) in goal.by_ends or not all(end in graph for end in new):
            return False
        graph.remove_edge(i, j)
        graph.add_edge(*new)
    return bool(nx.is_tree(graph))


def every_order_is_safe(tree: Topology, step: Step, goal: Topology) -> bool:
    for order in permutations(step):
        graph = nx.Graph()
        graph.add_nodes_from(tree.ids)
        graph.add_edges_from(tree.by_ends)
        if not all(applies(graph, action, goal) for action in order):
            return False
    return True


def is_accepted(tree: Topology, step: Step, goal: Topology) -> bool:
    """The step itself is accepted if the replay gets as far as comparing the end with the goal."""
    try:
        verify(Plan("tree", tree.sha256, goal.sha256, (step,), "test", Bounds(0, 0)), tree, goal, ALL)
    except BrokenPlan as broken:
        return str(broken).startswith("end: ")
    return True


def single_actions(tree: Topology, goal: Topology, operations: str) -> list[Action]:
    """Every action that is applicable alone, so that drawn steps are valid or nearly so."""
    near = tree.neighbours
    found = [Action("shift", (i, j, k)) for j in tree.ids for i in near[j] for k in near[j] if i != k]
    found += [Action("append", (i, j)) for i in goal.ids if i not in near for j in tree.ids]
    found += [Action("detach", (i, j)) for i in tree.ids if i not in goal.ids for j in near[i]]
    one_step = [action for action in found if action.operation in operations]
    return sorted(action for action in one_step if every_order_is_safe(tree, (action,), goal))


@st.composite
def steps(draw: st.DrawFn, operations: str) -> tuple[Topology, Topology, Step]:
    tree, goal = draw(joins_and_leaves(7))
    alone = single_actions(tree, goal, operations)
    if not alone:
        return tree, goal, (Action("shift", ("b0", "b1", "b2")),)
    return (
        tree,
        goal,
        tuple(draw(st.lists(st.sampled_from(alone), min_size=min(2, len(alone)), max_size=4, unique=True))),
    )


@given(steps("shift append detach"))
def test_a_step_is_accepted_exactly_when_every_order_keeps_a_tree(
    case: tuple[Topology, Topology, Step],
) -> None:
    tree, goal, step = case
    assert is_accepted(tree, step, goal) == every_order_is_safe(tree, step, goal)


@given(joins_and_leaves(6), st.data())
def test_any_single_action_is_judged_like_one_action_replayed(
    pair: tuple[Topology, Topology], data: st.DataObject
) -> None:
    tree, goal = pair
    broker = st.sampled_from(sorted({*tree.ids, *goal.ids}))
    action = data.draw(
        st.one_of(
            st.tuples(broker, broker, broker).map(lambda brokers: Action("shift", brokers)),
            st.tuples(broker, broker).map(lambda brokers: Action("append", brokers)),
            st.tuples(broker, broker).map(lambda brokers: Action("detach", brokers)),
        )
    )
    assert is_accepted(tree, (action,), goal) == every_order_is_safe(tree, (action,), goal)
