"""Runs the web server beside the service, in the same event loop, while its context is open."""

import asyncio
import logging
import socket
import ssl
from collections.abc import AsyncIterator, Generator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from typing import Any

import uvicorn
from uvicorn._types import ASGIReceiveCallable, ASGISendCallable, Scope
from uvicorn.protocols.http.h11_impl import H11Protocol

from regraft.model import BadInput, RegraftError
from regraft.serve.configuration import WebSection
from regraft.serve.interface import ServiceInterface
from regraft.web.application import application
from regraft.web.guard import CERTIFICATE
from regraft.web.settings import WebSettings, is_loopback, settings_of

log = logging.getLogger("regraft.web")
LAST_SECONDS = 3
"""For requests that are under way when the server stops."""
MOST_CONNECTIONS = 256
"""More are closed at once: the loop needs file descriptors too, for its files and for ZooKeeper."""
IDLE_SECONDS = 10.0
"""A connection that brings no new request for this long, or only a part of one, is closed."""


@dataclass(frozen=True)
class Serving:
    url: str
    host: str
    port: int


@asynccontextmanager
async def serving(service: ServiceInterface, settings: WebSection | WebSettings) -> AsyncIterator[Serving]:
    """Serves while the context is open. `BadInput` if the settings are unsafe or the address is taken."""
    own = settings if isinstance(settings, WebSettings) else settings_of(settings)
    app = application(service, own)
    listening = _listening(own)
    server = _Server(_configuration(app, own))
    task = asyncio.create_task(server.serve([listening]), name="regraft.web")
    try:
        while not server.started:
            if task.done():
                await task
                raise RegraftError("web: the server did not start")
            await asyncio.sleep(0.01)
        here = _where(own, listening.getsockname()[1])
        log.info("serving %s", here.url, extra={"users": len(own.users)})
        yield here
    finally:
        app.state.ending.set()
        server.should_exit = True
        await asyncio.wait({task})
        app.state.audit.close()
        listening.close()


def _configuration(app: object, settings: WebSettings) -> uvicorn.Config:
    configuration = uvicorn.Config(
        app,  # type: ignore[arg-type]
        http=_Connection,
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=LAST_SECONDS,
        h11_max_incomplete_event_size=64 * 1024,
    )
    configuration.load()
    if settings.certificate is not None:
        configuration.ssl = _context(settings)
    return configuration


def _context(settings: WebSettings) -> ssl.SSLContext:
    """If users have tokens, a client certificate is optional; else it is required."""
    assert settings.certificate is not None
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    try:
        context.load_cert_chain(settings.certificate, settings.key)
        if settings.authority is not None:
            context.load_verify_locations(settings.authority)
            context.verify_mode = ssl.CERT_OPTIONAL if settings.users.digests else ssl.CERT_REQUIRED
    except (OSError, ssl.SSLError) as fault:
        raise BadInput(str(settings.certificate), f"no usable certificate and key: {fault}") from None
    return context


def _listening(settings: WebSettings) -> socket.socket:
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((settings.host, settings.port))
        if is_loopback(settings.host) and not is_loopback(listening.getsockname()[0]):
            raise BadInput(settings.host, "this name does not stand for the loopback interface")
    except OSError as fault:
        listening.close()
        place = f"{settings.host}:{settings.port}"
        raise BadInput(place, f"cannot listen there: {fault.strerror or fault}") from None
    except BadInput:
        listening.close()
        raise
    return listening


def _where(settings: WebSettings, port: int) -> Serving:
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    return Serving(f"{'https' if settings.secure else 'http'}://{host}:{port}/", settings.host, port)


class _Server(uvicorn.Server):
    """Leaves the signals of the process alone: the program that runs the server handles them."""

    @contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        yield


class _Connection(H11Protocol):
    """Puts the name in the client certificate, checked by TLS, into the scope; closes idle connections."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        if len(self.connections) > MOST_CONNECTIONS:
            transport.abort()
            return
        self.loop.call_later(IDLE_SECONDS, self._close_if_idle, None)
        name, app = _common_name(transport.get_extra_info("peercert")), self.app

        async def named(scope: Scope, receive: ASGIReceiveCallable, send: ASGISendCallable) -> None:
            await app({**scope, CERTIFICATE: name}, receive, send)

        self.app = named

    def _close_if_idle(self, before: object) -> None:
        """`before`: the request that the last look saw; no newer one means that the connection is idle."""
        if self.transport.is_closing():
            return
        cycle: Any = self.cycle  # None before the first request
        idle = cycle is None or cycle.response_complete
        if idle and cycle is before:
            self.transport.close()
        else:
            self.loop.call_later(IDLE_SECONDS, self._close_if_idle, cycle)


def _common_name(certificate: dict[str, object] | None) -> str | None:
    for group in (certificate or {}).get("subject", ()):  # type: ignore[attr-defined]
        for key, value in group:
            if key == "commonName":
                return str(value)
    return None
