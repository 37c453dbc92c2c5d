"""Every file that a page shows is read by the program that reads such files.

A comment before a block says what it is: `<!-- read as: KIND -->`, or `<!-- file: NAME -->` for a file that
the page asks to save. A block in a language of files without such a comment is a fault, and so is one
without a language that one of our readers would take. What a program prints is marked `<!-- output -->`.
"""

import re
import shlex
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest
import yaml
from click.testing import CliRunner
from tests.shown_sessions import files

from regraft.cli.broker_command import broker
from regraft.cli.entry import main
from regraft.cli.up_options import _tokens as read_tokens
from regraft.flows.switch_files import read_switches
from regraft.heal.rules import parse as parse_rules
from regraft.model import BadInput
from regraft.model.cost_files import read_costs
from regraft.model.files import parse_json
from regraft.model.interest_files import read_interest
from regraft.model.network_files import read_network
from regraft.model.plan_files import read_plan
from regraft.model.route_files import read_route_workload
from regraft.model.topology_files import read_topology
from regraft.model.traffic_files import read_traffic
from regraft.serve.configuration_file import read_configuration
from regraft.web.users import parse_users, read_users

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *ROOT.glob("docs/**/*.md"), *ROOT.glob("examples/**/*.md")]
BLOCK = re.compile(r"(?:^<!-- ([^>]+) -->\n+)?^```([^\n`]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FILES = {"json", "csv", "toml", "yaml", "ini", "xml", "ponder"}
"""Languages of files; others are programs, terminals and pictures."""
TOUR = ROOT / "examples" / "tour"


def read_rules(path: Path) -> None:
    result = CliRunner().invoke(main, ["rules", "check", str(path)])
    assert result.exit_code == 0, result.stderr


def read_environment(path: Path) -> None:
    """Of the systemd unit: the options are those of `regraft broker`."""
    said = dict(line.split("=", 1) for line in path.read_text().splitlines())
    unit = (ROOT / "examples/systemd/regraft-broker@.service").read_text()
    assert all(name == "REGRAFT_ZOOKEEPER" or name in unit for name in said)
    topology = TOUR / "now.json"
    broker.make_context("broker", ["b1", str(topology), *shlex.split(said["REGRAFT_BROKER_OPTIONS"])])


def read_prometheus(path: Path) -> None:
    jobs = yaml.safe_load(path.read_text())["scrape_configs"]
    assert all(target for job in jobs for each in job["static_configs"] for target in each["targets"])


READERS: dict[str, Callable[[Path], object]] = {
    "topology": read_topology,
    "traffic": read_traffic,
    "interest": read_interest,
    "plan": read_plan,
    "costs": read_costs,
    "tokens": read_tokens,
    "network": read_network,
    "workload": read_route_workload,
    "switches": read_switches,
    "configuration": lambda path: read_configuration(path, {}),
    "users": read_users,
    "rules": read_rules,
    "environment": read_environment,
    "prometheus": read_prometheus,
}
NAMES = {
    "now.json": "topology",
    "better.json": "topology",
    "traffic.json": "traffic",
    "interest.csv": "interest",
}
UNMARKED: list[Callable[[str], object]] = [
    parse_json,
    tomllib.loads,
    parse_rules,
    lambda t: parse_users(t.split("\n")),
]
"""Readers that would take the text of a file whose block has no language."""


class Example(NamedTuple):
    page: str
    line: int
    mark: str
    language: str
    text: str

    @property
    def kind(self) -> str:
        """Empty if the page does not say what it is."""
        said, _, what = self.mark.partition(": ")
        return {"read as": what, "file": NAMES.get(what, ""), "output": "output"}.get(said, "")


def examples(page: str, text: str) -> list[Example]:
    return [
        Example(page, text[: found.start()].count("\n") + 1, found[1] or "", found[2], found[3])
        for found in BLOCK.finditer(text)
    ]


ALL = [each for page in PAGES for each in examples(str(page.relative_to(ROOT)), page.read_text("utf-8"))]
MARKED = [each for each in ALL if each.kind not in ("", "output")]


def unclaimed(all: list[Example]) -> list[str]:
    """What looks like a file and does not say what it is."""
    return [
        f"{each.page}:{each.line}"
        for each in all
        if not each.kind and (each.language in FILES or (not each.language and taken(each.text)))
    ]


def taken(text: str) -> bool:
    for read in UNMARKED:
        try:
            if read(text):
                return True
        except (BadInput, ValueError):
            continue
    return False


def test_every_file_that_a_page_shows_says_what_it_is() -> None:
    assert unclaimed(ALL) == []
    assert {each.kind for each in MARKED} == set(READERS)


@pytest.mark.parametrize(
    "text",
    [
        '```json\n{"brokers": []}\n```',
        '```\n{"brokers": []}\n```',
        "```\n[web]\nport = 1\n```",
        "```yaml\na: 1\n```",
        f"```\nalice admin sha256:{'0' * 64}\n```",
        "<!-- file: unknown.json -->\n```json\n{}\n```",
    ],
)
def test_an_example_that_nobody_reads_is_noticed(text: str) -> None:
    assert unclaimed(examples("page", text)) == ["page:1"]


@pytest.mark.parametrize("example", MARKED, ids=lambda each: f"{each.page}:{each.line}")
def test_a_file_that_a_page_shows_is_read(example: Example, tmp_path: Path) -> None:
    suffix = {"configuration": "toml", "interest": "csv"}.get(example.kind, "json")
    path = tmp_path / f"file.{suffix}"
    path.write_text(example.text, "utf-8")
    READERS[example.kind](path)


@pytest.mark.parametrize("page", ["README.md", "docs/tutorial.md"])
def test_what_a_page_saves_or_prints_is_read(page: str, tmp_path: Path) -> None:
    for name, text in files((ROOT / page).read_text("utf-8")).items():
        path = tmp_path / name
        path.write_text(text, "utf-8")
        READERS[NAMES[name]](path)


def test_the_files_of_the_tour_are_all_there() -> None:
    """What the README gives to a command, and does not make by an earlier one."""
    text = (ROOT / "README.md").read_text("utf-8")
    given = set(re.findall(r"--(?:interest|traffic|topology|network|workload|demand) (\w+\.\w+)", text))
    assert given >= {"interest.csv", "traffic.json", "now.json"}
    assert [name for name in sorted(given) if not (TOUR / name).exists()] == []
    for name in given & set(NAMES):
        READERS[NAMES[name]](TOUR / name)


def test_the_readmes_mesh_is_designed_from_the_tours_interest() -> None:
    command = "regraft design gm2 --interest interest.csv -k 2"
    assert f"`{command}`" in (ROOT / "README.md").read_text("utf-8")
    words = command.replace("interest.csv", str(TOUR / "interest.csv")).split()[1:]
    result = CliRunner().invoke(main, [*words, "--json"])
    assert result.exit_code == 0, result.stderr
