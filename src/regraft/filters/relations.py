"""Covering and overlap of filters, on their normal forms.

`covers` is true only if certain and `overlaps` is false only if certain. Both are exact for conjunctions
and disjunctions of comparisons on one attribute each. About conditions that no box describes, `conditions`
knows only a little. Whether a box lies within a union of boxes is hard to decide in general; the search has a
budget, and when it is spent the answer is the careful one.
"""

from collections.abc import Mapping, Sequence

from regraft.filters.conditions import excludes, implies
from regraft.filters.expression import Filter
from regraft.filters.normal import ANYTHING, NEVER, Conjunction, Constraint

SEARCH_BUDGET = 5_000  # comparisons of two boxes in one call: some 20 ms

Box = dict[str, Constraint]


def covers(f: Filter, g: Filter) -> bool:
    """Whether every event that matches g matches f, for certain."""
    if f is g or f.text == g.text:
        return True
    search = _Search()
    return all(_covered(conjunction, f.normal, search) for conjunction in g.normal)


def _covered(inner: Conjunction, outer: tuple[Conjunction, ...], search: "_Search") -> bool:
    usable = [c for c in outer if not c.residue or all(implies(inner, condition) for condition in c.residue)]
    if any(_contains(c, inner) for c in usable):
        return True
    if len(usable) < 2:
        return False
    return search.within(dict(inner.box), [c.constraints for c in usable])


def _contains(outer: Conjunction, inner: Conjunction) -> bool:
    if not outer.box:
        return True
    constraints = inner.constraints
    for name, wide in outer.box:
        narrow = constraints.get(name)
        if narrow is None or not (narrow is wide or narrow.within(wide)):
            return False
    return True


class _Search:
    """Is a box within a union of boxes? The parts of it that the first box does not hold must lie within the
    other boxes."""

    def __init__(self) -> None:
        self.budget = SEARCH_BUDGET

    def within(self, inner: Box, outer: Sequence[Mapping[str, Constraint]]) -> bool:
        self.budget -= len(outer)
        if self.budget < 0:
            return False
        near = [box for box in outer if _meet(inner, box)]
        if not near:
            return False
        first, others = near[0], near[1:]
        rest = dict(inner)
        for name, wide in first.items():
            narrow = rest.get(name, ANYTHING)
            outside = narrow.and_(wide.not_())
            if outside != NEVER:
                if not others or not self.within({**rest, name: outside}, others):
                    return False
                rest[name] = narrow.and_(wide)
        return True


def _meet(a: Mapping[str, Constraint], b: Mapping[str, Constraint]) -> bool:
    for name, constraint in b.items():
        other = a.get(name)
        if other is not None and not (other is constraint or other.meets(constraint)):
            return False
    return True


def overlaps(f: Filter, g: Filter) -> bool:
    """Whether some event may match both; false only if certain that none does."""
    return any(_meet(a.constraints, b.constraints) and _compatible(a, b) for a in f.normal for b in g.normal)


def _compatible(a: Conjunction, b: Conjunction) -> bool:
    return not (
        any(excludes(b, condition) for condition in a.residue)
        or any(excludes(a, condition) for condition in b.residue)
    )
