"""A participant's part in a change of links: the drawings of its stages, in a tree and in a mesh."""

import pytest
from tests.diagrams import assert_drawn

from regraft.broker.core import mesh_changes
from regraft.broker.core.change import PART_STAGES, PartStage, new_part, parts_of, role_of, shift, to_record
from regraft.model import IllegalTransition
from regraft.testing.transformation import transform

CHANGE = shift("7-x:1.1:1:1", "i", "j", "k")


def test_the_stages_of_a_part_are_drawn_as_they_are() -> None:
    assert_drawn(PartStage.__doc__, PART_STAGES)
    assert_drawn(mesh_changes.__doc__, mesh_changes.MESH_STAGES)


def test_a_part_that_is_not_ready_cannot_be_committed() -> None:
    part = new_part(CHANGE, role_of("i", CHANGE))
    with pytest.raises(IllegalTransition, match=r"shift\(i, j, k\): prepared cannot become committed"):
        part.become(PartStage.COMMITTED)


def test_what_k_has_told_is_nothing_that_agents_see() -> None:
    part = new_part(CHANGE, role_of("k", CHANGE), PartStage.COMMITTED)
    part.become(PartStage.TOLD)
    assert (part.told, part.committed, part.stage) == (True, True, PartStage.COMMITTED)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (PartStage.PREPARED, PartStage.IN_DOUBT),
        (PartStage.IN_DOUBT, PartStage.IN_DOUBT),
        (PartStage.COMMITTED, PartStage.COMMITTED),
    ],
)
def test_after_a_crash_a_part_is_in_doubt_unless_it_was_committed(
    before: PartStage, after: PartStage
) -> None:
    part = new_part(CHANGE, role_of("j", CHANGE), before)
    found = parts_of("j", {f"change/{CHANGE.id}": to_record(part)})
    assert found[CHANGE.id].stage is after


def test_simulated_runs_take_every_way_but_those_of_a_faulty_neighbour(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    taken: set[tuple[PartStage, PartStage]] = set()
    checked = PART_STAGES.checked

    def noted(history: tuple[PartStage, ...], state: PartStage, owner: str) -> PartStage:
        taken.add((history[-1], state))
        return checked(history, state, owner)

    monkeypatch.setattr(PART_STAGES, "checked", noted)
    for seed in range(40):
        transform(seed)
    drawn = {(before, after) for before, row in PART_STAGES.table.items() for after in row}
    too_early = {(PartStage.PREPARED, PartStage.DONE), (PartStage.IN_DOUBT, PartStage.DONE)}
    assert taken == drawn - too_early
