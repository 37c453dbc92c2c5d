"""Reading: the state of the loop, the overlay, its brokers, what was measured."""

from fastapi import APIRouter, Response

from regraft.serve import views as v
from regraft.web.api.dependencies import Limit, Name, Service, Time, Viewer
from regraft.web.documents import Items, documented, reply, reply_items

router = APIRouter(tags=["overlay"])


@router.get("/state", responses=documented(v.StateView))
async def state(service: Service, who: Viewer) -> Response:
    """The state of the loop: one word, one sentence, and all numbers."""
    return reply(service.state())


@router.get("/topology", responses=documented(v.TopologyView))
async def topology(service: Service, who: Viewer) -> Response:
    """The overlay as it is: brokers and links with their load."""
    return reply(await service.topology())


@router.get("/brokers", responses=documented(Items[v.BrokerView]))
async def brokers(service: Service, who: Viewer) -> Response:
    """All brokers, also those that wait to be appended."""
    return reply_items(await service.brokers())


@router.get("/brokers/{id:path}", responses=documented(v.BrokerView))
async def broker(id: Name, service: Service, who: Viewer) -> Response:
    """One broker by its id."""
    return reply(await service.broker(id))


@router.get("/snapshots", responses=documented(Items[v.SnapshotView]))
async def snapshots(service: Service, who: Viewer, limit: Limit = 50, before: Time = None) -> Response:
    """Measured windows, the newest first. `before`: only those that ended earlier."""
    return reply_items(service.snapshots(limit, before))


@router.get("/snapshots/{id}", responses=documented(v.SnapshotView))
async def snapshot(id: Name, service: Service, who: Viewer) -> Response:
    """One measured window by its id."""
    return reply(service.snapshot(id))


@router.get("/series", responses=documented(v.SeriesView))
async def series(service: Service, who: Viewer, since: Time = None, until: Time = None) -> Response:
    """One point for each window, and the transformations among them: what plots are drawn from."""
    return reply(service.series(since, until))
