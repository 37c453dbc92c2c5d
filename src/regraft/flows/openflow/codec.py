"""Rules ↔ bytes: flow-mod messages (§7.3.4.1) and the rules that a switch says it holds (§7.3.5.2)."""

from collections.abc import Iterator
from functools import lru_cache
from struct import Struct
from typing import NamedTuple

from regraft.flows.block import WIDTH, Family, Prefix
from regraft.flows.openflow.wire import (
    OXM_BASIC,
    Garbage,
    Item,
    Oxm,
    padded,
    read_items,
    read_match,
    read_oxms,
    write_items,
    write_match,
    write_message,
    write_oxm,
)
from regraft.flows.rules import Action, Command, FlowMod, Match, Output, Readdress, Rule, SetMark

FLOW_MOD, MULTIPART_REQUEST = 14, 18
FLOW_STATS, AGGREGATE_STATS = 1, 2

COOKIE = int.from_bytes(b"regraft1")
"""All our rules carry this cookie: rules of others in the same switch are neither counted nor deleted."""
ALL = (1 << 64) - 1

NO_BUFFER = ANY_PORT = ANY_GROUP = 0xFFFF_FFFF

ANY_TABLE = 0xFF

IN_PORT, ETH_DST, ETH_TYPE, IP_DSCP = 0, 3, 5, 8
SOURCE: dict[Family, int] = {4: 11, 6: 26}
DESTINATION: dict[Family, int] = {4: 12, 6: 27}
ETHER_TYPE: dict[Family, int] = {4: 0x0800, 6: 0x86DD}

_OUTPUT, _SET_FIELD = 0, 25
_GOTO_TABLE, _APPLY_ACTIONS = 1, 4

_FLOW_MOD = Struct("!QQBBHHHIIIHxx")
_OUTPUT_BODY = Struct("!IH6x")
_GOTO_BODY = Struct("!B3x")
_FLOW_STATS_REQUEST = Struct("!HH4xB3xII4xQQ")
_FLOW_STATS = Struct("!HBxIIHHHH4xQQQ")


class FlowStats(NamedTuple):
    """A rule as a switch reports it: fields and instructions are not interpreted yet."""

    table: int
    priority: int
    cookie: int
    packets: int
    match: tuple[Oxm, ...]
    instructions: tuple[Item, ...]


def write_flow_mod(message: FlowMod, xid: int) -> bytes:
    command, rule = message
    delete = command in (Command.DELETE, Command.DELETE_WITHIN)
    head = _FLOW_MOD.pack(
        COOKIE,
        ALL if command != Command.ADD else 0,
        rule.table,
        command,
        0,
        0,
        rule.priority,
        NO_BUFFER,
        ANY_PORT,
        ANY_GROUP,
        0,
    )
    instructions = b"" if delete else write_instructions(rule.actions, rule.goto, rule.match.family or 6)
    return write_message(FLOW_MOD, xid, head + write_match(fields(rule.match)) + instructions)


def write_flow_stats_request(xid: int, kind: int = FLOW_STATS) -> bytes:
    """Ask for our rules in all tables: one by one, or only their number."""
    head = _FLOW_STATS_REQUEST.pack(kind, 0, ANY_TABLE, ANY_PORT, ANY_GROUP, COOKIE, ALL)
    return write_message(MULTIPART_REQUEST, xid, head + write_match(()))


def read_flow_stats(data: bytes) -> Iterator[FlowStats]:
    """The rows of a flow-stats reply, behind its multipart header."""
    at = 0
    while at < len(data):
        if at + _FLOW_STATS.size > len(data):
            raise Garbage("the list of rules is cut off")
        length, table, _, _, priority, _, _, _, cookie, packets, _ = _FLOW_STATS.unpack_from(data, at)
        if length < _FLOW_STATS.size + 8 or at + length > len(data):
            raise Garbage(f"a rule of length {length}")
        row = data[at : at + length]
        match, behind = read_match(row, _FLOW_STATS.size)
        yield FlowStats(table, priority, cookie, packets, match, tuple(read_items(row[behind:])))
        at += length


def fields(match: Match) -> Iterator[Oxm]:
    """The fields of a match, in an order that puts each behind the fields that it requires (§7.2.3.8)."""
    if match.in_port is not None:
        yield Oxm(OXM_BASIC, IN_PORT, match.in_port.to_bytes(4))
    family = match.family
    if family is None:
        return
    yield Oxm(OXM_BASIC, ETH_TYPE, ETHER_TYPE[family].to_bytes(2))
    if match.mark is not None:
        yield Oxm(OXM_BASIC, IP_DSCP, match.mark.to_bytes(1))
    width = WIDTH[family]
    if match.source is not None:
        yield Oxm(OXM_BASIC, SOURCE[family], match.source.to_bytes(width // 8))
    if match.prefix is not None:
        address, length = match.prefix
        mask = ((1 << length) - 1) << (width - length)
        # A mask of ones only is written as no mask, because that is how a switch reports it.
        value = address.to_bytes(width // 8)
        whole = length == width
        yield Oxm(OXM_BASIC, DESTINATION[family], value, None if whole else mask.to_bytes(width // 8))


@lru_cache(maxsize=4096)
def write_instructions(actions: tuple[Action, ...], goto: int | None, family: Family) -> bytes:
    """The instructions of a rule; cached, because many rules have the same."""
    items = []
    if actions:
        body = write_items(item for action in actions for item in _action_items(action, family))
        items.append(Item(_APPLY_ACTIONS, bytes(4) + body))
    if goto is not None:
        items.append(Item(_GOTO_TABLE, _GOTO_BODY.pack(goto)))
    return write_items(items)


def _action_items(action: Action, family: Family) -> Iterator[Item]:
    if isinstance(action, Output):
        yield Item(_OUTPUT, _OUTPUT_BODY.pack(action.port, 0))
    elif isinstance(action, SetMark):
        yield _set_field(IP_DSCP, action.mark.to_bytes(1))
    else:
        yield _set_field(ETH_DST, action.mac.to_bytes(6))
        yield _set_field(DESTINATION[family], action.address.to_bytes(WIDTH[family] // 8))


def _set_field(field: int, value: bytes) -> Item:
    oxm = write_oxm(Oxm(OXM_BASIC, field, value))
    return Item(_SET_FIELD, padded(bytes(4) + oxm)[4:])


def read_rule(stats: FlowStats) -> Rule:
    """One of our rules as a switch reports it; `Garbage` if it has parts that we never write."""
    actions: list[Action] = []
    goto: int | None = None
    for kind, body in stats.instructions:
        if kind == _GOTO_TABLE:
            goto = body[0]
        elif kind == _APPLY_ACTIONS:
            actions += _read_actions(body[4:])
        else:
            raise Garbage(f"a rule of ours with an instruction of type {kind}")
    return Rule(stats.table, stats.priority, _read_match(stats.match), tuple(actions), goto)


def _read_match(oxms: tuple[Oxm, ...]) -> Match:
    found = {oxm.field: oxm for oxm in oxms if oxm.oxm_class == OXM_BASIC}
    if len(found) != len(oxms) or not found.keys() <= {IN_PORT, ETH_TYPE, IP_DSCP, 11, 12, 26, 27}:
        raise Garbage(f"a rule of ours that looks at the fields {sorted(oxm.field for oxm in oxms)}")
    numbers = {field: int.from_bytes(oxm.value) for field, oxm in found.items()}
    if ETH_TYPE not in found:
        return Match(in_port=numbers.get(IN_PORT))
    family: Family = 6 if numbers[ETH_TYPE] == ETHER_TYPE[6] else 4
    to = found.get(DESTINATION[family])
    prefix = None
    if to is not None:
        length = WIDTH[family] if to.mask is None else int.from_bytes(to.mask).bit_count()
        prefix = Prefix(int.from_bytes(to.value), length)
    return Match(family, numbers.get(IN_PORT), numbers.get(IP_DSCP), numbers.get(SOURCE[family]), prefix)


def _read_actions(data: bytes) -> Iterator[Action]:
    mac = 0
    for kind, body in read_items(data):
        if kind == _OUTPUT:
            yield Output(_OUTPUT_BODY.unpack(body)[0])
            continue
        if kind != _SET_FIELD:
            raise Garbage(f"a rule of ours with an action of type {kind}")
        # The field's header has its length; what follows is padding.
        (oxm,) = read_oxms(body[: 4 + body[3]])
        number = int.from_bytes(oxm.value)
        if oxm.field == IP_DSCP:
            yield SetMark(number)
        elif oxm.field == ETH_DST:
            mac = number
        else:
            yield Readdress(mac, number)
