"""One destination database as a process: `python -m regraft.heal.database --id d1 --store sqlite:d1.db …`.

Prints one line of JSON when it is ready, and ends at SIGTERM; with --guarded also when its standard input
ends.
"""

import argparse
import asyncio
import json
import signal
import sys

from regraft.coord import Configuration, Layout
from regraft.heal.database.node import DatabaseNode, DatabaseTiming
from regraft.heal.database.store import store_of
from regraft.model import BadInput, RegraftError
from regraft.processes.orphans import end_with_parent


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="regraft.heal.database")
    parser.add_argument("--id", required=True)
    parser.add_argument("--store", required=True, help="sqlite:PATH or postgresql://USER@HOST:PORT/DATABASE")
    parser.add_argument("--zookeeper", required=True, metavar="HOST:PORT,...")
    parser.add_argument("--root", default="/regraft")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--region", default="")
    parser.add_argument("--guarded", action="store_true", help="end when standard input, a pipe, does")
    parser.add_argument("--grant-seconds", type=float, default=DatabaseTiming().grant)
    return parser.parse_args()


async def serve(given: argparse.Namespace) -> None:
    over = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, over.set)
    node = DatabaseNode(
        given.id,
        store_of(given.store),
        Configuration(given.zookeeper),
        Layout(given.root),
        address=(given.host, given.port),
        region=given.region,
        timing=DatabaseTiming(grant=given.grant_seconds),
    )
    async with node:
        print(json.dumps({"id": node.id, "host": node.host, "port": node.port}), flush=True)
        if given.guarded:
            reader = asyncio.StreamReader()
            await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
            waiting = [asyncio.create_task(reader.read()), asyncio.create_task(over.wait())]
            await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        else:
            await over.wait()


def main() -> int:
    given = options()
    if given.guarded:
        end_with_parent()
    try:
        asyncio.run(serve(given))
    except BadInput as fault:
        print(f"regraft.heal.database: {fault}", file=sys.stderr)
        return 2
    except RegraftError as fault:
        print(f"regraft.heal.database: {fault}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
