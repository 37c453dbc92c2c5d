"""`regraft pub`: publishes events from arguments or standard input, and waits until all are acknowledged."""

import json
import sys
import time
from collections.abc import AsyncIterator, Iterable, Iterator
from itertools import repeat
from typing import TYPE_CHECKING, Any

import click

from regraft.cli.client_options import addresses, checked_filter, connection_options, say_waiting, tls_context
from regraft.cli.help_headings import Command
from regraft.model import BadInput

if TYPE_CHECKING:
    from regraft.client import Event
    from regraft.client.addresses import Directory


@click.command(cls=Command)
@click.argument("attributes", nargs=-1, metavar="[KEY=VALUE]...")
@click.option("--data", default="", metavar="TEXT", help="Data of the event.")
@click.option(
    "--advertise",
    metavar="FILTER",
    callback=checked_filter,
    help="What will be published.  [default: TRUE, everything]",
)
@click.option("--count", type=click.IntRange(1), metavar="N", help="Publish the event N times.")
@click.option("--rate", type=click.FloatRange(0.001), metavar="N", help="At most N events in a second.")
@connection_options
@click.option("--json", "as_json", is_flag=True, help="On success, print one JSON object.")
def pub(attributes: tuple[str, ...], as_json: bool, **options: Any) -> None:
    """Publish events, and return when every subscriber has them.

    In a mesh every event has a topic, and publishing waits until that topic is connected among all brokers
    that have it: "waiting: ..." on standard error says why, and after --timeout it is an error.

    The event is made of KEY=VALUE (a value that reads as a number or as true or false is one; quotes make
    it text) and --data. Without arguments, events are read from standard input, one JSON object on a line:
    {"attributes": {"temp": 21.5}, "data": "text"}, or just the attributes.

    \b
    Examples:
      regraft pub topic=temp value=21.5 --data hello
      regraft pub topic=temp value=21.5 --count 20 --rate 100 --broker b3
      regraft pub --at 127.0.0.1:7000 < events.jsonl
    """
    from regraft.broker.io.running import run
    from regraft.cli.live_input import from_thread, lines_of

    data, count = options["data"], options["count"]
    if attributes:
        events: AsyncIterator[Event] = _repeated(_event_of(attributes, data), count or 1)
    elif data or count:
        raise BadInput("event", "--data and --count are for an event of KEY=VALUE, and there is none")
    else:
        events = from_thread(_read(lines_of(sys.stdin)))
    tls = tls_context(options["ca"], options["certificate"])
    where = addresses(options["at"], options["directory"], options["broker"])
    start = time.monotonic()
    published = run(_publish(events, where, tls, options))
    seconds = time.monotonic() - start
    if as_json:
        click.echo(json.dumps({"published": published, "seconds": round(seconds, 6)}))
    else:
        click.echo(f"{published} published and acknowledged in {seconds:.3f} s")


async def _publish(
    events: "AsyncIterator[Event]", where: "list[str] | Directory", tls: Any, options: dict[str, Any]
) -> int:
    import asyncio

    from regraft.client import connect

    name, token, timeout = options["name"], options["token"], options["timeout"]
    published, rate = 0, options["rate"]
    async with connect(where, name=name, token=token, tls=tls, timeout=timeout) as session:
        session.on_waiting = say_waiting
        if options["advertise"] is not None:
            await session.advertise(options["advertise"], timeout=timeout)
        start = time.monotonic()
        async for event in events:
            if rate and (early := start + published / rate - time.monotonic()) > 0:
                await asyncio.sleep(early)
            await session.send(event)
            published += 1
    return published


async def _repeated(event: "Event", count: int) -> "AsyncIterator[Event]":
    import asyncio

    for number, each in enumerate(repeat(event, count)):
        yield each
        if number % 64 == 63:
            await asyncio.sleep(0)  # nothing in this loop waits: let the session work


def _event_of(pairs: tuple[str, ...], data: str) -> "Event":
    attributes: dict[str, Any] = {}
    for pair in pairs:
        key, equals, text = pair.partition("=")
        if not equals or not key:
            raise BadInput(repr(pair), "an attribute is KEY=VALUE")
        if key in attributes:
            raise BadInput(repr(pair), f"the attribute {key!r} stands twice")
        attributes[key] = _value(text)
    return _checked(attributes, data)


def _value(text: str) -> str | int | float | bool:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return value if isinstance(value, str | int | float) else text


def _checked(attributes: dict[str, Any], data: str) -> "Event":
    """Refuses what cannot be sent here: `send` would notice only after earlier events have left."""
    from regraft.client import Event
    from regraft.client.checks import encoded, sendable

    event = Event(attributes, sendable("data", data))
    encoded(event)
    return event


def _read(lines: Iterable[bytes]) -> "Iterator[Event]":
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        place = f"line {number}"
        try:
            document = json.loads(line.decode())
        except UnicodeDecodeError:
            raise BadInput(place, "not UTF-8") from None
        except (ValueError, RecursionError) as fault:
            raise BadInput(place, f"not JSON: {fault}") from None
        if not isinstance(document, dict):
            raise BadInput(place, "an event is a JSON object")
        attributes = document.get("attributes", document)
        data = document.get("data", "") if "attributes" in document else ""
        if not isinstance(data, str) or not isinstance(attributes, dict):
            raise BadInput(place, "attributes is an object and data is text")
        for key, value in attributes.items():
            if not isinstance(value, str | int | float):
                raise BadInput(f"{place}: {key}", "an attribute is text, a number, true or false")
        try:
            yield _checked(attributes, data)
        except BadInput as fault:
            raise fault.within(place) from None
