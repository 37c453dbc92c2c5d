"""One request, one answer with the same key: what waits for an answer, and a connection to ask on.

On failure: a request that is not answered in time raises TimeoutError; the request may have been carried out.
When the connection ends, everything that waits on it raises `Away` with the reason at once.
"""

import asyncio
import itertools
import ssl
from collections.abc import Awaitable, Callable, Coroutine, Hashable
from typing import Any, Generic, TypeVar

from regraft.model import RegraftError
from regraft.wire.frames import BadFrame, Format, In, Out
from regraft.wire.streams import Address, Stream, dial

Key = TypeVar("Key", bound=Hashable)
ENDED = "the connection has ended"


class Away(RegraftError):
    """The peer cannot be reached, or the connection to it has ended."""


class Requests(Generic[Key, In]):
    """The requests that wait for an answer, and where each of them was sent."""

    def __init__(self) -> None:
        self._waiting: dict[Key, tuple[Hashable, asyncio.Future[In | Away]]] = {}

    async def ask(self, key: Key, send: Callable[[], None], to: Hashable, seconds: float | None = None) -> In:
        """Call `send`, which sends the request, and return the answer."""
        waiting: asyncio.Future[In | Away] = asyncio.get_running_loop().create_future()
        self._waiting[key] = to, waiting
        try:
            async with asyncio.timeout(seconds):
                send()
                answer = await waiting
        finally:
            self._waiting.pop(key, None)
        if isinstance(answer, Away):
            raise answer
        return answer

    def answered(self, key: Key, answer: In) -> None:
        """An answer to no waiting request is dropped."""
        if key in self._waiting:
            _resolve(self._waiting[key][1], answer)

    def lost(self, to: Hashable, reason: str = ENDED) -> None:
        """No answer will come from there."""
        for asked, waiting in list(self._waiting.values()):
            if asked == to:
                _resolve(waiting, Away(reason))


def _resolve(waiting: "asyncio.Future[In | Away]", value: In | Away) -> None:
    if not waiting.done():
        waiting.set_result(value)


class Caller(Generic[In, Out]):
    """Asks one peer: connects at the first request, and again when the connection has ended.

    `number` reads the number of an answer. With a `hello`, that is sent first, and the peer must say
    something in return before the first request. `heard` is called with every answer, also with those that
    were not asked for.
    """

    def __init__(
        self,
        address: Address,
        format: Format[In, Out],
        number: Callable[[In], int],
        *,
        tls: ssl.SSLContext | None = None,
        hello: Out | None = None,
        connect_seconds: float | None = None,
        heard: Callable[[In], None] = lambda answer: None,
        ended: Callable[[], None] = lambda: None,
    ) -> None:
        self.address = address
        self.format = format
        self.hello = hello
        self.heard, self.ended = heard, ended
        self._number = number
        self._tls = tls
        self._connect_seconds = connect_seconds
        self._numbers = itertools.count(1)
        self._requests = Requests[int, In]()
        self._stream: _Asked[In, Out] | None = None
        self._opening = asyncio.Lock()

    async def call(self, ask: Callable[[int], Out], seconds: float) -> In:
        """Send the request that `ask` makes of its number. Raises `Away`, or TimeoutError."""
        async with asyncio.timeout(seconds):
            stream = await self._opened()
            number = next(self._numbers)
            return await self._requests.ask(number, lambda: stream.send(ask(number)), stream)

    def close(self) -> None:
        """Close the connection; the next call connects again."""
        if self._stream is not None:
            self._stream.abort()

    async def _opened(self) -> "_Asked[In, Out]":
        async with self._opening:
            if self._stream is None or not self._stream.open:
                try:
                    async with asyncio.timeout(self._connect_seconds):
                        self._stream = await self._dialled()
                except TimeoutError:  # an OSError, too
                    raise
                except (OSError, UnicodeError) as fault:
                    reason = getattr(fault, "strerror", None) or str(fault) or type(fault).__name__
                    raise Away(reason) from None
            return self._stream

    async def _dialled(self) -> "_Asked[In, Out]":
        stream = await dial(lambda: _Asked(self), self.address, self._tls)
        try:
            if self.hello is not None and not await stream.known:
                raise Away(stream.reason or "it does not accept the token")
            if not stream.open:  # lost before a request could wait for an answer
                raise Away(stream.reason or ENDED)
        except BaseException:
            stream.abort()
            raise
        return stream

    def said(self, answer: In) -> None:
        self.heard(answer)
        self._requests.answered(self._number(answer), answer)

    def lost(self, stream: "_Asked[In, Out]") -> None:
        self._requests.lost(stream, stream.reason or ENDED)
        if self._stream is stream:
            self._stream = None
            self.ended()


class _Asked(Stream[In, Out]):
    """The connection of a caller."""

    def __init__(self, caller: Caller[In, Out]) -> None:
        super().__init__(caller.format)
        self._caller = caller

    def opened(self) -> None:
        if self._caller.hello is not None:
            self.send(self._caller.hello)
        else:
            self.introduced(self.peer)

    def heard(self, message: In) -> None:
        if self.id:
            self._caller.said(message)
        else:
            self.introduced(self.peer)

    def garbled(self, fault: BadFrame) -> None:
        self.abort()  # so that waiting requests fail at once, whether or not the peer still reads

    def ended(self) -> None:
        self._caller.lost(self)


class Answering(Stream[In, Out]):
    """The connection of a peer that asks: each request is a task of its own, at most `most` at a time.

    `begin` starts a task, which belongs to the owner and may outlive the connection: what was asked is done.
    `refuse` makes the last answer to a peer that has sent something else than a request.
    """

    def __init__(
        self,
        format: Format[In, Out],
        among: set[Any],
        answer: Callable[[In], Awaitable[Out]],
        begin: Callable[[Coroutine[Any, Any, None]], None],
        refuse: Callable[[str, str], Out],
        most: int,
    ) -> None:
        super().__init__(format, among)
        self._reply, self._refuse = answer, refuse
        self._begin = begin
        self._most = most
        self._under_way = 0

    def heard(self, message: In) -> None:
        self._under_way += 1
        if self._under_way >= self._most:
            self.pause()
        self._begin(self._answer(message))

    def garbled(self, fault: BadFrame) -> None:
        self.send(self._refuse(self.peer, fault.rule))
        self.close()

    async def _answer(self, request: In) -> None:
        try:
            self.send(await self._reply(request))
        finally:
            self._under_way -= 1
            self.resume()
