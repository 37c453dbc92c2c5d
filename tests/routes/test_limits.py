"""Limits: what is called infeasible is compared with all possibilities, on problems small enough for that."""

import random
from collections.abc import Iterator
from itertools import combinations, product

import pytest
from tests.routes.brute_force import trees_to
from tests.routes.networks import random_network, random_workload
from tests.routes.test_compute import judged

from regraft.model import Infeasible
from regraft.model.routes import Publisher, RouteLimits, RouteWorkload, Subscriber
from regraft.model.switch_network import SwitchNetwork
from regraft.routes import RouteSettings, RouteState, compute_routes
from regraft.routes.check import check
from regraft.routes.embedding import embed
from regraft.routes.limits import load_limits, must_carry, overloaded, relieved
from regraft.routes.load_program import kept_by_program
from regraft.routes.problem import Graph, Problem, problem_of

CELLS = ("00", "01", "10", "11")


def kinds(problem: Problem) -> Iterator[tuple[int, float, tuple[int, ...]]]:
    """Publisher, rate and switches of those who want it, for the events that no filter tells apart."""
    for publisher, said in enumerate(problem.advertised):
        cells = [cell for cell in CELLS if cell in said]
        together: dict[tuple[int, ...], float] = {}
        for cell in cells:
            wants = {
                problem.subscriber_at[each] for each, want in enumerate(problem.subscribed) if cell in want
            }
            ends = tuple(sorted(wants - {problem.publisher_at[publisher]}))
            together[ends] = together.get(ends, 0.0) + problem.rates[publisher] / len(cells)
        for ends, rate in together.items():
            if ends:
                yield publisher, rate, ends


def load_can_be_kept(problem: Problem, limits: list[float]) -> bool:
    """Every choice of a tree for every kind of events."""
    graph, own = problem.graph, [0.0] * problem.graph.vertices
    for publisher, at in enumerate(problem.publisher_at):
        own[at] += problem.rates[publisher]
    if any(one > most + 1e-9 for one, most in zip(own, limits, strict=True)):
        return False
    choices: set[tuple[float, ...]] = {tuple(own)}
    for publisher, rate, ends in kinds(problem):
        entered = {
            tuple(sorted(graph.target_list[edge] for edge in tree))
            for tree in trees_to(graph, problem.publisher_at[publisher], ends)
        }
        after = (
            tuple(each + rate * (v in into) for v, each in enumerate(before))
            for before, into in product(choices, entered)
        )
        choices = {
            load for load in after if all(one <= most + 1e-9 for one, most in zip(load, limits, strict=True))
        }
    return bool(choices)


def load_case(seed: int) -> tuple[SwitchNetwork, RouteWorkload]:
    """Limits between what switches must carry and what the best routes without limits put on them."""
    lot = random.Random(seed)
    network = random_network(6, 9, seed)
    workload = random_workload(network, 2, 4, seed, (1, 2))
    free = compute_routes(network, workload)
    assert isinstance(free, RouteState)
    loads, share = check(free.routes).load_at, lot.choice((0.0, 0.3, 0.6))
    least = must_carry(problem_of(network, workload))
    tight = {
        switch: float(must + share * (loads[switch] - must)) * lot.choice((1.0, 1.0, 1.0, 0.99))
        for switch, must in zip(network.switches, least, strict=True)
        if loads[switch] > must
    }
    return network, RouteWorkload(workload.publishers, workload.subscribers, RouteLimits(load_at=tight))


@pytest.mark.parametrize("matching", ["filter", "publisher"])
def test_load_limits_are_called_infeasible_exactly_if_no_choice_of_trees_keeps_them(matching: str) -> None:
    kept = refused = 0
    for seed in range(40):
        network, workload = load_case(seed)
        problem = problem_of(network, workload)
        possible = load_can_be_kept(problem, load_limits(problem).tolist())
        state = compute_routes(network, workload, RouteSettings(matching=matching))  # type: ignore[arg-type]
        assert isinstance(state, RouteState) == possible, seed
        if isinstance(state, RouteState):
            judged(state)
            kept += 1
        else:
            assert state.limit == "load"
            refused += not state.proven or "must carry" not in state.reason
    assert kept >= 10
    assert refused >= 3, "more than what a switch must carry in any case has to be decided"


def test_the_program_finds_what_detours_do_not() -> None:
    """Otherwise the tests above would not test it."""
    found = 0
    for seed in range(40):
        network, workload = load_case(seed)
        problem = problem_of(network, workload)
        if overloaded(problem):
            continue
        answer = kept_by_program(problem, load_limits(problem), RouteSettings())
        assert answer is not None
        assert isinstance(answer, Infeasible) != load_can_be_kept(problem, load_limits(problem).tolist())
        if isinstance(answer, Infeasible):
            continue
        free = compute_routes(network, RouteWorkload(workload.publishers, workload.subscribers))
        assert isinstance(free, RouteState)
        found += isinstance(relieved(problem, free.content_trees, embed, RouteSettings()), Infeasible)
    assert found


def test_that_events_of_one_kind_could_be_divided_is_no_proof() -> None:
    network = SwitchNetwork.of([("a", "b"), ("b", "d"), ("a", "c"), ("c", "d")])
    workload = RouteWorkload(
        (Publisher("p", "a", 8.0, ("0",)),),
        (Subscriber("t", "d", ("0",)),),
        RouteLimits(load_at={"b": 5.0, "c": 5.0}),
    )
    no = compute_routes(network, workload)
    assert isinstance(no, Infeasible)
    assert not no.proven
    assert "one tree for each kind" in no.reason
    tighter = RouteWorkload(workload.publishers, workload.subscribers, RouteLimits(load_at={"b": 3, "c": 4}))
    sure = compute_routes(network, tighter)
    assert isinstance(sure, Infeasible)
    assert sure.proven


def out_trees(graph: Graph, root: int) -> set[frozenset[int]]:
    """Every tree that an event from the root may take, whether or not a subscriber wants it there."""
    found, open_trees = {frozenset[int]()}, [frozenset[int]()]
    for tree in open_trees:
        reached = {root} | {graph.target_list[edge] for edge in tree}
        for edge in graph.edges.tolist():
            if graph.source_list[edge] in reached and graph.target_list[edge] not in reached:
                more = tree | {edge}
                if more not in found:
                    found.add(more)
                    open_trees.append(more)
    return found


def flows_can_be_kept(problem: Problem, full: int, most: int) -> bool:
    """Every table of this many lines at one switch, whatever the other switches do; for one publisher."""
    graph, (root,) = problem.graph, problem.publisher_at
    out = [edge for edge in graph.edges.tolist() if graph.source_list[edge] == full]
    here = [each for each, at in enumerate(problem.subscriber_at) if at == full]
    cells = [cell for cell in CELLS if cell in problem.advertised[0]]
    trees = out_trees(graph, root)
    good: dict[str, list[tuple[frozenset[int], int]] | None] = {}
    delivered = {}
    for cell in cells:
        wanting = [each for each, want in enumerate(problem.subscribed) if cell in want]
        ends = {problem.subscriber_at[each] for each in wanting}
        delivered[cell] = frozenset(each for each in wanting if each in here)
        ways: set[tuple[frozenset[int], int]] = set()
        avoids = False
        for tree in trees:
            into = {graph.target_list[edge]: edge for edge in tree}
            if ends <= {root, *into}:
                if full != root and full not in into:
                    avoids = True  # the event need not come here at all
                    break
                back = graph.opposite[into[full]] if full in into else -1
                ways.add((frozenset(edge for edge in tree if edge in out), back))
        good[cell] = None if avoids else list(ways)
    prefixes = ["0", "1", *CELLS]  # a line has at least one digit (4.31)
    actions = [(frozenset(edges), frozenset(hosts)) for edges in subsets(out) for hosts in subsets(here)]
    nothing = (frozenset[int](), frozenset[int]())
    for count in range(most + 1):
        for chosen in combinations(prefixes, count):
            for done in product(actions, repeat=count):
                lines = dict(zip(chosen, done, strict=True))
                for cell in cells:
                    if good[cell] is None:
                        continue
                    match = max((dz for dz in chosen if cell.startswith(dz)), key=len, default=None)
                    edges, hosts = nothing if match is None else lines[match]
                    ways_here = good[cell] or []
                    if hosts != delivered[cell] or not any(edges - {back} == way for way, back in ways_here):
                        break
                else:
                    return True
    return False


def subsets(items: list[int]) -> Iterator[tuple[int, ...]]:
    return (some for size in range(len(items) + 1) for some in combinations(items, size))


def flow_case(seed: int) -> tuple[SwitchNetwork, RouteWorkload, str, int]:
    lot = random.Random(seed)
    network = random_network(4, lot.choice((3, 4, 5)), seed)
    workload = random_workload(network, 1, 4, seed + 7, (1, 2))
    near = {switch: len(network.cables[switch]) for switch in network.switches}
    full = max(near, key=lambda switch: (near[switch] <= 3, near[switch], lot.random()))
    most = lot.choice((0, 1, 1, 2))
    return network, workload, full, most


def test_flow_limits_are_called_infeasible_exactly_if_no_table_of_the_switch_keeps_them() -> None:
    kept, refused, missed = 0, 0, []
    for seed in range(120):
        network, workload, full, most = flow_case(seed)
        limited = RouteWorkload(workload.publishers, workload.subscribers, RouteLimits(flows_at={full: most}))
        state = compute_routes(network, limited)
        possible = flows_can_be_kept(problem_of(network, workload), network.number[full], most)
        if isinstance(state, RouteState):
            judged(state)
            assert possible, seed
            kept += 1
        else:
            assert (state.limit, state.where) == ("flows", full)
            assert not (possible and state.proven), seed
            refused += not possible
            missed += [seed] if possible else []
    assert kept > 50
    assert refused > 5
    assert missed == [], (kept, refused, missed)
