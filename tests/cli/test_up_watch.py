"""What `regraft up` watches: a node that cannot be started again ends it, with nothing left behind."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from regraft.cli import up_command, up_heal
from regraft.model import BadInput, Topology
from regraft.node.healing import in_service


class Nodes:
    """Nodes of which one has ended and cannot be started again."""

    def __init__(self, dies: str) -> None:
        self.running: dict[str, Any] = {"a": None, "c": None}
        self.dies = dies

    async def ended(self, id: str) -> str:
        if id != self.dies:
            await asyncio.Event().wait()
        return "killed"

    async def restart(self, id: str) -> None:
        raise BadInput(id, "has no free port")

    async def start(self, id: str, beside: tuple[str, ...]) -> None:
        if id == "x":
            raise BadInput(id, "has no folder")
        self.running[id] = None

    async def joined(self, id: str) -> None:
        await asyncio.Event().wait()


@pytest.mark.parametrize("dies", ["a", "b"])
def test_a_restart_that_fails_ends_up_and_leaves_no_task(
    dies: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """`a` was there from the start; `b` is added by a rule, after `x`, which cannot be started."""

    async def wanted(*_: object) -> AsyncIterator[tuple[str, tuple[str, ...]]]:
        yield "x", ("a",)
        yield "b", ("a",)
        await asyncio.Event().wait()

    async def nothing(*_: object) -> tuple[str, ...]:
        return ()

    monkeypatch.setattr(in_service, "wanted", wanted)
    monkeypatch.setattr(in_service, "reinstate", nothing)
    monkeypatch.setattr(in_service, "out_of_service", nothing)
    monkeypatch.setattr(up_heal, "AGAIN_SECONDS", 0.05)

    async def watched() -> set[asyncio.Task[Any]]:
        before = asyncio.all_tasks()
        nodes: Any = Nodes(dies)
        nothing_there: Any = None
        topology = Topology.of([("a", "c")])
        async with up_heal.HealingOverlay(topology, nodes, nothing_there, nothing_there) as overlay:
            with pytest.raises(BadInput, match="has no free port"):
                await asyncio.wait_for(up_command._watch(overlay, asyncio.Event()), 10)
        return asyncio.all_tasks() - before

    assert asyncio.run(watched()) == set()
    assert "broker x cannot be started: x: has no folder" in capsys.readouterr().err
