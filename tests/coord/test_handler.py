"""The sockets of the client: what TLS has decrypted already is ready to be read."""

import socket
import ssl
import threading
from pathlib import Path
from typing import Any

import pytest
import trustme

from regraft.coord import Tls
from regraft.coord.handler import Handler


def test_the_second_answer_of_one_tls_record_is_not_waited_for(tmp_path: Path) -> None:
    authority = trustme.CA()
    authority.cert_pem.write_to_path(tmp_path / "authority.pem")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(context)
    handler = Handler(Tls(tmp_path / "authority.pem"))

    def answer(listening: socket.socket) -> None:
        with context.wrap_socket(listening.accept()[0], server_side=True) as server:
            server.sendall(b"onetwo")
            server.recv(1)

    with socket.create_server(("127.0.0.1", 0)) as listening:
        answering = threading.Thread(target=answer, args=(listening,))
        answering.start()
        with handler.create_connection(listening.getsockname(), "127.0.0.1", 10.0) as client:
            assert client.recv(3) == b"one"
            assert handler.select([client], [], [], 0)[0] == [client]
            assert client.recv(3) == b"two"
            assert handler.select([client], [], [], 0)[0] == []
            client.sendall(b".")
        answering.join()


def test_a_connection_to_itself_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """If no server listens on a port, the system may connect a socket to itself."""
    alone = socket.socket()
    alone.bind(("127.0.0.1", 0))
    alone.connect(alone.getsockname())

    def joined(*_: Any) -> socket.socket:
        return alone

    monkeypatch.setattr(socket, "create_connection", joined)
    with pytest.raises(ConnectionRefusedError):
        Handler(None).create_connection(alone.getsockname(), "127.0.0.1", 1.0)
    assert alone.fileno() == -1
