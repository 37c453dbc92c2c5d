"""Recognises callers, refuses forged requests, limits rates. Pure; the time is an argument.

A caller is recognised by a bearer token, a session cookie (the browser's event stream can send no token), or
the client certificate of the connection. A server without users trusts every caller that reaches it, so it
must make sure that a page of another site did not make the browser ask. The name in `Host` must be one of
ours: an attacker's name may resolve to the loopback interface (DNS rebinding). And requests that change
something must not come from a page of another origin.
"""

import secrets
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from regraft.web.rate import Buckets
from regraft.web.settings import LOOPBACK_NAMES, WebSettings, is_loopback
from regraft.web.users import LOCAL, Principal, digest

COOKIE = "regraft-session"
SESSION_SECONDS = 12 * 3600.0
MOST_SESSIONS = 1000
SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
LOG_IN = "/api/v1/session"
OPENAPI = "/openapi.json"
"""Only recognised callers may read it. The page that shows it is open to all, and holds nothing of it."""


@dataclass(frozen=True)
class RequestHead:
    """What is known of a request before its body."""

    method: str
    path: str
    headers: Mapping[str, str]
    """Names in lower case."""
    client: str = ""
    certificate: str | None = None
    """The common name of the connection's client certificate, which TLS has checked."""

    @property
    def changes(self) -> bool:
        return self.method not in SAFE

    @property
    def open(self) -> bool:
        """Whether anybody may ask this: the page's files, the health checks, and logging in."""
        if self.path.startswith("/api/"):
            return self.path == LOG_IN and self.method == "POST"
        return self.path not in ("/metrics", OPENAPI)

    def cookie(self, name: str) -> str:
        for part in self.headers.get("cookie", "").split(";"):
            key, _, value = part.strip().partition("=")
            if key == name:
                return value
        return ""

    @property
    def bearer(self) -> str:
        scheme, _, token = self.headers.get("authorization", "").partition(" ")
        return token.strip() if scheme.lower() == "bearer" else ""


@dataclass(frozen=True)
class Denial:
    status: int
    code: str
    reason: str
    retry_after: float = 0.0


class Gate:
    """Holds sessions and token buckets; everything else comes with the request."""

    def __init__(self, settings: WebSettings) -> None:
        self.settings = settings
        self._reads = Buckets(settings.reads)
        self._changes = Buckets(settings.changes)
        self._failures = Buckets(settings.failures)
        self._sessions: OrderedDict[str, tuple[Principal, float]] = OrderedDict()
        own = () if settings.host in ("0.0.0.0", "::") else (settings.host,)
        self._names = frozenset(name.lower() for name in (*LOOPBACK_NAMES, *own, *settings.hosts))

    def admit(self, asked: RequestHead, now: float) -> Principal | Denial | None:
        """Who asks, or why the request is denied. None: not recognised, and anybody may ask this."""
        forged = self._forged(asked)
        if forged is not None:
            return forged
        if wait := self._failures.wait(asked.client, now):
            return _too_often("too many wrong tokens from this address", wait)
        principal = self._recognised(asked, now)
        caller = f"{principal.name if principal else ''}@{asked.client}"
        wait = self._reads.take(caller, now)
        if not wait and asked.changes:
            wait = self._changes.take(caller, now)
        if wait:
            return _too_often("too many requests", wait)
        if principal is None and not asked.open:
            if asked.bearer:
                self._failures.take(asked.client, now)
            return Denial(401, "unauthenticated", "a token, a session or a client certificate is needed")
        return principal

    def log_in(self, token: str, client: str, now: float) -> tuple[Principal, str] | None:
        """A session for the holder of a token, and the value of its cookie."""
        principal = self.settings.users.by_token(token)
        if principal is None:
            self._failures.take(client, now)
            return None
        secret = secrets.token_urlsafe(32)
        self._sessions[digest(secret)] = (Principal(principal.name, principal.role, "session"), now)
        while len(self._sessions) > MOST_SESSIONS:
            self._sessions.popitem(last=False)
        return principal, secret

    def log_out(self, secret: str) -> None:
        self._sessions.pop(digest(secret), None)

    def _recognised(self, asked: RequestHead, now: float) -> Principal | None:
        users = self.settings.users
        if not users:
            return LOCAL
        if asked.bearer:  # sent on purpose, so it precedes the cookie that a browser sends by itself
            return users.by_token(asked.bearer)
        if secret := asked.cookie(COOKIE):
            principal, begun = self._sessions.get(digest(secret), (None, 0.0))
            if principal is not None and now - begun < SESSION_SECONDS:
                return principal
        return users.by_certificate(asked.certificate) if asked.certificate else None

    def _forged(self, asked: RequestHead) -> Denial | None:
        host = asked.headers.get("host", "")
        name = (urlsplit(f"//{host}").hostname or "") if _is_authority(host) else ""
        if is_loopback(self.settings.host) and name not in self._names:
            return Denial(421, "host", "this server is not asked by that name; see the setting hosts")
        if not asked.changes or asked.bearer:  # no page of another origin can send a bearer token
            return None
        origin = asked.headers.get("origin")
        if asked.headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none") or (
            origin is not None and _netloc(origin) != host.lower()
        ):
            return Denial(403, "origin", "this request was made by a page of another origin")
        return None


def _is_authority(host: str) -> bool:
    try:
        return urlsplit(f"//{host}").hostname is not None
    except ValueError:  # brackets without an IPv6 address in them
        return False


def _netloc(origin: str) -> str | None:
    try:
        return urlsplit(origin).netloc.lower()
    except ValueError:
        return None


def _too_often(reason: str, wait: float) -> Denial:
    return Denial(429, "too many", reason, wait)
