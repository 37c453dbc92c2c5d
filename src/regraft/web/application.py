"""Puts the web application together: routes, guard, the form of errors, the OpenAPI document, the page."""

import asyncio
import logging
import re
from collections.abc import Iterator
from typing import Any

import msgspec
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.openapi.utils import get_openapi
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException
from starlette.middleware.gzip import GZipMiddleware
from starlette.responses import FileResponse, JSONResponse, Response

from regraft import __version__
from regraft.model import BadInput, RegraftError
from regraft.serve.interface import ServiceInterface
from regraft.web.api import control, decisions, events, overlay, plans
from regraft.web.api.dependencies import Needs
from regraft.web.audit import Audit
from regraft.web.documents import Alive, components, documented, plain_reason, problem
from regraft.web.gate import COOKIE, OPENAPI, Gate
from regraft.web.guard import Guard
from regraft.web.metrics import TEXT, Metrics
from regraft.web.page import REFERENCE, STATIC, Files, page_headers
from regraft.web.settings import WebSettings

log = logging.getLogger("regraft.web")
API = "/api/v1"
SECTIONS = (overlay, plans, decisions, control, events)
METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"]


def application(service: ServiceInterface, settings: WebSettings) -> FastAPI:
    """The ASGI application. `state.ending` is set to end the event streams."""
    app = FastAPI(
        title="Regraft", version=__version__, docs_url=None, redoc_url=None, openapi_url=f"{API}/openapi.json"
    )
    app.state.service, app.state.gate = service, Gate(settings)
    app.state.audit, app.state.metrics = Audit(settings.audit_log), Metrics(service.metrics)
    app.state.ending = asyncio.Event()
    app.state.places = events.StreamPlaces(settings.streams, settings.streams_each, app.state.metrics)
    for section in SECTIONS:
        app.include_router(section.router, prefix=API)
    _health(app, service)
    _errors(app)
    _described(app)
    _reference(app)
    app.mount("/", Files(directory=STATIC, html=True))
    app.add_middleware(GZipMiddleware, minimum_size=1000)
    # The middleware that is added last is the outermost: the guard sees every request first.
    app.add_middleware(
        Guard, gate=app.state.gate, audit=app.state.audit, metrics=app.state.metrics, headers=page_headers()
    )
    return app


def _health(app: FastAPI, service: ServiceInterface) -> None:
    def health(request: Request, *, ready: bool) -> Response:
        seen = service.health()
        fine = seen.ready if ready else seen.ok
        known = request.state.visit.principal is not None
        document = Alive(status="ok" if fine else "failing", checks=seen.checks if known else {})
        return Response(msgspec.json.encode(document), 200 if fine else 503, media_type="application/json")

    answers = {**documented(Alive), 503: documented(Alive)[200] | {"description": "Something fails."}}

    @app.get("/healthz", tags=["health"], responses=answers)
    async def alive(request: Request) -> Response:
        """Whether the process works. Only callers that are recognised see the single checks."""
        return health(request, ready=False)

    @app.get("/readyz", tags=["health"], responses=answers)
    async def ready(request: Request) -> Response:
        """Whether it also knows a topology, and every check succeeds."""
        return health(request, ready=True)

    text = {**documented(Alive), 200: {"description": "Text.", "content": {"text/plain": {}}}}

    @app.get("/metrics", tags=["health"], responses=text, response_class=Response)
    async def metrics(request: Request) -> Response:
        """In the text format of Prometheus."""
        return Response(request.app.state.metrics.text(), media_type=TEXT)


def _errors(app: FastAPI) -> None:
    @app.exception_handler(RequestValidationError)
    async def invalid(request: Request, fault: RequestValidationError) -> Response:
        first = fault.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        return problem(422, "bad", f"{place}: {first['msg']}")

    @app.api_route("/api/{rest:path}", methods=METHODS, include_in_schema=False)
    async def unknown(request: Request) -> Response:
        """Every path under /api without a route; the page's files, mounted last, would take it otherwise."""
        raise HTTPException(405 if _methods(app, request.url.path) else 404)

    @app.exception_handler(HTTPException)
    async def refused(request: Request, fault: HTTPException) -> Response:
        code, reason = plain_reason(fault.status_code, fault.detail)
        headers = dict(fault.headers or {})
        if fault.status_code == 405 and (allowed := _methods(app, request.url.path)):
            headers["Allow"] = ", ".join(allowed)
        return problem(fault.status_code, code, reason, headers)

    @app.exception_handler(BadInput)
    async def bad(request: Request, fault: BadInput) -> Response:
        return problem(422, "bad", str(fault))

    @app.exception_handler(RegraftError)
    async def away(request: Request, fault: RegraftError) -> Response:
        log.warning("%s", fault, extra={"request": request.state.visit.request})
        return problem(503, "away", str(fault))


def _methods(app: FastAPI, path: str) -> list[str]:
    """The methods of this path by the OpenAPI document; the router would name those of one route only."""
    for template, operations in app.openapi()["paths"].items():
        if re.fullmatch(re.sub(r"\\\{\w+\\\}", "[^/]+", re.escape(template)), path):
            return sorted(method.upper() for method in operations)
    return []


def _described(app: FastAPI) -> None:
    """The OpenAPI document, with the schemas of msgspec and the ways to authenticate."""

    def openapi() -> dict[str, Any]:
        if app.openapi_schema is None:
            document = get_openapi(
                title=app.title, version=app.version, routes=app.routes, description=DESCRIPTION
            )
            parts = document.setdefault("components", {})
            parts["schemas"] = {**parts.get("schemas", {}), **components()}
            parts["securitySchemes"] = {
                "token": {"type": "http", "scheme": "bearer"},
                "session": {"type": "apiKey", "in": "cookie", "name": COOKIE},
                "certificate": {"type": "mutualTLS"},
            }
            for path, method, role in _roles():
                document["paths"][path][method]["x-role"] = role
            document["security"] = [{"token": []}, {"session": []}, {"certificate": []}, {}]
            app.openapi_schema = document
        return app.openapi_schema

    app.openapi = openapi  # type: ignore[method-assign]


def _roles() -> Iterator[tuple[str, str, str]]:
    """Path, method and least role of every route that needs a role."""
    for route in (route for section in SECTIONS for route in section.router.routes):
        assert isinstance(route, APIRoute)
        for needs in (each.call for each in route.dependant.dependencies):
            if isinstance(needs, Needs):
                for method in route.methods or ():
                    yield API + route.path_format, method.lower(), needs.role.label


def _reference(app: FastAPI) -> None:
    """The API reference, from our own files: FastAPI's page would load scripts from the internet."""

    @app.get("/docs", include_in_schema=False)
    async def reference() -> Response:
        return FileResponse(REFERENCE, headers={"Cache-Control": "no-cache"})

    @app.get(OPENAPI, include_in_schema=False)
    async def openapi(request: Request) -> Response:
        return JSONResponse(app.openapi())


DESCRIPTION = """The loop that keeps a publish/subscribe overlay in shape: watch it, approve its plans, take
them back.

Times are seconds since 1970, durations seconds, latencies milliseconds, rates per second. null is "not
known", never zero. Every refusal is `{"code", "reason"}`. What takes a while answers 202 with an operation,
whose id holds across a restart."""
