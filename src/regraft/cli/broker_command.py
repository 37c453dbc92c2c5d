"""`regraft broker ID TOPOLOGY`: one broker of an overlay whose brokers run on several machines.

No file has its neighbours' addresses: each agent writes the address of its broker into ZooKeeper, and tells
its broker the addresses of the others (IPITT §IV-C). Broker and agent are one process; a supervisor such as
systemd has to start it again when it ends.
"""

import dataclasses
import json
import secrets
import sys
from collections.abc import Mapping
from contextlib import AsyncExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from regraft.cli.help_headings import Command
from regraft.cli.up_options import FILE, Configure, broker_options, configuring
from regraft.cli.watching import stopped_by_signal
from regraft.cli.zookeeper_options import Zookeeper, zookeeper_options
from regraft.model import BadInput, RegraftError, Topology

if TYPE_CHECKING:
    import asyncio

    from regraft.broker.io.server import BrokerServer
    from regraft.coord import Coord

    Address = tuple[str, int]

EVERYWHERE = {"0.0.0.0", "::"}


@click.command(cls=Command)
@click.argument("broker", metavar="ID")
@click.argument("topology", metavar="TOPOLOGY", type=FILE)
@click.option("--host", help="Listen there.  [default: the host in TOPOLOGY, or 127.0.0.1]")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    help="And on that port.  [default: the port in TOPOLOGY, or a free one]",
)
@click.option("--address", metavar="HOST:PORT", help="Where others reach it.  [default: where it listens]")
@click.option(
    "--metrics", metavar="HOST:PORT", help="Of /metrics and /healthz.  [default: a free port of 127.0.0.1]"
)
@broker_options
@zookeeper_options
@click.option("--json", "as_json", is_flag=True, help="When it runs, print one JSON object.")
def broker(broker: str, topology: Path, **options: Any) -> int:
    """Run one broker of an overlay that spans several machines.

    It is the broker ID of TOPOLOGY, with its agent, and runs until it is told to stop. The others run
    elsewhere, and all meet in the ZooKeeper that --zookeeper names. TOPOLOGY counts when the overlay starts
    for the first time; later, what ZooKeeper holds counts. An ID that is not in it starts without links,
    for a plan to append.

    \b
    Examples:
      regraft broker b1 tree.json --zookeeper zk1:2181,zk2:2181,zk3:2181 \\
        --host 0.0.0.0 --port 7000 --address b1.example.net:7000 --state /var/lib/regraft
    """
    from regraft.broker.io.running import run, undisturbed
    from regraft.model.process_log import start_logging
    from regraft.model.topology_files import read_topology

    start_logging()
    zookeeper: Zookeeper = options["zookeeper"]
    zookeeper.needed()
    file = read_topology(topology)
    options |= _listening(broker, file, options)
    address = _address(options["address"])
    if address is None and options["host"] in EVERYWHERE:
        raise BadInput("--address", f"is missing: others cannot reach the broker at {options['host']}")
    metrics = _address(options["metrics"])
    made = configuring(file.kind, options)

    def configure(id: str, near: tuple[str, ...]) -> Any:
        configuration = dataclasses.replace(made(id, near), port=options["port"])
        return dataclasses.replace(configuration, metrics=metrics) if metrics is not None else configuration

    return run(undisturbed(_serve(broker, file, configure, address, options)))


def _listening(id: str, file: Topology, options: Mapping[str, Any]) -> dict[str, Any]:
    """Where the broker listens: what the options say counts before what the file says."""
    known = next((each for each in file.brokers if each.id == id), None)
    host = options["host"] or (known.host if known else None) or "127.0.0.1"
    port = options["port"] if options["port"] is not None else (known.port if known else None)
    return {"host": host, "port": port or 0}


def _address(text: str | None) -> "Address | None":
    from regraft.client.addresses import parse_addresses

    return parse_addresses(text)[0] if text is not None else None


async def _serve(
    id: str, file: Topology, configure: Configure, address: "Address | None", options: Mapping[str, Any]
) -> int:
    import asyncio

    from regraft.cli.up_agents import coordination

    stop = stopped_by_signal()
    async with AsyncExitStack() as running:
        coord = await running.enter_async_context(coordination(options["zookeeper"], options["state"]))
        server, token = await _started(running, id, file, configure, coord, options["zookeeper"])
        work: list[asyncio.Task[Any]] = [
            asyncio.create_task(stop.wait()),
            asyncio.create_task(server.failed.wait()),
            asyncio.create_task(_agent(server, token, coord, options["zookeeper"], address)),
        ]
        running.push_async_callback(_ended, work)
        _announce(server, address, options["as_json"])
        ended, _ = await asyncio.wait(work, return_when=asyncio.FIRST_COMPLETED)
        if work[1] in ended:
            raise RegraftError(f"broker {id} has ended: {server.fault}")
        for task in ended:
            task.result()
    click.echo("stopped", err=True)
    return 0


async def _ended(work: "list[asyncio.Task[Any]]") -> None:
    import asyncio

    for task in work:
        task.cancel()
    await asyncio.gather(*work, return_exceptions=True)


async def _started(
    running: AsyncExitStack,
    id: str,
    file: Topology,
    configure: Configure,
    coord: "Coord",
    zookeeper: Zookeeper,
) -> "tuple[BrokerServer, str]":
    """The broker with its current links, and the secret with which its agent controls it."""
    from regraft.broker.io.server import BrokerServer
    from regraft.cli.up_agents import starting_topology, write_current

    begin = await starting_topology(coord, zookeeper.layout, file, [id])
    if begin.note:
        click.echo(f"regraft: {begin.note}", err=True)
    await write_current(coord, zookeeper.layout, file)
    token = secrets.token_urlsafe(16)
    near = tuple(sorted(begin.topology.neighbours[id]))
    configuration = dataclasses.replace(
        configure(id, near), control=("127.0.0.1", 0), control_token=token, remembered=begin.remembered
    )
    server = BrokerServer(configuration, {})
    running.push_async_callback(server.stop)
    await server.listen()
    await server.start()
    return server, token


async def _agent(
    server: "BrokerServer", token: str, coord: "Coord", zookeeper: Zookeeper, address: "Address | None"
) -> None:
    from regraft.deploy.agent import BrokerAgent
    from regraft.deploy.driver import ControlDriver

    assert server.control_address is not None
    driver = ControlDriver(server.control_address, token)
    try:
        await BrokerAgent(server.id, driver, coord, zookeeper.layout, address).run()
    finally:
        await driver.close()


def _announce(server: "BrokerServer", address: "Address | None", as_json: bool) -> None:
    import os

    at = "{}:{}".format(*(address or server.address))
    metrics = server.metrics_address
    url = "http://{}:{}/metrics".format(*metrics) if metrics else None
    if as_json:
        click.echo(json.dumps({"broker": server.id, "address": at, "metrics": url, "pid": os.getpid()}))
    else:
        click.echo(f"broker {server.id} runs at {at}" + (f"; {url}" if url else ""))
    sys.stdout.flush()
