"""Rules are checked when they are stored: unknown events and actions, types, values that are still open.

What passes can be evaluated against any event: every name is bound to a place where its value comes from.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, NoReturn

from regraft.heal.rules.syntax import (
    At,
    Binary,
    Call,
    Declaration,
    Expression,
    Literal,
    Misfit,
    Name,
    Open,
    Rule,
    Unary,
)
from regraft.heal.rules.vocabulary import (
    ACTIONS,
    ATTRIBUTES,
    EVENTS,
    METHODS,
    SUBJECT,
    Type,
    type_of,
)

OPEN = "User Defined"
Value = float | str | bool
Definitions = Mapping[str, Value]
"""Values for what a rule leaves open, by name or by `rule.name`."""


class Bound(NamedTuple):
    """Where a name's value comes from: an argument of the event (by the vocabulary's name), or a constant.

    A `broker` is the one that the event is about, `brokers` those that it lists.
    """

    type: Type
    argument: str = ""
    value: Value | None = None


@dataclass(frozen=True)
class CheckedRule:
    rule: Rule
    names: Mapping[str, Bound] = field(repr=False)
    open: Value | None = None

    @property
    def name(self) -> str:
        return self.rule.name


@dataclass(frozen=True)
class Checked:
    """Rules that may be evaluated, in the order in which they were stored; `version` is the database's."""

    rules: tuple[CheckedRule, ...] = ()
    version: int = 0


def check(
    rules: Iterable[Rule], definitions: Definitions | None = None, *, place: str = "", version: int = 0
) -> Checked:
    """`BadRule` names position and reason of the first fault."""
    try:
        return Checked(tuple(_checked(rule, definitions or {}) for rule in rules), version)
    except Misfit as fault:
        raise fault.within_text(place) from None


def _checked(rule: Rule, definitions: Definitions) -> CheckedRule:
    if rule.subject != SUBJECT:
        raise Misfit(rule.at, f"the subject of {rule.name!r} must be {SUBJECT}, not {rule.subject}")
    names = _parameters(rule, definitions) | _event_arguments(rule)
    _same_types(rule, names)
    open = definitions.get(f"{rule.name}.{OPEN}", definitions.get(OPEN))
    checker = _Types(names, open)
    for call in rule.do:
        _check_call(call, names, checker)
    if rule.when is not None and (found := checker.of(rule.when)) != "truth":
        raise Misfit(_place(rule.when), f"`when` needs a condition, and this is a {found}")
    return CheckedRule(rule, names, open)


def _parameters(rule: Rule, definitions: Definitions) -> dict[str, Bound]:
    bound = {}
    for each in rule.parameters:
        type = _declared(each)
        if type in ("target", "broker", "brokers"):
            if each.default is not None:
                raise Misfit(each.at, f"{each.name!r} is given by the event and can have no value here")
            bound[each.name] = Bound(type)
            continue
        if type == "monitor":
            raise Misfit(each.at, "a Monitor comes with an event, not as a parameter")
        default = each.default.value if each.default else None
        value = definitions.get(f"{rule.name}.{each.name}", definitions.get(each.name, default))
        if value is None:
            raise Misfit(
                each.at, f"{each.name!r} has no value: write one (= VALUE), or define it when storing"
            )
        if value_type(value) != type:
            raise Misfit(
                each.at, f"{each.name!r} is a {type}, and its value {value!r} is a {value_type(value)}"
            )
        bound[each.name] = Bound(type, value=value)
    return bound


def _declared(each: Declaration) -> Type:
    type = type_of(each.type)
    if type is None:
        raise Misfit(each.at, f"unknown type {each.type!r}")
    return type


def _event_arguments(rule: Rule) -> dict[str, Bound]:
    """By position, as the paper writes them; their names are the rule's own."""
    known = EVENTS.get(rule.on.name)
    if known is None:
        raise Misfit(rule.on.at, f"unknown event {rule.on.name!r}; there are {', '.join(EVENTS)}")
    if len(rule.on.arguments) > len(known):
        extra = rule.on.arguments[len(known)]
        raise Misfit(extra.at, f"{rule.on.name} has {len(known)} arguments, and {extra.name!r} is one more")
    bound = {}
    for written, argument in zip(rule.on.arguments, known, strict=False):
        if written.type and (type := _declared(written)) != argument.type:
            reason = f"argument {argument.name!r} of {rule.on.name} is a {argument.type}, not a {type}"
            raise Misfit(written.at, reason)
        bound[written.name] = Bound(argument.type, argument.name)
    return bound


def _same_types(rule: Rule, names: Mapping[str, Bound]) -> None:
    """A parameter and an argument of one name are one thing."""
    for each in rule.parameters:
        if names[each.name].type != type_of(each.type):
            raise Misfit(each.at, f"{each.name!r} is a {type_of(each.type)} here and another in `on`")


def _check_call(call: Call, names: Mapping[str, Bound], checker: "_Types") -> None:
    if call.target not in names or names[call.target].type != "target":
        raise Misfit(call.at, f"{call.target!r} is no target; declare it: `target {call.target}`")
    wanted = ACTIONS.get(call.action)
    if wanted is None:
        raise Misfit(call.at, f"unknown action {call.action!r}; there are {', '.join(ACTIONS)}")
    if len(call.arguments) != 1:
        raise Misfit(call.at, f"{call.action} takes one argument, not {len(call.arguments)}")
    argument = call.arguments[0]
    found = checker.of(argument)
    if not isinstance(argument, Name) or found not in wanted:
        raise Misfit(_place(argument), f"{call.action} takes a {' or '.join(sorted(wanted))}, not a {found}")


class _Types:
    """The type of each expression, or the fault."""

    def __init__(self, names: Mapping[str, Bound], open: Value | None) -> None:
        self._names = names
        self._open = open

    def of(self, node: Expression) -> Type:
        match node:
            case Literal():
                return value_type(node.value)
            case Open():
                if self._open is None:
                    raise Misfit(node.at, f"`{OPEN}` is still open: define it when storing")
                return value_type(self._open)
            case Name():
                return self._name(node)
            case Unary():
                wanted: Type = "truth" if node.operator == "!" else "number"
                self._need(node.operand, wanted, node.operator)
                return wanted
            case Binary():
                return self._binary(node)

    def _name(self, node: Name) -> Type:
        first, *rest = node.parts
        if first not in self._names:
            raise Misfit(node.at, f"unknown name {first!r}; there are {', '.join(self._names) or 'none'}")
        type = self._names[first].type
        if not rest:
            return type if not node.call else self._no_member(node, type)
        members = (METHODS if node.call else ATTRIBUTES).get(type, {})
        if len(rest) == 1 and rest[0] in members:
            return members[rest[0]]
        return self._no_member(node, type)

    def _no_member(self, node: Name, type: Type) -> NoReturn:
        known = [*ATTRIBUTES.get(type, ()), *(f"{name}()" for name in METHODS.get(type, ()))]
        reason = f"a {type} has {', '.join(known)}" if known else f"a {type} has no parts"
        raise Misfit(node.at, f"{str(node)!r} is not known: {reason}")

    def _binary(self, node: Binary) -> Type:
        match node.operator:
            case "&&" | "||":
                self._need(node.left, "truth", node.operator)
                self._need(node.right, "truth", node.operator)
                return "truth"
            case "+" | "-" | "*" | "/":
                self._need(node.left, "number", node.operator)
                self._need(node.right, "number", node.operator)
                return "number"
        left, right = self.of(node.left), self.of(node.right)
        ordered = (
            ("number", "text") if node.operator not in ("==", "!=") else ("number", "text", "truth", "broker")
        )
        if left != right or left not in ordered:
            raise Misfit(node.at, f"`{node.operator}` cannot compare a {left} with a {right}")
        return "truth"

    def _need(self, node: Expression, wanted: Type, operator: str) -> None:
        if (found := self.of(node)) != wanted:
            raise Misfit(_place(node), f"`{operator}` needs a {wanted}, and this is a {found}")


def value_type(value: Value) -> Type:
    if isinstance(value, bool):
        return "truth"
    return "text" if isinstance(value, str) else "number"


def _place(node: Expression) -> At:
    return _place(node.left) if isinstance(node, Binary) else node.at
