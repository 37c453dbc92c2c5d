"""Carrying a plan of shifts out on brokers of this process (IPITT §III-C), for the demo.

A shift has two stages, each of which all three brokers report: prepared by all, then committed. Nothing is
remembered outside of this process: it shows that brokers can be changed while they work, and is no deployer.
"""

import asyncio
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from regraft.broker.core import Change, shift
from regraft.broker.io.inside import inside
from regraft.model import Action, BadInput, Ends, Plan, RegraftError, Step, ends

if TYPE_CHECKING:
    from regraft.broker.core.effects import Report
    from regraft.broker.io.server import BrokerServer

PATIENCE = 10.0
"""Seconds for one stage of a shift; milliseconds are normal."""


BETWEEN = 0.4
"""Seconds of traffic after each step."""


class NotCarriedOut(RegraftError):
    """A shift that its brokers refused, or did not finish."""


class StepDone(NamedTuple):
    number: int
    step: Step
    rounds: int
    seconds: float
    shifts: tuple[float, ...]
    """Seconds that each of them took."""


# Pure


def concerned(action: Action) -> frozenset[Ends | str]:
    """What only one change at a time may concern: the old link, the guard, the new link, and j as such."""
    if action.operation != "shift":
        raise NotCarriedOut(f"{action}: only shifts can be carried out here")
    i, j, k = action.brokers
    return frozenset((ends(i, j), ends(j, k), ends(i, k), j))


def rounds(step: Step) -> list[list[Action]]:
    """The actions of a step in groups that do not get in each other's way: brokers refuse what does."""
    groups: list[tuple[set[Ends | str], list[Action]]] = []
    for action in step:
        needs = concerned(action)
        for taken, group in groups:
            if not taken & needs:
                taken.update(needs)
                group.append(action)
                break
        else:
            groups.append((set(needs), [action]))
    return [group for _, group in groups]


# Acting


class Stage:
    """Who has yet to report that a stage of a change is over."""

    def __init__(self, brokers: tuple[str, ...]) -> None:
        self.missing = set(brokers)
        self.over = asyncio.get_running_loop().create_future()

    def reported(self, broker: str) -> None:
        self.missing.discard(broker)
        if not self.missing and not self.over.done():
            self.over.set_result(None)


class Executor:
    """Commands the brokers and listens to their reports."""

    def __init__(self, servers: "Mapping[str, BrokerServer]", patience: float = PATIENCE) -> None:
        self._servers = servers
        self._patience = patience
        self._stages: dict[tuple[str, str], Stage] = {}
        self._changes = 0
        for id, server in servers.items():
            server.on_report = partial(self._reported, id)

    async def step(self, number: int, step: Step) -> StepDone:
        """All actions at once, as far as they share no link."""
        begun = time.monotonic()
        shifts: list[float] = []
        groups = rounds(step)
        for group in groups:
            results = await asyncio.gather(*map(self.shift, group), return_exceptions=True)
            for result in results:
                if isinstance(result, BaseException):
                    raise result
                shifts.append(result)
        return StepDone(number, step, len(groups), time.monotonic() - begun, tuple(shifts))

    async def shift(self, action: Action) -> float:
        """Returns how many seconds it took."""
        i, j, k = action.brokers
        self._changes += 1
        change = shift(f"{self._changes}: {action}", i, j, k)
        begun = time.monotonic()
        try:
            await self._stage(change, "ready", (i, j, k), self.prepare)
        except BaseException:
            for id in (i, j, k):
                with suppress(BadInput):  # it had not come so far
                    self._servers[id].abort(change.id)
            raise
        await self._stage(change, "done", (i, k), self.commit)
        return time.monotonic() - begun

    def prepare(self, broker: str, change: Change) -> None:
        self._servers[broker].prepare(change)

    def commit(self, broker: str, change: Change) -> None:
        self._servers[broker].commit(change.id)

    async def _stage(
        self, change: Change, name: str, commanded: tuple[str, ...], command: Callable[[str, Change], None]
    ) -> None:
        """Until i, j and k have reported it."""
        stage = self._stages[change.id, name] = Stage(change.brokers)
        try:
            for id in commanded:
                command(id, change)
            async with asyncio.timeout(self._patience):
                await stage.over
        except BadInput as fault:
            raise NotCarriedOut(f"a broker refused its part in change {fault}") from None
        except TimeoutError:
            missing = ", ".join(sorted(stage.missing))
            raise NotCarriedOut(f"change {change.id}: no report {name!r} from {missing}") from None
        finally:
            del self._stages[change.id, name]

    def _reported(self, broker: str, report: "Report") -> None:
        if (stage := self._stages.get((report.change, report.stage))) is not None:
            stage.reported(broker)


def links_of(servers: "Mapping[str, BrokerServer]") -> set[Ends]:
    """The links as the running brokers have them; one that only one end has, or that is down, is a fault."""
    near = {id: inside(server.core).links for id, server in servers.items() if server.core is not None}
    for id, links in near.items():
        for other, state in links.items():
            if state != "up" or id not in near.get(other, {}):
                raise NotCarriedOut(f"the link {id}-{other} is not whole after the change")
    return {ends(id, other) for id, links in near.items() for other in links}


async def carry_out(plan: Plan, executor: Executor, told: Callable[[StepDone], None]) -> list[StepDone]:
    """One step after the other."""
    done: list[StepDone] = []
    for number, step in enumerate(plan.steps, 1):
        done.append(await executor.step(number, step))
        told(done[-1])
        await asyncio.sleep(BETWEEN)
    return done
