"""`regraft rules`: checks rules, stores them in the destination database, lists those in force."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from regraft.cli.help_headings import Group
from regraft.cli.running_directory import WHICH_ZOOKEEPER, connected
from regraft.cli.zookeeper_options import Zookeeper, zookeeper_options
from regraft.model import BadInput, RegraftError

if TYPE_CHECKING:
    from regraft.coord import Coord, Layout
    from regraft.heal.database.records import RuleSet
    from regraft.heal.rules import Checked, Rule
    from regraft.model.facts import Event

FILES = click.argument("files", nargs=-1, type=click.Path(path_type=Path))
SEED = click.option("--seed", is_flag=True, help="Also the four rules of Mimosa Pudica.")
DEFINE = click.option(
    "--define",
    multiple=True,
    metavar="NAME=VALUE",
    help="A value that rules leave open; RULE.NAME for one rule.",
)
JSON = click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
Definitions = dict[str, float | str | bool]
ADDING = "addBrokerRequest"


@click.group(cls=Group)
def rules() -> None:
    """Check, store and list the rules by which brokers heal.

    Rules say what is done when brokers fail, are overloaded, join or leave.
    """


@rules.command("check")
@FILES
@SEED
@DEFINE
@JSON
def check_(files: tuple[Path, ...], seed: bool, define: tuple[str, ...], as_json: bool) -> None:
    """Check rules without storing them.

    Their grammar, events, actions and types must be right; conflicts are reported.

    \b
    Example:
      regraft rules check overload.ponder --define most=0.9
    """
    from regraft.heal.rules import conflicts

    found = _read(files, seed)
    against = [str(each) for each in conflicts(_checked(found, definitions(define)))]
    if as_json:
        click.echo(json.dumps({"rules": [_described(rule) for _, rule in found], "conflicts": against}))
        return
    for conflict in against:
        click.echo(f"conflict: {conflict}", err=True)
    click.echo(f"{len(found)} rules, {len(against)} conflicts")


@rules.command()
@FILES
@SEED
@DEFINE
@click.option(
    "--instead", is_flag=True, help="Replace all stored rules; otherwise only those of the same name."
)
@zookeeper_options
@WHICH_ZOOKEEPER
@JSON
def put(
    files: tuple[Path, ...],
    seed: bool,
    define: tuple[str, ...],
    instead: bool,
    zookeeper: Zookeeper,
    directory: Path,
    as_json: bool,
) -> None:
    """Store rules; running brokers follow them at once.

    \b
    Example:
      regraft rules put --seed overload.ponder --define 'User Defined=3'
    """
    from regraft.heal.database.client import checked_rules
    from regraft.heal.rules import conflicts

    values = definitions(define)
    found = _read(files, seed)
    stored = connected(
        zookeeper, directory, lambda coord, layout: _put(coord, layout, found, values, instead)
    )
    against = [str(each) for each in conflicts(checked_rules(stored))]
    if as_json:
        names = [rule.name for rule in stored.rules]
        click.echo(json.dumps({"version": stored.version, "rules": names, "conflicts": against}))
        return
    for conflict in against:
        click.echo(f"conflict: {conflict}", err=True)
    click.echo(f"version {stored.version}: {len(stored.rules)} rules")


@rules.command("list")
@zookeeper_options
@WHICH_ZOOKEEPER
@click.option("--text", is_flag=True, help="Print the rules themselves, as they can be stored again.")
@JSON
def list_(zookeeper: Zookeeper, directory: Path, text: bool, as_json: bool) -> None:
    """List the rules in force.

    \b
    Examples:
      regraft rules list
      regraft rules list --text
    """
    from regraft.heal.rules import parse

    stored = connected(zookeeper, directory, _stored)
    if as_json:
        rows = [
            _described(parse(rule.text)[0]) | {"version": rule.version, "text": rule.text}
            for rule in stored.rules
        ]
        click.echo(
            json.dumps({"version": stored.version, "rules": rows, "definitions": dict(stored.definitions)})
        )
        return
    if text:
        click.echo(stored.text)
        return
    _show(stored)


@rules.command("raise")
@click.argument("event")
@click.argument("broker")
@click.option("--to", "brokers", multiple=True, metavar="BROKER", help="Where to; may be repeated.")
@click.option(
    "--component", "components", multiple=True, metavar="NAME", help="Which; may be repeated.  [default: all]"
)
@click.option("--set", "given", multiple=True, metavar="NAME=VALUE", help="Another argument of the event.")
@click.option(
    "--wait",
    type=click.FloatRange(0.1, 600.0),
    default=10.0,
    show_default=True,
    metavar="SECONDS",
    help="How long the broker's node may take to judge the event; then it is withdrawn.",
)
@zookeeper_options
@WHICH_ZOOKEEPER
@JSON
def raise_(zookeeper: Zookeeper, directory: Path, as_json: bool, **options: Any) -> None:
    """Raise an event at a broker, and let the rules decide.

    They do what they would do if the broker had noticed the event itself.

    A broker that is to be added does not run yet: it is started by `regraft up --heal`, joins beside the one
    broker or between the two linked ones of --to, and this command waits for that.

    \b
    Examples:
      regraft rules raise deleteBrokerRequest b3
      regraft rules raise addBrokerRequest b4 --to b2
      regraft rules raise transferBrokerRequest b0 --to b2 --component chat
    """
    from regraft.heal.rules.vocabulary import EVENTS
    from regraft.model.facts import Event

    name, broker = options["event"], options["broker"]
    if name not in EVENTS:
        raise BadInput("EVENT", f"unknown event {name!r}; there are {', '.join(EVENTS)}")
    arguments = definitions(options["given"], "--set")
    if unknown := sorted(arguments.keys() - {each.name for each in EVENTS[name]}):
        raise BadInput("--set", f"{name} has no argument {unknown[0]!r}")
    event = Event(
        name=name,
        broker=broker,
        brokers=options["brokers"],
        components=options["components"],
        arguments=dict(arguments),
    )
    wait = options["wait"]
    judged = connected(zookeeper, directory, lambda coord, layout: _raised(coord, layout, event, wait))
    if as_json:
        click.echo(json.dumps({"event": name, "broker": broker, "rules": judged}))
    elif name == ADDING:
        click.echo(f"{broker} has joined by {', '.join(judged)}")
    else:
        click.echo(
            f"{broker} has judged {name} by {', '.join(judged)}; see `regraft brokers --adaptations 5`"
        )


async def _raised(coord: "Coord", layout: "Layout", event: "Event", wait: float) -> list[str]:
    """Raises the event; the names of the rules that react to it."""
    from regraft.heal.raised import raise_event
    from regraft.heal.rules import parse
    from regraft.node.healing.adding import add_broker

    stored = await _stored(coord, layout)
    names = [rule.name for rule in stored.rules if parse(rule.text)[0].on.name == event.name]
    if not names:
        raise BadInput("EVENT", f"no rule that is stored asks for {event.name}")
    if event.name == ADDING:
        await add_broker(coord, layout, event, wait)
    elif not await raise_event(coord, layout, event, wait):
        raise RegraftError(f"the node of {event.broker} does not answer: does it run, and heal?")
    return names


def definitions(given: tuple[str, ...], option: str = "--define") -> Definitions:
    """The values of NAME=VALUE: a number, true, false, or text."""
    found: Definitions = {}
    for each in given:
        name, equals, value = each.partition("=")
        if not (name.strip() and equals):
            raise BadInput(option, f"must be NAME=VALUE, not {each!r}")
        found[name.strip()] = _value(value.strip())
    return found


def _value(text: str) -> float | str | bool:
    if text in ("true", "false"):
        return text == "true"
    try:
        return float(text)
    except ValueError:
        return text


def _read(files: tuple[Path, ...], seed: bool) -> "list[tuple[str, Rule]]":
    """All rules of the files, each with the place that it is from."""
    from regraft.heal.rules import PAPER_RULES, parse
    from regraft.model.files import as_text, read_bytes

    if not files and not seed:
        raise BadInput("FILES", "name a file with rules, or --seed")
    found = [("Mimosa Pudica's rules", rule) for rule in parse(PAPER_RULES)] if seed else []
    for file in files:
        data = read_bytes(file)
        try:
            text = as_text(data)
        except BadInput as fault:
            raise fault.within(str(file)) from None
        found += [(str(file), rule) for rule in parse(text, str(file))]
    seen: set[str] = set()
    for place, rule in found:
        if rule.name in seen:
            raise BadInput(f"{place}:{rule.at}", f"the rule {rule.name!r} stands twice")
        seen.add(rule.name)
    return found


def _checked(found: "list[tuple[str, Rule]]", values: Mapping[str, float | str | bool]) -> "Checked":
    from regraft.heal.rules import Checked, check

    return Checked(tuple(each for place, rule in found for each in check([rule], values, place=place).rules))


def _described(rule: "Rule") -> dict[str, Any]:
    return {
        "name": rule.name,
        "event": rule.on.name,
        "actions": [call.action for call in rule.do],
        "priority": rule.priority,
    }


async def _stored(coord: "Coord", layout: "Layout") -> "RuleSet":
    from regraft.heal.database.client import DatabaseClient

    client = await DatabaseClient.found(coord, layout)
    try:
        return await client.rules()
    finally:
        await client.close()


async def _put(
    coord: "Coord", layout: "Layout", found: "list[tuple[str, Rule]]", values: Definitions, instead: bool
) -> "RuleSet":
    """Stores the rules. They are checked here first, so that faults name their places in the files."""
    from regraft.heal.database.client import DatabaseClient
    from regraft.heal.grant import Denied

    client = await DatabaseClient.found(coord, layout)
    try:
        known = {} if instead else (await client.rules()).definitions
        _checked(found, {**known, **values})
        texts = {rule.name: rule.source for _, rule in found}
        stored = await client.put_rules(texts, values, instead=instead)
    finally:
        await client.close()
    if isinstance(stored, Denied):
        raise BadInput("", stored.reason)
    return stored


def _show(stored: "RuleSet") -> None:
    from rich.table import Table

    from regraft.cli.printing import console, shown
    from regraft.heal.rules import parse

    table = Table("rule", "version", "on", "do", "priority", box=None, pad_edge=False)
    for text in stored.rules:
        rule = parse(text.text)[0]
        actions = " -> ".join(call.action for call in rule.do)
        table.add_row(shown(rule.name), str(text.version), rule.on.name, actions, str(rule.priority))
    console().print(table)
    click.echo(f"version {stored.version}: {len(stored.rules)} rules")
