"""Shifts are carried out on running brokers; an executor that skips a stage is found out."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from regraft.broker.core import Change
from regraft.broker.io.configuration import Configuration
from regraft.broker.io.overlay import Overlay
from regraft.broker.io.running import run
from regraft.cli import demo_live
from regraft.cli.demo_live import Executor, NotCarriedOut, carry_out, links_of, rounds
from regraft.client import connect
from regraft.model import Action, Bounds, Ends, Plan, Step, Topology

CHAIN = [("a", "b"), ("b", "c"), ("c", "d"), ("d", "e"), ("e", "f")]


def shifts(*texts: str) -> Step:
    return tuple(Action("shift", tuple(text)) for text in texts)


def on_chain(work: Callable[[Overlay], Coroutine[Any, Any, None]]) -> None:
    """Run it with the brokers of the chain a-b-c-d-e-f."""

    async def main() -> None:
        async with Overlay(Topology.of(CHAIN), Configuration) as running:
            host, port = running.addresses["a"]
            async with connect(f"{host}:{port}") as client:
                await client.advertise("TRUE")  # every broker knows it: all links are up
            await work(running)

    run(asyncio.wait_for(main(), 30))


def test_actions_that_share_no_link_run_at_once() -> None:
    assert rounds(shifts("abc", "fed")) == [list(shifts("abc", "fed"))]


@pytest.mark.parametrize(
    ("first", "second"),
    [("ajk", "bjk"), ("ajk", "kja"), ("abc", "bcd"), ("ajk", "bjl")],
    ids=["same guard", "same links", "the guard of one is the old link of the other", "same old neighbour"],
)
def test_actions_in_each_others_way_run_one_after_the_other(first: str, second: str) -> None:
    assert rounds(shifts(first, second, "xyz")) == [list(shifts(first, "xyz")), list(shifts(second))]


def test_only_shifts_are_carried_out() -> None:
    with pytest.raises(NotCarriedOut, match="only shifts"):
        rounds((Action("append", ("a", "b")),))


def test_a_plan_leaves_the_brokers_with_the_links_of_the_goal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(demo_live, "BETWEEN", 0.0)
    steps = (shifts("abc", "fed"), shifts("acd"))
    plan = Plan("tree", "", "", steps, "by hand", Bounds(0, 0))
    told: list[int] = []

    async def work(running: Overlay) -> None:
        done = await carry_out(plan, Executor(running.servers), lambda step: told.append(step.number))
        assert [(len(each.shifts), each.rounds) for each in done] == [(2, 1), (1, 1)]
        assert links_of(running.servers) == {("a", "d"), ("b", "c"), ("c", "d"), ("d", "e"), ("d", "f")}

    on_chain(work)
    assert told == [1, 2]


class Hasty(Executor):
    """Commits what nobody has prepared."""

    def prepare(self, broker: str, change: Change) -> None:
        self.commit(broker, change)


class Forgetful(Executor):
    """Does not tell the old neighbour."""

    def prepare(self, broker: str, change: Change) -> None:
        if broker != change.j:
            super().prepare(broker, change)


@pytest.mark.parametrize(
    ("broken", "said"),
    [(Hasty, "not a change that this broker takes part in"), (Forgetful, "no report 'ready' from a, b, c")],
)
def test_a_broken_executor_is_reported_and_the_links_stay(broken: type[Executor], said: str) -> None:
    async def work(running: Overlay) -> None:
        with pytest.raises(NotCarriedOut, match=said):
            await broken(running.servers, patience=0.3).step(1, shifts("abc"))
        assert links_of(running.servers) == set(CHAIN)
        await Executor(running.servers).step(2, shifts("abc"))
        assert ("a", "c") in links_of(running.servers)

    on_chain(work)


def test_a_link_that_only_one_end_has_is_a_fault() -> None:
    async def work(running: Overlay) -> None:
        some: dict[str, Any] = {id: server for id, server in running.servers.items() if id != "f"}
        with pytest.raises(NotCarriedOut, match="the link e-f is not whole"):
            links_of(some)

    on_chain(work)


def test_the_links_of_an_overlay_are_those_it_was_started_with() -> None:
    async def work(running: Overlay) -> None:
        expected: set[Ends] = set(CHAIN)
        assert links_of(running.servers) == expected

    on_chain(work)
