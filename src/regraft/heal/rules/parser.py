"""From text to rules: the subset of Ponder's obligation policies that Mimosa Pudica §4.3 uses.

    type oblig NAME(TYPE NAME, TYPE NAME = VALUE){
    subject   AdaptationManager;
    on        event(NAME, TYPE NAME);
    do        database.action(NAME) -> database.action(NAME);
    when      EXPRESSION;
    priority  NUMBER;}

Clauses stand in any order, `when` and `priority` may be missing; `inst oblig` reads the same. The rules that
the paper prints parse as they stand: the arguments of an event may be parted by `,`, `;` or `,;`, `User
Defined` is a value still to be given, and the last brace of a rule may be missing (decision 14).

The parser is a table with a stack of its own, and length, number and nesting have limits.
"""

from functools import cache
from typing import Final, cast

from lark import Lark
from lark.exceptions import UnexpectedCharacters, UnexpectedInput, UnexpectedToken, VisitError

from regraft.heal.rules.build import Build, Found
from regraft.heal.rules.syntax import At, BadRule, Misfit, Rule, placed

MAX_LENGTH: Final = 65_536
MAX_RULES: Final = 500

GRAMMAR: Final = r"""
start: rule+
rule: KIND "oblig" NAME [parameters] "{" clause+ RBRACE?
parameters: "(" [parameter ("," parameter)*] ")"
parameter: type NAME ["=" MINUS? literal]
type: NAME ["<" type ">"]

?clause: "subject" path ";"                                 -> subject
    | ON NAME "(" [argument (_sep argument)*] ")" ";"       -> on
    | DO call ("->" call)* ";"                              -> do
    | WHEN expression ";"                                   -> when
    | PRIORITY MINUS? literal ";"                           -> priority
argument: NAME | type NAME
_sep: "," ";"? | ";"
call: NAME "." NAME "(" [expression ("," expression)*] ")"

?expression: conjunction | expression OR conjunction        -> binary
?conjunction: negation | conjunction AND negation           -> binary
?negation: comparison | NOT negation                        -> unary
?comparison: sum | sum (COMPARE | LESS | MORE) sum          -> binary
?sum: product | sum (PLUS | MINUS) product                  -> binary
?product: factor | product (STAR | SLASH) factor            -> binary
?factor: atom | MINUS factor                                -> unary
?atom: literal | OPEN -> open | path | path "(" ")" -> method | "(" expression ")"
literal: NUMBER | STRING | TRUE | FALSE
path: NAME ("." NAME)*

KIND.2: /(type|inst)\b/
ON: "on"
DO: "do"
WHEN: "when"
PRIORITY: "priority"
OR.2: /\|\||or\b/
AND.2: /&&|and\b/
NOT.2: /!(?!=)|not\b/
COMPARE.2: /<=|>=|==|!=/
LESS: "<"
MORE: ">"
PLUS: "+"
MINUS: "-"
STAR: "*"
SLASH: "/"
RBRACE: "}"
TRUE: "true"
FALSE: "false"
OPEN.2: /User[ \t]+Defined/
NUMBER: /[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?/
STRING: /"[^"\n]*"|'[^'\n]*'/
NAME: /[A-Za-z_][A-Za-z0-9_]*/
COMMENT: /\/\/[^\n]*|\/\*(.|\n)*?\*\//
%import common.WS
%ignore WS
%ignore COMMENT
"""

PAPER_RULES: Final = """\
type oblig deleteBrokerRules(target database, Broker<T> broker){
subject   AdaptationManager;
on       deleteBrokerRequest();
do       database.deleteBroker(broker);}

type oblig addBrokerRules(target database, Broker<T> broker){
subject   AdaptationManager;
on       addBrokerRequest();
do       database.addBroker(broker);}

type oblig failureJudgmentRules(target database, Broker<T> broker){
subject   AdaptationManager;
on       migrateBrokerRequest(Monitor, max_input_rate,; min_output_rate);
do       database.goBroker(broker);
when     max_input_rate <= min_output_rate;}

type oblig taskTransferRules(target database, Broker<List<T>>brokers){
subject   AdaptationManager;
on       transferBrokerRequest(Compression brokers, local_ip_info, remote_ip_info);
do       database.goBroker(brokers);
when     brokers.getBrokersID() <= User Defined;
"""
"""The four rules of Mimosa Pudica §4.3, punctuated as printed there."""


def parse(text: str, place: str = "") -> tuple[Rule, ...]:
    """All rules of a text, in its order; `BadRule` names the first fault."""
    if len(text) > MAX_LENGTH:
        raise BadRule(place, f"{len(text)} characters of rules, where {MAX_LENGTH} are allowed")
    try:
        found = cast("list[Found]", _lark().parse(text))
        if len(found) > MAX_RULES:
            raise BadRule(place, f"{len(found)} rules, where {MAX_RULES} are allowed")
        return _once(_with_source(found, text))
    except UnexpectedInput as fault:
        raise BadRule(*_where(fault, text, place)) from None
    except VisitError as fault:
        if isinstance(fault.orig_exc, Misfit):
            raise fault.orig_exc.within_text(place) from None
        raise
    except Misfit as fault:
        raise fault.within_text(place) from None


def _with_source(found: list[Found], text: str) -> tuple[Rule, ...]:
    """Each with its own piece of the text: up to its last brace, or to the next rule."""
    starts = [each.start for each in found[1:]] + [len(text)]
    return tuple(
        each.rule(text[each.start : each.end or next].strip())
        for each, next in zip(found, starts, strict=True)
    )


def _once(rules: tuple[Rule, ...]) -> tuple[Rule, ...]:
    seen: dict[str, At] = {}
    for rule in rules:
        if rule.name in seen:
            raise Misfit(rule.at, f"the rule {rule.name!r} stands twice, first at {seen[rule.name]}")
        seen[rule.name] = rule.at
    return rules


def _where(fault: UnexpectedInput, text: str, place: str) -> tuple[str, str]:
    if isinstance(fault, UnexpectedCharacters):
        return placed(place, At(fault.line, fault.column)), f"unexpected character {fault.char!r}"
    expected = sorted(_readable(name) for name in getattr(fault, "accepts", None) or ())
    if isinstance(fault, UnexpectedToken) and fault.token.type != "$END":
        found, at = f"unexpected {str(fault.token)[:40]!r}", At(fault.line, fault.column)
    else:
        lines = text.splitlines() or [""]
        found, at = "the text ends too early", At(len(lines), len(lines[-1]) + 1)
    return placed(place, at), f"{found}; expected {' or '.join(expected)}" if expected else found


def _readable(terminal: str) -> str:
    words = {"NAME": "a name", "NUMBER": "a number", "STRING": "text", "$END": "the end", "KIND": "`type`"}
    for known in _lark().terminals:
        if known.name == terminal and known.pattern.type == "str":
            return f"`{known.pattern.value}`"
    operators = {"OR": "`||`", "AND": "`&&`", "NOT": "`!`", "COMPARE": "`<=`", "OPEN": "`User Defined`"}
    return (words | operators).get(terminal, terminal.lower())


@cache
def _lark() -> Lark:
    return Lark(GRAMMAR, parser="lalr", transformer=Build(), maybe_placeholders=False)
