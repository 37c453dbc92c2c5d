"""The examples in the help texts, as the commands themselves have them, and the files that they name."""

import gzip
import inspect
import json
import re
import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
from tests.cli.cost_tables import cost_tables
from tests.cli.test_rules_command import MINE
from tests.measure.telemetry import Brokers, network
from tests.model.measured_tables import write_tables

from regraft.cli.entry import main
from regraft.model.traffic import TrafficClass
from regraft.model.traffic_files import write_traffic

ROOT = Path(__file__).resolve().parents[2]
BLOCK = re.compile(r"^(?:Examples?|Start here):\n((?:  .*\n?)+)", re.MULTILINE)
WIDTH = 80
"""Columns of a terminal."""
LAST = ("terminate", "delete")
"""Examples with these words are run last, because they delete what the others need."""


def commands(
    command: click.Command = main, name: str = "regraft", parent: click.Context | None = None
) -> Iterator[click.Context]:
    """Every command of the program, with the context of a call."""
    settings = {"terminal_width": WIDTH - 2, **command.context_settings}
    context = click.Context(command, info_name=name, parent=parent, **settings)
    yield context
    if isinstance(command, click.Group):
        for each in command.list_commands(context):
            below = command.get_command(context, each)
            assert below is not None
            yield from commands(below, each, context)


def examples() -> list[str]:
    """All examples without duplicates and comments, in the order of the help."""
    found: list[str] = []
    for context in commands():
        for block in BLOCK.findall(inspect.cleandoc(context.command.help or "")):
            for line in re.sub(r"\s*\\\n\s*", " ", block).splitlines():
                found.append(re.sub(r"\s+# .*", "", line.strip()))
    return sorted(dict.fromkeys(found), key=lambda line: any(word in line for word in LAST))


def is_for_the_shell(line: str) -> bool:
    """Whether the line has operators of the shell, such as a pipe."""
    return any(set(word) <= set("();<>|&") for word in shlex.shlex(line, posix=True, punctuation_chars=True))


CHAIN: dict[str, Any] = {
    "brokers": ["b0", "b1", "b2", "b3"],
    "links": [["b0", "b1"], ["b1", "b2"], ["b2", "b3"]],
}
STAR = {**CHAIN, "links": [["b0", "b1"], ["b1", "b2"], ["b1", "b3"]]}
RING = {**CHAIN, "kind": "mesh", "links": [["b0", "b1"], ["b1", "b2"], ["b2", "b3"], ["b0", "b3"]]}
CROSSED = {**CHAIN, "kind": "mesh", "links": [["b0", "b2"], ["b1", "b2"], ["b1", "b3"], ["b0", "b3"]]}
DEMANDS = [(("b0", "b2"), 5), (("b1", "b3"), 2)]
SWITCHES: dict[str, Any] = {
    "switches": ["s1", "s2", "s9"],
    "cables": [["s1", "s2"], ["s2", "s9"], ["s1", "s9"]],
}
WORK = {
    "publishers": [{"id": "p", "switch": "s1", "rate": 20, "advertisement": ["01"]}],
    "subscribers": [{"id": "t", "switch": "s9", "subscription": ["0110", "0111"]}],
    "limits": {"path_length": 8, "flows": 500, "load": 1000},
}
GRAPHML = (
    '<graphml xmlns="http://graphml.graphdrawing.org/xmlns"><graph edgedefault="undirected">'
    + "".join(f'<node id="{switch}"/>' for switch in SWITCHES["switches"])
    + "".join(f'<edge source="{a}" target="{b}"/>' for a, b in SWITCHES["cables"])
    + "</graph></graphml>"
)
QUOTE = "[class,'STOCK'],[symbol,'YHOO'],[open,25.25],[volume,6475000],[date,'25-Jun-96']\n"
DOCUMENTS = {
    "tree.json": CHAIN,
    "now.json": CHAIN,
    "better.json": STAR,
    "mesh.json": RING,
    "mesh1.json": RING,
    "mesh2.json": CROSSED,
    "possible.json": RING,
    "network.json": RING,
    "traffic.json": {"classes": [{"members": members, "demand": demand} for members, demand in DEMANDS]},
    "net.json": SWITCHES,
    "work.json": WORK,
    "fast.json": {"clustering": "prefix", "subgraph": "combination", "rings": 1},
    "events.jsonl": {"attributes": {"temp": 21.5}, "data": "text"},
}
TEXTS = {
    "interest.csv": "node,topic\n" + "".join(f"b{number},weather\n" for number in range(4)),
    "overload.ponder": MINE,
    "Colt.graphml": GRAPHML,
    "facebook_combined.txt": "0 1\n0 2\n1 2\n",
}


def write_files(folder: Path) -> None:
    """Write the files that the examples read."""
    for name, document in DOCUMENTS.items():
        (folder / name).write_text(json.dumps(document) + "\n")
    for name, text in TEXTS.items():
        (folder / name).write_text(text)
    classes = [TrafficClass(frozenset(members), demand) for members, demand in DEMANDS]
    write_traffic(classes, folder / "traffic.parquet")
    interest = [{"broker": f"b{number}", "topic": "weather", "role": "subscriber"} for number in range(4)]
    write_tables(folder / "tables", {"interest": interest})
    trips = [(one, other, 9000.0, True) for one, other in CHAIN["links"]] + [("b0", "b3", 20000.0, False)]
    cost_tables(folder / "tables", trips)
    Brokers(folder / "out" / "telemetry").put_all(network(seed=1, publications=40, brokers=4))
    (folder / "padres_stockquotes").mkdir()
    (folder / "padres_stockquotes" / "YHOO.txt.gz").write_bytes(gzip.compress(QUOTE.encode()))
    chat = Path("examples", "components", "chat")
    shutil.copytree(ROOT / chat, folder / chat)
    for place in (".local/share/bash-completion/completions", ".config/fish/completions"):
        (folder / place).mkdir(parents=True)  # HOME, for the shells
