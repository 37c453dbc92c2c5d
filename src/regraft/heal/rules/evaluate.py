"""A rule's condition against an event and what was measured. Pure.

What was not measured has no value: `Unmeasured` says what is missing, and the rule does not apply. Zero
instead would migrate everything away from a broker that was not measured yet.
"""

import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from regraft.heal.rules.check import CheckedRule
from regraft.heal.rules.syntax import Binary, Expression, Literal, Name, Open, Unary
from regraft.heal.rules.vocabulary import MEASURES
from regraft.model.facts import Event, Facts, Load

_OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    **{"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge},
    **{"==": operator.eq, "!=": operator.ne, "+": operator.add, "-": operator.sub, "*": operator.mul},
}


@dataclass(frozen=True)
class Unmeasured:
    """The rule cannot be evaluated: this value is not known."""

    what: str


class _Missing(Exception):
    pass


@dataclass(frozen=True)
class Situation:
    """One rule and one event, with the facts to evaluate it by."""

    rule: CheckedRule
    event: Event
    facts: Facts

    def holds(self) -> bool | Unmeasured:
        """Whether the condition is true; a rule without one always applies."""
        if self.rule.rule.when is None:
            return True
        try:
            return bool(self._value(self.rule.rule.when))
        except _Missing as missing:
            return Unmeasured(str(missing))

    def brokers(self, argument: Expression) -> tuple[str, ...]:
        """The brokers that an action is about."""
        assert isinstance(argument, Name), "checked when stored"
        bound = self.rule.names[argument.parts[0]]
        return self._several() if bound.type == "brokers" else (self.event.broker,)

    def _several(self) -> tuple[str, ...]:
        return self.event.brokers or ((self.event.broker,) if self.event.broker else ())

    def _value(self, node: Expression) -> Any:
        match node:
            case Literal():
                return node.value
            case Open():
                return self.rule.open
            case Name():
                return self._named(node)
            case Unary():
                value = self._value(node.operand)
                return not value if node.operator == "!" else -value
            case Binary():
                return self._binary(node)

    def _binary(self, node: Binary) -> Any:
        left = self._value(node.left)
        match node.operator:
            case "&&":
                return left and self._value(node.right)
            case "||":
                return left or self._value(node.right)
        right = self._value(node.right)
        if node.operator == "/":
            if right == 0:
                raise _Missing(f"a division by zero at {node.at}")
            return left / right
        return _OPERATORS[node.operator](left, right)

    def _named(self, node: Name) -> Any:
        first, *rest = node.parts
        bound = self.rule.names[first]
        if bound.value is not None:
            return bound.value
        match bound.type:
            case "broker":
                return self._of_broker(rest[0]) if rest else self.event.broker
            case "monitor":
                return self._measured(rest[0])
            case "brokers":
                return len(self._several())
        return self._argument(bound.argument)

    def _of_broker(self, part: str) -> Any:
        broker = self.event.broker
        match part:
            case "id" | "getBrokerID":
                return broker
            case "dead":
                return broker in self.facts.dead
            case "degree":
                return float(len(self.facts.overlay.neighbours.get(broker, ())))
        return self._measured(part)

    def _argument(self, name: str) -> Any:
        """What came with the event, else what was measured at its broker."""
        if name in self.event.arguments:
            value = self.event.arguments[name]
            wanted = str if name not in MEASURES else (int, float)
            if isinstance(value, wanted) and not isinstance(value, bool):
                return value
            raise _Missing(f"{name} of {self.event.name} has no value of its type")
        if name in MEASURES:
            return self._measured(name)
        raise _Missing(f"{name} of {self.event.name}")

    def _measured(self, name: str) -> float:
        value: float | None = getattr(self.facts.loads.get(self.event.broker, Load()), name)
        if value is None:
            raise _Missing(f"{name} of {self.event.broker or 'no broker'}")
        return value
