"""The event stream: server-sent events, which a browser takes up again by itself after a break."""

import asyncio
from collections.abc import AsyncIterator
from typing import Annotated

import msgspec
from fastapi import APIRouter, Header, Request, Response
from starlette.responses import StreamingResponse

from regraft.app.interface import ServiceInterface
from regraft.app.views import EventView
from regraft.web.api.parts import LARGEST, Before, Service, Viewer
from regraft.web.documents import NOES, SCHEMA_OF, Responses, documented
from regraft.web.metrics import Metrics
from regraft.web.problems import problem

router = APIRouter(tags=["events"])
PING_SECONDS = 15.0
"""So often a silent stream says that it lives; proxies cut silent connections."""
_EVENTS = {"text/event-stream": {"schema": SCHEMA_OF[EventView]}}
STREAM: Responses = {
    200: {"description": "Events for ever.", "content": _EVENTS},
    **{status: documented(EventView)[status] for status in NOES},
}
LastId = Annotated[int | None, Header(alias="Last-Event-ID", ge=0, le=LARGEST)]


@router.get("/events", responses=STREAM, response_class=Response)
async def events(
    request: Request, service: Service, who: Viewer, after: Before = None, last_event_id: LastId = None
) -> Response:
    """From now on, or all after an id; `reset` first if some of them are no longer known."""
    state = request.app.state
    if state.followers >= state.gate.settings.streams:
        return problem(503, "away", f"{state.followers} follow the events already")
    stream = _stream(request, service, last_event_id if last_event_id is not None else after)
    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    return StreamingResponse(stream, media_type="text/event-stream", headers=headers)


async def _stream(request: Request, service: ServiceInterface, after: int | None) -> AsyncIterator[bytes]:
    state, metrics = request.app.state, request.app.state.metrics
    assert isinstance(metrics, Metrics)
    source = aiter(service.events(after))
    ending = asyncio.create_task(state.ending.wait())
    coming: asyncio.Task[EventView] | None = None
    state.followers += 1
    metrics.streams.inc()
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
        state.followers -= 1
        metrics.streams.dec()
        for task in (ending, coming):
            if task is not None:
                task.cancel()
        if coming is not None:
            await asyncio.wait({coming})
        if (close := getattr(source, "aclose", None)) is not None:
            await close()


def encoded(event: EventView) -> bytes:
    """On the wire; JSON has no line breaks."""
    return b"id: %d\nevent: %s\ndata: %s\n\n" % (event.id, event.kind.encode(), msgspec.json.encode(event))
