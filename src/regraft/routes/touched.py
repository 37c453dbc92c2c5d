"""Which switches a change touches: those where another content, filter or subscriber is than before."""

from collections.abc import Hashable, Sequence

from regraft.model.routes import RouteWorkload, Subscriber
from regraft.routes.laid import Laid
from regraft.routes.problem import Problem


def touched_switches(
    problem: Problem, laid: Sequence[Laid], workload: RouteWorkload, before: Sequence[Laid]
) -> set[int]:
    """Switches whose tables may differ from those made of `before` and its workload."""
    old, new = _signs(problem, before, workload), _signs(problem, laid, problem.workload)
    return {vertex for vertex in old.keys() | new.keys() if old.get(vertex) != new.get(vertex)}


def _signs(problem: Problem, laid: Sequence[Laid], workload: RouteWorkload) -> dict[int, set[Hashable]]:
    """What a table is made from, at each switch."""
    graph, number = problem.graph, problem.network.number
    signs: dict[int, set[Hashable]] = {}
    for one in laid:
        publishers = [workload.publishers[each] for each in one.content.publishers]
        sign = (
            tuple((publisher.id, publisher.advertisement) for publisher in publishers),
            one.content.region,
            id(one.filters),  # the same object where nothing was computed anew
        )
        vertices = {number[publisher.switch] for publisher in publishers}
        vertices |= {graph.source_list[edge] for edge in one.tree}
        vertices |= {graph.target_list[edge] for edge in one.tree}
        for vertex in vertices:
            signs.setdefault(vertex, set()).add(sign)
    subscribers: dict[int, list[Subscriber]] = {}
    for subscriber in workload.subscribers:
        subscribers.setdefault(number[subscriber.switch], []).append(subscriber)
    for vertex, found in subscribers.items():
        signs.setdefault(vertex, set()).add(tuple(found))
    return signs
