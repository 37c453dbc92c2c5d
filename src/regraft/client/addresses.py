"""Where brokers are: `host:port`, `[v6]:port`, several of them, or the file that `regraft up` writes."""

import json
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import overload

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


def parse_addresses(where: "str | Iterable[str] | Directory") -> Sequence[Address]:
    """One or more addresses; commas may separate them."""
    if isinstance(where, Directory):
        return where
    if not isinstance(where, Iterable):
        raise BadInput(repr(where), "an address is host:port, such as 127.0.0.1:7000")
    texts = where.split(",") if isinstance(where, str) else where
    addresses = [parse_address(text) for text in texts]
    if not addresses:
        raise BadInput("addresses", "at least one is needed")
    return addresses


class Directory(Sequence[Address]):
    """Where a broker is by the file that `regraft up` writes; without an id, the first broker there.

    It is read anew for every connection, so that a broker which was started again elsewhere is found again.
    While nothing runs there is no such file: then the broker's last address counts.
    """

    def __init__(self, path: Path, broker: str | None = None) -> None:
        self._path = path
        self._broker = broker
        self._last = self._read()

    def __len__(self) -> int:
        return 1

    @overload
    def __getitem__(self, index: int) -> Address: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Address]: ...
    def __getitem__(self, index: int | slice) -> Address | Sequence[Address]:
        with suppress(BadInput):
            self._last = self._read()
        return (self._last,)[index]

    def _read(self) -> Address:
        found = read_directory(self._path)
        if not found:
            raise BadInput(str(self._path), "no broker is running")
        broker = self._broker if self._broker is not None else next(iter(found))
        if broker not in found:
            raise BadInput(str(self._path), f"there is no broker {broker!r}; there are {', '.join(found)}")
        return found[broker]


def read_directory(path: Path) -> dict[str, Address]:
    """Broker → address, from the file that `regraft up` writes."""
    try:
        document = json.loads(path.read_text())
        return {id: parse_address(each["address"]) for id, each in document["brokers"].items()}
    except FileNotFoundError:
        raise BadInput(str(path), "there is no such file; `regraft up` writes it") from None
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as fault:
        raise BadInput(str(path), f"not a directory of running brokers: {fault}") from None
