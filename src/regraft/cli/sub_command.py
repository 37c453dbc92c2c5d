"""`regraft sub FILTER`: prints events that match a filter, as JSON lines."""

import json
import signal
from typing import TYPE_CHECKING, Any

import click

from regraft.cli.client_options import addresses, checked_filter, connection_options, say_waiting, tls_context
from regraft.cli.help_headings import Command

if TYPE_CHECKING:
    from regraft.client import Event
    from regraft.client.addresses import Directory


@click.command(cls=Command)
@click.argument("filter", metavar="FILTER", callback=checked_filter)
@click.option("--count", type=click.IntRange(1), metavar="N", help="End after N events.")
@click.option(
    "--durable",
    is_flag=True,
    help="With --name: the broker keeps events for a while when this ends, for the next start.",
)
@connection_options
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object at the end, instead of lines.")
def sub(filter: str, count: int | None, durable: bool, as_json: bool, **options: Any) -> None:
    """Print the events that match FILTER, one JSON object a line.

    FILTER is a CloudEvents SQL expression. "subscribed" on standard error says that from now on nothing is
    missed. In a mesh that can take until the topic is connected among all brokers that have it:
    "waiting: ..." says why; a --timeout that was given ends it with an error. Ctrl-C ends it.

    \b
    Examples:
      regraft sub "topic = 'temp' AND value > 20"
      regraft sub TRUE --count 10 --broker b2
      regraft sub "EXISTS alarm" --name desk --durable --at 127.0.0.1:7000,127.0.0.1:7001
    """
    from regraft.broker.io.running import run

    if durable and not options["name"]:
        raise click.UsageError("--durable needs a --name to come back under")
    tls = tls_context(options["ca"], options["certificate"])
    where = addresses(options["at"], options["directory"], options["broker"])
    got: list[dict[str, Any]] = []
    received = run(_subscribe(filter, count, durable, where, tls, got if as_json else None, options))
    if as_json:
        click.echo(json.dumps({"received": received, "events": got}))


async def _subscribe(
    filter: str,
    count: int | None,
    durable: bool,
    where: "list[str] | Directory",
    tls: Any,
    got: list[dict[str, Any]] | None,
    options: dict[str, Any],
) -> int:
    import asyncio

    from regraft.client import connect

    name, token, timeout = options["name"], options["token"], options["timeout"]
    received = 0
    source = click.get_current_context().get_parameter_source("timeout")
    patience = timeout if source is click.core.ParameterSource.COMMANDLINE else None
    session = connect(where, name=name, token=token, tls=tls, durable=durable, timeout=timeout)
    subscription = session.subscribe(filter, timeout=patience)
    session.on_waiting = say_waiting
    async with session:
        await subscription
        click.echo(f"subscribed at {session.broker}", err=True)
        for number in (signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().add_signal_handler(number, subscription.end)
        async for event in subscription:
            received += 1
            if got is None:
                click.echo(json.dumps(_document(event)))
            else:
                got.append(_document(event))
            if received == count:
                break
        subscription.confirm()
    return received


def _document(event: "Event") -> dict[str, Any]:
    """The event as JSON; its data as text if they are UTF-8, else in hexadecimal."""
    try:
        return {"attributes": event.attributes, "data": event.data.decode()}
    except UnicodeDecodeError:
        return {"attributes": event.attributes, "data_hex": event.data.hex()}
