"""The agent's decisions, without ZooKeeper or a broker; whole runs are in `test_transformation`."""

from msgspec.structs import replace

from regraft.deploy.agent_core import RANK_SECONDS, Agent, AgentView, Decide, Do, KnownAction, Prepare, Report
from regraft.deploy.records import Command, Doing, Stage, Status
from regraft.deploy.states import ActionState, Reported

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
