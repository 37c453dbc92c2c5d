"""Who is at the other end: TLS contexts made of certificates, the names in them, and shared secrets.

Whether a peer may do something is not decided here.
"""

import hmac
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from regraft.model import BadInput


@dataclass(frozen=True)
class Tls:
    """Certificates as PEM files. With an `authority`, brokers show theirs to each other (mutual TLS)."""

    certificate: Path
    key: Path
    authority: Path | None = None
    clients_too: bool = False
    """Every peer that connects must show a certificate of the authority, clients included."""


def accepting(tls: Tls | None) -> ssl.SSLContext | None:
    """For connections that we accept. Unless every peer must show a certificate, the hello decides."""
    if tls is None:
        return None
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    _load(context, tls)
    if tls.authority is not None:
        context.verify_mode = ssl.CERT_REQUIRED if tls.clients_too else ssl.CERT_OPTIONAL
    return context


def dialling(tls: Tls | None) -> ssl.SSLContext | None:
    """For connections that we make: the peer's certificate must name the host that we dial."""
    if tls is None:
        return None
    context = ssl.create_default_context(ssl.Purpose.SERVER_AUTH)
    _load(context, tls)
    return context


def _load(context: ssl.SSLContext, tls: Tls) -> None:
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    try:
        context.load_cert_chain(tls.certificate, tls.key)
        if tls.authority is not None:
            context.load_verify_locations(tls.authority)
    except (OSError, ssl.SSLError) as fault:
        files = ", ".join(str(file) for file in (tls.certificate, tls.key, tls.authority) if file is not None)
        raise BadInput(files, f"no usable certificate and key: {fault}") from None


def names_in(certificate: Mapping[str, Any] | None) -> set[str]:
    """The names that a verified certificate, as the `ssl` module shows it, gives its owner."""
    return {name for _, name in (certificate or {}).get("subjectAltName", ())}


def same_secret(expected: str, given: str) -> bool:
    """Compared in a time that tells nothing about where they differ."""
    return hmac.compare_digest(expected.encode(), given.encode())
