"""The agent of one broker, or those of several, in a process of their own.

    python -m regraft.deploy.agent_process --broker ID --control HOST:PORT --zookeeper HOST:PORT,…

The broker's token is in the variable REGRAFT_CONTROL_TOKEN. With `--settings-from-stdin`, all secrets come as
one line of JSON on standard input instead, which may name the brokers as well. The process then ends when its
input ends, so that it never outlives the process that started it.
"""

import argparse
import asyncio
import contextlib
import logging
import os
import signal
import sys
from collections.abc import Mapping
from contextlib import AsyncExitStack
from typing import NamedTuple

import msgspec

from regraft.coord import Configuration, Coord, Digest, Layout, Sasl, Tls
from regraft.coord.configuration import World
from regraft.deploy.agent import BrokerAgent
from regraft.deploy.driver import Address, ControlDriver
from regraft.model import BadInput, RegraftError
from regraft.model.files import decode_path
from regraft.model.process_log import start_logging

log = logging.getLogger("regraft.deploy")
AGAIN_SECONDS = 1.0
BEAT_SECONDS = 1.0
LINE_BYTES = 2**20


class Driven(NamedTuple):
    """A broker's control endpoint."""

    control: Address
    token: str


class AgentSettings(msgspec.Struct, frozen=True):
    """Settings with secrets, which must not be on the command line."""

    token: str
    hosts: str
    root: str
    digest: Digest | None = None
    sasl: Sasl | None = None
    tls: Tls | None = None
    world: World = "read"
    timeout: float = 10.0
    session_timeout: float = 10.0
    brokers: dict[str, Driven] = msgspec.field(default_factory=dict)
    """The brokers to drive; if empty, the one on the command line."""

    @property
    def configuration(self) -> Configuration:
        auth = self.digest or self.sasl
        return Configuration(self.hosts, auth, self.tls, self.world, self.timeout, self.session_timeout)


def settings(
    configuration: Configuration, layout: Layout, token: str = "", brokers: Mapping[str, Driven] | None = None
) -> bytes:
    auth = configuration.auth
    told = AgentSettings(
        token,
        configuration.hosts,
        layout.root,
        auth if isinstance(auth, Digest) else None,
        auth if isinstance(auth, Sasl) else None,
        configuration.tls,
        configuration.world,
        configuration.timeout,
        configuration.session_timeout,
        dict(brokers or {}),
    )
    return msgspec.json.encode(told, enc_hook=str)


def read_settings(line: bytes) -> AgentSettings:
    return msgspec.json.decode(line, type=AgentSettings, dec_hook=decode_path)


async def main(arguments: argparse.Namespace) -> int:
    ended = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, ended.set)
    agent = asyncio.create_task(_serve(arguments, ended))
    waiting = asyncio.create_task(ended.wait())
    await asyncio.wait([agent, waiting], return_when=asyncio.FIRST_COMPLETED)
    waiting.cancel()
    agent.cancel()
    try:
        await agent
    except RegraftError as fault:
        print(f"regraft: {fault}", file=sys.stderr)
        return 2 if isinstance(fault, BadInput) else 1
    except asyncio.CancelledError:
        return 0
    return 0


async def _settings(
    arguments: argparse.Namespace, until: AsyncExitStack, ended: asyncio.Event
) -> AgentSettings:
    """The settings. If they come from standard input, `ended` is set when that ends."""
    if not arguments.settings_from_stdin:
        if not (token := os.environ.get("REGRAFT_CONTROL_TOKEN", "")):
            raise BadInput("REGRAFT_CONTROL_TOKEN", "holds the token of the broker, and is missing")
        if not arguments.zookeeper:
            raise BadInput("--zookeeper", "says where ZooKeeper is (HOST:PORT,...), and it is missing")
        return AgentSettings(token, arguments.zookeeper, arguments.zookeeper_root)
    lines = asyncio.StreamReader(limit=LINE_BYTES)
    loop = asyncio.get_running_loop()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(lines), sys.stdin)
    try:
        told = read_settings(await lines.readline())
    except msgspec.DecodeError as fault:
        raise BadInput("standard input", f"does not hold settings: {fault}") from None
    beating = asyncio.create_task(_beat())
    until.callback(beating.cancel)
    input_ends = asyncio.create_task(_until_the_input_ends(lines))
    input_ends.add_done_callback(lambda task: ended.set())
    until.callback(input_ends.cancel)  # also keeps a reference: asyncio holds none to a waiting task
    return told


async def _serve(arguments: argparse.Namespace, ended: asyncio.Event) -> None:
    control = _address(arguments.control) if arguments.control else None
    address = _address(arguments.address) if arguments.address else None
    async with AsyncExitStack() as until:
        told = await _settings(arguments, until, ended)
        brokers = told.brokers
        if not brokers:
            if not arguments.broker or control is None:
                raise BadInput("--broker, --control", "say whose agent it is, and one is missing")
            brokers = {arguments.broker: Driven(control, told.token)}
        coord = await until.enter_async_context(await Coord.open(told.configuration))
        async with asyncio.TaskGroup() as agents:
            for id, driven in brokers.items():
                agents.create_task(_keep(id, driven, coord, Layout(told.root), address))


async def _keep(id: str, driven: Driven, coord: Coord, layout: Layout, address: Address | None) -> None:
    """Run the agent of one broker; after a fault start another one, without disturbing the others."""
    while True:
        driver = ControlDriver(*driven)
        try:
            await BrokerAgent(id, driver, coord, layout, address).run()
        except Exception:
            log.exception("the agent of %s has failed, another follows", id)
        finally:
            await driver.close()
        await asyncio.sleep(AGAIN_SECONDS)


async def _beat() -> None:
    """Show the process that started this one that the event loop still runs."""
    while True:
        with contextlib.suppress(OSError):  # the reader has gone: the input ends then, too
            os.write(1, b".")
        await asyncio.sleep(BEAT_SECONDS)


async def _until_the_input_ends(lines: asyncio.StreamReader) -> None:
    while await lines.read(4096):
        pass


def _address(text: str) -> Address:
    host, colon, port = text.rpartition(":")
    if not (colon and host and port.isdecimal() and 0 < int(port) < 65536):
        raise BadInput(repr(text), "an address is host:port, such as 127.0.0.1:7000")
    return host.removeprefix("[").removesuffix("]"), int(port)


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(prog="python -m regraft.deploy.agent_process", description=__doc__)
    made.add_argument("--broker", metavar="ID")
    made.add_argument("--control", metavar="HOST:PORT", help="control endpoint of the broker")
    made.add_argument("--address", metavar="HOST:PORT", help="where others reach the broker")
    made.add_argument("--zookeeper", metavar="HOST:PORT,…")
    made.add_argument("--zookeeper-root", default=Layout().root, metavar="PATH")
    made.add_argument("--settings-from-stdin", action="store_true")
    return made


if __name__ == "__main__":
    start_logging()
    sys.exit(asyncio.run(main(parser().parse_args())))
