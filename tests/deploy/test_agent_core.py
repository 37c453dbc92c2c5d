"""The agent's decisions, without ZooKeeper or a broker; whole runs are in `test_transformation`."""

import pytest
from msgspec.structs import replace

from regraft.deploy.agent_core import (
    RANK_SECONDS,
    Abort,
    Agent,
    AgentView,
    Commit,
    Decide,
    Do,
    KnownAction,
    Prepare,
    Report,
)
from regraft.deploy.records import Command, Doing, Stage, Status
from regraft.deploy.states import IN_DOUBT, ActionState, Reported

PATH = "/regraft/plan/steps/0001/actions/0001"
DOING = Doing(action=("shift", "i", "j", "k"), changes=[("shift", "i", "j", "k")], run="1-a", name="1.1")
ID = DOING.change.id


def view(
    stages: dict[str, str],
    reported: dict[str, Reported],
    refused: str = "",
    version: int = 3,
    state: ActionState = ActionState.PREPARING,
) -> AgentView:
    statuses = {name: Status(changes={ID: Stage(stage=stage)}) for name, stage in reported.items()}
    actions = {PATH: KnownAction(replace(DOING, state=state), version)}
    why = {ID: refused} if refused else {}
    return AgentView(Command(actions=(PATH,)), actions, statuses, stages, why, "1-a", commanded=7)


def decisions(todo: list[Do]) -> list[Decide]:
    return [each for each in todo if isinstance(each, Decide)]


def test_the_first_broker_of_the_change_decides_and_the_others_wait_for_it() -> None:
    seen = view({ID: Reported.READY}, dict.fromkeys("ijk", Reported.READY))
    for rank, name in enumerate("ijk"):
        agent = Agent(name)
        assert len(decisions(agent.react(seen, 100.0))) == (1 if rank == 0 else 0)
        late = decisions(agent.react(seen, 100.001 + rank * RANK_SECONDS))
        assert [each.doing.state for each in late] == [ActionState.COMMITTED]


def test_a_decision_holds_only_while_the_command_is_the_same() -> None:
    """The node of the action may be one of a later run by then, with the same version."""
    (decide,) = decisions(
        Agent("i").react(view({ID: Reported.READY}, dict.fromkeys("ijk", Reported.READY)), 0.0)
    )
    assert (decide.version, decide.command) == (3, 7)


def test_what_only_the_command_says_is_prepared_and_not_decided() -> None:
    seen = view({}, {}, version=-1)
    assert [type(each) for each in Agent("i").react(seen, 0.0)] == [Prepare]
    ready = view({ID: Reported.READY}, dict.fromkeys("ijk", Reported.READY), version=-1)
    assert not decisions(Agent("i").react(ready, 0.0))


def test_a_refusal_is_reported_unless_the_broker_was_ready_before() -> None:
    def reported(before: Reported) -> list[Reported]:
        todo = Agent("j").react(view({}, {"j": before} if before else {}, refused="no"), 0.0)
        return [each.status.stage(ID) for each in todo if isinstance(each, Report)]

    assert reported(Reported.NOTHING) == [Reported.REFUSED]
    assert reported(Reported.READY) == []  # told twice, it refuses the second time


P, R, C, D, A, F = (
    Reported.PREPARED,
    Reported.READY,
    Reported.COMMITTED,
    Reported.DONE,
    Reported.ABORTED,
    Reported.REFUSED,
)
N = Reported.NOTHING


@pytest.mark.parametrize(
    ("state", "stage", "before", "told", "reported"),
    [
        (ActionState.PREPARING, "", N, Prepare, N),
        (ActionState.PREPARING, "", P, None, P),  # it was told, and has forgotten it
        (ActionState.PREPARING, P, N, None, P),
        (ActionState.PREPARING, R, P, None, R),
        (ActionState.PREPARING, IN_DOUBT, P, None, P),
        (ActionState.COMMITTED, R, R, Commit, R),
        (ActionState.COMMITTED, IN_DOUBT, R, Commit, R),
        (ActionState.COMMITTED, P, P, None, P),
        (ActionState.COMMITTED, C, R, None, C),
        (ActionState.COMMITTED, "", R, None, D),
        (ActionState.COMMITTED, "", C, None, D),
        (ActionState.COMMITTED, "", D, None, D),
        (ActionState.COMMITTED, "", P, None, P),
        (ActionState.COMMITTED, "", N, None, N),
        (ActionState.ABORTED, P, P, Abort, P),
        (ActionState.ABORTED, IN_DOUBT, N, Abort, N),
        (ActionState.ABORTED, C, C, None, C),
        (ActionState.ABORTED, "", P, None, A),
        (ActionState.ABORTED, "", N, None, A),
        (ActionState.DONE, "", D, None, D),
    ],
)
def test_what_the_broker_is_told_and_what_is_reported_of_it(
    state: ActionState, stage: str, before: Reported, told: type[Do] | None, reported: Reported
) -> None:
    seen = view({ID: stage} if stage else {}, {"j": before} if before else {}, state=state)
    todo = Agent("j").react(seen, 5.0)
    assert [type(each) for each in todo if isinstance(each, Prepare | Commit | Abort)] == (
        [told] if told else []
    )
    reports = [each.status.stage(ID) for each in todo if isinstance(each, Report)]
    assert reports == ([reported] if reported != before else [])


def test_a_broker_that_cannot_be_reached_is_told_nothing_and_reports_what_it_reported() -> None:
    for state in (ActionState.PREPARING, ActionState.COMMITTED, ActionState.ABORTED):
        seen = replace_stages(view({}, {"j": R}, state=state))
        assert not [each for each in Agent("j").react(seen, 0.0) if not isinstance(each, Decide)]


def replace_stages(seen: AgentView) -> AgentView:
    seen.stages = None
    return seen


def test_another_brokers_action_and_one_that_cannot_be_read_are_none_of_ours() -> None:
    assert Agent("z").react(view({}, {}), 0.0) == []
    for known in ([], [ID]):
        seen = view(dict.fromkeys(known, P), {})
        seen.actions = {}
        assert Agent("i").react(seen, 0.0) == []


def test_a_stage_is_reported_with_the_time_since_the_action_was_first_seen() -> None:
    agent = Agent("j")
    agent.react(view({ID: P}, {}), 10.0)
    (report,) = [each for each in agent.react(view({ID: R}, {"j": P}), 10.25) if isinstance(each, Report)]
    assert report.status.changes[ID] == Stage(stage=R, milliseconds=250.0)
    assert agent.react(view({ID: R}, {"j": R}), 10.5) == [], "it has been reported"
    gone = view({}, {"j": R})
    gone.actions = {}
    gone.command = Command()
    assert [each.status.changes for each in agent.react(gone, 11.0) if isinstance(each, Report)] == [{}]
    assert agent.since == {}


def test_times_are_kept_as_long_as_their_actions() -> None:
    agent = Agent("i")
    ready = view({ID: R}, dict.fromkeys("ijk", R))
    agent.react(ready, 10.0)
    agent.react(ready, 12.0)
    assert agent.since == {ID: 10.0}
    other = replace(DOING, name="1.2", attempt=2)
    later = view({}, {})
    later.actions = {PATH: KnownAction(other, 3)}
    agent.react(later, 13.0)
    assert agent.since == {other.change.id: 13.0}
    assert not agent._all_ready


@pytest.mark.parametrize(
    ("stages", "reported", "reason"),
    [
        ({ID: R}, {"i": R, "j": F, "k": R}, "j: why"),
        ({ID: IN_DOUBT}, {"i": P}, "i crashed while it prepared"),
        ({ID: IN_DOUBT}, {"i": R, "j": P}, None),
        ({}, {"i": P}, "i has forgotten the change"),
        ({}, {"i": R}, "i has forgotten the change"),
        ({}, {"i": N}, None),
        ({ID: P}, {"i": P}, None),
    ],
)
def test_an_action_is_aborted_for_a_reason(
    stages: dict[str, str], reported: dict[str, Reported], reason: str | None
) -> None:
    seen = view(stages, reported)
    seen.statuses = {
        name: Status(changes={ID: Stage(stage=stage, reason="why" if stage == F else "")})
        for name, stage in reported.items()
    }
    found = decisions(Agent("i").react(seen, 0.0))
    assert [(each.doing.state, each.doing.reason) for each in found] == (
        [(ActionState.ABORTED, reason)] if reason else []
    )


def test_an_action_that_is_not_ready_in_time_is_aborted_with_those_that_are_missing() -> None:
    agent = Agent("i")
    seen = view({ID: R}, {"i": R, "j": P})
    assert not decisions(agent.react(seen, 0.0))
    assert not decisions(agent.react(seen, DOING.seconds))
    (late,) = decisions(agent.react(seen, DOING.seconds + 0.001))
    assert late.doing.reason == f"not ready within {DOING.seconds:g} s: j, k"
    assert (late.path, late.version, late.command) == (PATH, 3, 7)


def test_only_an_action_that_is_prepared_is_decided() -> None:
    for state in (ActionState.COMMITTED, ActionState.ABORTED, ActionState.DONE):
        assert not decisions(Agent("i").react(view({ID: R}, dict.fromkeys("ijk", R), state=state), 0.0))
    old = view({ID: R}, dict.fromkeys("ijk", R), version=0)
    assert decisions(Agent("i").react(old, 0.0))


def strays(
    id: str, stage: str = P, state: ActionState = ActionState.PREPARING, run: str = "2-b"
) -> list[str]:
    """What the broker is told of a change that is not commanded, while action 5 of run 2-b is, in its
    second attempt."""
    doing = replace(DOING, run="2-b", name="1.1", at=5, attempt=2, state=state)
    seen = AgentView(Command(), {PATH: KnownAction(doing, 3)}, {}, {id: stage}, {}, run)
    return [each.id for each in Agent("z").react(seen, 0.0) if isinstance(each, Abort)]


@pytest.mark.parametrize(
    ("id", "over"),
    [
        ("1-a:9.9:1:1", True),  # an earlier run
        ("2-b:9.9:1:1", False),  # this run, and nothing is known of the action
        ("3-c:9.9:1:1", False),
        ("2-b:1.1:5:1", True),  # an earlier change of this action
        ("2-b:1.1:6:1", True),  # an earlier attempt
        ("2-b:1.1:6:2", False),
        ("2-b:1.1:7:1", False),
        ("3-c:1.1:1:1", False),  # the action of another run
    ],
)
def test_what_the_broker_was_told_too_late_is_aborted_when_it_is_over(id: str, over: bool) -> None:
    assert strays(id) == ([id] if over else [])
    assert strays(id, stage=C) == []


def test_a_change_of_an_action_that_is_done_is_over() -> None:
    assert strays("2-b:1.1:6:2", state=ActionState.DONE) == ["2-b:1.1:6:2"]


def test_what_is_commanded_is_no_stray() -> None:
    seen = view({ID: P}, {"j": P})
    seen.run = "9-z"
    assert not [each for each in Agent("j").react(seen, 0.0) if isinstance(each, Abort)]
    seen.command, seen.actions = Command(), {}
    assert [each.id for each in Agent("j").react(seen, 0.0) if isinstance(each, Abort)] == [ID]
