"""What routing asks of a filter, fast: does the event match (CESQL 1.0 §1.2)?

An expression becomes one Python function. Inside it an outcome is True, False or None for an error. An
error decides: the event does not match, whatever the other parts say (fail fast mode, §4.1). Hence
`x AND y` is y if x is True, else x; `x OR y` is y if x is False, else x.

The text of the function is made of fixed pieces, counters, and `repr` of strings and numbers: nothing that
a user wrote is executed. It nests no deeper than the filter does, which the parser limits.
"""

from collections.abc import Callable, Mapping
from typing import Any

from regraft.filters.atoms import Atom, atom_of, truth_atom
from regraft.filters.evaluate import Evaluator, evaluator
from regraft.filters.functions import find_function, to_truth
from regraft.filters.normal import Conjunction
from regraft.filters.syntax import COMPARISONS, LOGIC, Attribute, Call, Chain, Exists, In, Like, Node, Unary
from regraft.filters.values import Value, number_of, number_with_text

Matches = Callable[[Mapping[str, Value]], bool]


def compiled(node: Node) -> Matches:
    """The test of events that an expression stands for."""
    writer = _Writer()
    if is_boolean(node):
        writer.outcome(node, "r", 1, only_true=True)
    else:
        # Only a boolean passes; a string "true" as the result of the whole expression does not.
        writer.line(1, f"r = {writer.name(passing(evaluator(node)))}(event)")
    source = "\n".join(["def matches(event):", " get = event.get", *writer.lines, " return r is True"])
    scope = writer.scope
    exec(compile(source, "<filter>", "exec"), scope)
    made: Matches = scope["matches"]
    return made


def is_boolean(node: Node) -> bool:
    """Whether the value of an expression is always a boolean."""
    match node:
        case Unary(operator, _):
            return operator == "NOT"
        case Chain(_, rest):
            return rest[0][0] in LOGIC or rest[0][0] in COMPARISONS
        case Call(function, arguments):
            signature = find_function(function, len(arguments))
            return signature is not None and signature.zero is False
        case _:
            return isinstance(node, Exists | Like | In)


class _Writer:
    def __init__(self) -> None:
        self.lines: list[str] = []
        self.scope: dict[str, Any] = {}
        self.count = 0

    def line(self, indent: int, text: str) -> None:
        self.lines.append(" " * indent + text)

    def fresh(self) -> str:
        self.count += 1
        return f"v{self.count}"

    def name(self, thing: object) -> str:
        name = f"k{len(self.scope)}"
        self.scope[name] = thing
        return name

    def outcome(self, node: Node, target: str, indent: int, only_true: bool) -> None:
        """Lines that set `target` to the outcome of a node, cast to a boolean. With `only_true` False and
        None need not be told apart, which is cheaper."""
        atom = truth_atom(node.name, False) if isinstance(node, Attribute) else atom_of(node)
        if atom is not None:
            self.line(indent, f"{target} = {self.atom(atom, only_true)}")
        elif isinstance(node, Chain) and node.rest[0][0] in LOGIC:
            self.logic(node, target, indent, only_true)
        elif isinstance(node, Unary) and isinstance(node.operand, Attribute) and node.operator == "NOT":
            self.negated(self.atom(truth_atom(node.operand.name, True), False), target, indent)
        elif isinstance(node, Unary) and node.operator == "NOT" and is_boolean(node.operand):
            inner = self.fresh()
            self.outcome(node.operand, inner, indent, only_true=False)
            self.negated(inner, target, indent)
        else:
            self.line(indent, f"{target} = {self.name(_outcome_of(node))}(event)")

    def negated(self, inner: str, target: str, indent: int) -> None:
        self.line(indent, f"{target} = {inner}")
        self.line(indent, f"if {target} is not None: {target} = not {target}")

    def logic(self, node: Chain, target: str, indent: int, only_true: bool) -> None:
        operators = [operator for operator, _ in node.rest]
        parts = [node.first, *(part for _, part in node.rest)]
        # Before an OR or XOR it matters whether the left side is false or an error.
        last = max((i for i, operator in enumerate(operators) if operator != "AND"), default=-1)
        self.outcome(parts[0], target, indent, only_true and last < 0)
        for i, (operator, part) in enumerate(node.rest):
            cheap = only_true and last <= i
            if operator == "XOR":
                right = self.fresh()
                self.line(indent, f"if {target} is not None:")
                self.outcome(part, right, indent + 1, only_true=False)
                self.line(indent + 1, f"{target} = None if {right} is None else {target} is not {right}")
            else:
                self.line(indent, f"if {target}:" if operator == "AND" else f"if {target} is False:")
                self.outcome(part, target, indent + 1, cheap)

    def atom(self, atom: Atom, only_true: bool) -> str:
        """A Python expression for an atom: it tests values of the usual types in place and calls `atom.test`
        for all others."""
        read = f"get({atom.attribute!r})"
        test = self.name(atom.test)
        if atom.comparison is None:
            return f"{test}({read})"
        operator, constant = atom.comparison
        v = self.fresh()
        if operator in ("=", "!=") and isinstance(constant, str):
            python = "==" if operator == "=" else "!="
            if only_true and operator == "=" and _only_a_string_has(constant):
                return f"{read} == {constant!r}"
            return f"({v} {python} {constant!r} if type({v} := {read}) is str else {test}({v}))"
        number = number_of(constant)
        if number is None or (operator in ("=", "!=") and isinstance(constant, bool)):
            return f"{test}({read})"
        python = {"=": "==", "!=": "!="}.get(operator, operator)
        # A NaN counts as a missing attribute, which is an error. Comparing it in place gives false, so floats
        # are compared in place only where an error and false need not be told apart, and not with `!=`.
        floats = f" or type({v}) is float" if only_true and operator != "!=" else ""
        return f"({v} {python} {number!r} if type({v} := {read}) is int{floats} else {test}({v}))"


def _only_a_string_has(text: str) -> bool:
    """Whether no number or boolean has this text, so that only a string can be equal to it."""
    return number_with_text(text) is None and text not in ("true", "false")


def passing(run: Evaluator) -> Matches:
    """The same test by the evaluator: slower for each event than `compiled`, but quicker to make."""

    def passes(event: Mapping[str, Value]) -> bool:
        value, fault = run(event)
        return value is True and fault is None

    return passes


def in_boxes(normal: tuple[Conjunction, ...]) -> Matches:
    """The same test of a filter whose normal form is exact, however long it is."""
    return lambda event: any(conjunction.allows(event) for conjunction in normal)


def _outcome_of(node: Node) -> Callable[[Mapping[str, Value]], bool | None]:
    run = evaluator(node)

    def outcome(event: Mapping[str, Value]) -> bool | None:
        value, fault = run(event)
        truth, bad = to_truth(value)
        return truth if fault is None and bad is None else None

    return outcome
