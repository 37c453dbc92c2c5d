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

from regraft.filters.atoms import Atom, atom_of, truth_atom
from regraft.filters.compiled import is_boolean
from regraft.filters.evaluate import evaluate, evaluator
from regraft.filters.functions import to_truth
from regraft.filters.normal import (
    ANYTHING,
    EVERYTHING,
    NEVER,
    PRESENT,
    Condition,
    Conjunction,
    Constraint,
)
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
    text_of_node,
)

MAX_CONJUNCTIONS = 64
MAX_PAIRS = 512
MAX_ATOMS = 512

Disjunction = tuple[Conjunction, ...]
NOWHERE: Disjunction = ()


class Sides(NamedTuple):
    true: Disjunction
    false: Disjunction


class _TooLarge(Exception):
    """The normal form would exceed its limits; the expression stays a condition."""


def normal_form(node: Node) -> Disjunction:
    """The disjunction that is true exactly where the expression is."""
    if not is_boolean(node):
        return _whole(node)
    return _sides(node, need_false=False).true


def _whole(node: Node) -> Disjunction:
    """A filter that is no boolean operation matches only if its value is the boolean true itself: a literal
    or an attribute may be, a number or a string is not."""
    if isinstance(node, Attribute):
        return (Conjunction(((node.name, Constraint(bools=frozenset((True,)))),)),)
    return EVERYTHING if isinstance(node, Literal) and node.value is True else ()


def _sides(node: Node, need_false: bool = True) -> Sides:
    """Both disjunctions of an expression that is cast to a boolean; without `need_false` only the first."""
    atom = truth_atom(node.name, False) if isinstance(node, Attribute) else atom_of(node)
    if atom is not None:
        return _atom(atom, node)
    if not attributes_of(node):
        return _constant(node)
    if isinstance(node, Unary) and node.operator == "NOT":
        if isinstance(node.operand, Attribute):
            true, false = _atom(truth_atom(node.operand.name, True), node)
            return Sides(false, true)
        if is_boolean(node.operand):
            true, false = _sides(node.operand)
            return Sides(false, true)
    if isinstance(node, Chain) and node.rest[0][0] in LOGIC:
        try:
            return _logic(node, need_false)
        except _TooLarge:
            pass
    return _opaque(node)


def _constant(node: Node) -> Sides:
    value, fault = evaluate(evaluator(node), {})
    truth, bad = to_truth(value)
    if fault or bad:
        return Sides((), ())
    return Sides(EVERYTHING, ()) if truth else Sides((), EVERYTHING)


def _atom(atom: Atom, node: Node) -> Sides:
    if atom.exact:
        return Sides(_box(atom.attribute, atom.true), _box(atom.attribute, atom.false))
    return _opaque(node)


def _box(attribute: str, constraint: Constraint) -> Disjunction:
    if constraint == NEVER:
        return ()
    return EVERYTHING if constraint == ANYTHING else (Conjunction(((attribute, constraint),)),)


def _opaque(node: Node) -> Sides:
    """Only the text is known, and which attributes must be present lest there be an error."""
    box = tuple((name, PRESENT) for name in sorted(attributes_of(node))) if _strict(node) else ()
    negated = isinstance(node, Like | In) and node.negated
    # `x NOT LIKE p` is true where `x LIKE p` is false: under one text the two meet.
    text = text_of_node(replace(node, negated=False) if isinstance(node, Like | In) else node)
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


def _logic(node: Chain, need_false: bool) -> Sides:
    """Runs of one operator, from the left. Where a run is false matters if an OR or XOR follows."""
    if len(node.rest) > MAX_ATOMS:
        raise _TooLarge
    runs = [(operator, [part for _, part in run]) for operator, run in groupby(node.rest, itemgetter(0))]
    done: Node | Sides = node.first
    for i, (operator, parts) in enumerate(runs):
        needed = need_false or any(later != "AND" for later, _ in runs[i + 1 :])
        done = _fold(operator, [done, *parts], needed)
    assert isinstance(done, Sides), "a chain has at least one operator"
    return done


def _fold(operator: str, parts: Sequence[Node | Sides], need_false: bool) -> Sides:
    """Each operator is associative, errors included; halving keeps long runs on one attribute cheap."""
    if len(parts) == 1:
        return parts[0] if isinstance(parts[0], Sides) else _sides(parts[0], need_false)
    half = len(parts) // 2
    x = _fold(operator, parts[:half], need_false or operator != "AND")
    y = _fold(operator, parts[half:], need_false or operator == "XOR")
    if operator == "AND":
        return Sides(both(x.true, y.true), either(x.false, both(x.true, y.false)) if need_false else NOWHERE)
    if operator == "OR":
        return Sides(either(x.true, both(x.false, y.true)), both(x.false, y.false) if need_false else NOWHERE)
    return Sides(
        either(both(x.true, y.false), both(x.false, y.true)),
        either(both(x.true, y.true), both(x.false, y.false)),
    )


def both(a: Disjunction, b: Disjunction) -> Disjunction:
    if a == EVERYTHING or not b:
        return b
    if b == EVERYTHING or not a:
        return a
    if len(a) * len(b) > MAX_PAIRS:
        raise _TooLarge
    found: Disjunction = ()
    for x in a:
        for y in b:
            conjunction = conjoined(x, y)
            if conjunction is not None:
                found = either(found, (conjunction,))
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


def either(a: Disjunction, b: Disjunction) -> Disjunction:
    """a or b; conjunctions that differ in one attribute only become one."""
    found = list(a)
    for conjunction in b:
        new = conjunction
        for i, old in enumerate(found):
            joined = _joined(old, new)
            if joined is not None:
                del found[i]
                new = joined
                break
        found.append(new)
        if len(found) > MAX_CONJUNCTIONS:
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
