"""From a tree to the normal form: a disjunction of conjunctions.

An expression can be true, false or an error (a missing attribute, a failed cast), and an error decides:
the event does not match (CESQL 1.0 §1.2). So two disjunctions are carried along, `true` and `false`:

    x AND y   true: x.true y.true                   false: x.false | x.true y.false
    x OR y    true: x.true | x.false y.true         false: x.false y.false
    NOT x     true: x.false                         false: x.true

With the short circuit of AND and OR, `a = 1 OR b = 2` becomes `a = 1 | a ≠ 1 b = 2`: the second part needs
an `a`, because without one the expression is an error.
"""

from collections.abc import Sequence
from dataclasses import replace
from itertools import groupby
from operator import itemgetter
from typing import NamedTuple

from regraft.filters.atoms import Atom, atom_in_steps, truth_atom
from regraft.filters.compiled import is_boolean
from regraft.filters.evaluate import evaluator
from regraft.filters.functions import to_truth
from regraft.filters.normal import (
    ANYTHING,
    EVERYTHING,
    NEVER,
    PRESENT,
    Condition,
    Conjunction,
    Constraint,
    union_in_steps,
)
from regraft.filters.steps import Steps, finish
from regraft.filters.syntax import (
    LOGIC,
    Attribute,
    Call,
    Chain,
    Exists,
    In,
    Like,
    Literal,
    Node,
    Unary,
    attributes_of,
    is_constant,
    text_in_steps,
)
from regraft.filters.values import number_of

MAX_CONJUNCTIONS = 64
MAX_PAIRS = 512
MAX_ATOMS = 2048
FEW = 8
MAX_WORK = 8192
"""The most conjunctions that are compared or joined for one filter."""
MAX_INTERVALS = 256
"""The most intervals of one constraint where disjunctions are multiplied out."""

Disjunction = tuple[Conjunction, ...]
NOWHERE: Disjunction = ()


class Sides(NamedTuple):
    true: Disjunction
    false: Disjunction


class _TooLarge(Exception):
    """The normal form would be too large; the part stays a condition."""


class _Work:
    """The budget of one filter: how many conjunctions may still be compared or joined."""

    __slots__ = ("left",)

    def __init__(self) -> None:
        self.left = MAX_WORK

    def spend(self, amount: int) -> None:
        self.left -= amount
        if self.left < 0:
            raise _TooLarge


def normal_form(node: Node) -> Disjunction:
    """The disjunction that is true exactly where the expression is."""
    return finish(normal_form_in_steps(node))


def normal_form_in_steps(node: Node) -> Steps[Disjunction]:
    """`normal_form`, step by step."""
    if not is_boolean(node):
        return _whole(node)
    return (yield from _sides(node, _Work(), need_false=False)).true


def _whole(node: Node) -> Disjunction:
    """A filter that is no boolean operation matches only if its value is the boolean true itself: a literal
    or an attribute may be, a number or a string is not."""
    if isinstance(node, Attribute):
        return (Conjunction(((node.name, Constraint(bools=frozenset((True,)))),)),)
    return EVERYTHING if isinstance(node, Literal) and node.value is True else ()


def _sides(node: Node, work: _Work, need_false: bool = True) -> Steps[Sides]:
    """Both disjunctions of an expression that is cast to a boolean; without `need_false` only the first."""
    atom = truth_atom(node.name, False) if isinstance(node, Attribute) else (yield from atom_in_steps(node))
    yield
    if atom is not None:
        return (yield from _atom(atom, node))
    if is_constant(node):
        return _constant(node)
    if isinstance(node, Unary) and node.operator == "NOT":
        if isinstance(node.operand, Attribute):
            true, false = yield from _atom(truth_atom(node.operand.name, True), node)
            return Sides(false, true)
        if is_boolean(node.operand):
            true, false = yield from _sides(node.operand, work)
            return Sides(false, true)
    if isinstance(node, Chain) and node.rest[0][0] in LOGIC:
        try:
            return (yield from _logic(node, work, need_false))
        except _TooLarge:
            pass
    return (yield from _opaque(node))


def _constant(node: Node) -> Sides:
    value, fault = evaluator(node)({})
    truth, bad = to_truth(value)
    if fault or bad:
        return Sides((), ())
    return Sides(EVERYTHING, ()) if truth else Sides((), EVERYTHING)


def _atom(atom: Atom, node: Node) -> Steps[Sides]:
    if atom.exact:
        return Sides(_box(atom.attribute, atom.true), _box(atom.attribute, atom.false))
    return (yield from _opaque(node))


def _box(attribute: str, constraint: Constraint) -> Disjunction:
    if constraint == NEVER:
        return ()
    return EVERYTHING if constraint == ANYTHING else (Conjunction(((attribute, constraint),)),)


def _opaque(node: Node) -> Steps[Sides]:
    """A condition of which only the text is known, and the attributes without which it is an error."""
    box = tuple((name, PRESENT) for name in sorted(attributes_of(node))) if _strict(node) else ()
    negated = isinstance(node, Like | In) and node.negated
    # `x NOT LIKE p` is true where `x LIKE p` is false. Both get the same text, so that they are recognised as
    # opposite outcomes of one condition.
    plain = replace(node, negated=False) if isinstance(node, Like | In) else node
    text = yield from text_in_steps(plain)
    return Sides(
        (Conjunction(box, frozenset((Condition(text, not negated),))),),
        (Conjunction(box, frozenset((Condition(text, negated),))),),
    )


def _strict(node: Node) -> bool:
    """Whether every attribute of an expression is evaluated, so that a missing one is an error."""
    match node:
        case Attribute() | Literal():
            return True
        case Exists() | In():
            return False
        case Unary(_, operand) | Like(operand):
            return _strict(operand)
        case Chain(first, rest):
            return rest[0][0] not in LOGIC and _strict(first) and all(_strict(part) for _, part in rest)
        case Call(_, arguments):
            return all(map(_strict, arguments))


def _logic(node: Chain, work: _Work, need_false: bool) -> Steps[Sides]:
    """Runs of one operator, from the left. Only an OR or XOR needs to know where the run before it is
    false."""
    if len(node.rest) > MAX_ATOMS:
        raise _TooLarge
    runs = [(operator, [part for _, part in run]) for operator, run in groupby(node.rest, itemgetter(0))]
    done: Node | Sides = node.first
    for i, (operator, parts) in enumerate(runs):
        needed = need_false or any(later != "AND" for later, _ in runs[i + 1 :])
        alike = (yield from _alike(operator, [done, *parts])) if operator != "XOR" else None
        done = (yield from _fold(operator, [done, *parts], work, needed)) if alike is None else alike
    assert isinstance(done, Sides), "a chain has at least one operator"
    return done


def _alike(operator: str, parts: Sequence[Node | Sides]) -> Steps[Sides | None]:
    """A long run of comparisons of one attribute with constants of one type, all at once; None for other
    runs.

    All these comparisons are errors for the same values, so an OR is true where any of them is true, and an
    AND is false where any of them is false.
    """
    if len(parts) <= FEW:
        return None
    atoms: list[Atom] = []
    for part in parts:
        atom = None if isinstance(part, Sides) else (yield from atom_in_steps(part))
        if atom is None or not (kind := _type(atom)):
            return None
        atoms.append(atom)
        if atom.attribute != atoms[0].attribute or kind != _type(atoms[0]):
            return None
        yield
    first = atoms[0]
    domain = first.true.or_(first.false)
    any_of = yield from union_in_steps([atom.true if operator == "OR" else atom.false for atom in atoms])
    none_of = any_of.not_()
    yield
    others = none_of.and_(domain)
    yield
    sides = Sides(_box(first.attribute, any_of), _box(first.attribute, others))
    return sides if operator == "OR" else Sides(sides.false, sides.true)


def _type(atom: Atom) -> str:
    """Comparisons of one type are errors for the same values; "" for an atom that is no such comparison."""
    if atom.comparison is None:
        return ""
    operator, constant = atom.comparison
    if operator in ("=", "!=") and isinstance(constant, str | bool):
        return "text" if isinstance(constant, str) else "truth"
    return "" if number_of(constant) is None else "number"


def _fold(operator: str, parts: Sequence[Node | Sides], work: _Work, need_false: bool) -> Steps[Sides]:
    """Each operator is associative, errors included, so a run may be evaluated in halves: that keeps long
    runs on one attribute cheap."""
    if len(parts) == 1:
        return parts[0] if isinstance(parts[0], Sides) else (yield from _sides(parts[0], work, need_false))
    half = len(parts) // 2
    x = yield from _fold(operator, parts[:half], work, need_false or operator != "AND")
    y = yield from _fold(operator, parts[half:], work, need_false or operator == "XOR")
    true = false = NOWHERE
    if operator == "AND":
        true = yield from both(x.true, y.true, work)
        if need_false:
            false = yield from either(x.false, (yield from both(x.true, y.false, work)), work)
    elif operator == "OR":
        true = yield from either(x.true, (yield from both(x.false, y.true, work)), work)
        if need_false:
            false = yield from both(x.false, y.false, work)
    else:
        only_x = yield from both(x.true, y.false, work)
        true = yield from either(only_x, (yield from both(x.false, y.true, work)), work)
        same = yield from both(x.true, y.true, work)
        false = yield from either(same, (yield from both(x.false, y.false, work)), work)
    return Sides(true, false)


def both(a: Disjunction, b: Disjunction, work: _Work) -> Steps[Disjunction]:
    if a == EVERYTHING or not b:
        return b
    if b == EVERYTHING or not a:
        return a
    if len(a) * len(b) > MAX_PAIRS:
        raise _TooLarge
    found: Disjunction = ()
    for x in a:
        for y in b:
            work.spend(1)
            conjunction = conjoined(x, y)
            yield
            if conjunction is not None:
                found = yield from either(found, (conjunction,), work)
    return found


def conjoined(x: Conjunction, y: Conjunction) -> Conjunction | None:
    """x and y as one, or None if they exclude each other."""
    residue = x.residue | y.residue
    if any(Condition(text, not outcome) in residue for text, outcome in residue):
        return None
    box = dict(x.box)
    for name, constraint in y.box:
        narrowed = box[name].and_(constraint) if name in box else constraint
        if narrowed == NEVER:
            return None
        box[name] = narrowed
    return Conjunction(tuple(sorted(box.items())), residue)


def either(a: Disjunction, b: Disjunction, work: _Work) -> Steps[Disjunction]:
    """a or b; conjunctions that differ in one attribute only become one."""
    found = list(a)
    for conjunction in b:
        new = conjunction
        work.spend(1 + len(found) // 8)
        for i, old in enumerate(found):
            joined = _joined(old, new)
            if joined is not None:
                del found[i]
                new = joined
                break
        yield
        found.append(new)
        if len(found) > MAX_CONJUNCTIONS or any(len(c.numbers) > MAX_INTERVALS for _, c in new.box):
            raise _TooLarge
    return tuple(found)


def _joined(x: Conjunction, y: Conjunction) -> Conjunction | None:
    if x.residue != y.residue or len(x.box) != len(y.box):
        return None
    if x.box == y.box:
        return x
    differing = [i for i, (p, q) in enumerate(zip(x.box, y.box, strict=True)) if p != q]
    if len(differing) != 1:
        return None
    (i,) = differing
    (name, p), (other, q) = x.box[i], y.box[i]
    if name != other:
        return None
    union = p.or_(q)
    middle = () if union == ANYTHING else ((name, union),)
    return Conjunction((*x.box[:i], *middle, *x.box[i + 1 :]), x.residue)
