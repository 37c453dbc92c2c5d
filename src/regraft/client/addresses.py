"""Where brokers are: `host:port`, `[v6]:port`, several of them, or the file that `regraft up` writes."""

import json
from collections.abc import Iterable
from pathlib import Path

from regraft.model import BadInput

Address = tuple[str, int]


def parse_address(text: str) -> Address:
    host, colon, port = str(text).strip().rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    if not colon or not host or "/" in host or not port.isdecimal() or not 0 < int(port) < 65536:
        raise BadInput(repr(text), "an address is host:port, such as 127.0.0.1:7000")
    try:
        host.encode("idna")
    except UnicodeError as fault:
        raise BadInput(repr(text), f"not the name of a host: {fault}") from None
    return host, int(port)


def parse_addresses(where: str | Iterable[str]) -> list[Address]:
    """One or more addresses; commas may separate them."""
    if not isinstance(where, Iterable):
        raise BadInput(repr(where), "an address is host:port, such as 127.0.0.1:7000")
    addresses = [parse_address(text) for text in (where.split(",") if isinstance(where, str) else where)]
    if not addresses:
        raise BadInput("addresses", "at least one is needed")
    return addresses


def read_directory(path: Path) -> dict[str, Address]:
    """Broker → address, from the file that `regraft up` writes."""
    try:
        document = json.loads(path.read_text())
        return {id: parse_address(each["address"]) for id, each in document["brokers"].items()}
    except FileNotFoundError:
        raise BadInput(str(path), "there is no such file; `regraft up` writes it") from None
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as fault:
        raise BadInput(str(path), f"not a directory of running brokers: {fault}") from None
