"""A host of components as a process: `python -m regraft.components --id b1 --folder DIR …`.

It prints one line of JSON when it is ready, and ends at SIGTERM; with --guarded also when its standard input
ends. The token and the certificates are given in the variables REGRAFT_COMPONENTS_TOKEN, …_CERTIFICATE, …_KEY
and …_AUTHORITY.
"""

import argparse
import asyncio
import json
import os
import signal
import sys
from pathlib import Path

from regraft.components.directory import ZookeeperDirectory
from regraft.components.host import ComponentHost
from regraft.components.network import security_of
from regraft.coord import Configuration, Coord, Layout
from regraft.model import BadInput, RegraftError
from regraft.processes.orphans import end_with_parent


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="regraft.components")
    parser.add_argument("--id", required=True, help="the id of the broker beside it")
    parser.add_argument("--folder", required=True, type=Path, help="where it keeps its components")
    parser.add_argument("--trusted", required=True, type=Path, help="folder of public keys (*.pub)")
    parser.add_argument("--zookeeper", required=True, metavar="HOST:PORT,...")
    parser.add_argument("--root", default="/regraft")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--guarded", action="store_true", help="end when standard input, a pipe, does")
    return parser.parse_args()


async def serve(given: argparse.Namespace) -> None:
    over = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, over.set)
    async with await Coord.open(Configuration(given.zookeeper)) as coord:
        directory = ZookeeperDirectory(coord, Layout(given.root))
        address = (given.host, given.port)
        security = security_of(os.environ)
        host = ComponentHost(
            given.id, given.folder, given.trusted, directory, address=address, security=security
        )
        async with host:
            print(json.dumps({"id": host.id, "host": host.host, "port": host.port}), flush=True)
            waiting = [asyncio.create_task(over.wait()), asyncio.create_task(host.failure())]
            if given.guarded:
                reader = asyncio.StreamReader()
                await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
                waiting.append(asyncio.create_task(_end_of(reader)))
            await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
            if host.failed:
                raise RegraftError(host.failed)


async def _end_of(reader: asyncio.StreamReader) -> bool:
    await reader.read()
    return True


def main() -> int:
    given = options()
    if given.guarded:
        end_with_parent()
    try:
        asyncio.run(serve(given))
    except BadInput as fault:
        print(f"regraft.components: {fault}", file=sys.stderr)
        return 2
    except RegraftError as fault:
        print(f"regraft.components: {fault}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
