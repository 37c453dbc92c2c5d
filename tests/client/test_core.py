"""The client's state machine: numbers, windows, what is new and what was seen, what is confirmed."""

import pytest

from regraft.client.core import Acknowledged, Client, Connected, Delivered, Placed, Rejected
from regraft.protocol.messages import (
    Advertise,
    AnyMessage,
    ClientHello,
    Confirm,
    InPlace,
    Refused,
    Run,
    Settled,
    Subscribe,
    Welcome,
)


@pytest.fixture
def client() -> Client:
    client = Client("c", 1, most=3)
    client.opened()
    client.take()
    client.received([Welcome("b1", 4, False)])
    client.take()
    return client


def run(*seqs: int, publisher: str = "p#1") -> Run:
    return Run(publisher, list(seqs), [str(seq).encode() for seq in seqs], 0)


def runs(messages: list[AnyMessage]) -> list[list[int]]:
    return [message.seqs for message in messages if isinstance(message, Run)]


def hello(client: Client) -> ClientHello:
    first = client.take()[0]
    assert isinstance(first, ClientHello)
    return first


def test_it_says_hello_with_all_its_filters_and_where_its_session_was(client: Client) -> None:
    one, two = client.advertise("TRUE"), client.subscribe("x > 1")
    client.closed()
    client.opened()
    said = hello(client)
    assert (said.advertisements, said.subscriptions) == ([(one, "TRUE")], [(two, "x > 1")])
    assert said.home == "b1"


def test_every_connection_is_a_later_visit(client: Client) -> None:
    visits = []
    for _ in range(3):
        client.closed()
        client.opened()
        visits.append(hello(client).visit)
    assert visits == sorted(set(visits))
    other = Client("c", 2)
    other.opened()
    assert hello(other).visit > visits[-1]


def test_nothing_but_the_hello_is_sent_before_the_welcome() -> None:
    client = Client("c", 1)
    client.subscribe("TRUE")
    client.publish([b"1"], 0)
    client.opened()
    assert [type(message) for message in client.take()] == [ClientHello]
    assert client.received([Welcome("b1", 9, False)]) == [Connected("b1", False)]
    assert runs(client.take()) == [[1]]


def test_publications_leave_in_runs_within_the_window(client: Client) -> None:
    client.publish([b"x"] * 6, 0)
    assert runs(client.take()) == [[1, 2, 3], [4]]
    assert client.received([Confirm("c#1", [1, 2])]) == [Acknowledged(2)]
    assert runs(client.take()) == [[5, 6]]


def test_an_acknowledgement_waits_for_the_earlier_ones(client: Client) -> None:
    client.publish([b"x"] * 4, 0)
    client.take()
    assert client.received([Confirm("c#1", [2, 3])]) == []
    assert client.received([Confirm("c#1", [1, 1])]) == [Acknowledged(3)]
    assert client.unacknowledged == 1


def test_what_was_not_acknowledged_is_sent_again_first_and_in_order(client: Client) -> None:
    client.publish([b"x"] * 4, 0)
    client.take()
    client.received([Confirm("c#1", [1, 1])])
    client.publish([b"y"], 0)
    client.closed()
    client.opened()
    client.take()
    client.received([Welcome("b2", 10, False)])
    said = client.take()
    assert runs(said) == [[2, 3, 4], [5]]
    assert said.index(Settled()) == 1  # after what is sent again, before what is new


def test_a_delivery_is_given_once_and_confirmed_when_it_was_consumed(client: Client) -> None:
    assert client.received([run(3, 7)]) == [Delivered("p#1", [3, 7], [b"3", b"7"], 0)]
    assert client.take() == []
    client.consumed("p#1", 3)
    client.consumed("p#1", 7)
    assert client.take() == [Confirm("p#1", [3, 7])]
    assert client.received([run(3, 7, 8)]) == [Delivered("p#1", [8], [b"8"], 0)]
    assert client.take() == [Confirm("p#1", [3, 3]), Confirm("p#1", [7, 7])]


def test_a_repetition_of_what_is_still_being_consumed_is_not_confirmed_yet(client: Client) -> None:
    client.received([run(3)])
    assert client.received([run(3)]) == []
    assert client.take() == []
    client.consumed("p#1", 3)
    assert client.take() == [Confirm("p#1", [3, 3])]


def test_confirmations_wait_for_earlier_deliveries_of_the_same_publisher(client: Client) -> None:
    client.received([run(1, 2)])
    client.consumed("p#1", 2)
    assert client.take() == []
    client.consumed("p#1", 1)
    assert client.take() == [Confirm("p#1", [1, 2])]


def test_publishers_are_told_apart(client: Client) -> None:
    client.received([run(5)])
    assert client.received([run(4, publisher="q#1")]) == [Delivered("q#1", [4], [b"4"], 0)]


def test_a_refused_publication_does_not_hold_up_the_others(client: Client) -> None:
    client.publish([b"x"] * 2, 0)
    client.take()
    assert client.received([Refused("c#1#1", "not advertised")]) == [
        Rejected("1", "not advertised"),
        Acknowledged(1),
    ]
    assert client.received([Confirm("c#1", [2, 2])]) == [Acknowledged(2)]


def test_a_refused_filter_is_not_asked_for_again(client: Client) -> None:
    id = client.subscribe("x >")
    assert client.take() == [Subscribe(id, "x >")]
    assert client.received([Refused(id, "why")]) == [Rejected(id, "why")]
    client.closed()
    client.opened()
    assert hello(client).subscriptions == []


def test_a_filter_in_place_is_reported(client: Client) -> None:
    id = client.advertise("TRUE")
    assert client.take() == [Advertise(id, "TRUE")]
    assert client.received([InPlace(id)]) == [Placed(id)]


def test_a_confirmation_of_what_was_sent_before_the_last_reconnection_does_not_count(client: Client) -> None:
    client.publish([b"x"], 0)
    client.take()
    client.closed()
    client.opened()
    client.take()
    client.received([Welcome("b1", 4, True)])
    (run,) = [message for message in client.take() if isinstance(message, Run)]
    assert client.received([Confirm("c#1", [1, 1], run.visit - 1)]) == []
    assert client.received([Confirm("c#1", [1, 1], run.visit)]) == [Acknowledged(1)]
