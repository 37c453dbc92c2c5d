"""A minimal HTTP/1.1 endpoint for `/metrics` and `/healthz`: GET only, one answer for a connection."""

import asyncio
from collections.abc import Callable, Mapping
from typing import NamedTuple

from regraft.broker.io.configuration import Address
from regraft.wire.streams import address_of, listen

REQUEST_BYTES = 8192
SECONDS = 5.0


class HttpAnswer(NamedTuple):
    content_type: str
    body: str


class Endpoint:
    """Answers each path with what its function returns."""

    def __init__(self, paths: Mapping[str, Callable[[], HttpAnswer]]) -> None:
        self._paths = paths
        self._server: asyncio.Server | None = None

    async def start(self, host: str, port: int) -> None:
        self._server = await listen(self._accept, (host, port))

    def _accept(self) -> asyncio.StreamReaderProtocol:
        return asyncio.StreamReaderProtocol(asyncio.StreamReader(REQUEST_BYTES), self._serve)

    @property
    def address(self) -> Address:
        assert self._server is not None
        return address_of(self._server)

    async def stop(self) -> None:
        if self._server is not None:
            self._server.close()
            await asyncio.sleep(0)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            async with asyncio.timeout(SECONDS):
                request = await reader.readuntil(b"\r\n\r\n")
                writer.write(self._response(request))
                await writer.drain()
        except (TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, ConnectionError):
            pass  # a scraper that misbehaves gets no answer
        finally:
            writer.close()

    def _response(self, request: bytes) -> bytes:
        words = request.split(b"\r\n", 1)[0].split(b" ")
        if len(words) != 3 or words[0] not in (b"GET", b"HEAD"):
            return _http("405 Method Not Allowed", HttpAnswer("text/plain", "GET only\n"))
        path = words[1].partition(b"?")[0].decode("latin-1")
        if path not in self._paths:
            return _http("404 Not Found", HttpAnswer("text/plain", " ".join(self._paths) + "\n"))
        answer = self._paths[path]()
        return _http("200 OK", answer, head_only=words[0] == b"HEAD")


def _http(status: str, answer: HttpAnswer, head_only: bool = False) -> bytes:
    body = answer.body.encode()
    head = (
        f"HTTP/1.1 {status}\r\nContent-Type: {answer.content_type}\r\n"
        f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    )
    return head.encode() + (b"" if head_only else body)
