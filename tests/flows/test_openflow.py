"""Bytes of OpenFlow 1.3: messages of others are read and written again; ours are read by Open vSwitch."""

import base64
import json
import shutil
import subprocess
import warnings
from contextlib import suppress
from ipaddress import ip_address
from pathlib import Path
from struct import Struct
from typing import Any

import pytest

from regraft.flows.block import AddressBlock
from regraft.flows.openflow.codec import read_flow_stats, read_rule, write_flow_mod, write_flow_stats_request
from regraft.flows.openflow.session import (
    BarrierDone,
    HandshakeState,
    MessageFailed,
    Session,
    SwitchReady,
    describe,
)
from regraft.flows.openflow.wire import (
    HEADER,
    Garbage,
    Item,
    Oxm,
    read_items,
    read_match,
    write_items,
    write_match,
    write_message,
)
from regraft.flows.rules import Command, FlowMod, Match, Output, Readdress, Rule, SetMark

DATA = Path(__file__).parents[1] / "data" / "openflow13"
FLOW_MOD = Struct("!QQBBHHHIIIHxx")
FIELDS = {
    "in_port": 0,
    "eth_dst": 3,
    "eth_src": 4,
    "eth_type": 5,
    "vlan_vid": 6,
    "ipv4_dst": 12,
    "ipv6_dst": 27,
}


def packet(name: str) -> bytes:
    return (DATA / f"{name}.packet").read_bytes()


def content(name: str) -> dict[str, Any]:
    (value,) = json.loads((DATA / f"{name}.json").read_text()).values()
    assert isinstance(value, dict)
    return value


def names(kind: str) -> list[str]:
    found = [path.stem for path in sorted(DATA.glob("*.json")) if kind in json.loads(path.read_text())]
    assert found
    return found


@pytest.mark.parametrize("name", names("OFPFlowMod"))
def test_flow_mods_of_others_are_read_and_written_again_byte_by_byte(name: str) -> None:
    data, said = packet(name), content(name)
    version, kind, length, _ = HEADER.unpack_from(data)
    assert (version, kind, length) == (4, 14, len(data))
    head = FLOW_MOD.unpack_from(data, HEADER.size)
    assert head[:4] == (said["cookie"], said["cookie_mask"], said["table_id"], said["command"])
    assert head[6] == said["priority"]
    fields, behind = read_match(data, HEADER.size + FLOW_MOD.size)
    instructions = tuple(read_items(data[behind:]))
    _compare_fields(fields, said["match"])
    _compare_instructions(instructions, said["instructions"])
    again = data[: HEADER.size + FLOW_MOD.size] + write_match(fields) + write_items(instructions)
    assert again == data


def test_rules_that_a_switch_lists_are_read() -> None:
    data, said = packet("4-12-ofp_flow_stats_reply"), content("4-12-ofp_flow_stats_reply")
    rows = list(read_flow_stats(data[16:]))
    assert len(rows) == len(said["body"])
    for row, each in zip(rows, said["body"], strict=True):
        expected = each["OFPFlowStats"]
        assert (row.table, row.priority) == (expected["table_id"], expected["priority"])
        assert (row.cookie, row.packets) == (expected["cookie"], expected["packet_count"])
        _compare_fields(row.match, expected["match"])
        _compare_instructions(row.instructions, expected["instructions"])


def _compare_fields(fields: tuple[Oxm, ...], said: dict[str, Any]) -> None:
    expected = [tlv["OXMTlv"] for tlv in said["OFPMatch"]["oxm_fields"]]
    assert len(fields) == len(expected)
    for oxm, tlv in zip(fields, expected, strict=True):
        assert (oxm.mask is not None) == (tlv["mask"] is not None)
        if tlv["field"] in FIELDS:
            assert oxm.field == FIELDS[tlv["field"]]
            assert oxm.value == _value(tlv["value"], len(oxm.value))


def _compare_instructions(items: tuple[Item, ...], said: list[dict[str, Any]]) -> None:
    expected = [value for each in said for value in each.values()]
    assert [item.type for item in items] == [each["type"] for each in expected]
    for item, each in zip(items, expected, strict=True):
        if "actions" in each:
            actions = [value for action in each["actions"] for value in action.values()]
            assert [action.type for action in read_items(item.body[4:])] == [
                value["type"] for value in actions
            ]
        if "table_id" in each:
            assert item.body[0] == each["table_id"]


def _value(value: Any, length: int) -> bytes:
    if isinstance(value, int):
        return value.to_bytes(length)
    if ":" in value and length == 6:
        return bytes.fromhex(value.replace(":", ""))
    return ip_address(value).packed


def greeted() -> Session:
    session = Session()
    list(session.receive(write_message(0, 0)))
    list(session.receive(packet("4-6-ofp_features_reply")))
    return session


@pytest.mark.parametrize("name", names("OFPSwitchFeatures"))
def test_a_switch_says_who_it_is(name: str) -> None:
    session = Session()
    assert list(session.receive(write_message(0, 0))) == []
    said = content(name)
    assert list(session.receive(packet(name))) == [SwitchReady(said["datapath_id"], said["n_tables"])]
    assert session.state is HandshakeState.READY


def test_an_error_is_told_in_words() -> None:
    (failed,) = greeted().receive(packet("4-15-ofp_error_msg"))
    said = content("4-15-ofp_error_msg")
    assert isinstance(failed, MessageFailed)
    assert failed.reason == describe(said["type"], said["code"], base64.b64decode(said["data"]))
    assert failed.reason == "bad action: code 11"
    (failed,) = greeted().receive(packet("4-41-ofp_error_msg_experimenter"))
    assert isinstance(failed, MessageFailed)
    assert failed.reason.startswith("experimenter")


def test_a_barrier_is_confirmed_with_its_number() -> None:
    data = bytearray(packet("4-18-ofp_barrier_reply"))
    data[4:8] = (77).to_bytes(4)
    assert list(greeted().receive(bytes(data))) == [BarrierDone(77)]


@pytest.mark.parametrize("name", names("OFPEchoRequest"))
def test_an_echo_request_is_answered_with_the_same_bytes(name: str) -> None:
    session = greeted()
    session.outgoing()
    list(session.receive(packet(name)))
    asked, answer = packet(name), session.outgoing()
    assert (answer[1], answer[4:]) == (3, asked[4:])


def test_messages_may_come_in_any_pieces() -> None:
    stream = write_message(0, 0) + packet("4-6-ofp_features_reply") + packet("4-18-ofp_barrier_reply")
    for size in (1, 3, 7, len(stream)):
        session = Session()
        events = [
            event
            for start in range(0, len(stream), size)
            for event in session.receive(stream[start : start + size])
        ]
        assert [type(event) for event in events] == [SwitchReady, BarrierDone]


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", "type 84"),
        (bytes(64), "length 0"),
        (b"\xff" * 64, "type 255"),
        (b"\x04\x00\x00\x04\0\0\0\0", "length 4"),
        (b"\x01\x00\x00\x08\0\0\0\0", "greeting is of version 1"),
        (write_message(0, 0, b"\0\1\0\x08\0\0\0\x42"), "lists other versions"),
        (write_message(6, 0, bytes(24)), "before the greeting"),
        (write_message(0, 0) + write_message(6, 0, b"short"), "features is cut off"),
        (
            write_message(1, 0, b"\0\0\0\0incompatible\x07"),
            r"refused: no common version: code 0 \(incompatible\?",
        ),
    ],
)
def test_what_is_not_openflow_13_is_refused(data: bytes, reason: str) -> None:
    with pytest.raises(Garbage, match=reason):
        list(Session().receive(data))


@pytest.mark.parametrize("cut", range(17, 536, 19))
def test_a_list_of_rules_that_is_cut_off_is_refused_or_shorter_never_wrong(cut: int) -> None:
    data = packet("4-12-ofp_flow_stats_reply")[16:]
    whole = list(read_flow_stats(data))
    found = []
    with suppress(Garbage):
        for stats in read_flow_stats(data[:cut]):
            found.append(stats)
    assert found == whole[: len(found)]
    assert len(found) < len(whole)


BLOCK = AddressBlock.of()
FAR = Rule(
    1,
    240,
    Match(6, prefix=BLOCK.prefix("1" * 112)),
    (Readdress(0x0252_4700_0001, 0xFD << 120 | 8), Output(7)),
)
OLD = Match(4, source=0x0A42_0001, prefix=AddressBlock.of("239.192.0.0/14").prefix("01"))
WORDS = {
    Rule(0, 0, Match()): "priority=0 actions=drop",
    Rule(0, 1, Match(6, in_port=3, prefix=BLOCK.whole), goto=1): (
        "priority=1,ipv6,in_port=3,ipv6_dst=ff18::/16 actions=goto_table:1"
    ),
    Rule(0, 19, Match(6, 5, source=0xFD << 120 | 9, prefix=BLOCK.prefix("0")), (SetMark(3),), goto=1): (
        "priority=19,ipv6,in_port=5,ipv6_src=fd00::9,ipv6_dst=ff18::/17"
        " actions=set_field:3->ip_dscp,goto_table:1"
    ),
    Rule(1, 20, Match(6, mark=3, prefix=BLOCK.prefix("01")), (Output(2), Output(4))): (
        "table:1 priority=20,ipv6,ipv6_dst=ff18:4000::/18,nw_tos=12 actions=output:2,output:4"
    ),
    FAR: (
        "table:1 priority=240,ipv6,ipv6_dst=ff18:ffff:ffff:ffff:ffff:ffff:ffff:ffff"
        " actions=set_field:02:52:47:00:00:01->eth_dst,set_field:fd00::8->ipv6_dst,output:7"
    ),
    Rule(
        1, 20, OLD, (Output(2),)
    ): "table:1 priority=20,ip,nw_src=10.66.0.1,nw_dst=239.193.0.0/16 actions=output:2",
    Rule(1, 16, Match(6, prefix=BLOCK.whole)): "table:1 priority=16,ipv6,ipv6_dst=ff18::/16 actions=drop",
}


def in_words(message: FlowMod) -> str:
    """What Open vSwitch's own tool reads in our bytes, without number and cookie."""
    tool = shutil.which("ovs-ofctl")
    if tool is None:
        reason = "no ovs-ofctl; as root: apt-get install openvswitch-switch"
        warnings.warn(f"OUR BYTES WERE NOT READ BY OPEN VSWITCH: {reason}", stacklevel=1)
        pytest.skip(reason)
    command = [tool, "ofp-print", write_flow_mod(message, 1).hex()]
    said = subprocess.run(command, capture_output=True, text=True, timeout=20, check=True).stdout.strip()
    head, _, words = said.partition(": ")
    assert head == "OFPT_FLOW_MOD (OF1.3) (xid=0x1)"
    return " ".join(word for word in words.split() if not word.startswith("cookie:0x7265677261667431"))


@pytest.mark.parametrize("rule", WORDS, ids=str)
def test_our_rules_are_what_open_vswitch_reads(rule: Rule) -> None:
    assert in_words(FlowMod(Command.ADD, rule)) == f"ADD {WORDS[rule]}"


@pytest.mark.parametrize(
    ("command", "word"),
    [(Command.MODIFY, "MOD_STRICT"), (Command.DELETE, "DEL_STRICT"), (Command.DELETE_WITHIN, "DEL")],
)
def test_commands_are_what_open_vswitch_reads(command: Command, word: str) -> None:
    rule = Rule(1, 16, Match(6, prefix=BLOCK.whole))
    assert in_words(FlowMod(command, rule)) == f"{word} {WORDS[rule]}"


def test_we_ask_for_our_own_rules_in_the_form_that_others_use() -> None:
    data, ours = packet("4-11-ofp_flow_stats_request"), write_flow_stats_request(0)
    assert len(ours) == len(data)
    # All but the table (all of them instead of the first) and the cookie.
    assert ours[:16] == data[:16]
    assert ours[20:28] == data[20:28]
    assert ours[48:] == data[48:]


def test_our_rules_come_back_as_they_were_written() -> None:
    for rule in WORDS:
        data = write_flow_mod(FlowMod(Command.ADD, rule), 1)
        behind = data[HEADER.size + FLOW_MOD.size :]
        row = Struct("!HBxIIHHHH4xQQQ").pack(
            48 + len(behind), rule.table, 0, 0, rule.priority, 0, 0, 0, 0, 0, 0
        )
        (stats,) = read_flow_stats(row + behind)
        assert read_rule(stats) == rule


def test_a_rule_that_we_never_write_is_not_taken_for_ours() -> None:
    foreign = list(read_flow_stats(packet("4-12-ofp_flow_stats_reply")[16:]))[2]
    assert [oxm.field for oxm in foreign.match] == [FIELDS["in_port"], FIELDS["eth_src"]]
    with pytest.raises(Garbage, match="rule of ours that looks at the fields"):
        read_rule(foreign)
