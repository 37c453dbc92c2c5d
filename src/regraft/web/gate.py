"""Who may pass: recognises callers, refuses forged requests, counts. Pure; the time is an argument.

A caller is recognised by a bearer token, a session cookie (the browser's event stream can send no token), or
the client certificate of the connection. A server without users trusts whoever reaches it, so it must make
sure that a browser was not led there by somebody else's page: the name in `Host` must be one of ours (a
foreign name that resolves to the loopback interface), and requests that change something must not come from a
page of another origin.
"""

import secrets
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from regraft.web.rate import Buckets
from regraft.web.roles import LOCAL, Principal
from regraft.web.settings import LOOPBACK_NAMES, WebSettings, is_loopback
from regraft.web.users import digest

COOKIE = "regraft-session"
SESSION_SECONDS = 12 * 3600.0
MOST_SESSIONS = 1000
SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
LOG_IN = "/api/v1/session"
OPENAPI = "/openapi.json"
"""What can be asked is told to those who may ask; the page that shows it holds nothing of it."""


@dataclass(frozen=True)
class Asked:
    """What is known of a request before its body."""

    method: str
    path: str
    headers: Mapping[str, str]
    """Names in small letters."""
    client: str = ""
    certificate: str | None = None
    """The common name of the connection's client certificate, which TLS has checked."""

    @property
    def changes(self) -> bool:
        return self.method not in SAFE

    @property
    def open(self) -> bool:
        """Whether anybody may ask: the page's files, whether we live, and a way to log in."""
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
    """Holds sessions and buckets; everything else comes with the request."""

    def __init__(self, settings: WebSettings) -> None:
        self.settings = settings
        self._reads = Buckets(settings.reads)
        self._changes = Buckets(settings.changes)
        self._failures = Buckets(settings.failures)
        self._sessions: OrderedDict[str, tuple[Principal, float]] = OrderedDict()
        own = () if settings.host in ("0.0.0.0", "::") else (settings.host,)
        self._names = frozenset(name.lower() for name in (*LOOPBACK_NAMES, *own, *settings.hosts))

    def admit(self, asked: Asked, now: float) -> Principal | Denial | None:
        """None: nobody in particular, and none is needed."""
        forged = self._forged(asked)
        if forged is not None:
            return forged
        if wait := self._failures.left(asked.client, now):
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

    def _recognised(self, asked: Asked, now: float) -> Principal | None:
        users = self.settings.users
        if not users:
            return LOCAL
        if asked.bearer:  # said on purpose: goes before what a browser sends by itself
            return users.by_token(asked.bearer)
        if secret := asked.cookie(COOKIE):
            principal, begun = self._sessions.get(digest(secret), (None, 0.0))
            if principal is not None and now - begun < SESSION_SECONDS:
                return principal
        return users.by_certificate(asked.certificate) if asked.certificate else None

    def _forged(self, asked: Asked) -> Denial | None:
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
    except ValueError:  # brackets that hold no address
        return False


def _netloc(origin: str) -> str | None:
    try:
        return urlsplit(origin).netloc.lower()
    except ValueError:
        return None


def _too_often(reason: str, wait: float) -> Denial:
    return Denial(429, "too many", reason, wait)
