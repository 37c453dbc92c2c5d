"""Paths by way of centre switches (Content routes §5.1.5, (5.41)–(5.42)).

Every switch belongs to its nearest centre and is joined to it by its shortest path; neighbouring centres are
joined by the lightest paths between them. The result is a spanning tree, so paths in it form no cycle by
construction, and as few edges as possible lie between centres. An event travels to the centre of its
publisher, from there to the centres of its subscribers, and on to them; where the path to a centre and the
path back share switches, the event turns at the first of them (otherwise it would come to a switch twice).

(5.41) begins with one centre: the switch by way of which all demands together cost least. Centres are added
while that saves weight, up to a given number, and then exchanged while that saves weight. Demands are
distributed: each takes the tree of one of the centres, or of all of them together, whichever is lightest for
it.
"""

from collections.abc import Iterable, Sequence

from regraft.routes.hop_limits import shorten
from regraft.routes.interface import Tree
from regraft.routes.path_search import path_to, search
from regraft.routes.path_trees import as_tree
from regraft.routes.problem import Cycle, Demand, Graph
from regraft.routes.settings import RouteSettings
from regraft.routes.shared_tree import directed, nearest_of, shared_cost, shared_trees

Cables = dict[int, int]
"""Cable -> one of its edges."""

SAVES = 1e-9
CANDIDATES = 16
"""How many switches may become further centres: those that cost least as the only centre."""


def through_centres(
    graph: Graph, demands: Sequence[Demand], forbidden: Sequence[Cycle], settings: RouteSettings
) -> list[Tree | None]:
    """Each demand by way of its best centre or centres. Kind "subgraph"."""
    if not demands:
        return []
    offers = Offers(graph, demands)
    centres = choose_centres(offers, settings.centres)
    return [_one(graph, offers, place, centres, forbidden) for place in range(len(demands))]


def _one(
    graph: Graph, offers: "Offers", place: int, centres: Sequence[int], forbidden: Sequence[Cycle]
) -> Tree | None:
    demand = offers.demands[place]
    tree = offers.best(place, centres)[1]
    if len(demand.roots) == 1:
        return shorten(graph, demand, tree)
    if tree is not None and directed(graph, demand, _cables(graph, tree)) is not None:
        return tree

    # One-way cables or path limits rule that tree out: build one around the tree of a single root, as other
    # components do.
    def single(alone: Demand) -> Tree | None:
        found = Offers(graph, [alone])
        return shorten(graph, alone, found.best(0, centres)[1])

    return shared_trees(graph, demand, forbidden, single)


class Offers:
    """The trees that centres offer to demands; each is computed once."""

    def __init__(self, graph: Graph, demands: Sequence[Demand]) -> None:
        self.graph = graph
        self.demands = demands
        self.two_way = all(graph.opposite[edge] >= 0 for edge in graph.edges.tolist())
        self._spanning: dict[tuple[int, ...], Cables] = {}
        self._found: dict[tuple[int, tuple[int, ...]], tuple[float, Tree | None]] = {}
        self._above: dict[int, list[int]] = {}

    def best(self, place: int, centres: Sequence[int]) -> tuple[float, Tree | None]:
        """Cost and tree of a demand by way of one of the centres, or of all of them: the cheapest."""
        offers = [self.through(place, (centre,)) for centre in centres]
        if self.two_way and len(centres) > 1:
            offers.append(self.through(place, tuple(sorted(centres))))
        return min(offers, key=lambda offer: offer[0])

    def total(self, centres: Sequence[int]) -> float:
        return sum(self.best(place, centres)[0] for place in range(len(self.demands)))

    def through(self, place: int, centres: tuple[int, ...]) -> tuple[float, Tree | None]:
        if (place, centres) not in self._found:
            demand = self.demands[place]._replace(hops=())
            tree = self._two_way(demand, centres) if self.two_way else self._one_way(demand, centres[0])
            cost = float("inf") if tree is None else shared_cost(self.graph, demand, tree)
            self._found[place, centres] = cost, tree
        return self._found[place, centres]

    def _two_way(self, demand: Demand, centres: tuple[int, ...]) -> Tree | None:
        if centres not in self._spanning:
            self._spanning[centres] = spanning_tree(self.graph, centres)
        return directed(self.graph, demand, self._spanning[centres])

    def _one_way(self, demand: Demand, centre: int) -> Tree | None:
        """The shortest path to the centre and the shortest paths from there; for one root."""
        graph, root = self.graph, demand.roots[0]
        for start in (root, centre):
            if start not in self._above:
                self._above[start] = search(graph, start)
        head = path_to(graph, self._above[root], root, centre)
        tails = [path_to(graph, self._above[centre], centre, terminal) for terminal in demand.terminals]
        if head is None or None in tails:
            return None
        tree = as_tree(graph, root, [head, *(head + tail for tail in tails if tail is not None)])
        return _pruned(graph, tree, {root, *demand.terminals})


def choose_centres(offers: Offers, most: int) -> list[int]:
    """Add one centre after another, each where it saves most, then exchange them while that saves cost."""
    alone = sorted((offers.total([each]), each) for each in range(offers.graph.vertices))
    now, centres = alone[0][0], [alone[0][1]]
    candidates = [each for _, each in alone[:CANDIDATES]]
    while len(centres) < most:
        more = ((offers.total([*centres, each]), each) for each in candidates if each not in centres)
        cost, best = min(more, default=(now, -1))
        if cost >= now - SAVES:
            break
        centres, now = [*centres, best], cost
    while True:
        exchanged = [
            [*centres[:place], other, *centres[place + 1 :]]
            for place in range(len(centres))
            for other in candidates
            if other not in centres
        ]
        cost, better = min(((offers.total(each), each) for each in exchanged), default=(now, centres))
        if cost >= now - SAVES:
            return centres
        centres, now = better, cost


def spanning_tree(graph: Graph, centres: Iterable[int]) -> Cables:
    """Each switch's shortest path to its nearest centre, and the lightest paths that join the centres."""
    distance, towards, nearest = nearest_of(graph, centres)
    cables = {graph.cable_list[edge]: edge for edge in towards if edge >= 0}
    ends = [(graph.source_list[edge], graph.target_list[edge], edge) for edge in graph.edges.tolist()]
    ways = sorted(
        (distance[one] + graph.weight_list[edge] + distance[other], edge)
        for one, other, edge in ends
        if nearest[one] != nearest[other] and min(nearest[one], nearest[other]) >= 0
    )
    joined = list(range(graph.vertices))

    def top(vertex: int) -> int:
        while joined[vertex] != vertex:
            vertex = joined[vertex]
        return vertex

    for _, edge in ways:
        one, other = top(nearest[graph.source_list[edge]]), top(nearest[graph.target_list[edge]])
        if one != other:
            joined[one] = other
            cables[graph.cable_list[edge]] = edge
    return cables


def _cables(graph: Graph, tree: Tree) -> Cables:
    return {graph.cable_list[edge]: edge for edge in tree if graph.opposite[edge] >= 0}


def _pruned(graph: Graph, tree: Tree, ends: set[int]) -> Tree:
    """The tree without branches that end at no terminal: the centre itself need not be reached."""
    edges = set(tree)
    while True:
        sources = {graph.source_list[edge] for edge in edges}
        dead = {e for e in edges if graph.target_list[e] not in sources and graph.target_list[e] not in ends}
        if not dead:
            return frozenset(edges)
        edges -= dead
