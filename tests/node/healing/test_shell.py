"""The shell around the core: requests are answered whatever happens, and the core is never called twice."""

import asyncio
import logging
from typing import Any

import pytest

from regraft.broker.io.configuration import Configuration as BrokerConfiguration
from regraft.broker.io.running import run
from regraft.coord import Configuration, Layout
from regraft.heal.core import effects, events, requests
from regraft.heal.core.events import Answered, Failed
from regraft.heal.core.tasks import Request
from regraft.heal.owner import Owner
from regraft.heal.wire.messages import NewOwner
from regraft.model import RegraftError
from regraft.node.healing.answering import RequestHandlers, RequestTasks
from regraft.node.healing.settings import NodeSettings, reaching
from regraft.node.healing.shell import HealingShell

SETTINGS = NodeSettings(BrokerConfiguration("b1"), reaching(Configuration("127.0.0.1:1"), Layout()))
NOBODY: Any = None


def test_there_is_an_answer_to_every_request_of_the_core() -> None:
    known = {each for each in vars(requests).values() if isinstance(each, type) and issubclass(each, Request)}
    assert RequestHandlers(SETTINGS, NOBODY, NOBODY, NOBODY, NOBODY).answers.keys() == known - {Request}


def test_a_request_is_answered_refused_or_broken_but_never_forgotten(
    caplog: pytest.LogCaptureFixture,
) -> None:
    told: list[Answered | Failed] = []

    async def answer(request: Request[Any]) -> object:
        match request:
            case requests.Sync():
                return "done"
            case requests.Look():
                raise RegraftError("away")
            case requests.Retire():
                await asyncio.sleep(60)
        raise ValueError("a mistake")

    async def scenario() -> None:
        answering = RequestTasks(answer, told.append)
        b2 = (requests.Look("b2"), requests.Claim("b2"), requests.Retire("b2"))
        asked: list[Request[Any]] = [requests.Sync(), *b2]
        for number, request in enumerate(asked):
            answering.begin(number, request)
        await asyncio.sleep(0.01)
        answering.forget(3)
        answering.forget(3)
        await asyncio.sleep(0.01)
        answering.begin(4, requests.Retire("b2"))
        await answering.stop()

    run(scenario())
    done, away, broken = told
    assert done == Answered(0, "done")
    assert isinstance(away, Failed)
    assert str(away.fault) == "away"
    assert isinstance(broken, Failed)
    assert isinstance(broken.fault, RegraftError)
    assert "a mistake" in str(broken.fault)
    assert "Traceback" in caplog.text


class Core:
    """Stands for the core: says which events it was told, and does what the test wants."""

    def __init__(self) -> None:
        self.told: list[events.Event] = []
        self.wanted: dict[type[events.Event], list[effects.Effect]] = {}
        self.due: float | None = None
        self._at_work = False

    def handle(self, event: events.Event, now: float) -> list[effects.Effect]:
        assert not self._at_work
        self.told.append(event)
        if isinstance(event, events.Tick):
            self.due = None
        if isinstance(event, events.RulesSeen):
            raise ValueError("a mistake of the core")
        return self.wanted.pop(type(event), [])

    def next_due(self) -> float | None:
        return self.due


async def shell_of(core: Core) -> tuple[HealingShell, list[str]]:
    said: list[str] = []
    shell = HealingShell(SETTINGS, NOBODY, lambda: said.append("joined"), said.append)
    shell.core = core  # type: ignore[assignment]
    shell._requests = RequestTasks(lambda request: asyncio.sleep(0), shell.tell)
    return shell, said


def test_what_effects_cause_is_handled_after_them_in_the_same_callback() -> None:
    async def scenario() -> None:
        core = Core()
        shell, said = await shell_of(core)
        sent: list[str] = []

        def send(node: str, message: object) -> None:
            sent.append(node)
            shell.tell(events.Disconnected(node))

        shell._connections.send = send  # type: ignore[method-assign, assignment]
        message = NewOwner(broker="b2", life=1, host="", port=0)
        core.wanted[events.Connected] = [effects.Tell("b2", message), effects.Tell("b3", message)]
        core.wanted[events.Disconnected] = [effects.Joined()]
        shell.tell(events.Connected("b0"))
        assert core.told == [events.Connected("b0"), events.Disconnected("b2"), events.Disconnected("b3")]
        assert (sent, said) == (["b2", "b3"], ["joined"])

    run(scenario())


def test_one_timer_follows_the_core_and_a_mistake_does_not_stop_it(caplog: pytest.LogCaptureFixture) -> None:
    async def scenario() -> None:
        core = Core()
        shell, _ = await shell_of(core)
        loop = asyncio.get_running_loop()
        core.due = loop.time() + 60
        shell.tell(events.Connected("b0"))
        core.due = loop.time() + 0.01
        core.wanted[events.Connected] = [effects.Judged(1), effects.Note("said all the same")]
        shell.tell(events.RulesSeen(NOBODY))
        shell.tell(events.Connected("b3"))
        await asyncio.sleep(0.05)
        assert core.told[-1] == events.Tick()
        assert len(core.told) == 4
        core.wanted[events.Connected] = [effects.Do(1, requests.Sync()), effects.Broken(ValueError("broken"))]
        shell.tell(events.Connected("b4"))
        await asyncio.sleep(0.05)
        assert core.told[4:] == [events.Connected("b4"), events.Answered(1, None)]

    with caplog.at_level(logging.INFO, "regraft.heal"):
        run(scenario())
    for text in ("a mistake of the core", "cannot be done", "said all the same", "ValueError: broken"):
        assert text in caplog.text


def test_a_node_whose_own_broker_is_taken_over_says_so_and_decides_nothing_more() -> None:
    async def scenario() -> None:
        core = Core()
        shell, said = await shell_of(core)
        core.due = asyncio.get_running_loop().time() + 0.01
        shell.tell(events.Connected("b0"))
        shell._deposed("b1", "another has taken the broker over")
        shell.tell(events.Connected("b2"))
        await asyncio.sleep(0.05)
        assert core.told == [events.Connected("b0")]
        assert said == ["another has taken the broker over"]

    run(scenario())


def test_a_new_owner_is_dialled_before_the_core_hears_of_it() -> None:
    async def scenario() -> None:
        core = Core()
        shell, _ = await shell_of(core)
        here = NewOwner(broker="b2", life=2, host="h", port=7, by="b3", heal_host="h", heal_port=8)
        shell._heard("b3", here)
        assert shell.whereabouts.addresses == {"b2": ("h", 7)}
        assert shell.whereabouts.owners["b2"] == Owner(
            life=2, host="h", port=7, by="b3", heal_host="h", heal_port=8
        )
        assert core.told == [events.Heard("b3", here)]

    run(scenario())
