"""The states of a client's session: their drawing, and that simulated runs take every way that is drawn."""

import pytest
from tests.diagrams import assert_drawn

from regraft.broker.core.peers import SESSION_STATES, Session, SessionState
from regraft.model import IllegalTransition
from regraft.testing.simulation import simulate

BACK_WHILE_FETCHING = 487
"""A seed in which a client is back from another broker before that one has claimed its session."""


def test_the_states_of_a_session_are_drawn_as_they_are() -> None:
    assert_drawn(SessionState.__doc__, SESSION_STATES)


def test_a_session_that_has_ended_cannot_come_back() -> None:
    session = Session("c", 0.0)
    session.become(SessionState.CLAIMING)
    session.become(SessionState.ENDED)
    with pytest.raises(
        IllegalTransition, match="the session of c: here → claiming → ended cannot become here"
    ):
        session.become(SessionState.HERE)


def test_deliveries_wait_only_while_it_claims_and_what_must_be_fetched_stays_known_when_it_has_moved() -> (
    None
):
    session = Session("c", 0.0)
    session.become(SessionState.CLAIMING)
    assert (session.claiming, session.fetching) == (True, True)
    session.become(SessionState.FETCHING)
    assert (session.claiming, session.fetching) == (False, True)
    session.become(SessionState.MOVED)
    assert (session.claiming, session.fetching) == (False, True)


def test_simulated_runs_take_every_way_of_a_session_that_was_not_expected(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    taken: set[tuple[SessionState, SessionState]] = set()
    become = Session.become

    def noted(session: Session, state: SessionState) -> None:
        taken.add((session.state, state))
        become(session, state)

    monkeypatch.setattr(Session, "become", noted)
    for seed in (*range(60), BACK_WHILE_FETCHING):
        simulate(seed)
    drawn = {(before, after) for before, row in SESSION_STATES.table.items() for after in row}
    # Clients of simulated runs have few filters; `test_expecting` has the others.
    assert taken == {each for each in drawn if SessionState.EXPECTED not in each}
