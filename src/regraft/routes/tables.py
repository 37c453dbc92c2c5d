"""From trees and filters to the tables of switches: as few `Entry` lines as exact filters allow.

At a switch, the action for an event is the edges whose filters hold it and the subscribers that want it.
`least_table` makes the smallest table for "event -> action". If publishers have separate trees, those whose
events are handled alike at a switch share lines that name no publisher; the others get lines of their own.
"""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import NamedTuple

from regraft.filters.dz import DzSet
from regraft.model.routes import Entry, RouteWorkload, Subscriber
from regraft.routes.atoms import Atoms, atoms_of
from regraft.routes.content_trees import ContentTree
from regraft.routes.least_table import least_table
from regraft.routes.problem import Problem

Action = tuple[tuple[int, ...], tuple[str, ...]]
"""Edges to leave by, subscribers to deliver to."""

NOWHERE: Action = ((), ())
WHOLE = DzSet(("",))


class _Handling(NamedTuple):
    """How one switch handles the events of one key (a publisher, or None for all): which events arrive, which
    leave by each edge, and which are delivered to each subscriber."""

    arriving: int
    outs: dict[int, int]
    delivers: dict[str, int]


class _Masks:
    """All filters as integers, over atoms that none of them divides."""

    def __init__(self, problem: Problem, content_trees: Sequence[ContentTree]) -> None:
        self.problem = problem
        parts = {each for one in content_trees for each in (one.content.region, *one.filters.values())}
        given = problem.masks
        self.atoms: Atoms = atoms_of((WHOLE, *problem.advertised, *problem.subscribed, *parts))
        same = given.atoms == self.atoms
        self._known: dict[DzSet, int] = {}
        self.advertised = given.advertised if same else tuple(map(self.of, problem.advertised))
        self.subscribed = given.subscribed if same else tuple(map(self.of, problem.subscribed))
        self.whole = (1 << len(self.atoms)) - 1
        self._parts: dict[int, DzSet] = {}

    def of(self, part: DzSet) -> int:
        if (mask := self._known.get(part)) is None:
            mask = self._known[part] = self.atoms.mask(part)
        return mask

    def part(self, mask: int) -> DzSet:
        if (part := self._parts.get(mask)) is None:
            part = self._parts[mask] = self.atoms.part(mask)
        return part


def make_tables(
    problem: Problem,
    content_trees: Sequence[ContentTree],
    fewest: bool = False,
    only: Iterable[int] | None = None,
) -> dict[str, tuple[Entry, ...]]:
    """The tables of all switches, or of `only`; with `fewest`, lines may match events that never arrive."""
    masks = _Masks(problem, content_trees)
    wanted = set(range(problem.graph.vertices) if only is None else only)
    here: dict[int, dict[int | None, _Handling]] = {vertex: {} for vertex in wanted}
    subscribers_at: dict[int, list[int]] = {}
    for subscriber, at in enumerate(problem.subscriber_at):
        subscribers_at.setdefault(at, []).append(subscriber)
    for one in content_trees:
        _add_content(masks, one, subscribers_at, here)
    entering = dict.fromkeys(wanted, 0)
    for publisher, at in enumerate(problem.publisher_at):
        if at in wanted:  # all that a publisher says comes to its switch, wanted or not
            entering[at] |= masks.advertised[publisher]
            if publisher in here[at]:
                here[at][publisher] = here[at][publisher]._replace(arriving=masks.advertised[publisher])
    switches = problem.network.switches
    return {
        switches[vertex]: table
        for vertex in sorted(wanted)
        if (table := _table(masks, here[vertex], entering[vertex], fewest))
    }


def _add_content(
    masks: _Masks,
    one: ContentTree,
    subscribers_at: Mapping[int, Sequence[int]],
    here: Mapping[int, dict[int | None, _Handling]],
) -> None:
    """Add how each switch of a content handles its events."""
    problem, graph = masks.problem, masks.problem.graph
    region = masks.of(one.content.region)
    arriving: dict[int, int] = {}
    for publisher in one.content.publishers:
        at = problem.publisher_at[publisher]
        arriving[at] = arriving.get(at, 0) | masks.advertised[publisher] & region
    for edge, filter in one.filters.items():
        at = graph.target_list[edge]
        arriving[at] = arriving.get(at, 0) | masks.of(filter)
    keys = one.content.publishers if one.content.own else (None,)
    for key in keys:
        of_key = -1 if key is None else masks.advertised[key]
        for vertex, mask in arriving.items():
            if vertex in here:
                _add_at(masks, here[vertex], key, mask & of_key, vertex, one, subscribers_at, region)


def _add_at(
    masks: _Masks,
    here: dict[int | None, _Handling],
    key: int | None,
    arriving: int,
    vertex: int,
    one: ContentTree,
    subscribers_at: Mapping[int, Sequence[int]],
    region: int,
) -> None:
    problem = masks.problem
    known = here.setdefault(key, _Handling(0, {}, {}))
    here[key] = known._replace(arriving=known.arriving | arriving)
    for edge in problem.graph.leaving[vertex]:
        if edge in one.filters:
            mask = masks.of(one.filters[edge]) & arriving if key is not None else masks.of(one.filters[edge])
            if mask:
                known.outs[edge] = known.outs.get(edge, 0) | mask
    for subscriber in subscribers_at.get(vertex, ()):
        if mask := masks.subscribed[subscriber] & region & arriving:
            name = problem.workload.subscribers[subscriber].id
            known.delivers[name] = known.delivers.get(name, 0) | mask


def _table(
    masks: _Masks, here: Mapping[int | None, _Handling], entering: int, fewest: bool
) -> tuple[Entry, ...]:
    cases = {key: _cases(found) for key, found in here.items() if key is not None}
    if (all := here.get(None)) is not None:
        entries = _entries(masks, None, _cases(all), all.arriving | entering, fewest)
        for key, own in cases.items():
            publisher = masks.problem.workload.publishers[key].id
            # Lines for the cases only: a line that drops this publisher's other events would take them away
            # from the lines for all publishers.
            entries += tuple(
                Entry(dz, publisher, *action) for action, mask in own.items() for dz in masks.part(mask)
            )
        return entries
    shared, together, arriving = _shared(cases, here)
    entries = _entries(masks, None, shared, arriving | entering, fewest) if len(together) > 1 else ()
    for key, own in cases.items():
        if len(together) > 1 and key in together:
            continue
        publisher = masks.problem.workload.publishers[key].id
        unwanted = masks.advertised[key] & here[key].arriving & ~_union(own)
        if (
            unwanted and entries
        ):  # the shared lines must not match events that this publisher's lines leave out
            own[NOWHERE] = unwanted
        entries += _entries(masks, publisher, own, here[key].arriving, fewest)
    return entries


def _cases(here: _Handling) -> dict[Action, int]:
    """Action -> the events that it is for."""
    parts: list[tuple[int, Action]] = [(_union(here.outs) | _union(here.delivers), NOWHERE)]
    for edge, mask in sorted(here.outs.items()):
        parts = [
            each
            for part, (outs, delivers) in parts
            for each in ((part & mask, ((*outs, edge), delivers)), (part & ~mask, (outs, delivers)))
            if each[0]
        ]
    for name, mask in sorted(here.delivers.items()):
        parts = [
            each
            for part, (outs, delivers) in parts
            for each in ((part & mask, (outs, (*delivers, name))), (part & ~mask, (outs, delivers)))
            if each[0]
        ]
    return {action: mask for mask, action in parts}


def _union(masks: Mapping[int, int] | Mapping[str, int] | Mapping[Action, int]) -> int:
    whole = 0
    for mask in masks.values():
        whole |= mask
    return whole


def _shared(
    cases: Mapping[int, dict[Action, int]], here: Mapping[int | None, _Handling]
) -> tuple[dict[Action, int], set[int], int]:
    """Publishers that can share lines, those with the most actions first: they agree on the action wherever
    the events of two of them have the same expression."""
    shared: dict[Action, int] = {}
    together: set[int] = set()
    arriving = handled = 0
    for key in sorted(cases, key=lambda each: (-len(cases[each]), each)):
        own, arrives = cases[key], here[key].arriving
        of_own = _union(own)
        agrees = not (arriving & ~handled & of_own) and not (handled & arrives & ~of_own)
        if agrees and all(not (handled & mask & ~shared.get(action, 0)) for action, mask in own.items()):
            together.add(key)
            for action, mask in own.items():
                shared[action] = shared.get(action, 0) | mask
            arriving |= arrives
            handled |= of_own
    return shared, together, arriving


def _entries(
    masks: _Masks, publisher: str | None, cases: Mapping[Action, int], arriving: int, fewest: bool
) -> tuple[Entry, ...]:
    if not cases:
        return ()
    anything = masks.part(masks.whole & ~arriving) if fewest else None
    table = least_table([(masks.part(mask), action) for action, mask in cases.items()], anything)
    return tuple(Entry(dz, publisher, *(action or NOWHERE)) for dz, action in table)


def touched_switches(
    problem: Problem,
    content_trees: Sequence[ContentTree],
    workload: RouteWorkload,
    before: Sequence[ContentTree],
) -> set[int]:
    """Switches at which a content, filter or subscriber differs from `before` and its workload."""
    old, new = (
        _fingerprints(problem, before, workload),
        _fingerprints(problem, content_trees, problem.workload),
    )
    return {vertex for vertex in old.keys() | new.keys() if old.get(vertex) != new.get(vertex)}


def _fingerprints(
    problem: Problem, content_trees: Sequence[ContentTree], workload: RouteWorkload
) -> dict[int, set[Hashable]]:
    """Everything that the table of each switch is made from."""
    graph, number = problem.graph, problem.network.number
    fingerprints: dict[int, set[Hashable]] = {}
    for one in content_trees:
        publishers = [workload.publishers[each] for each in one.content.publishers]
        fingerprint = (
            tuple((publisher.id, publisher.advertisement) for publisher in publishers),
            one.content.region,
            id(one.filters),  # the same object if nothing was computed anew
        )
        vertices = {number[publisher.switch] for publisher in publishers}
        vertices |= {graph.source_list[edge] for edge in one.tree}
        vertices |= {graph.target_list[edge] for edge in one.tree}
        for vertex in vertices:
            fingerprints.setdefault(vertex, set()).add(fingerprint)
    subscribers: dict[int, list[Subscriber]] = {}
    for subscriber in workload.subscribers:
        subscribers.setdefault(number[subscriber.switch], []).append(subscriber)
    for vertex, found in subscribers.items():
        fingerprints.setdefault(vertex, set()).add(tuple(found))
    return fingerprints
