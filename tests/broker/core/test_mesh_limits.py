"""What one peer can do to a broker of a mesh: what it stores and remembers is bounded, bad input is refused."""

from regraft.broker.core.effects import Effect, Send, Store
from regraft.broker.core.mesh import MeshBroker, MeshSettings
from regraft.protocol.messages import Bye, ClientHello, InPlace, Subscribe, Withdraw

SOON = MeshSettings(patience=0.0)


def stores(effects: list[Effect]) -> list[str]:
    return [effect.key for effect in effects if isinstance(effect, Store)]


def test_a_session_is_stored_once_for_all_that_comes_together() -> None:
    broker = MeshBroker("b", [], SOON)
    broker.received(1, [ClientHello("s", [], [])], 0.0)
    many = [Subscribe(f"s{number}", "topic = 'red'") for number in range(50)]
    assert stores(broker.received(1, many, 0.0)) == ["session/s"]
    assert stores(broker.received(1, [Withdraw("s1"), Withdraw("s2")], 0.0)) == ["session/s"]
    assert len(broker.sessions.all["@s"].subscriptions) == 48


def test_withdrawing_what_is_unknown_stores_nothing_and_is_answered() -> None:
    broker = MeshBroker("b", [], SOON)
    broker.received(1, [ClientHello("s", [], [])], 0.0)
    effects = broker.received(1, [Withdraw("unknown")], 0.0)
    assert effects == [Send(1, InPlace("unknown"))]


def test_a_session_that_ended_is_not_stored_again() -> None:
    broker = MeshBroker("b", [], SOON)
    broker.received(1, [ClientHello("s", [], [])], 0.0)
    effects = broker.received(1, [Subscribe("s1", "topic = 'red'"), Bye()], 0.0)
    assert [effect for effect in effects if isinstance(effect, Store)] == [Store("session/s", None)]
