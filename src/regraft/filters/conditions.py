"""Whether a conjunction implies or excludes a condition that no box describes.

Two facts are used, both about LIKE on one attribute, the usual way to name a branch of a topic tree: if an
attribute has finitely many possible values, each can be tested; and a pattern that begins (or ends) with more
fixed text lies within one that begins (or ends) with less.
"""

from functools import lru_cache

from regraft.filters.atoms import Atom, atom_of
from regraft.filters.expression import parse
from regraft.filters.like import ends_of
from regraft.filters.normal import Condition, Conjunction, Constraint
from regraft.filters.syntax import Attribute, Like
from regraft.filters.values import Value

MAX_VALUES = 64
MAX_TEXT = 512  # a longer condition is a whole expression, too costly to parse again
CACHED_CONDITIONS = 16_384


def implies(conjunction: Conjunction, condition: Condition) -> bool:
    """Whether the condition holds, for certain, for every event that the conjunction allows."""
    if condition in conjunction.residue:
        return True
    atom, pattern = _read(condition.text)
    if atom is None:
        return False
    values = _values(conjunction.constraints.get(atom.attribute))
    if values is not None:
        return all(atom.test(value) is condition.outcome for value in values)
    if pattern is None or not condition.outcome:
        return False
    return any(_narrower(other, pattern) for other in _patterns(conjunction, atom.attribute))


def excludes(conjunction: Conjunction, condition: Condition) -> bool:
    """Whether the condition holds, for certain, for no event that the conjunction allows."""
    if Condition(condition.text, not condition.outcome) in conjunction.residue:
        return True
    atom, pattern = _read(condition.text)
    if atom is None:
        return False
    values = _values(conjunction.constraints.get(atom.attribute))
    if values is not None:
        return not any(atom.test(value) is condition.outcome for value in values)
    if pattern is None:
        return False
    others = _patterns(conjunction, atom.attribute)
    return any(_apart(other, pattern) if condition.outcome else _narrower(other, pattern) for other in others)


def _values(constraint: Constraint | None) -> list[Value] | None:
    """All values that an attribute may have, if they are few."""
    if constraint is None or constraint.missing:
        return None
    texts = constraint.strings.finite
    if texts is None or any(interval.low != interval.high for interval in constraint.numbers):
        return None
    if len(texts) + len(constraint.numbers) > MAX_VALUES:
        return None
    return [*texts, *(interval.low for interval in constraint.numbers), *constraint.bools]


@lru_cache(CACHED_CONDITIONS)
def _read(text: str) -> tuple[Atom | None, str | None]:
    """The condition as an atom, and its pattern if it is `attribute LIKE pattern`."""
    if " LIKE " not in text or len(text) > MAX_TEXT:
        return None, None
    node = parse(text).node
    pattern = node.pattern if isinstance(node, Like) and isinstance(node.operand, Attribute) else None
    return atom_of(node), pattern


def _patterns(conjunction: Conjunction, attribute: str) -> list[str]:
    found = []
    for text, outcome in conjunction.residue:
        atom, pattern = _read(text)
        if outcome and pattern is not None and atom is not None and atom.attribute == attribute:
            found.append(pattern)
    return found


def _narrower(narrow: str, wide: str) -> bool:
    """Whether every text that matches `narrow` matches `wide`, judged by the fixed text at their ends."""
    head, tail, only_ends = ends_of(wide)
    first, last, _ = ends_of(narrow)
    # A wide pattern with fixed text at both ends is left out: in a short text, both could need the same
    # characters. "Not narrower" is always a safe answer.
    return only_ends and first.startswith(head) and last.endswith(tail) and not (head and tail)


def _apart(a: str, b: str) -> bool:
    """Whether no text matches both patterns, judged by the fixed text at their ends."""
    (head, tail, _), (first, last, _) = ends_of(a), ends_of(b)
    return not (
        (head.startswith(first) or first.startswith(head)) and (tail.endswith(last) or last.endswith(tail))
    )
