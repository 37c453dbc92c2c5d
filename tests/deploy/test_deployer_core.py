"""What the deployer decides, without ZooKeeper: one view, the transactions that follow from it."""

from collections.abc import Mapping

import msgspec
import pytest

from regraft.coord import Layout
from regraft.deploy.deployer_core import Budget, Deployer, KnownRecord, Put, RunView, Same
from regraft.deploy.records import Command, Current, Doing, Run, Stage, Status
from regraft.deploy.states import ActionState, Reported, RunOrder
from regraft.model.changes import RawAction

LAYOUT = Layout("/r")
LINKS = [("a", "b"), ("b", "c"), ("c", "d"), ("d", "e")]
LEFT: RawAction = ("shift", "a", "b", "c")
RIGHT: RawAction = ("shift", "e", "d", "c")
GUARDED: RawAction = ("shift", "d", "c", "b")
"""Concerns the guard b-c of LEFT."""


def doing(*changes: RawAction, number: int = 1, **fields: object) -> Doing:
    made = Doing(action=changes[0], changes=list(changes), run="1-x", name=f"1.{number}")
    return msgspec.structs.replace(made, **fields)


def view(
    *doings: Doing,
    run: Mapping[str, object] | None = None,
    statuses: Mapping[str, Status] | None = None,
    queues: Mapping[str, int] | None = None,
) -> RunView:
    steps = [[each.action for each in doings], [LEFT]]
    of = msgspec.structs.replace(Run(id="1-x", sha256="", kind="tree", steps=steps), **run or {})
    paths = {LAYOUT.action(1, n): KnownRecord(each, 10 + n) for n, each in enumerate(doings, 1)}
    current = Current(epoch=7, kind="tree", brokers=list("abcde"), links=LINKS)
    commanded: dict[str, tuple[str, ...]] = {}
    for path, (each, _) in paths.items():
        if each.state not in (ActionState.PENDING, ActionState.DONE):
            for name in each.change.brokers:
                commanded[name] = (*commanded.get(name, ()), path)
    commands = {name: KnownRecord(Command(actions=commanded.get(name, ())), 3) for name in "abcde"}
    return RunView(KnownRecord(of, 5), KnownRecord(current, 6), paths, commands, statuses or {}, queues or {})


def decided(seen: RunView, queue_bytes: int = 0) -> list[list[Put]]:
    found = Deployer(LAYOUT, Budget(queue_bytes)).next(seen, 100.0)
    return [[each for each in transaction if isinstance(each, Put)] for transaction in found]


def begun(transactions: list[list[Put]]) -> list[str]:
    """The actions that begin, by their last number."""
    return [
        put.path[-1]
        for each in transactions
        for put in each
        if isinstance(put.record, Doing) and put.record.state == ActionState.PREPARING
    ]


def reported(stage: Reported, id: str, names: str = "abc") -> dict[str, Status]:
    return {name: Status(changes={id: Stage(stage=stage)}) for name in names}


def records(transaction: list[Put], type: type) -> list[Put]:
    return [put for put in transaction if isinstance(put.record, type)]


# Beginning


def test_actions_of_a_step_begin_together_and_their_brokers_are_commanded_with_them() -> None:
    (transaction,) = decided(view(doing(LEFT), doing(RIGHT, number=2)))
    assert begun([transaction]) == ["1", "2"]
    told = {put.path: put.record.actions for put in records(transaction, Command)}  # type: ignore[attr-defined]
    one, two = LAYOUT.action(1, 1), LAYOUT.action(1, 2)
    assert told == {
        LAYOUT.command("a"): (one,),
        LAYOUT.command("b"): (one,),
        LAYOUT.command("c"): (one, two),
        LAYOUT.command("d"): (two,),
        LAYOUT.command("e"): (two,),
    }
    assert {put.version for put in records(transaction, Command)} == {3}
    assert [put.version for put in records(transaction, Doing)] == [11, 12]


@pytest.mark.parametrize(
    ("state", "expected"),
    [
        (ActionState.PENDING, ["1"]),
        (ActionState.PREPARING, []),
        (ActionState.COMMITTED, []),
        (ActionState.ABORTED, []),
        (ActionState.DONE, ["2"]),
    ],
)
def test_an_action_that_shares_a_link_waits_until_the_other_is_over(state: str, expected: list[str]) -> None:
    assert begun(decided(view(doing(LEFT, state=state), doing(GUARDED, number=2)))) == expected


@pytest.mark.parametrize(
    ("limits", "expected"),
    [
        ({}, ["1", "2"]),
        ({"at_once": 1}, ["1"]),
        ({"at_once": 2}, ["1", "2"]),
        ({"per_broker": 1}, ["1"]),
        ({"per_broker": 2}, ["1", "2"]),
    ],
)
def test_the_budget_limits_what_begins(limits: dict[str, int], expected: list[str]) -> None:
    assert begun(decided(view(doing(LEFT), doing(RIGHT, number=2), run=limits))) == expected


def test_what_is_under_way_counts_against_the_budget() -> None:
    under_way = doing(LEFT, state=ActionState.PREPARING)
    assert decided(view(under_way, doing(RIGHT, number=2), run={"at_once": 1})) == []
    assert decided(view(under_way, doing(RIGHT, number=2), run={"per_broker": 1})) == []


@pytest.mark.parametrize(("held", "expected"), [(0, ["1", "2"]), (1000, ["1", "2"]), (1001, ["2"])])
def test_a_broker_that_holds_too_much_begins_nothing(held: int, expected: list[str]) -> None:
    seen = view(doing(LEFT), doing(RIGHT, number=2), queues={"a": held})
    assert begun(decided(seen, 1000)) == expected
    assert begun(decided(seen)) == ["1", "2"]


def test_nothing_begins_in_a_run_that_was_stopped_meanwhile() -> None:
    """The transaction holds only for the run as it was read."""
    (transaction,) = Deployer(LAYOUT).next(view(doing(LEFT)), 100.0)
    assert Same(LAYOUT.plan, 5) in transaction


@pytest.mark.parametrize(("before", "after"), [(0.0, 100.0), (90.0, 90.0)])
def test_an_action_began_when_its_first_attempt_did(before: float, after: float) -> None:
    (transaction,) = decided(view(doing(LEFT, begun=before)))
    assert [put.record.begun for put in records(transaction, Doing)] == [after]  # type: ignore[attr-defined]


# Ending


def test_what_a_broker_is_told_of_other_actions_stays_when_one_is_over() -> None:
    over, other = (
        doing(LEFT, state=ActionState.COMMITTED),
        doing(RIGHT, state=ActionState.PREPARING, number=2),
    )
    seen = view(over, other, statuses=reported(Reported.DONE, over.change.id))
    one, two = seen.actions
    both = Command(actions=(one, two), begun={one: over, two: other})
    seen.commands = {**seen.commands, "c": KnownRecord(both, 3)}
    (transaction,) = decided(seen)
    told = {put.path: put.record for put in records(transaction, Command)}
    assert told[LAYOUT.command("c")] == Command(actions=(two,), begun={two: other})


def test_a_change_is_over_when_all_report_done() -> None:
    change = doing(LEFT, state=ActionState.COMMITTED, begun=90.0)
    partly = reported(Reported.DONE, change.change.id, "ab") | reported(
        Reported.COMMITTED, change.change.id, "c"
    )
    assert decided(view(change, statuses=partly)) == []
    (transaction,) = decided(view(change, statuses=reported(Reported.DONE, change.change.id)))
    (action,) = records(transaction, Doing)
    assert (action.record.state, action.record.begun, action.record.ended) == (ActionState.DONE, 90.0, 100.0)  # type: ignore[attr-defined]
    (moved,) = records(transaction, Current)
    assert moved.record.epoch == 8  # type: ignore[attr-defined]
    assert ("a", "c") in moved.record.links  # type: ignore[attr-defined]
    assert ("a", "b") not in moved.record.links  # type: ignore[attr-defined]
    assert moved.version == 6
    assert all(put.record.actions == () for put in records(transaction, Command))  # type: ignore[attr-defined]


def test_the_next_change_of_an_action_waits_for_its_turn() -> None:
    two = doing(LEFT, ("shift", "a", "c", "d"), state=ActionState.COMMITTED, attempt=2)
    (transaction,) = decided(view(two, statuses=reported(Reported.DONE, two.change.id)))
    (action,) = records(transaction, Doing)
    assert isinstance(action.record, Doing)
    assert (action.record.state, action.record.at, action.record.attempt) == (ActionState.PENDING, 1, 1)
    assert action.record.ended == 0


def test_an_aborted_change_is_tried_again_under_another_name() -> None:
    change = doing(LEFT, state=ActionState.ABORTED, reason="b: no")
    said = reported(Reported.ABORTED, change.change.id, "ac") | reported(
        Reported.REFUSED, change.change.id, "b"
    )
    (transaction,) = decided(view(change, statuses=said))
    (action,) = records(transaction, Doing)
    assert isinstance(action.record, Doing)
    assert (action.record.state, action.record.attempt) == (ActionState.PENDING, 2)
    assert action.record.change.id != change.change.id
    assert records(transaction, Run) == []


def test_after_too_many_attempts_the_run_has_failed() -> None:
    change = doing(LEFT, state=ActionState.ABORTED, reason="b: no", attempt=3)
    (transaction,) = decided(view(change, statuses=reported(Reported.ABORTED, change.change.id)))
    (run,) = records(transaction, Run)
    assert isinstance(run.record, Run)
    assert run.record.reason == "shift(a, b, c) in step 1: b: no"
    assert run.record.state == "running"  # until nothing is under way


# Pausing, stopping, failing, the next step


@pytest.mark.parametrize(
    ("run", "states", "expected"),
    [
        ({"wanted": RunOrder.PAUSE}, (ActionState.PENDING, ActionState.PENDING), None),
        ({"wanted": RunOrder.PAUSE}, (ActionState.PREPARING, ActionState.PENDING), None),
        ({"wanted": RunOrder.STOP}, (ActionState.PREPARING, ActionState.PENDING), None),
        ({"wanted": RunOrder.STOP}, (ActionState.DONE, ActionState.PENDING), "stopped"),
        ({"reason": "it broke"}, (ActionState.PREPARING, ActionState.PENDING), None),
        ({"reason": "it broke"}, (ActionState.DONE, ActionState.PENDING), "failed"),
        (
            {"reason": "it broke", "wanted": RunOrder.STOP},
            (ActionState.PENDING, ActionState.PENDING),
            "failed",
        ),
        ({"state": "stopped"}, (ActionState.PENDING, ActionState.PENDING), None),
    ],
)
def test_a_run_that_is_to_end_begins_nothing_and_ends_when_nothing_is_under_way(
    run: dict[str, str], states: tuple[str, str], expected: str | None
) -> None:
    doings = [
        doing(change, number=n, state=state)
        for n, (change, state) in enumerate(zip((LEFT, RIGHT), states, strict=True), 1)
    ]
    found = decided(view(*doings, run=run))
    assert begun(found) == []
    ends = [put.record.state for each in found for put in each if isinstance(put.record, Run)]
    assert ends == ([expected] if expected else [])


def test_what_ends_while_it_is_paused_is_still_written() -> None:
    change = doing(LEFT, state=ActionState.COMMITTED)
    (transaction,) = decided(
        view(change, run={"wanted": RunOrder.PAUSE}, statuses=reported(Reported.DONE, change.change.id))
    )
    assert records(transaction, Current)


@pytest.mark.parametrize(
    ("wanted", "step", "expected"), [(RunOrder.RUN, 1, (2, "running")), (RunOrder.RUN, 2, (2, "done"))]
)
def test_the_next_step_begins_when_all_actions_are_done(
    wanted: str, step: int, expected: tuple[int, str]
) -> None:
    ((put,),) = decided(view(doing(LEFT, state=ActionState.DONE), run={"wanted": wanted, "step": step}))
    assert isinstance(put.record, Run)
    assert (put.record.step, put.record.state) == expected
    assert put.version == 5
