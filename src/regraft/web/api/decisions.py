"""The logs: what the loop decided, what healing did, and who changed what."""

from typing import Annotated, Any

import msgspec
from fastapi import APIRouter, Query, Request, Response

from regraft.serve import views as v
from regraft.web.api.dependencies import Admin, Before, Limit, Service, Viewer
from regraft.web.audit import Audit
from regraft.web.documents import AuditEntry, Items, documented, reply, reply_items

router = APIRouter(tags=["decisions"])
Kind = Annotated[str | None, Query(min_length=1, max_length=50)]


@router.get("/decisions", responses=documented(Items[v.DecisionView]))
async def decisions(
    service: Service, who: Viewer, limit: Limit = 100, before: Before = None, kind: Kind = None
) -> Response:
    """What the loop did or decided not to do, with the reason and the numbers; the newest first."""
    return reply_items(service.decisions(limit, before, kind))


@router.get("/adaptations", responses=documented(Items[v.AdaptationView]))
async def adaptations(service: Service, who: Viewer, limit: Limit = 50) -> Response:
    """What healing did, the newest first."""
    return reply_items(await service.adaptations(limit))


@router.get("/audit", responses=documented(Items[AuditEntry]))
async def audit(request: Request, who: Admin, limit: Limit = 100) -> Response:
    """Who changed what through this API, the newest first."""
    log: Audit = request.app.state.audit
    return reply(Items(tuple(map(_entry, log.last(limit)))))


def _entry(line: dict[str, Any]) -> AuditEntry:
    return msgspec.convert(line, AuditEntry)
