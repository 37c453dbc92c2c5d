"""Elections at work: the core's messages on the wire, its time from the loop (Mimosa Pudica §3.3)."""

import asyncio
from collections.abc import Callable

from regraft.heal.election import (
    Act,
    Choose,
    Decision,
    Effect,
    Elections,
    GaveUp,
    Learned,
    Send,
    Settings,
    decode,
    encode,
)
from regraft.heal.grant import Grant
from regraft.heal.wire import Ballot, Connections


class Electing:
    """The four callbacks are what the core wants beside messages."""

    def __init__(
        self,
        me: str,
        life: int,
        settings: Settings,
        connections: Connections,
        choose: Callable[[Choose], None],
        act: Callable[[Act], None],
        learned: Callable[[Learned], None],
        gave_up: Callable[[GaveUp], None],
    ) -> None:
        self.core = Elections(me, life, settings)
        self._connections = connections
        self._choose, self._act, self._learned, self._gave_up = choose, act, learned, gave_up
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | None = None

    def grant(self, election: str) -> Grant | None:
        ballot = self.core.open.get(election)
        return ballot.grant if ballot is not None else None

    def begin(self, grant: Grant) -> None:
        self._do(self.core.begin(grant, self._loop.time()))

    def heard(self, sender: str, ballot: Ballot) -> None:
        self._do(self.core.receive(sender, decode(ballot.data), self._loop.time()))

    def chosen(self, choose: Choose, decision: Decision) -> None:
        self._do(self.core.chosen(choose.election, choose.view, decision, self._loop.time()))

    def suspect(self, id: str) -> None:
        self._do(self.core.suspect(id, self._loop.time()))

    def trust(self, id: str) -> None:
        self.core.trust(id)

    def carried_out(self, election: str) -> None:
        self.core.carried_out(election)

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()

    def _do(self, effects: list[Effect]) -> None:
        for effect in effects:
            match effect:
                case Send():
                    if effect.to not in self.core.suspected or self._connections.connected(effect.to):
                        self._connections.send(effect.to, Ballot(data=encode(effect.message)))
                case Choose():
                    self._choose(effect)
                case Act():
                    self._act(effect)
                case Learned():
                    self._learned(effect)
                case GaveUp():
                    self._gave_up(effect)
        self._schedule()

    def _schedule(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        due = self.core.next_due()
        self._timer = self._loop.call_at(due, self._tick) if due is not None else None

    def _tick(self) -> None:
        self._do(self.core.tick(self._loop.time()))
