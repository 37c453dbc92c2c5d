"""Calls by name, wherever the component is: asked again with the same id until there is an answer.

On failure: a component that moves or whose host restarts is waited for; after `PATIENCE` seconds without an
answer `CallFailed`, and then the call may have been executed or not.
"""

import asyncio
import itertools
import secrets
from collections.abc import Mapping
from typing import Any

import msgspec

from regraft.heal.components.directory import Directory, DirectoryAway
from regraft.heal.components.messages import Answered, Call, CallId, Ended, Message, Order, Reply
from regraft.heal.components.network import Network, Peer, Security, security_of
from regraft.model import RegraftError

PATIENCE = 60.0
AGAIN = 1.0
"""Seconds until a call that is under way is sent again: its host may have restarted."""
PAUSE, LONGEST_PAUSE = 0.005, 0.2
_pack = msgspec.msgpack.encode
_unpack = msgspec.msgpack.decode


class CallFailed(RegraftError):
    """The component says so, or there is none of this name, or no answer came."""


class Calls:
    """Of one host, or of a program that calls components: `async with Calls.open(directory) as calls`."""

    def __init__(self, me: str, directory: Directory, network: Network) -> None:
        self.me = me
        self.directory = directory
        self._network = network
        self._caller = f"{me}~{secrets.token_hex(6)}"
        self._numbers = itertools.count(1)
        self._open: set[int] = set()
        self._places: dict[str, str] = {}
        self._waiting: dict[CallId, tuple[str, asyncio.Future[Reply | None]]] = {}
        self._orders: dict[int, tuple[str, asyncio.Future[Ended | None]]] = {}

    @classmethod
    def open(cls, directory: Directory, security: Security | None = None, me: str = "") -> "Calls":
        """For a program that is no host; `close` it."""
        me = me or f"caller-{secrets.token_hex(4)}"
        network = Network(me, directory.address, security or Security())
        calls = cls(me, directory, network)
        network.heard, network.lost = calls.heard, calls.lost
        return calls

    @classmethod
    def from_environment(cls, directory: Directory, environment: Mapping[str, str]) -> "Calls":
        """As `open`, with the token and the certificates that the variables REGRAFT_COMPONENTS_… name."""
        me = environment.get("REGRAFT_COMPONENTS_ID", "")
        return cls.open(directory, security_of(environment), me)

    async def __aenter__(self) -> "Calls":
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._network.close()

    def heard(self, peer: Peer, message: Message) -> None:
        if isinstance(message, Reply) and message.id in self._waiting:
            _resolve(self._waiting[message.id][1], message)
        elif isinstance(message, Ended) and message.number in self._orders:
            _resolve(self._orders[message.number][1], message)

    def lost(self, peer: str) -> None:
        """Whoever waits for an answer from there tries again."""
        for place, call in list(self._waiting.values()):
            if place == peer:
                _resolve(call, None)
        for place, order in list(self._orders.values()):
            if place == peer:
                _resolve(order, None)

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
        """None: the connection was lost, or nothing was heard for a while."""
        waiting: asyncio.Future[Reply | None] = asyncio.get_running_loop().create_future()
        self._waiting[call.id] = place, waiting
        try:
            self._network.send(place, call)
            async with asyncio.timeout(AGAIN):
                return await waiting
        except TimeoutError:
            return Reply(id=call.id, place="")
        finally:
            self._waiting.pop(call.id, None)

    async def order(self, host: str, order: Order, patience: float = PATIENCE) -> Ended | None:
        """None: the host could not be asked, or went away; the directory says what has become of it."""
        number = next(self._numbers)
        waiting: asyncio.Future[Ended | None] = asyncio.get_running_loop().create_future()
        self._orders[number] = host, waiting
        try:
            self._network.send(host, msgspec.structs.replace(order, number=number))
            async with asyncio.timeout(patience):
                return await waiting
        except TimeoutError:
            return None
        finally:
            self._orders.pop(number, None)


def _resolve(waiting: "asyncio.Future[Any]", value: Any) -> None:
    if not waiting.done():
        waiting.set_result(value)
