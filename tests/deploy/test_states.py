"""The states of runs, actions and reports: their drawings, and that simulated runs take every way drawn."""

import pytest
from msgspec.structs import replace
from tests.diagrams import assert_drawn

from regraft.coord import Corrupt
from regraft.coord.typed import decode
from regraft.deploy.agent_core import Agent, AgentView
from regraft.deploy.records import Doing, Run, Stage, Status
from regraft.deploy.states import (
    ACTION_STATES,
    REPORTS,
    RUN_STATES,
    ActionState,
    Reported,
    RunState,
)
from regraft.model import IllegalTransition
from regraft.testing.transformation import transform

DOING = Doing(action=("link", "a", "b"), changes=[("link", "a", "b")], run="7-x", name="1.1")
RUN = Run(id="7-x", sha256="", kind="tree", steps=[])


def test_the_states_are_drawn_as_they_are() -> None:
    assert_drawn(RunState.__doc__, RUN_STATES)
    assert_drawn(ActionState.__doc__, ACTION_STATES)
    assert_drawn(Reported.__doc__, REPORTS)


def test_an_action_that_was_not_prepared_cannot_be_committed() -> None:
    with pytest.raises(IllegalTransition, match=r"action 1\.1 of run 7-x: pending cannot become committed"):
        DOING.become(ActionState.COMMITTED)


def test_a_decision_cannot_be_made_twice() -> None:
    committed = replace(DOING, state=ActionState.COMMITTED)
    with pytest.raises(IllegalTransition, match="committed cannot become aborted"):
        committed.become(ActionState.ABORTED)


def test_a_run_that_is_done_cannot_run_again() -> None:
    with pytest.raises(IllegalTransition, match="run 7-x: done cannot become running"):
        RUN.become(RunState.DONE).become(RunState.RUNNING)


def test_a_journal_with_an_unknown_state_is_corrupt() -> None:
    with pytest.raises(Corrupt):
        decode("/plan", b'{"id":"7-x","sha256":"","kind":"tree","steps":[],"state":"odd"}', Run)


def test_agents_report_as_it_is_drawn_and_simulated_runs_take_every_way(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    taken: set[tuple[Reported, Reported]] = set()
    stage = Agent._stage

    def noted(agent: Agent, doing: Doing, view: AgentView, mine: Status) -> Stage:
        report = stage(agent, doing, view, mine)
        if report.stage != mine.stage(doing.change.id):
            taken.add((mine.stage(doing.change.id), report.stage))
        return report

    monkeypatch.setattr(Agent, "_stage", noted)
    for seed in range(40):
        transform(seed)
    drawn = {(before, after) for before, row in REPORTS.table.items() for after in row}
    # No broker refuses a change of a simulated run: `test_agent_core` has refusals.
    assert taken == {each for each in drawn if Reported.REFUSED not in each}
