"""Whether path limits can be kept at all (Content routes (4.1)): the fewest edges decide."""

from regraft.model import Infeasible
from regraft.routes.hop_limits import hop_tree
from regraft.routes.problem import Problem


def too_far(problem: Problem) -> Infeasible | None:
    """The first subscriber that no path within its limit reaches, with the shortest possible one."""
    limits = [problem.hop_limit(subscriber) for subscriber in range(len(problem.subscribed))]
    if all(limit is None for limit in limits):
        return None
    hops: dict[int, list[int]] = {}
    for publisher, at in enumerate(problem.publisher_at):
        if at not in hops:
            hops[at] = hop_tree(problem.graph, at)[1]
        for subscriber in problem.interested(problem.advertised[publisher]):
            limit, fewest = limits[subscriber], hops[at][problem.subscriber_at[subscriber]]
            if limit is not None and fewest > limit:
                name = problem.workload.subscribers[subscriber].id
                return Infeasible(
                    f"subscriber {name} is {fewest} edges from publisher "
                    f"{problem.workload.publishers[publisher].id} on the shortest path, {limit} are allowed",
                    limit="path length",
                    where=name,
                    proven=True,
                )
    return None
