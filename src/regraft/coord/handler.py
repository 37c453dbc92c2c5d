"""kazoo's threads and sockets, with faults of kazoo's TLS corrected.

kazoo's own TLS trusts the system's authorities in addition to the given one, and does not check the host's
name. It waits on the socket until the next heartbeat although a decrypted answer is already in memory. It
also creates and closes an epoll object for every wait. All of this is corrected here, in the two methods
that kazoo calls on its handler.
"""

import errno
import math
import select
import socket
import ssl
from typing import Any

from kazoo.handlers.threading import SequentialThreadingHandler

from regraft.coord.configuration import Tls
from regraft.model import BadInput


def context_of(tls: Tls) -> ssl.SSLContext:
    """TLS 1.2 or later; the server's certificate is checked, ours is shown if there is one."""
    try:
        authority = str(tls.authority) if tls.authority is not None else None
        context = ssl.create_default_context(ssl.Purpose.SERVER_AUTH, cafile=authority)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        context.check_hostname = tls.check_hostname
        if tls.certificate is not None:
            context.load_cert_chain(tls.certificate, tls.key)
    except (OSError, ssl.SSLError) as fault:
        files = ", ".join(str(file) for file in (tls.authority, tls.certificate, tls.key) if file is not None)
        raise BadInput(files, f"no usable certificate or key: {fault}") from None
    return context


class Handler(SequentialThreadingHandler):  # type: ignore[misc]
    """The threads of one client."""

    def __init__(self, tls: Tls | None) -> None:
        super().__init__()
        self._context = context_of(tls) if tls is not None else None

    def create_connection(
        self, address: tuple[str, int], hostname: str, timeout: float, **_: Any
    ) -> socket.socket:
        """Called by kazoo for each attempt; its own TLS options are not used."""
        plain = socket.create_connection(address, timeout)
        try:
            if plain.getsockname() == plain.getpeername():
                # No server listens there any more, and the system chose that port as our own.
                raise ConnectionRefusedError(errno.ECONNREFUSED, "Connection refused")
            plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if self._context is None:
                return plain
            return self._context.wrap_socket(plain, server_hostname=hostname)
        except BaseException:
            plain.close()
            raise

    def select(self, readers: list[Any], writers: list[Any], others: list[Any], timeout: float | None) -> Any:
        """Bytes that TLS has already decrypted are ready, though the socket has nothing new."""
        ready = [one for one in readers if isinstance(one, ssl.SSLSocket) and one.pending() > 0]
        readable, writable = _poll(readers, writers, 0 if ready else timeout)
        return [*ready, *(one for one in readable if one not in ready)], writable, []


def _poll(readers: list[Any], writers: list[Any], timeout: float | None) -> tuple[list[Any], list[Any]]:
    """What can be read or written. Closed sockets too, so that the caller notices the end."""
    waiting = select.poll()
    events: dict[int, int] = {}
    for ones, wanted in ((readers, select.POLLIN), (writers, select.POLLOUT)):
        for one in ones:
            number = _number(one)
            events[number] = events.get(number, 0) | wanted
    for number, wanted in events.items():
        waiting.register(number, wanted)
    fired = dict(waiting.poll(None if timeout is None else max(0, math.ceil(1000 * timeout))))
    over = select.POLLHUP | select.POLLERR | select.POLLNVAL
    readable = [one for one in readers if fired.get(_number(one), 0) & (select.POLLIN | over)]
    writable = [one for one in writers if fired.get(_number(one), 0) & (select.POLLOUT | over)]
    return readable, writable


def _number(one: Any) -> int:
    return one if isinstance(one, int) else int(one.fileno())
