"""Installing flows: 10,000 rules into a real Open vSwitch, beside `ovs-ofctl add-flows` with the same rules.

Prints one table (Markdown). Both sides are timed from the call to the switch's last confirmation, in turns,
each round into an empty table; `ovs-ofctl` gets its file ready-made, ours starts from the rule values.
The rules that the switch gives back afterwards are compared with what was meant.
"""

import argparse
import sys
from collections.abc import Callable, Mapping
from ipaddress import ip_address
from pathlib import Path
from random import Random
from statistics import median
from time import perf_counter

from benchmarks._table import Line, show

from regraft.flows import FlowRules, install, installed, render
from regraft.flows.openflow.codec import write_flow_mod
from regraft.flows.rules import Command, FlowMod, Output, Readdress, Rule, SetMark
from regraft.model.routes import Entry, Publisher, Routes, RouteWorkload, Subscriber
from regraft.model.switch_network import SwitchNetwork
from regraft.testing.switches import SwitchNetworkLab, switch_lab, unavailable

WANTED = 0.8
DIGITS = (16, 48)
"""Lengths of the expressions: every length is a priority of its own."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--flows", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    if reason := unavailable():
        print(f"flows: no real switches: {reason}", file=sys.stderr)
        return 1
    lines = [_encoding(options.flows)]
    for switches in (1, 10):
        lines.append(_installing(options.flows, switches, options.rounds))
    lines.append(_changing(options.flows, options.rounds))
    shown = show(lines, f"{options.flows} flows, medians of {options.rounds} rounds", options.out)
    return 0 if all(line.met is not False for line in shown) else 1


def _rules(flows: int, switches: int, seed: int = 1, changed: float = 0.0) -> FlowRules:
    """A star: the middle switch (or each of several) forwards random expressions to its neighbours."""
    rng = Random(seed)
    names = [f"s{number}" for number in range(max(switches, 4))]
    network = SwitchNetwork.of([(names[0], other) for other in names[1:]])
    subscribers = tuple(Subscriber(f"q{name}", name, ("0",)) for name in names)
    workload = RouteWorkload((Publisher("p", names[0], 1.0, ("0",)),), subscribers)
    tables: dict[str, tuple[Entry, ...]] = {}
    other = Random(seed + 1)
    for name in names[:switches]:
        expressions: dict[str, None] = {}
        while len(expressions) < flows // switches:
            expressions["0" + "".join(rng.choices("01", k=rng.randint(*DIGITS)))] = None
        entries = []
        for dz in expressions:
            out = tuple(rng.sample(network.leaving[name], min(2, len(network.leaving[name]))))
            if other.random() < changed:
                out = out[:1]
            entries.append(Entry(dz, None, out, (f"q{name}",)))
        tables[name] = tuple(entries)
    return render(Routes(network, workload, "filter", tables))


def _encoding(flows: int) -> Line:
    rules = [rule for held in _rules(flows, 1).switches.values() for rule in held]
    seconds = _median(5, lambda: [write_flow_mod(FlowMod(Command.ADD, rule), 1) for rule in rules])
    return Line("rules to bytes", "", f"{len(rules) / seconds:,.0f} /s", None, {"seconds": seconds})


def _installing(flows: int, switches: int, rounds: int) -> Line:
    rules = _rules(flows, switches)
    ours: list[float] = []
    raw: list[float] = []
    with switch_lab(rules.wiring) as lab:
        files = {name: _file(lab, name, held) for name, held in rules.switches.items()}
        for _ in range(rounds):
            _empty(lab)
            raw.append(_seconds(lambda: _add_flows(lab, files)))
            _check(lab, rules)
            _empty(lab)
            ours.append(_seconds(lambda: install(rules, lab.addresses)))
            _check(lab, rules)
    ratio = median(raw) / median(ours)
    what = f"{rules.count:,} flows into {switches} switch{'es' if switches > 1 else ''}"
    measured = (
        f"{rules.count / median(ours):,.0f} /s, ovs-ofctl {rules.count / median(raw):,.0f} /s: {ratio:.2f}"
    )
    wanted = f"≥ {WANTED} of ovs-ofctl" if switches == 1 else ""
    met = ratio >= WANTED if switches == 1 else None
    return Line(what, wanted, measured, met, {"ours": ours, "ovs-ofctl": raw, "ratio": ratio})


def _changing(flows: int, rounds: int) -> Line:
    old, new = _rules(flows, 1), _rules(flows, 1, changed=0.1)
    with switch_lab(old.wiring) as lab:
        install(old, lab.addresses)
        times: list[float] = []
        for _ in range(rounds):
            started = perf_counter()
            made = install(new, lab.addresses, old)
            times.append(perf_counter() - started)
            _check(lab, new)
            install(old, lab.addresses, new)
    return Line(
        f"change a tenth of {old.count:,} flows",
        "",
        f"{made.changes:,} messages, {median(times):.2f} s",
        None,
        {"seconds": times, "changes": made.changes},
    )


def _empty(lab: SwitchNetworkLab) -> None:
    for bridge in lab.bridges.values():
        lab.switches.tool("ovs-ofctl", "-O", "OpenFlow13", "del-flows", lab.switches.address(bridge))


def _add_flows(lab: SwitchNetworkLab, files: Mapping[str, Path]) -> None:
    for switch, file in files.items():
        lab.switches.tool("ovs-ofctl", "-O", "OpenFlow13", "add-flows", lab.addresses[switch], str(file))


def _check(lab: SwitchNetworkLab, rules: FlowRules) -> None:
    held = installed(lab.addresses)
    wrong = [switch for switch, meant in rules.switches.items() if held[switch] != set(meant)]
    if wrong:
        raise SystemExit(f"flows: other rules than meant in {', '.join(wrong)}")


def _file(lab: SwitchNetworkLab, switch: str, rules: tuple[Rule, ...]) -> Path:
    file = lab.switches.directory / f"{switch}.flows"
    file.write_text("\n".join(map(_text, rules)) + "\n")
    return file


def _text(rule: Rule) -> str:
    """As ovs-ofctl reads it."""
    match = rule.match
    parts = ["cookie=0x7265677261667431", f"table={rule.table}", f"priority={rule.priority}"]
    if match.family:
        parts.append("ipv6")
    if match.in_port is not None:
        parts.append(f"in_port={match.in_port}")
    if match.source is not None:
        parts.append(f"ipv6_src={ip_address(match.source.to_bytes(16))}")
    if match.prefix is not None:
        parts.append(f"ipv6_dst={ip_address(match.prefix.address.to_bytes(16))}/{match.prefix.length}")
    actions: list[str] = []
    for action in rule.actions:
        if isinstance(action, Output):
            actions.append(f"output:{action.port}")
        elif isinstance(action, SetMark):
            actions.append(f"set_field:{action.mark}->ip_dscp")
        elif isinstance(action, Readdress):
            actions.append(f"set_field:{action.mac.to_bytes(6).hex(':')}->eth_dst")
            actions.append(f"set_field:{ip_address(action.address.to_bytes(16))}->ipv6_dst")
    if rule.goto is not None:
        actions.append(f"goto_table:{rule.goto}")
    return ",".join(parts) + ",actions=" + (",".join(actions) or "drop")


def _seconds(work: Callable[[], object]) -> float:
    started = perf_counter()
    work()
    return perf_counter() - started


def _median(rounds: int, work: Callable[[], object]) -> float:
    return median(_seconds(work) for _ in range(rounds))


if __name__ == "__main__":
    sys.exit(main())
