"""One rule for the names of clients, wherever it is applied."""

import pytest

from regraft.broker.core import Broker, Send
from regraft.broker.core.mesh import MeshBroker
from regraft.client.checks import check_name
from regraft.model import BadInput
from regraft.protocol.messages import ClientHello, Refused
from regraft.protocol.names import NAME_BYTES, check_client_name, is_name

GOOD = ("a", "@", "sensor 7", "é" * (NAME_BYTES // 2), "x" * NAME_BYTES)
BAD = ("", "x" * (NAME_BYTES + 1), "é" * (NAME_BYTES // 2 + 1), "a#b", "a/b", "#", "/")


@pytest.mark.parametrize("name", GOOD)
def test_a_good_name_is_accepted(name: str) -> None:
    assert is_name(name)
    check_client_name(name, "name")
    check_name(name)


@pytest.mark.parametrize("name", BAD)
def test_the_client_and_both_brokers_refuse_a_bad_name_with_the_same_words(name: str) -> None:
    words = "a client's name has 1 to 255 bytes, and no '#' or '/'"
    assert not is_name(name)
    with pytest.raises(BadInput, match=f"^name: {words}$"):
        check_name(name)
    for core in (Broker("b", []), MeshBroker("b", [])):
        effects = core.received(1, [ClientHello(name, [], [])], 0.0)
        said = [effect.message for effect in effects if isinstance(effect, Send)]
        assert [each.reason for each in said if isinstance(each, Refused)] == [f"hello: {words}"]
