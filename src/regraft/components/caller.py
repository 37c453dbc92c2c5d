"""Calls of components by name, wherever they are. A call is repeated with the same id until it is answered.

On failure: the caller waits for a component that moves or whose host restarts. After `PATIENCE` seconds
without an answer it raises `CallFailed`; the call may or may not have been executed then.
"""

import asyncio
import itertools
import secrets
from collections.abc import Mapping
from typing import Any

import msgspec

from regraft.components.directory import Directory, DirectoryAway
from regraft.components.messages import Answered, Call, CallFailed, CallId, Ended, Message, Order, Reply
from regraft.components.network import Network, Peer, Security, security_of
from regraft.wire.requests import Away, Requests

PATIENCE = 60.0
AGAIN = 1.0
"""Seconds after which an unanswered call is sent again: its host may have restarted."""
PAUSE, LONGEST_PAUSE = 0.005, 0.2
_pack = msgspec.msgpack.encode
_unpack = msgspec.msgpack.decode


class Calls:
    """The calls and orders of one host or program: `async with Calls.open(directory) as calls`."""

    def __init__(self, me: str, directory: Directory, network: Network) -> None:
        self.me = me
        self.directory = directory
        self._network = network
        self._caller = f"{me}~{secrets.token_hex(6)}"
        self._numbers = itertools.count(1)
        self._open: set[int] = set()
        self._places: dict[str, str] = {}
        self._calls = Requests[CallId, Reply]()
        self._orders = Requests[int, Ended]()

    @classmethod
    def open(cls, directory: Directory, security: Security | None = None, me: str = "") -> "Calls":
        """For a program that is not a host."""
        me = me or f"caller-{secrets.token_hex(4)}"
        network = Network(me, directory.address, security or Security())
        calls = cls(me, directory, network)
        network.heard, network.lost = calls.heard, calls.lost
        return calls

    @classmethod
    def from_environment(cls, directory: Directory, environment: Mapping[str, str]) -> "Calls":
        """Like `open`, with the token and the certificates from the variables REGRAFT_COMPONENTS_…."""
        me = environment.get("REGRAFT_COMPONENTS_ID", "")
        return cls.open(directory, security_of(environment), me)

    async def __aenter__(self) -> "Calls":
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._network.close()

    def heard(self, peer: Peer, message: Message) -> None:
        if isinstance(message, Reply):
            self._calls.answered(message.id, message)
        elif isinstance(message, Ended):
            self._orders.answered(message.number, message)

    def lost(self, peer: str) -> None:
        """The connection to `peer` has ended: what waits for an answer from there is tried again."""
        self._calls.lost(peer)
        self._orders.lost(peer)

    async def call(
        self, name: str, method: str, *arguments: Any, patience: float = PATIENCE, **named: Any
    ) -> Any:
        number = next(self._numbers)
        self._open.add(number)
        try:
            id = CallId(self._caller, number)
            answer = await self.ask(id, min(self._open), (name, method, _pack((arguments, named))), patience)
        finally:
            self._open.discard(number)
        if answer.fault:
            raise CallFailed(f"{name}.{method}: {answer.fault}")
        return _unpack(answer.value)

    async def ask(
        self, id: CallId, answered: int, what: tuple[str, str, bytes], patience: float = PATIENCE
    ) -> Answered:
        name, method, arguments = what
        call = Call(id=id, answered=answered, name=name, method=method, arguments=arguments)
        try:
            async with asyncio.timeout(patience):
                return await self._until_answered(call)
        except TimeoutError:
            return Answered(fault=f"no answer in {patience:g} s; it may have been executed")

    async def _until_answered(self, call: Call) -> Answered:
        pause, missing = PAUSE, 0
        place = self._places.get(call.name, "")
        while True:
            if not place:
                place, missing = await self._found(call.name, missing)
                if missing > 1:
                    return Answered(fault=f"there is no component {call.name!r}")
            reply = await self._one(place, call) if place else None
            if reply is not None and reply.answer is not None:
                self._places[call.name] = place
                return reply.answer
            self._places.pop(call.name, None)
            if reply is not None and reply.place and reply.place != place:
                place = reply.place
                continue
            place = ""
            await asyncio.sleep(pause)
            pause = min(2 * pause, LONGEST_PAUSE)

    async def _found(self, name: str, missing: int) -> tuple[str, int]:
        try:
            found = await self.directory.find(name)
        except DirectoryAway:
            return "", missing
        return (found.entry.place, 0) if found else ("", missing + 1)

    async def _one(self, place: str, call: Call) -> Reply | None:
        """None: the connection was lost. A reply without answer and place: none came in `AGAIN` seconds."""
        try:
            return await self._calls.ask(call.id, lambda: self._network.send(place, call), place, AGAIN)
        except Away:
            return None
        except TimeoutError:
            return Reply(id=call.id, place="")

    async def order(self, host: str, order: Order, patience: float = PATIENCE) -> Ended | None:
        """None: the host did not answer; the directory tells whether the order was carried out."""
        number = next(self._numbers)
        numbered = msgspec.structs.replace(order, number=number)
        try:
            return await self._orders.ask(number, lambda: self._network.send(host, numbered), host, patience)
        except (Away, TimeoutError):
            return None
