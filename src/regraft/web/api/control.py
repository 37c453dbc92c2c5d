"""Changing how the loop works: pause, mode, rules; and browser sessions."""

from fastapi import APIRouter, Request, Response

from regraft.serve import views as v
from regraft.web.api.dependencies import Admin, Operator, Service, Viewer, add_to_audit, visit_of
from regraft.web.documents import (
    LogIn,
    ModeChange,
    Pause,
    Responses,
    RulesChange,
    Who,
    documented,
    problem,
    reply,
)
from regraft.web.gate import COOKIE, SESSION_SECONDS, Gate
from regraft.web.users import Principal

router = APIRouter(tags=["control"])
LOGGED_OUT: Responses = {status: answer for status, answer in documented(Who).items() if status != 200}


@router.post("/loop/pause", responses=documented(v.StateView))
async def pause(body: Pause, request: Request, service: Service, who: Operator) -> Response:
    """The loop only observes until it is resumed; a run that is under way continues."""
    add_to_audit(request, reason=body.reason)
    return reply(service.pause(body.reason, who.name))


@router.post("/loop/resume", responses=documented(v.StateView))
async def resume(service: Service, who: Operator) -> Response:
    """The loop continues in the mode that it had."""
    return reply(service.resume(who.name))


@router.put("/loop/mode", responses=documented(v.StateView))
async def set_mode(body: ModeChange, request: Request, service: Service, who: Admin) -> Response:
    """Observe, propose (a person approves), or automatic within budget and maintenance windows."""
    add_to_audit(request, mode=body.mode)
    return reply(service.set_mode(body.mode, who.name))


@router.get("/rules", responses=documented(v.RulesView))
async def rules(service: Service, who: Viewer) -> Response:
    """The rules of healing."""
    return reply(await service.rules())


@router.put("/rules", responses=documented(v.RulesView))
async def put_rules(body: RulesChange, request: Request, service: Service, who: Admin) -> Response:
    """Adds these and replaces those of the same name, after all checks of `regraft rules check`."""
    add_to_audit(request, rules=sorted(body.rules))
    return reply(await service.put_rules(body.rules, body.definitions, who.name))


@router.get("/session", responses=documented(Who))
async def session(who: Viewer) -> Response:
    """Whom the server takes the caller for."""
    return reply(_who(who))


@router.post("/session", responses=documented(Who))
async def log_in(body: LogIn, request: Request) -> Response:
    """A session for a browser, whose event stream can send no token; scripts cannot read its cookie."""
    gate: Gate = request.app.state.gate
    visit = visit_of(request)
    begun = gate.log_in(body.token, visit.asked.client, visit.began)
    if begun is None:
        return problem(401, "unauthenticated", "no user has this token", {"WWW-Authenticate": "Bearer"})
    principal, secret = begun
    add_to_audit(request, user=principal.name)
    answer = reply(_who(principal))
    secure = gate.settings.secure or gate.settings.plain_http
    answer.set_cookie(
        COOKIE, secret, int(SESSION_SECONDS), httponly=True, samesite="strict", secure=secure, path="/"
    )
    return answer


@router.delete("/session", status_code=204, responses=LOGGED_OUT)
async def log_out(request: Request, who: Viewer) -> Response:
    """The browser's session ends."""
    gate: Gate = request.app.state.gate
    gate.log_out(visit_of(request).asked.cookie(COOKIE))
    answer = Response(status_code=204)
    answer.delete_cookie(COOKIE, path="/")
    return answer


def _who(principal: Principal) -> Who:
    return Who(name=principal.name, role=principal.role.label, how=principal.how)  # type: ignore[arg-type]
