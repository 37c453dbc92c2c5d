"""The event stream: server-sent events, to which a browser reconnects by itself."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from typing import Annotated

import msgspec
from fastapi import APIRouter, Header, Request, Response
from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from regraft.serve.interface import ServiceInterface
from regraft.serve.views import EventView
from regraft.web.api.dependencies import LARGEST, Before, Service, Viewer, visit_of
from regraft.web.documents import REFUSALS, SCHEMA_OF, Responses, documented, problem
from regraft.web.metrics import Metrics
from regraft.web.users import LOCAL

router = APIRouter(tags=["events"])
PING_SECONDS = 15.0
"""A stream without events sends a comment this often: proxies close silent connections."""
RETRY_SECONDS = "10"
_EVENTS = {"text/event-stream": {"schema": SCHEMA_OF[EventView]}}
STREAM: Responses = {
    200: {"description": "Events, without an end.", "content": _EVENTS},
    **{status: documented(EventView)[status] for status in REFUSALS},
}
LastId = Annotated[int | None, Header(alias="Last-Event-ID", ge=0, le=LARGEST)]


class StreamPlaces:
    """Limits the open streams, in all and for each caller: one caller must not take all places."""

    def __init__(self, all: int, each: int, metrics: Metrics) -> None:
        self._all, self._each, self._metrics = all, each, metrics
        self._taken: Counter[str] = Counter()

    def refusal(self, who: str) -> Response | None:
        if self._taken[who] >= self._each:
            reason = f"{who} follows the events {self._taken[who]} times already, the most for one"
            advice = "close a page or a program that follows them"
            return problem(429, "too many", f"{reason}: {advice}", {"Retry-After": RETRY_SECONDS})
        if (taken := self._taken.total()) >= self._all:
            return problem(503, "away", f"{taken} follow the events already: try again later")
        return None

    @contextmanager
    def taken(self, who: str) -> Iterator[None]:
        self._taken[who] += 1
        self._metrics.streams.inc()
        try:
            yield
        finally:
            self._taken[who] -= 1
            self._metrics.streams.dec()
            if not self._taken[who]:
                del self._taken[who]


class _EventStream(StreamingResponse):
    """Holds its place from before its first byte until it ends, however it ends."""

    def __init__(self, stream: AsyncIterator[bytes], places: StreamPlaces, who: str) -> None:
        headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
        super().__init__(stream, media_type="text/event-stream", headers=headers)
        self._places, self._who = places, who

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        with self._places.taken(self._who):
            await super().__call__(scope, receive, send)


@router.get("/events", responses=STREAM, response_class=Response)
async def events(
    request: Request, service: Service, who: Viewer, after: Before = None, last_event_id: LastId = None
) -> Response:
    """Events from now on, or all after an id; `reset` first if some of them are no longer known."""
    places = request.app.state.places
    assert isinstance(places, StreamPlaces)
    name = who.name if who is not LOCAL else visit_of(request).asked.client
    if (no := places.refusal(name)) is not None:
        return no
    stream = _stream(request, service, last_event_id if last_event_id is not None else after)
    return _EventStream(stream, places, name)


async def _stream(request: Request, service: ServiceInterface, after: int | None) -> AsyncIterator[bytes]:
    source = aiter(service.events(after))
    ending = asyncio.create_task(request.app.state.ending.wait())
    coming: asyncio.Task[EventView] | None = None
    try:
        yield b": regraft\n\n"
        while not ending.done():
            coming = coming or asyncio.ensure_future(anext(source))
            await asyncio.wait({coming, ending}, timeout=PING_SECONDS, return_when=asyncio.FIRST_COMPLETED)
            if coming.done():
                event, coming = coming.result(), None
                yield encoded(event)
            elif not ending.done():
                yield b": ping\n\n"
    except StopAsyncIteration:
        return
    finally:
        for task in (ending, coming):
            if task is not None:
                task.cancel()
        if coming is not None:
            await asyncio.wait({coming})
        if (close := getattr(source, "aclose", None)) is not None:
            await close()


def encoded(event: EventView) -> bytes:
    """One server-sent event; its JSON has no line breaks, so it fits one `data` line."""
    return b"id: %d\nevent: %s\ndata: %s\n\n" % (event.id, event.kind.encode(), msgspec.json.encode(event))
