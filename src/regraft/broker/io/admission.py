"""Who may come in: tokens and certificates are checked before a hello reaches the core."""

import hmac
from collections.abc import Mapping
from typing import Any

from regraft.broker.io.configuration import Configuration
from regraft.protocol.messages import ClientHello, LinkHello

ID_BYTES = 255
NO_ID = f"a filter's id has 1 to {ID_BYTES} bytes, and no '#' or '/'"


def refusal(
    hello: LinkHello | ClientHello, certificate: Mapping[str, Any] | None, is_for: Configuration
) -> str:
    """Why this peer may not come in; empty if it may. `certificate` is the peer's, verified, if any."""
    if isinstance(hello, LinkHello):
        return _link_refusal(hello, certificate or {}, is_for)
    tls, tokens, most = is_for.tls, is_for.tokens.clients, is_for.settings.filters_per_client
    if tokens and not _same(tokens.get(hello.client, tokens.get("*")), hello.token):
        return f"the token is not that of client {hello.client!r}"
    if tls is not None and tls.clients_too and not certificate:
        return "a client must show a certificate"
    # A few too many are refused one by one; so many would keep everybody else waiting.
    if len(hello.advertisements) + len(hello.subscriptions) > 2 * most + is_for.allowed.refusals:
        return f"a client may have {most} filters of a kind, its hello has many more"
    ids = [id for filters in (hello.advertisements, hello.subscriptions) for id, _ in filters]
    return "" if all(map(is_id, ids)) else NO_ID


def is_id(id: str) -> bool:
    """Whether a filter may be called so: ids travel in names that are put together with '#' and '/'."""
    return 0 < len(id.encode()) <= ID_BYTES and "#" not in id and "/" not in id


def _link_refusal(hello: LinkHello, certificate: Mapping[str, Any], is_for: Configuration) -> str:
    tls, token = is_for.tls, is_for.tokens.brokers
    if token and not _same(token, hello.token):
        return "the token is not that of this overlay's brokers"
    if tls is None or tls.authority is None:
        return ""
    if not certificate:
        return "a broker must show a certificate"
    names = {name for _, name in certificate.get("subjectAltName", ())}
    return "" if hello.broker in names else f"the certificate does not name {hello.broker!r}"


def _same(expected: str | None, given: str) -> bool:
    """In a time that tells nothing about where they differ."""
    return expected is not None and hmac.compare_digest(expected.encode(), given.encode())
