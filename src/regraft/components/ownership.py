"""Which components a host owns, and how the directory decides about each of them (`life`). Sans-IO.

Events in, effects out. `core` adds orders, calls, workers and what other hosts say.
"""

from collections import OrderedDict
from collections.abc import Callable, Iterable

from regraft.components.effects import (
    Claim,
    Effect,
    Forget,
    Look,
    Send,
    SetRole,
    Stored,
    Tell,
    Unlist,
)
from regraft.components.life import AFTER_RESTART, Life, Role
from regraft.components.messages import Declined, Found, Image, Ready, Settled
from regraft.components.resident import HostTimings, Moving, Resident
from regraft.components.work import Work

KEPT = 10_000
"""How many names that have left, and tenures that are over, the host remembers."""


class Ownership:
    """`life` is unique to each start of the host; `seconds_of(bundle)` is the time limit of its calls."""

    def __init__(
        self, me: str, life: str, seconds_of: Callable[[str], float], timings: HostTimings | None = None
    ) -> None:
        self.me = me
        self.timings = timings or HostTimings()
        self.residents: dict[str, Resident] = {}
        """By tenure. One name may have a resident that leaves or is left over, and others that arrive."""
        self._life = life
        self._count = 0
        self._seconds_of = seconds_of
        self._gone: OrderedDict[str, str] = OrderedDict()
        self._over: OrderedDict[str, None] = OrderedDict()
        self._out: list[Effect] = []

    def _effects(self) -> list[Effect]:
        out = self._out[:]
        self._out.clear()  # cleared, not replaced: every `Work` holds this very list
        return out

    def named(self, name: str) -> Resident | None:
        """The resident that calls go to: one that is here before one that arrives, then the latest."""
        found = [each for each in self.residents.values() if each.name == name]
        return max(found, key=lambda each: (each.life is not Life.ARRIVING, each.version), default=None)

    def _tenure(self, name: str) -> str:
        self._count += 1
        return f"{name}/{self.me}/{self._life}/{self._count}"

    def _enter(self, image: Image, life: Life, now: float) -> Resident:
        work = Work(image, self._seconds_of(image.bundle), self._out, now)
        resident = self.residents[image.tenure] = Resident.enter(work, life)
        return resident

    def _leave(self, resident: Resident, place: str = "") -> None:
        """The host forgets it. `place`: where the component is now."""
        resident.machine.become(Life.GONE)
        resident.work.kill()
        self._out.append(Forget(resident.tenure))
        resident.work.send_on(place)
        del self.residents[resident.tenure]
        _keep(self._over, resident.tenure, None)
        if place and place != self.me:
            _keep(self._gone, resident.name, place)

    # The start of the host

    def start(self, stored: Iterable[Stored], now: float) -> list[Effect]:
        for each in stored:
            resident = self._enter(each.image, AFTER_RESTART[each.role], now)
            resident.fresh = False
            resident.sender, resident.version = each.sender, each.version
            arriving = resident.life is Life.ARRIVING
            resident.due = now + (self.timings.ask if arriving else self.timings.again)
            if resident.life is Life.CREATING:
                resident.work.load(now)
            else:
                self._look(resident)
        return self._effects()

    # The directory

    def _look(self, resident: Resident) -> None:
        self._out.append(Look(resident.tenure, resident.name))

    def _run(self, resident: Resident, now: float) -> None:
        created = resident.life is Life.CREATING
        resident.machine.become(Life.RUNNING)
        resident.due, resident.fence, resident.moving = None, None, None
        if created or resident.sender:
            self._out.append(SetRole(resident.tenure, Role.MINE))
        self._gone.pop(resident.name, None)
        resident.work.go(now)
        if created and resident.sender:
            self._out.append(Send(resident.sender, Ready(tenure=resident.tenure)))
        if resident.order is not None:
            self._out.append(Tell(resident.order))
        resident.sender, resident.order = "", None
        for other in [each for each in self.residents.values() if each.name == resident.name]:
            if other.life is Life.ARRIVING and other.version < resident.version:
                self._leave(other, self.me)  # left over from a move that was called off

    def claimed(self, tenure: str, version: int | None, now: float) -> list[Effect]:
        """Our write of the entry got `version`; None: another write came first, and ours did not happen."""
        resident = self.residents.get(tenure)
        if resident is None:
            return []
        if resident.life is Life.SWITCHING and version is not None:
            self._gone_to(resident, version, now)
        elif resident.life in (Life.CREATING, Life.CLAIMING) and version is not None:
            resident.version = version
            self._run(resident, now)
        else:
            self._unsure(resident)
            self._look(resident)
        return self._effects()

    def away(self, tenure: str, now: float) -> list[Effect]:
        """The directory did not answer, so a write may or may not have happened: look again later."""
        resident = self.residents.get(tenure)
        if resident is not None and resident.life is not Life.RUNNING:
            self._unsure(resident)
            resident.due = now + self.timings.again
        return self._effects()

    def _unsure(self, resident: Resident) -> None:
        if resident.life is Life.SWITCHING:
            resident.machine.become(Life.CLAIMING)
            resident.fence = resident.version

    def looked(self, tenure: str, found: Found | None, now: float) -> list[Effect]:
        resident = self.residents.get(tenure)
        if resident is None:
            return []
        ours = found if found and found.entry.tenure == tenure and found.entry.place == self.me else None
        match resident.life:
            case Life.ARRIVING:
                self._look_arriving(resident, found, ours)
            case Life.CREATING:
                self._look_creating(resident, found, ours, now)
            case Life.CLAIMING:
                self._look_claiming(resident, found, ours, now)
            case Life.ENDING:
                self._look_ending(resident, ours)
        return self._effects()

    def _look_arriving(self, resident: Resident, found: Found | None, ours: Found | None) -> None:
        if ours is not None:
            resident.machine.become(Life.CLAIMING)
            self._claim(resident, ours.version)
        elif resident.cancelled or (found is not None and found.version > resident.version >= 0):
            self._leave(resident, found.entry.place if found else "")

    def _look_creating(self, resident: Resident, found: Found | None, ours: Found | None, now: float) -> None:
        if ours is not None:
            self._look_ours(resident, ours, now)
        elif found is not None:
            self._decline(resident, f"{resident.name} is at {found.entry.place} already")
        elif resident.loaded:
            self._out.append(Claim(resident.tenure, resident.entry(self.me, resident.tenure), None))

    def _look_claiming(self, resident: Resident, found: Found | None, ours: Found | None, now: float) -> None:
        if ours is not None:
            self._look_ours(resident, ours, now)
        elif found is not None and resident.moving and found.entry.tenure == resident.moving.tenure:
            self._gone_to(resident, found.version, now)
        else:
            self._give_up(resident.moving)
            self._leave(resident, found.entry.place if found else "")

    def _look_ours(self, resident: Resident, ours: Found, now: float) -> None:
        """The entry names this stay. Past the fence no earlier write can happen; until then, claim it."""
        if resident.fence is None or ours.version <= resident.fence:
            self._claim(resident, ours.version)
            return
        resident.version = ours.version
        moving = resident.moving
        self._run(resident, now)
        self._give_up(moving)

    def _give_up(self, moving: Moving | None) -> None:
        if moving is not None:
            self._out.append(
                Tell(moving.order, refused="the outcome of the switch was not known; the component stays")
            )

    def _claim(self, resident: Resident, version: int) -> None:
        """Writes in our favour over what was found: no other write over the same version can happen then."""
        resident.fence = version
        self._out.append(Claim(resident.tenure, resident.entry(self.me, resident.tenure), version))

    def _look_ending(self, resident: Resident, ours: Found | None) -> None:
        if ours is not None:
            resident.version = ours.version
            self._out.append(Unlist(resident.tenure, resident.name, ours.version))
            return
        order = resident.order
        self._leave(resident)
        if order is not None:
            self._out.append(Tell(order))

    def _decline(self, resident: Resident, reason: str) -> None:
        self._leave(resident)
        if resident.order is not None:
            self._out.append(Tell(resident.order, refused=reason))
        if resident.sender:
            self._out.append(Send(resident.sender, Declined(tenure=resident.tenure, reason=reason)))

    def _gone_to(self, resident: Resident, version: int, now: float) -> None:
        moving = resident.moving
        assert moving is not None
        self._leave(resident, moving.to)
        self._out.append(Send(moving.to, Settled(tenure=moving.tenure, version=version)))
        self._out.append(Tell(moving.order, seconds=now - moving.begun))


def _keep(held: "OrderedDict[str, str] | OrderedDict[str, None]", key: str, value: str | None) -> None:
    held[key] = value  # type: ignore[assignment]
    held.move_to_end(key)
    if len(held) > KEPT:
        held.popitem(last=False)
