"""Paths: any id becomes one name and back again; an invalid name is reported with its repair."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regraft.coord import Corrupt, Layout
from regraft.coord.layout import decoded, encoded
from regraft.model import BadInput

IDS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1)


def test_the_tree_is_that_of_the_figure() -> None:
    layout = Layout()
    assert layout.topology == "/regraft/topology"
    assert layout.plan == "/regraft/plan"
    assert layout.action(1, 3) == "/regraft/plan/steps/0001/actions/0003"
    assert layout.action(1, 3).startswith(layout.step(1) + "/")
    assert layout.command("b/1") == "/regraft/brokers/b%2F1/command"
    assert layout.status("b1") == "/regraft/brokers/b1/status"
    assert layout.statistics("b1") == "/regraft/brokers/b1/statistics"
    assert layout.alive("b1") == "/regraft/brokers/b1/alive"
    assert layout.lock("broker", "a b") == "/regraft/locks/broker/a%20b"
    assert Layout("/some/where").brokers == "/some/where/brokers"


@given(IDS)
def test_an_id_is_one_name_and_comes_back(id: str) -> None:
    name = encoded(id)
    assert name.isascii()
    assert "/" not in name
    assert name not in (".", "..")
    assert decoded(name, "/x") == id


@given(IDS, IDS)
def test_two_ids_have_two_names(one: str, other: str) -> None:
    assert (encoded(one) == encoded(other)) == (one == other)


@pytest.mark.parametrize("name", ["a b", "%", "%2f", "%FF", "%61", "é", "", "%ED%A0%80"])
def test_a_name_that_no_id_has_is_corrupt(name: str) -> None:
    with pytest.raises(Corrupt, match="is not named by a percent-encoded id") as fault:
        decoded(name, "/regraft/brokers")
    assert fault.value.path == f"/regraft/brokers/{name}"


def test_the_repair_can_be_typed_into_a_shell() -> None:
    with pytest.raises(Corrupt) as fault:
        decoded("a b'c", "/r")
    assert fault.value.repair == "regraft znode delete '/r/a b'\\''c'"


@pytest.mark.parametrize("id", ["", "\ud800"])
def test_an_invalid_id_is_refused(id: str) -> None:
    with pytest.raises(BadInput):
        encoded(id)


@pytest.mark.parametrize(
    "root", ["", "/", "regraft", "/a//b", "/a/", "/a/../b", "/zookeeper", "/zookeeper/x"]
)
def test_an_invalid_root_is_refused(root: str) -> None:
    with pytest.raises(BadInput, match="ZooKeeper root"):
        Layout(root)
