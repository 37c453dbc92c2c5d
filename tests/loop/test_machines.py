"""The loop's state machines: they are drawn as they are, and random histories take every transition."""

import pytest
from tests.diagrams import assert_drawn

from regraft.loop import events, phases
from regraft.loop.phases import PHASES, Phase
from regraft.loop.policy import Mode, Policy
from regraft.loop.state import first_state
from regraft.loop.step import step
from regraft.loop.step_draft import StepDraft
from regraft.loop.values import ENDED, PROPOSAL_STATES, ProposalState
from regraft.model import IllegalTransition
from regraft.testing.loop_world import LoopWorld

MODES: tuple[Mode, ...] = ("observe", "propose", "automatic")


def test_the_phases_are_drawn_as_they_are() -> None:
    assert_drawn(phases.__doc__, PHASES)


def test_the_states_of_a_proposal_are_drawn_as_they_are() -> None:
    assert_drawn(ProposalState.__doc__, PROPOSAL_STATES)


def test_only_how_its_gain_was_measured_can_be_added_to_a_proposal_that_has_ended() -> None:
    assert all(PROPOSAL_STATES[state] <= {state} for state in ENDED)


def test_random_histories_take_every_transition_of_the_phases(monkeypatch: pytest.MonkeyPatch) -> None:
    taken: set[tuple[Phase, Phase]] = set()
    enter = StepDraft.enter

    def noted(draft: StepDraft, phase: Phase) -> int:
        taken.add((draft.state.phase, phase))
        return enter(draft, phase)

    monkeypatch.setattr(StepDraft, "enter", noted)
    for seed in range(300):
        LoopWorld(seed, MODES[seed % 3]).run(120)
    assert taken == {(before, after) for before, row in PHASES.table.items() for after in row}


def test_random_histories_take_every_transition_of_proposals() -> None:
    taken: set[tuple[ProposalState, ProposalState]] = set()
    for seed in range(300):
        world = LoopWorld(seed, MODES[seed % 3])
        world.run(120)
        for machine in world.proposals.values():
            taken |= set(zip(machine.history, machine.history[1:], strict=False))
    assert taken == {(before, after) for before, row in PROPOSAL_STATES.table.items() for after in row}


def test_an_illegal_phase_raises_with_the_phases_of_the_step() -> None:
    state = first_state(Policy(), "propose", 0.0)
    draft = StepDraft(state, 1.0)
    draft.enter(Phase.MEASURING)
    with pytest.raises(IllegalTransition, match="the loop: waiting → measuring cannot become designing"):
        draft.enter(Phase.DESIGNING)
    assert draft.state.phase is Phase.MEASURING


def test_a_failure_that_answers_no_command_is_a_fault_of_the_shell() -> None:
    state = first_state(Policy(), "propose", 0.0)
    with pytest.raises(IllegalTransition, match="waiting cannot become waiting"):
        step(state, events.Failed(at=1.0, part="measure", reason="odd", ticket=state.ticket))
