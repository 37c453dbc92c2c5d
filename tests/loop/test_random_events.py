"""Thousands of random histories: whatever happens, the loop keeps its promises."""

from collections import Counter

import pytest
from msgspec.structs import replace

from regraft.loop.phases import Phase
from regraft.loop.policy import Mode
from regraft.loop.proposing import refusal
from regraft.loop.state import State
from regraft.testing.loop_world import BrokenPromise, LoopWorld

MODES: tuple[Mode, ...] = ("observe", "propose", "automatic")


@pytest.mark.parametrize("part", range(4))
def test_no_history_breaks_a_promise(part: int) -> None:
    for seed in range(500 * part, 500 * (part + 1)):
        LoopWorld(seed, MODES[seed % 3]).run(120)


def test_histories_reach_every_kind_of_decision_that_matters() -> None:
    seen: Counter[str] = Counter()
    deployed = 0
    for seed in range(100):
        world = LoopWorld(seed, MODES[seed % 3])
        world.run(120)
        seen.update(world.decisions)
        deployed += world.deployed
    assert deployed > 100
    assert {
        "judged",
        "kept",
        "unconfirmed",
        "would-propose",
        "proposed",
        "withdrawn",
        "approved",
        "rejected",
    } <= set(seen)
    assert {
        "refused",
        "deploying",
        "deployed",
        "failed",
        "cooling",
        "healing",
        "degraded",
        "recovered",
    } <= set(seen)
    assert {"topology", "paused", "resumed", "mode", "started", "verified"} <= set(seen)


def test_a_broken_promise_is_noticed() -> None:
    world = LoopWorld(1, "propose")
    world.run(5)
    world.state = type(world.state)(policy=world.policy, phase=Phase.DEPLOYING)
    with pytest.raises(BrokenPromise, match="belong together"):
        world.run(1)


def _histories() -> None:
    for seed in range(200):
        LoopWorld(seed, MODES[seed % 3]).run(120)


def test_a_loop_that_needs_no_approval_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("regraft.loop.proposing._needs_approval", lambda state, made, at: None)
    with pytest.raises(BrokenPromise, match=r"a run (that nobody approved|by itself|in mode observe)"):
        _histories()


def test_a_loop_that_lets_people_approve_what_is_only_shown_is_caught(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def blind(state: State, plan: str) -> tuple[str, str] | None:
        """Takes a plan that is only shown for one that waits."""
        shown = state.proposal
        waits = replace(shown, observed=False) if shown is not None else None
        return refusal(replace(state, proposal=waits), plan)

    monkeypatch.setattr("regraft.loop.proposing.refusal", blind)
    with pytest.raises(BrokenPromise, match=r"a run (that nobody approved|of a plan that is only shown)"):
        _histories()


def test_a_loop_that_keeps_stale_proposals_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "regraft.loop.step_draft.StepDraft.withdraw", lambda self, reason, state="withdrawn": None
    )
    with pytest.raises(BrokenPromise):
        _histories()
