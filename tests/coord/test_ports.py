"""Ports that a server can use again after a restart."""

import socket

import pytest
from tests.coord.wires import finish

from regraft.coord import ports
from regraft.coord.ports import LOOPBACK, free_ports, freed, is_free, reusable_ports


def test_ports_are_not_those_of_outgoing_connections(monkeypatch: pytest.MonkeyPatch) -> None:
    numbers = [number for each in free_ports(3) for number in each.numbers]
    assert len(set(numbers)) == 9
    assert set(numbers) <= set(ports._outside_outgoing())
    with socket.create_server((LOOPBACK, 0)) as taken:
        port = taken.getsockname()[1]
        monkeypatch.setattr(ports, "_outside_outgoing", lambda: [port] * 50)  # all taken: any that is free
        assert reusable_ports([LOOPBACK])[0] not in (0, port)


def test_a_port_is_free_when_no_server_listens_there() -> None:
    with socket.create_server((LOOPBACK, 0)) as taken:
        address = (LOOPBACK, taken.getsockname()[1])
        assert not is_free(*address)
        assert not is_free("localhost", address[1])
        assert not finish(freed([address], 0.1))
    assert finish(freed([address], 10))


@pytest.mark.parametrize("host", ["192.0.2.1", "a..b"])
def test_an_invalid_host_counts_as_free(host: str) -> None:
    assert is_free(host, 7000)
