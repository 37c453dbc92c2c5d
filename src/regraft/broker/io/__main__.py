"""One broker in a process of its own, spoken to in lines of JSON: `python -m regraft.broker.io`.

Standard input: the configuration; then, each time it changes, broker → [host, port] of the others. When the
input ends, the broker stops: it never outlives its parent. Standard output: first where it listens, then
`{"started": true}`; or `{"fault": …}`. Made for `broker_processes`.
"""

import asyncio
import json
import signal
import sys

import msgspec

from regraft.broker.io.configuration import Address, Configuration
from regraft.broker.io.running import run, undisturbed
from regraft.broker.io.server import BrokerServer
from regraft.model import BadInput, RegraftError
from regraft.model.files import decode_path
from regraft.model.process_log import start_logging

LINE_BYTES = 2**26
"""A line may name every client and its token, or every neighbour of a hub."""


def from_json(text: str | bytes) -> Configuration:
    return msgspec.convert(json.loads(text), Configuration, dec_hook=decode_path)


def to_json(configuration: Configuration) -> str:
    return msgspec.json.encode(configuration, enc_hook=str).decode()


async def main() -> int:
    loop = asyncio.get_running_loop()
    lines = asyncio.StreamReader(limit=LINE_BYTES)
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(lines), sys.stdin)
    told = asyncio.create_task(lines.readline())
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, lines.feed_eof)
    addresses: dict[str, Address] = {}
    server = BrokerServer(from_json(await told), addresses)
    watching = asyncio.create_task(_stop_when_failed(server, lines))
    try:
        _say({"address": await server.listen()})
        while line := await lines.readline():
            addresses.update({id: (host, port) for id, (host, port) in json.loads(line).items()})
            if server.core is None:
                await server.start()
                control = server.control_address
                _say({"started": True, "metrics": server.metrics_address, "control": control})
    except (RegraftError, OSError) as fault:
        _say({"fault": str(fault), "bad_input": isinstance(fault, BadInput)})
        return 1
    finally:
        watching.cancel()
        await server.stop()
    return 1 if server.fault else 0


async def _stop_when_failed(server: BrokerServer, lines: asyncio.StreamReader) -> None:
    await server.failed.wait()
    lines.feed_eof()


def _say(document: dict[str, object]) -> None:
    print(json.dumps(document), flush=True)


if __name__ == "__main__":
    start_logging()
    sys.exit(run(undisturbed(main())))
