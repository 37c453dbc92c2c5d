"""Who may come in: tokens and certificates are checked before a hello reaches the core."""

import hmac
from collections.abc import Mapping
from typing import Any

from regraft.broker.core.messages import ClientHello, LinkHello
from regraft.broker.io.configuration import Configuration


def refusal(hello: LinkHello | ClientHello, certificate: Mapping[str, Any] | None, is_for: Configuration) -> str:
    """Why this peer may not come in; empty if it may. `certificate` is the peer's, verified, if any."""
    tls, tokens = is_for.tls, is_for.tokens
    if isinstance(hello, LinkHello):
        if not _same(tokens.brokers, hello.token):
            return "the token is not that of this overlay's brokers"
        if tls is not None and tls.authority is not None:
            if not certificate:
                return "a broker must show a certificate"
            if hello.broker not in _names(certificate):
                return f"the certificate does not name {hello.broker!r}"
        return ""
    expected = tokens.clients.get(hello.client, tokens.clients.get("*"))
    if tokens.clients and (expected is None or not _same(expected, hello.token)):
        return f"the token is not that of client {hello.client!r}"
    if tls is not None and tls.clients_too and not certificate:
        return "a client must show a certificate"
    return ""


def _same(expected: str, given: str) -> bool:
    """In a time that tells nothing about where they differ."""
    return not expected or hmac.compare_digest(expected.encode(), given.encode())


def _names(certificate: Mapping[str, Any]) -> set[str]:
    return {name for _, name in certificate.get("subjectAltName", ())}
