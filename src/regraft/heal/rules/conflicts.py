"""Two rules that cannot both hold, and rules that never do: reported when they are stored.

Conditions are compared through intervals: each is a disjunction of conjunctions of `name op number` and
`name op name`; everything else (products, texts) counts as possible, so a conflict may be reported that
cannot happen. When both apply at run time, the higher priority wins, then the earlier arrival (Mimosa Pudica
§4.3).
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations

from regraft.heal.rules.check import Bound, Checked, CheckedRule
from regraft.heal.rules.syntax import Binary, Expression, Literal, Name, Open, Unary
from regraft.heal.rules.vocabulary import CONTRADICTORY

MOST_CASES = 256
_TURNED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "==": "==", "!=": "!="}
_DENIED = {"<": ">=", "<=": ">", ">": "<=", ">=": "<", "==": "!=", "!=": "=="}


@dataclass(frozen=True)
class Conflict:
    """`other` is empty if the rule conflicts with itself. `decided_by`: what settles it at run time."""

    rule: str
    other: str
    reason: str
    decided_by: str

    def __str__(self) -> str:
        pair = f"{self.rule} and {self.other}" if self.other else self.rule
        return f"{pair}: {self.reason}" + (f" ({self.decided_by} decides)" if self.decided_by else "")


@dataclass(frozen=True, slots=True)
class _Atom:
    """`name op bound`; a name may be a difference of two."""

    name: str
    operator: str
    bound: float


Cases = list[tuple[_Atom, ...]]
"""A disjunction of conjunctions: one case has to hold, with all its atoms."""


def conflicts(checked: Checked) -> tuple[Conflict, ...]:
    """All conflicts among these rules, in their order."""
    cases = {rule.name: _cases(rule.rule.when, rule, True) for rule in checked.rules}
    found = [
        Conflict(rule.name, "", "its condition can never hold", "")
        for rule in checked.rules
        if not _possible(cases[rule.name])
    ]
    for one, other in combinations(checked.rules, 2):
        if (pair := _contradiction(one, other)) is None:
            continue
        if _possible(a + b for a in cases[one.name] for b in cases[other.name]):
            by_priority = one.rule.priority != other.rule.priority
            winner = one if one.rule.priority > other.rule.priority else other
            decided = f"the priority of {winner.name}" if by_priority else "the order of arrival"
            reason = f"on {one.rule.on.name} both may apply, and {pair[0]} and {pair[1]} contradict"
            found.append(Conflict(one.name, other.name, reason, decided))
    return tuple(found)


def _contradiction(one: CheckedRule, other: CheckedRule) -> tuple[str, str] | None:
    if one.rule.on.name != other.rule.on.name:
        return None
    for a in one.rule.do:
        for b in other.rule.do:
            same = _meaning(one, a.arguments[0]) == _meaning(other, b.arguments[0])
            if same and frozenset({a.action, b.action}) in CONTRADICTORY:
                return a.action, b.action
    return None


def _meaning(rule: CheckedRule, argument: Expression) -> str:
    return rule.names[argument.parts[0]].type if isinstance(argument, Name) else ""


def _cases(node: Expression | None, rule: CheckedRule, wanted: bool) -> Cases:
    """The ways in which the condition becomes `wanted`; [()] if nothing is known."""
    match node:
        case Literal(value=bool() as value):
            return [()] if value == wanted else []
        case Unary(operator="!"):
            return _cases(node.operand, rule, not wanted)
        case Binary(operator="&&" | "||"):
            left, right = _cases(node.left, rule, wanted), _cases(node.right, rule, wanted)
            if (node.operator == "&&") != wanted:
                return left + right if len(left) + len(right) <= MOST_CASES else [()]
            both = [a + b for a in left for b in right]
            return both if len(both) <= MOST_CASES else [()]
        case Binary(operator=operator) if operator in _TURNED:
            known = _comparison(node, rule, operator if wanted else _DENIED[operator])
            return ([()] if known else []) if isinstance(known, bool) else [(known,)]
    return [()]


def _comparison(node: Binary, rule: CheckedRule, operator: str) -> _Atom | bool:
    """As an interval of one name; two numbers are compared at once; True if nothing is known."""
    left, right = _side(node.left, rule), _side(node.right, rule)
    match left, right:
        case str(), float():
            return _Atom(left, operator, right)
        case float(), str():
            return _Atom(right, _TURNED[operator], left)
        case str(), str():
            first, second = sorted((left, right))
            return _Atom(f"{first} - {second}", operator if first == left else _TURNED[operator], 0.0)
        case float(), float():
            return _satisfiable([_Atom("", "==", left), _Atom("", operator, right)])
    return True


def _side(node: Expression, rule: CheckedRule) -> str | float | None:
    """A name that means the same in every rule of the event, or a number; None: neither."""
    value: object = None
    match node:
        case Literal():
            value = node.value
        case Open():
            value = rule.open
        case Unary(operator="-", operand=Literal(value=int() | float() as positive)):
            value = -positive
        case Name(parts=(first, *rest)):
            bound = rule.names[first]
            if bound.value is None:
                return ".".join([_known(bound), *rest])
            value = bound.value
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _known(bound: Bound) -> str:
    return bound.argument if bound.type not in ("broker", "brokers") else bound.type


def _possible(cases: Iterable[Sequence[_Atom]]) -> bool:
    return any(_satisfiable(case) for case in cases)


def _satisfiable(atoms: Sequence[_Atom]) -> bool:
    """Whether numbers exist that keep all of them: one interval for each name."""
    for name in {atom.name for atom in atoms}:
        own = [atom for atom in atoms if atom.name == name]
        low = max((a.bound for a in own if a.operator in (">", ">=", "==")), default=float("-inf"))
        high = min((a.bound for a in own if a.operator in ("<", "<=", "==")), default=float("inf"))
        if low > high:
            return False
        excluded = {a.bound for a in own if a.operator in ("<", ">", "!=")}
        if low == high and low in excluded:
            return False
    return True
