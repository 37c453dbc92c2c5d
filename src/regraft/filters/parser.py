"""From text to a tree: the grammar of CESQL 1.0 (§2, §3.6), extended by decimal literals.

Where the specification leaves a choice:

- AND, OR and XOR have one precedence and group to the left ("MUST be evaluated left to right", §3.6).
  Write parentheses where they are mixed.
- NOT and the unary minus bind tighter than every other operator: `NOT a = b` is `(NOT a) = b`.
- A sign before digits belongs to the literal only where an operand may begin: `a -1` is a difference.

The parser is a table (LALR) with a stack of its own; trees are built while it runs. So neither nesting nor
length of the text can exhaust the interpreter's stack, and both have limits.
"""

from collections.abc import Callable
from functools import cache
from typing import Any, Final, cast

from lark import Lark, Token, Transformer, v_args
from lark.exceptions import UnexpectedCharacters, UnexpectedInput, UnexpectedToken, VisitError
from lark.parsers.lalr_analysis import Shift

from regraft.filters.errors import BadFilter
from regraft.filters.like import MAX_WILD, wild_length
from regraft.filters.steps import Steps, finish
from regraft.filters.syntax import (
    Attribute,
    Call,
    Chain,
    Exists,
    In,
    Like,
    Literal,
    Node,
    Unary,
    unquoted,
)
from regraft.filters.values import INT_MAX, INT_MIN

MAX_LENGTH: Final = 8_192
MAX_PARTS: Final = 2_048
MAX_CALLS: Final = 128
MAX_DEPTH: Final = 48
TOKENS_AT_ONCE: Final = 8

_WORDS = "and|or|xor|not|like|in|exists|true|false"
_RESERVED = frozenset(_WORDS.split("|"))
_GRAMMAR = rf"""
?start: logic

?logic: comparison | comparison ((AND | OR | XOR) comparison)+ -> chain
?comparison: sum | sum (COMPARE sum)+ -> chain
?sum: product | product ((PLUS | MINUS) product)+ -> chain
?product: postfix | postfix ((STAR | SLASH | PERCENT) postfix)+ -> chain
?postfix: unary
    | postfix NOT? LIKE STRING -> like
    | postfix NOT? IN LPAR logic ("," logic)* ")" -> in_set
?unary: atom | (NOT | MINUS) unary -> negation
?atom: STRING -> literal
    | DECIMAL -> literal
    | INTEGER -> literal
    | TRUE -> literal
    | FALSE -> literal
    | NAME -> attribute
    | EXISTS NAME -> exists
    | FUNCTION LPAR (logic ("," logic)*)? ")" -> call
    | LPAR logic ")" -> nested

AND: /and(?![a-z0-9_])/i
OR: /or(?![a-z0-9_])/i
XOR: /xor(?![a-z0-9_])/i
NOT: /not(?![a-z0-9_])/i
LIKE: /like(?![a-z0-9_])/i
IN: /in(?![a-z0-9_])/i
EXISTS: /exists(?![a-z0-9_])/i
TRUE: /true(?![a-z0-9_])/i
FALSE: /false(?![a-z0-9_])/i
COMPARE: "<=" | ">=" | "<>" | "!=" | "=" | "<" | ">"
PLUS: "+"
MINUS: "-"
STAR: "*"
SLASH: "/"
PERCENT: "%"
LPAR: "("
STRING: /'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*"/s
DECIMAL.3: /[+-]?[0-9]+\.[0-9]+(?:e[+-]?[0-9]+)?(?![a-z0-9_.])/i
INTEGER.2: /[+-]?[0-9]+(?![a-z0-9_.])/i
FUNCTION.2: /(?!(?:{_WORDS})(?![a-z_]))[a-z][a-z_]*(?=[ \t\r\n]*\()/i
NAME: /(?!(?:{_WORDS}|[0-9]+)(?![a-z0-9]))[a-z0-9]+(?![a-z0-9_])/i
%ignore /[ \t\r\n]+/
"""

# What messages call the terminals of the grammar.
_SHOWN = {
    "NAME": "an attribute",
    "STRING": "a string",
    "INTEGER": "a number",
    "FUNCTION": "a function",
    "LPAR": "'('",
    "RPAR": "')'",
    "COMMA": "','",
    "$END": "the end",
    "COMPARE": "a comparison",
}
_PARTS = frozenset(("NAME", "STRING", "INTEGER", "DECIMAL", "TRUE", "FALSE"))
_CALLS = frozenset(("FUNCTION", "LIKE"))
_HIDDEN = {"DECIMAL", "TRUE", "FALSE", "PLUS", "MINUS", "STAR", "SLASH", "PERCENT"}


class _Built:
    """A node with the depth of the tree under it."""

    __slots__ = ("depth", "node")

    def __init__(self, node: Node, depth: int = 0) -> None:
        self.node = node
        self.depth = depth


def _nest(place: Token, node: Node, *inner: _Built) -> _Built:
    depth = 1 + max((part.depth for part in inner), default=0)
    if depth > MAX_DEPTH:
        raise BadFilter(_position(place), f"nested deeper than {MAX_DEPTH} levels")
    return _Built(node, depth)


def _position(token: Token) -> int:
    return (token.start_pos or 0) + 1


def _chain(first: _Built, *rest: Any) -> _Built:
    operators, operands = rest[::2], rest[1::2]
    names = ["!=" if name == "<>" else name.upper() for name in operators]
    node = Chain(first.node, tuple(zip(names, (part.node for part in operands), strict=True)))
    return _nest(operators[0], node, first, *operands)


@v_args(inline=True)
class _Builder(Transformer[Token, _Built]):
    chain = staticmethod(_chain)

    def literal(self, token: Token) -> _Built:
        return _Built(Literal(_READ[token.type](token)))

    def attribute(self, name: Token) -> _Built:
        return _Built(Attribute(name.lower()))

    def exists(self, _: Token, name: Token) -> _Built:
        return _Built(Exists(name.lower()))

    def nested(self, opening: Token, built: _Built) -> _Built:
        return _nest(opening, built.node, built)

    def negation(self, operator: Token, built: _Built) -> _Built:
        return _nest(operator, Unary(operator.upper(), built.node), built)

    def like(self, operand: _Built, *words: Token) -> _Built:
        pattern = unquoted(words[-1])
        assert pattern is not None, "the lexer accepts only closed literals"
        if wild_length(pattern) > MAX_WILD:
            rule = f"between two '%' of a pattern with '_' are at most {MAX_WILD} characters"
            raise BadFilter(_position(words[-1]), rule)
        return _nest(words[0], Like(operand.node, pattern, len(words) == 3), operand)

    def in_set(self, operand: _Built, *words: Any) -> _Built:
        elements = [word for word in words if isinstance(word, _Built)]
        negated = words[0].type == "NOT"
        node = In(operand.node, tuple(element.node for element in elements), negated)
        return _nest(words[0], node, operand, *elements)

    def call(self, function: Token, _: Token, *arguments: _Built) -> _Built:
        node = Call(function.upper(), tuple(argument.node for argument in arguments))
        return _nest(function, node, *arguments)


def _integer(token: Token) -> int:
    digits = token.lstrip("+-0")
    if len(digits) > 10 or not INT_MIN <= int(token) <= INT_MAX:
        raise BadFilter(_position(token), "an integer has 32 bits; write a decimal, 1.0")
    return int(token)


def _decimal(token: Token) -> float:
    number = float(token)
    if number in (float("inf"), float("-inf")):
        raise BadFilter(_position(token), "the number is too large")
    return number


_READ: dict[str, Callable[[Token], Any]] = {
    "STRING": unquoted,
    "INTEGER": _integer,
    "DECIMAL": _decimal,
    "TRUE": lambda _: True,
    "FALSE": lambda _: False,
}


@cache
def _lalr() -> Lark:
    return Lark(_GRAMMAR, parser="lalr", lexer="contextual", transformer=_Builder())


def nameable(attribute: str) -> bool:
    """Whether a filter can name this attribute: `NAME` of the grammar, in lower case as filters read it.

    `islower` is false for a number, which has no letter.
    """
    return attribute.isascii() and attribute.isalnum() and attribute.islower() and attribute not in _RESERVED


def read(text: str) -> Node:
    """The tree of an expression; `BadFilter` with the position and the rule if there is none."""
    return finish(read_in_steps(text))


def read_in_steps(text: str) -> Steps[Node]:
    """`read`, step by step."""
    if len(text) > MAX_LENGTH:
        raise BadFilter(MAX_LENGTH + 1, f"longer than {MAX_LENGTH} characters")
    parser: Any = _lalr().parse_interactive(text)  # lark's methods have no types
    token = None
    parts = calls = 0
    try:
        for number, token in enumerate(parser.lexer_thread.lex(parser.parser_state)):
            parts, calls = parts + (token.type in _PARTS), calls + (token.type in _CALLS)
            if parts > MAX_PARTS or calls > MAX_CALLS:
                rule = f"more than {MAX_PARTS} values and attributes, or {MAX_CALLS} functions and LIKE"
                raise BadFilter(_position(token), rule)
            parser.feed_token(token)
            if number % TOKENS_AT_ONCE == 0:
                yield
        built: _Built = parser.feed_eof(token)
    except UnexpectedInput as fault:
        raise _explained(fault, text, _accepted(parser)) from None
    except VisitError as fault:
        if isinstance(fault.orig_exc, BadFilter):
            raise fault.orig_exc from None
        raise
    return built.node


def _accepted(parser: Any) -> set[str]:
    """The terminals that could come next. That is fewer than the table has entries for: some entries only
    reduce the stack to a state that does not accept the terminal."""
    states, stack = parser.parser_state.parse_conf.states, parser.parser_state.state_stack
    return {name for name in states[stack[-1]] if name.isupper() and _fits(states, stack, name)}


def _fits(states: Any, stack: list[Any], terminal: str) -> bool:
    """Whether the table shifts the terminal, after any number of reductions."""
    below, above = len(stack), list[Any]()  # how much of the stack is left, and what was pushed on top of it
    while True:
        state = above[-1] if above else stack[below - 1]
        if (entry := states[state].get(terminal)) is None:
            return False
        action, rule = entry
        if action is Shift:
            return True
        size = len(rule.expansion)
        below -= max(0, size - len(above))
        del above[max(0, len(above) - size) :]
        name = rule.origin.name
        above.append(states[above[-1] if above else stack[below - 1]][name][1])
        if terminal == "$END" and above[-1] in _ends():
            return True


@cache
def _ends() -> frozenset[Any]:
    return frozenset(_lalr().parse_interactive("").parser_state.parse_conf.parse_table.end_states.values())


def _explained(fault: UnexpectedInput, text: str, accepted: set[str]) -> BadFilter:
    index, found = len(text), "the end"
    if isinstance(fault, UnexpectedCharacters):
        index = cast(int, fault.pos_in_stream)
        found = repr(text[index])
        if text[index] in "'\"" and "STRING" in accepted:
            return BadFilter(index + 1, "the string is not closed")
    elif isinstance(fault, UnexpectedToken) and fault.token.type != "$END":
        index, found = _position(fault.token) - 1, repr(str(fault.token)[:20])
    names = sorted(_SHOWN.get(name, name) for name in accepted - _HIDDEN)
    return BadFilter(index + 1, f"found {found}, expected {' or '.join(names)}")
