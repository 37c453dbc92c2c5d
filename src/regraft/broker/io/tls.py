"""Configuration → contexts of the `ssl` module, one for each direction."""

import ssl

from regraft.broker.io.configuration import Tls
from regraft.model import BadInput


def accepting(tls: Tls) -> ssl.SSLContext:
    """For connections that come. Who must show a certificate is decided at the hello (`admission`)."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    _load(context, tls)
    if tls.authority is not None:
        context.verify_mode = ssl.CERT_REQUIRED if tls.clients_too else ssl.CERT_OPTIONAL
    return context


def dialling(tls: Tls) -> ssl.SSLContext:
    """For connections to neighbours: their certificate must name the host that we dial."""
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
