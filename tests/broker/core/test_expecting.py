"""A hello with many filters: they are in the tables ahead of it, step by step, and nothing else changes."""

from collections.abc import Sequence

import pytest

from regraft.broker.core import Broker, Send, Store
from regraft.broker.core.mesh import MeshBroker
from regraft.broker.core.peers import SessionState
from regraft.protocol.messages import ClientHello, InPlace, Refused, Settled, Welcome

FILTERS = [(f"s{n}", f"topic = 't{n}'") for n in range(40)]
Core = Broker | MeshBroker


def hello(**fields: object) -> ClientHello:
    return ClientHello("c", [], FILTERS, **fields)  # type: ignore[arg-type]


def said(effects: Sequence[object]) -> list[object]:
    return [effect.message for effect in effects if isinstance(effect, Send)]


@pytest.mark.parametrize("kind", [Broker, MeshBroker])
def test_a_hello_that_was_expected_is_answered_as_any_other(kind: type[Core]) -> None:
    plain, ahead = kind("b0", []), kind("b0", [])
    assert sum(1 for _ in ahead.sessions.expecting(hello(), 0.0)) == len(FILTERS)
    assert len(ahead.sessions.all["@c"].subscriptions) == len(FILTERS)
    answers = []
    for core in (plain, ahead):
        effects = core.received(1, [hello(), Settled()], 0.0)
        answers.append((said(effects), [each for each in effects if isinstance(each, Store)]))
    assert answers[0] == answers[1]
    assert [each for each in answers[1][0] if isinstance(each, Welcome)] == [Welcome("b0", 4096, False)]
    assert sum(isinstance(each, InPlace) for each in answers[1][0]) == len(FILTERS)


@pytest.mark.parametrize("kind", [Broker, MeshBroker])
def test_a_session_whose_hello_never_comes_ends_like_any_other_that_is_away(kind: type[Core]) -> None:
    core = kind("b0", [])
    for _ in core.sessions.expecting(hello(), 0.0):
        pass
    session = core.sessions.all["@c"]
    assert (session.state, session.connection) == (SessionState.EXPECTED, None)
    core.tick(61.0)
    assert not core.sessions.all
    assert session.state is SessionState.ENDED


@pytest.mark.parametrize("kind", [Broker, MeshBroker])
@pytest.mark.parametrize(
    "wrong", [ClientHello("c#1", [], FILTERS), ClientHello("c", [], FILTERS, version=99)]
)
def test_a_hello_that_will_be_refused_leaves_nothing(kind: type[Core], wrong: ClientHello) -> None:
    core = kind("b0", [])
    assert not list(core.sessions.expecting(wrong, 0.0))
    assert not core.sessions.all


def test_what_is_wrong_with_a_filter_is_said_once_and_to_the_hello() -> None:
    core = Broker("b0", [])
    wrong = ClientHello("c", [], [*FILTERS, ("bad", "a >")])
    for _ in core.sessions.expecting(wrong, 0.0):
        pass
    effects = core.received(1, [wrong], 0.0)
    assert [each.about for each in said(effects) if isinstance(each, Refused)] == ["bad"]


def test_a_session_that_ends_meanwhile_stays_ended() -> None:
    core = Broker("b0", [])
    steps = core.sessions.expecting(hello(), 0.0)
    next(steps)
    core.tick(61.0)
    assert not list(steps)
    assert not core.sessions.all
    assert not core.tables.subscriptions
