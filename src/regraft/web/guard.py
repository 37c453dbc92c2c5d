"""The outermost ASGI layer: admits, limits, records, counts and logs each request."""

import json
import logging
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from regraft.web.audit import Audit, AuditUnavailable
from regraft.web.documents import problem
from regraft.web.gate import Denial, Gate, RequestHead
from regraft.web.metrics import Metrics
from regraft.web.users import Principal

LARGEST_BODY = 2**20
CERTIFICATE = "regraft.certificate"
"""The key in the ASGI scope of the common name in the client certificate."""
OURS = "a fault of the server; its log has the request id"
log = logging.getLogger("regraft.web")


@dataclass
class Visit:
    """One request while it is served; handlers add to `detail` what the audit log should say."""

    asked: RequestHead
    principal: Principal | None
    request: str
    began: float
    status: int = 0
    detail: dict[str, Any] = field(default_factory=dict)

    def entry(self, what: str, at: float) -> dict[str, Any]:
        who, role = (self.principal.name, self.principal.role.label) if self.principal else ("", "")
        return {
            "at": round(at, 6),
            "what": what,
            "request": self.request,
            "who": who,
            "role": role,
            "client": self.asked.client,
            "method": self.asked.method,
            "path": self.asked.path,
        }


class Guard:
    """`clock` is for limits and durations, `now` for the audit log."""

    def __init__(
        self,
        app: ASGIApp,
        gate: Gate,
        audit: Audit,
        metrics: Metrics,
        headers: tuple[tuple[str, str], ...] = (),
        clock: Callable[[], float] = time.monotonic,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._app, self._gate, self._audit, self._metrics = app, gate, audit, metrics
        self._headers = [(name.encode(), value.encode()) for name, value in headers]
        self._clock, self._now = clock, now

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self._app(scope, receive, send)
            return
        asked, began = request_head(scope), self._clock()
        admitted = self._gate.admit(asked, began)
        principal = admitted if isinstance(admitted, Principal) else None
        visit = Visit(asked, principal, secrets.token_hex(8), began)
        outward = self._outward(visit, send)
        try:
            if isinstance(admitted, Denial):
                self._metrics.refused(admitted.code)
                if admitted.status in (401, 403) and (asked.changes or asked.bearer):
                    self._record(visit, "asked")  # but not every anonymous read: that would fill the log
                await _denied(admitted)(scope, receive, outward)
            else:
                await self._pass(visit, scope, receive, outward)
        except AuditUnavailable as fault:
            log.error("%s", fault, extra={"request": visit.request})
            await problem(503, "away", str(fault))(scope, receive, outward)
        except Exception as fault:
            log.exception("%s", fault, extra=_fields(visit))
            if visit.status:  # the answer has begun: it is too late for another status
                raise
            await problem(500, "fault", OURS)(scope, receive, outward)
        finally:
            self._ended(visit, scope)

    async def _pass(self, visit: Visit, scope: Scope, receive: Receive, send: Send) -> None:
        length = visit.asked.headers.get("content-length", "0")
        if not length.isdecimal() or int(length) > LARGEST_BODY:
            await problem(413, "too large", f"a body has at most {LARGEST_BODY} bytes")(scope, receive, send)
            return
        if visit.asked.changes:
            self._record(visit, "asked")
        scope.setdefault("state", {})["visit"] = visit
        await self._app(scope, _limited(receive), send)

    def _outward(self, visit: Visit, send: Send) -> Send:
        async def outward(message: Message) -> None:
            if message["type"] == "http.response.start":
                visit.status = message["status"]
                own = (b"x-request-id", visit.request.encode())
                message["headers"] = [*message.get("headers", []), own, *self._headers]
            await send(message)

        return outward

    def _record(self, visit: Visit, what: str) -> None:
        self._audit.write(visit.entry(what, self._now()))

    def _ended(self, visit: Visit, scope: Scope) -> None:
        seconds = self._clock() - visit.began
        route = getattr(scope.get("route"), "path", "") or ("/" if visit.asked.open else "none")
        self._metrics.answered(visit.asked.method, route, visit.status or 500, seconds)
        if not visit.asked.changes or visit.status in (401, 403, 429):
            return
        entry = visit.entry("answered", self._now()) | {"status": visit.status, "seconds": round(seconds, 6)}
        try:
            self._audit.write(entry | {"detail": visit.detail})
        except AuditUnavailable as fault:  # it is done, and the line `asked` is on disk
            log.error("%s", fault, extra={"request": visit.request})
        log.info("%s %s: %s", visit.asked.method, visit.asked.path, visit.status, extra=_fields(visit))


def request_head(scope: Scope) -> RequestHead:
    headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}
    client = scope.get("client")
    return RequestHead(
        scope["method"], scope["path"], headers, client[0] if client else "", scope.get(CERTIFICATE)
    )


def _fields(visit: Visit) -> dict[str, Any]:
    who = visit.principal.name if visit.principal else ""
    return {"request": visit.request, "who": who, **visit.detail}


def _denied(denial: Denial) -> ASGIApp:
    headers = {"WWW-Authenticate": "Bearer"} if denial.status == 401 else {}
    if denial.retry_after:
        headers["Retry-After"] = str(max(1, round(denial.retry_after + 0.5)))
    return problem(denial.status, denial.code, denial.reason, headers)


def _limited(receive: Receive) -> Receive:
    """Limits a body that was sent without its length: its reader gets the error of broken JSON."""
    seen = 0

    async def limited() -> Message:
        nonlocal seen
        message = await receive()
        seen += len(message.get("body", b""))
        if seen > LARGEST_BODY:
            raise json.JSONDecodeError("too large", "", 0)
        return message

    return limited
