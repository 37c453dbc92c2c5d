"""Who may come in: tokens and certificates are checked before a hello reaches the core."""

from collections.abc import Mapping
from typing import Any

from regraft.broker.io.configuration import Configuration
from regraft.protocol.messages import ClientHello, LinkHello
from regraft.protocol.names import RULE, is_name
from regraft.wire.identity import names_in, same_secret

NO_ID = f"a filter's id {RULE}"


def refusal(
    hello: LinkHello | ClientHello, certificate: Mapping[str, Any] | None, is_for: Configuration
) -> str:
    """Why this peer may not come in; empty if it may. `certificate` is the peer's, verified, if any."""
    if isinstance(hello, LinkHello):
        return _link_refusal(hello, certificate or {}, is_for)
    tls, tokens, most = is_for.tls, is_for.tokens.clients, is_for.settings.filters_per_client
    token = tokens.get(hello.client, tokens.get("*"))
    if tokens and (token is None or not same_secret(token, hello.token)):
        return f"the token is not that of client {hello.client!r}"
    if tls is not None and tls.clients_too and not certificate:
        return "a client must show a certificate"
    # A few too many are refused one by one; so many would keep everybody else waiting.
    if len(hello.advertisements) + len(hello.subscriptions) > 2 * most + is_for.allowed.refusals:
        return f"a client may have {most} filters of a kind, its hello has many more"
    ids = [id for filters in (hello.advertisements, hello.subscriptions) for id, _ in filters]
    return "" if all(map(is_name, ids)) else NO_ID


def _link_refusal(hello: LinkHello, certificate: Mapping[str, Any], is_for: Configuration) -> str:
    tls, token = is_for.tls, is_for.tokens.brokers
    if token and not same_secret(token, hello.token):
        return "the token is not that of this overlay's brokers"
    if tls is None or tls.authority is None:
        return ""
    if not certificate:
        return "a broker must show a certificate"
    return "" if hello.broker in names_in(certificate) else f"the certificate does not name {hello.broker!r}"
