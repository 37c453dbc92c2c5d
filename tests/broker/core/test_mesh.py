"""Mesh cores joined by wires in memory: routing by topic, receipts, order, refusals, pressure."""

from collections import deque

import pytest

from regraft.broker.core.effects import Close, Effect, Send
from regraft.broker.core.mesh import MeshBroker, MeshSettings
from regraft.broker.core.mesh_streams import topics_of
from regraft.client.core import Acknowledged, Client, Delivered, Happening, Placed, Rejected
from regraft.filters import parse
from regraft.protocol import events
from regraft.protocol.messages import AnyMessage, Flood, LinkHello, Received, Run, Update
from regraft.wire.frames import HEADER
from regraft.wire.numbered import Wire


class Wires:
    """Brokers and clients, and the connections between them; everything arrives at once."""

    def __init__(self, *links: tuple[str, str], settings: MeshSettings | None = None) -> None:
        names = sorted({name for link in links for name in link})
        self.brokers = {
            name: MeshBroker(
                name, [b if a == name else a for a, b in links if name in (a, b)], settings or SOON
            )
            for name in names
        }
        self.clients: dict[str, Client] = {}
        self.happened: dict[str, list[Happening]] = {}
        self.ends: dict[tuple[str, int], tuple[str, int]] = {}
        self.carried: list[tuple[str, str, AnyMessage]] = []
        self._next = 0
        for a, b in links:
            self.join(a, b)

    def join(self, a: str, b: str) -> None:
        self._next += 1
        self.ends[a, self._next], self.ends[b, self._next] = (b, self._next), (a, self._next)
        if a in self.clients:
            self.clients[a].opened()
            self.say(a)
        else:
            self.do(min(a, b), self.brokers[min(a, b)].opened(self._next, max(a, b)))

    def cut(self, a: str, b: str) -> None:
        for (name, number), (other, _) in list(self.ends.items()):
            if (name, other) in ((a, b), (b, a)):
                del self.ends[name, number]
                if name in self.brokers:
                    self.do(name, self.brokers[name].closed(number, 0.0))

    def client(self, name: str, broker: str) -> Client:
        self.clients[name] = Client(name, 1)
        self.happened[name] = []
        self.join(name, broker)
        return self.clients[name]

    def say(self, name: str) -> None:
        number = next(number for who, number in self.ends if who == name)
        self.do(name, [Send(number, message) for message in self.clients[name].take()])

    def do(self, name: str, effects: list[Effect]) -> None:
        """Carry the effects out, and all that follows."""
        todo = deque((name, effect) for effect in effects)
        while todo:
            who, effect = todo.popleft()
            if not isinstance(effect, Send) or (who, effect.connection) not in self.ends:
                continue
            to, number = self.ends[who, effect.connection]
            frame = Wire().frame([effect.message])
            (message,) = Wire().messages(frame[HEADER:])
            self.carried.append((who, to, message))
            if to in self.brokers:
                todo.extend((to, each) for each in self.brokers[to].received(number, [message], 0.0))
            else:
                self.happened[to] += self.clients[to].received([message])
                for happening in self.happened[to]:
                    if isinstance(happening, Delivered):
                        for seq in happening.seqs:
                            if any(
                                each[0] == seq for each in self.clients[to]._consuming[happening.publisher]
                            ):
                                self.clients[to].consumed(happening.publisher, seq)
                todo.extend((to, Send(number, each)) for each in self.clients[to].take())

    def publish(self, name: str, topic: str, *data: int) -> None:
        self.clients[name].publish([event(topic, each) for each in data], 0)
        self.say(name)

    def received(self, name: str) -> list[bytes]:
        return [
            events.decode(each).data
            for happening in self.happened[name]
            if isinstance(happening, Delivered)
            for each in happening.events
        ]

    def saw(self, name: str, kind: type) -> list[Happening]:
        return [each for each in self.happened[name] if isinstance(each, kind)]


SOON = MeshSettings(patience=0.0)
RING = (("a", "b"), ("b", "c"), ("c", "d"), ("a", "d"))


def event(topic: str, data: int) -> bytes:
    return events.encode(events.Event({"topic": topic, "x": data}, b"%d" % data))


def ring(settings: MeshSettings | None = None) -> Wires:
    """A client at each broker subscribes to red; one at a publishes."""
    wires = Wires(*RING, settings=settings)
    for name in "abcd":
        wires.client(f"s{name}", name).subscribe("topic = 'red'")
        wires.say(f"s{name}")
    wires.client("p", "a").advertise("topic = 'red'")
    wires.say("p")
    return wires


@pytest.mark.parametrize(
    ("text", "topics"),
    [
        ("topic = 'x'", {"x"}),
        ("topic = 'x' AND value > 3", {"x"}),
        ("topic IN ('x', 'y')", {"x", "y"}),
        ("(topic = 'x' AND value > 3) OR topic = 'y'", {"x", "y"}),
        ("value > 3", None),
        ("topic != 'x'", None),
        ("topic = 'x' OR value > 3", None),
        ("topic LIKE 'x%'", None),
    ],
)
def test_a_filter_pins_its_topics_or_not(text: str, topics: set[str] | None) -> None:
    assert topics_of(parse(text)) == topics


def test_everybody_on_the_topic_gets_it_once_and_the_publisher_is_acknowledged() -> None:
    wires = ring()
    wires.publish("p", "red", 1, 2, 3)
    for name in "abcd":
        assert wires.received(f"s{name}") == [b"1", b"2", b"3"]
    assert wires.saw("p", Acknowledged)[-1] == Acknowledged(3)


def test_nothing_is_kept_when_all_have_confirmed() -> None:
    wires = ring()
    wires.publish("p", "red", 1, 2, 3)
    assert [broker.flooding.streams.bytes for broker in wires.brokers.values()] == [0, 0, 0, 0]


def test_only_brokers_interested_in_the_topic_see_it() -> None:
    wires = Wires(("a", "b"), ("a", "c"), ("b", "c"))
    wires.client("s", "b").subscribe("topic = 'red'")
    wires.say("s")
    wires.client("other", "c").subscribe("topic = 'blue'")
    wires.say("other")
    wires.client("p", "a").advertise("topic = 'red'")
    wires.say("p")
    wires.publish("p", "red", 1)
    assert wires.received("s") == [b"1"]
    assert not [to for _, to, message in wires.carried if isinstance(message, Flood) and to == "c"]


def test_further_conditions_are_judged_at_delivery() -> None:
    wires = ring()
    wires.client("picky", "c").subscribe("topic = 'red' AND x > 1")
    wires.say("picky")
    wires.publish("p", "red", 1, 2)
    assert wires.received("picky") == [b"2"]


def test_a_filter_without_topic_is_refused_with_the_reason() -> None:
    wires = ring()
    wires.client("s", "b").subscribe("x > 1")
    wires.say("s")
    (refused,) = wires.saw("s", Rejected)
    assert isinstance(refused, Rejected)
    assert "names its topics" in refused.reason


def test_an_event_without_topic_is_refused() -> None:
    wires = ring()
    wires.clients["p"].publish([events.encode(events.Event({"x": 1}))], 0)
    wires.say("p")
    assert "topic" in str(wires.saw("p", Rejected)[0])


def test_publishing_waits_for_somebody_on_the_topic() -> None:
    wires = Wires(("a", "b"))
    wires.client("p", "a").advertise("topic = 'red'")
    wires.say("p")
    wires.publish("p", "red", 1)
    assert not wires.saw("p", Placed)
    assert not wires.saw("p", Acknowledged)
    wires.client("s", "b").subscribe("topic = 'red'")
    wires.say("s")
    assert wires.received("s") == [b"1"]
    assert wires.saw("p", Acknowledged) == [Acknowledged(1)]


def test_one_neighbour_away_does_not_stop_publishers_and_it_gets_all_when_it_is_back() -> None:
    wires = ring()
    wires.cut("a", "b")
    wires.cut("b", "c")
    wires.publish("p", "red", 1, 2)
    assert wires.saw("p", Acknowledged)[-1] == Acknowledged(2)
    assert wires.received("sb") == []
    assert wires.brokers["a"].flooding.streams.bytes
    wires.join("b", "c")
    wires.join("a", "b")
    assert wires.received("sb") == [b"1", b"2"]
    assert not any(broker.flooding.streams.bytes for broker in wires.brokers.values())


def test_without_k_copies_nothing_is_acknowledged() -> None:
    wires = ring()
    wires.cut("a", "b")
    wires.cut("a", "d")
    wires.publish("p", "red", 1)
    assert not wires.saw("p", Acknowledged)
    wires.join("a", "d")
    assert wires.saw("p", Acknowledged) == [Acknowledged(1)]


def test_the_end_of_a_session_leaves_what_other_clients_have_open() -> None:
    """A copy says from which number on its publisher waits: what is lower need not be waited for."""
    wires = ring()
    wires.client("q", "a").advertise("topic = 'red'")
    wires.say("q")
    wires.publish("q", "red", 1)
    wires.cut("a", "b")
    wires.cut("a", "d")
    wires.publish("p", "red", 1)
    wires.clients["q"].leave()
    wires.say("q")
    wires.publish("p", "red", 2)
    wires.join("a", "d")
    floods = [message for who, _, message in wires.carried if who == "a" and isinstance(message, Flood)]
    assert [(each.seqs, each.floor) for each in floods if each.stream == "p#1/red"] == [([1, 2], 1)]
    assert wires.saw("p", Acknowledged)[-1] == Acknowledged(2)
    assert wires.brokers["a"].sessions.publishing.floor("q#1/red") == 0


def test_what_is_observed_is_what_was_published_carried_and_delivered() -> None:
    wires = ring(MeshSettings(patience=0.0, observe=True))
    wires.publish("p", "red", 1, 2)
    told: dict[str, list[tuple[str, str, int]]] = {"publication": [], "hop": [], "delivery": []}
    for name, broker in wires.brokers.items():
        for fact in broker.flooding.facts:
            told[fact.kind] += [(name, fact.to, seq) for seq in fact.run.seqs]
    floods = [(who, to, each.seqs) for who, to, each in wires.carried if isinstance(each, Flood)]
    assert sorted(told["hop"]) == sorted((who, to, seq) for who, to, seqs in floods for seq in seqs)
    assert told["publication"] == [("a", "", 1), ("a", "", 2)]
    assert sorted(told["delivery"]) == [(name, f"@s{name}", seq) for name in "abcd" for seq in (1, 2)]


def test_what_a_client_publishes_again_is_observed_once() -> None:
    wires = ring(MeshSettings(patience=0.0, observe=True))
    wires.cut("a", "b")
    wires.cut("a", "d")
    wires.publish("p", "red", 1)
    wires.cut("p", "a")
    wires.clients["p"].closed()
    wires.join("p", "a")
    wires.publish("p", "red", 2)
    facts = [fact.run.seqs for fact in wires.brokers["a"].flooding.facts if fact.kind == "publication"]
    assert facts == [[1], [2]]
    sent = [message.seqs for _, to, message in wires.carried if to == "a" and isinstance(message, Run)]
    assert len(sent) == 3, "the first came twice"


def talk(broker: MeshBroker, *messages: AnyMessage) -> list[AnyMessage]:
    """A neighbour says something on connection 1; what it is answered."""
    effects = broker.received(1, messages, 0.0)
    return [effect.message for effect in effects if isinstance(effect, Send) and effect.connection == 1]


def test_what_comes_before_its_predecessor_is_received_but_waits() -> None:
    broker = MeshBroker("b", ["a"], SOON)
    delivered = []
    talk(broker, LinkHello("a", 1), Update(subscriptions=[("red", "1")], all_subscriptions=True))
    client = Client("s", 1)
    client.opened()
    broker.received(2, client.take(), 0.0)
    client.subscribe("topic = 'red'")
    broker.received(2, client.take(), 0.0)
    broker.flooding.interest.own["red"].ready = True
    broker.flooding.deliver = lambda copy: delivered.append(copy.seq)
    answers = talk(broker, Flood("p#1/red", 4, 0, [7], [event("red", 7)], 0))
    assert Received("p#1/red", [7]) in answers
    assert delivered == []
    talk(broker, Flood("p#1/red", 0, 0, [4], [event("red", 4)], 0))
    assert delivered == [4, 7]


def test_a_flood_with_numbers_out_of_order_ends_the_connection() -> None:
    broker = MeshBroker("b", ["a"], SOON)
    talk(broker, LinkHello("a", 1))
    effects = broker.received(1, [Flood("p#1/red", 0, 0, [4, 3], [b"", b""], 0)], 0.0)
    assert any(isinstance(effect, Close) and "ascend" in effect.reason for effect in effects)


def test_a_full_broker_stops_publishers_until_it_has_room() -> None:
    wires = ring(MeshSettings(patience=0.0, held_bytes=3000))
    wires.cut("sc", "c")
    for number in range(1, 21):
        wires.publish("p", "red", number)
    acknowledged = wires.saw("p", Acknowledged)[-1]
    assert isinstance(acknowledged, Acknowledged)
    assert acknowledged.up_to < 20
    wires.join("sc", "c")
    assert wires.saw("p", Acknowledged)[-1] == Acknowledged(20)
    assert wires.received("sc") == [b"%d" % number for number in range(1, 21)]


def test_an_unlinked_neighbour_is_not_kept_for() -> None:
    wires = ring()
    wires.cut("a", "b")
    wires.cut("b", "c")
    wires.publish("p", "red", 1)
    for name in "ac":
        wires.do(name, wires.brokers[name].unlink("b"))
    assert not any(wires.brokers[name].flooding.streams.bytes for name in "acd")


def full_ring() -> Wires:
    """c holds more than it should, because its subscriber is away, and p is stopped."""
    wires = ring(MeshSettings(patience=0.0, held_bytes=3000))
    wires.cut("sc", "c")
    for number in range(1, 21):
        wires.publish("p", "red", number)
    assert all("red" in broker.pressures.topics for broker in wires.brokers.values())
    return wires


def test_a_broker_that_is_removed_stops_no_publisher_any_more() -> None:
    wires = full_ring()
    for name in "bd":
        wires.cut(name, "c")
    for name in "bd":
        wires.do(name, wires.brokers[name].unlink("c"))
    assert not any(wires.brokers[name].pressures.topics for name in "abd")
    assert wires.saw("p", Acknowledged)[-1] == Acknowledged(20)


def test_a_broker_that_loses_one_link_of_several_still_stops_publishers() -> None:
    wires = full_ring()
    wires.do("b", wires.brokers["b"].unlink("c"))
    wires.do("c", wires.brokers["c"].unlink("b"))
    assert all("red" in broker.pressures.topics for broker in wires.brokers.values())
    wires.join("sc", "c")
    assert not any(broker.pressures.topics for broker in wires.brokers.values())
    assert wires.saw("p", Acknowledged)[-1] == Acknowledged(20)


def test_a_session_does_not_move_to_another_broker() -> None:
    wires = ring()
    wires.cut("sb", "b")
    wires.clients["sb"].closed()
    wires.join("sb", "c")
    assert "stays with its broker" in str(wires.saw("sb", Rejected))
