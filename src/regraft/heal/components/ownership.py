"""Which components a host owns: its residents, and how the directory decides about each (`life`). Sans-IO.

Events in, effects out. `core` adds orders, calls, workers and what other hosts say.
"""

from collections import OrderedDict
from collections.abc import Callable, Iterable

from regraft.heal.components.effects import (
    Claim,
    Effect,
    Forget,
    Kill,
    Look,
    Send,
    SetRole,
    Stored,
    Tell,
    Unlist,
)
from regraft.heal.components.life import Life, Role
from regraft.heal.components.messages import Declined, Found, Image, Ready, Settled
from regraft.heal.components.resident import Moving, Resident, Settings
from regraft.heal.components.working import Worker, Working

KEPT = 10_000
"""Names that have left, and stays that are over, which we can still say something of."""


class Ownership:
    """`life` is unique to each start of the host; `seconds_of(bundle)` is what its manifest grants a call."""

    def __init__(
        self, me: str, life: str, seconds_of: Callable[[str], float], settings: Settings | None = None
    ) -> None:
        self.me = me
        self.settings = settings or Settings()
        self.residents: dict[str, Resident] = {}
        """By tenure; of a name, there may be one that leaves or is left over, and others that arrive."""
        self._life = life
        self._count = 0
        self._seconds_of = seconds_of
        self._gone: OrderedDict[str, str] = OrderedDict()
        self._over: OrderedDict[str, None] = OrderedDict()
        self._out: list[Effect] = []

    def _effects(self) -> list[Effect]:
        out = self._out[:]
        self._out.clear()  # the works hold this very list
        return out

    def named(self, name: str) -> Resident | None:
        """The one that calls go to: what is here before what arrives, and of that the latest."""
        found = [each for each in self.residents.values() if each.name == name]
        return max(found, key=lambda each: (each.life is not Life.ARRIVING, each.version), default=None)

    def _tenure(self, name: str) -> str:
        self._count += 1
        return f"{name}/{self.me}/{self._life}/{self._count}"

    def _enter(self, image: Image, life: Life, now: float) -> Resident:
        work = Working(image, self._seconds_of(image.bundle), self._out, now)
        resident = self.residents[image.tenure] = Resident(work, life)
        return resident

    def _leave(self, resident: Resident, place: str = "") -> None:
        """Nothing of it stays here. `place`: where it is now."""
        resident.turn(Life.GONE)
        if resident.work.worker is not Worker.NONE:
            self._out.append(Kill(resident.tenure))
        self._out.append(Forget(resident.tenure))
        resident.work.send_on(place)
        del self.residents[resident.tenure]
        _keep(self._over, resident.tenure, None)
        if place and place != self.me:
            _keep(self._gone, resident.name, place)

    # The start of the host

    def start(self, stored: Iterable[Stored], now: float) -> list[Effect]:
        for each in stored:
            arriving = each.role is Role.ARRIVING
            life = {Role.ARRIVING: Life.ARRIVING, Role.ENDING: Life.ENDING}.get(each.role, Life.CLAIMING)
            resident = self._enter(each.image, life, now)
            resident.fresh = False
            resident.sender, resident.version = each.sender, each.version
            resident.creating = each.role is Role.CREATING
            resident.due = now + self.settings.ask if arriving else now + self.settings.again
            if resident.creating:
                resident.work.load(now)
            else:
                self._look(resident)
        return self._effects()

    # The directory

    def _look(self, resident: Resident) -> None:
        self._out.append(Look(resident.tenure, resident.name))

    def _run(self, resident: Resident, now: float) -> None:
        resident.turn(Life.RUNNING)
        resident.due, resident.fence, resident.moving = None, None, None
        if resident.creating or resident.sender:
            self._out.append(SetRole(resident.tenure, Role.MINE))
        self._gone.pop(resident.name, None)
        resident.work.go(now)
        if resident.creating and resident.sender:
            self._out.append(Send(resident.sender, Ready(tenure=resident.tenure)))
        if resident.order is not None:
            self._out.append(Tell(resident.order))
        resident.creating, resident.sender, resident.order = False, "", None
        for other in [each for each in self.residents.values() if each.name == resident.name]:
            if other.life is Life.ARRIVING and other.version < resident.version:
                self._leave(other, self.me)  # of a move that was called off

    def claimed(self, tenure: str, version: int | None, now: float) -> list[Effect]:
        """None: somebody else has written, and nothing of ours was."""
        resident = self.residents.get(tenure)
        if resident is None:
            return []
        if resident.life is Life.SWITCHING and version is not None:
            self._gone_to(resident, version, now)
        elif resident.life is Life.CLAIMING and version is not None:
            resident.version = version
            self._run(resident, now)
        else:
            self._unsure(resident)
            self._look(resident)
        return self._effects()

    def away(self, tenure: str, now: float) -> list[Effect]:
        """The directory could not be asked, or a write may have happened or not: look, later."""
        resident = self.residents.get(tenure)
        if resident is not None and resident.life is not Life.RUNNING:
            self._unsure(resident)
            resident.due = now + self.settings.again
        return self._effects()

    def _unsure(self, resident: Resident) -> None:
        if resident.life is Life.SWITCHING:
            resident.turn(Life.CLAIMING)
            resident.fence = resident.version

    def looked(self, tenure: str, found: Found | None, now: float) -> list[Effect]:
        resident = self.residents.get(tenure)
        if resident is None:
            return []
        ours = found if found and found.entry.tenure == tenure and found.entry.place == self.me else None
        match resident.life:
            case Life.ARRIVING:
                self._look_arriving(resident, found, ours)
            case Life.CLAIMING:
                self._look_claiming(resident, found, ours, now)
            case Life.ENDING:
                self._look_ending(resident, ours)
        return self._effects()

    def _look_arriving(self, resident: Resident, found: Found | None, ours: Found | None) -> None:
        if ours is not None:
            resident.turn(Life.CLAIMING)
            self._claim(resident, ours.version)
        elif resident.cancelled or (found is not None and found.version > resident.version >= 0):
            self._leave(resident, found.entry.place if found else "")

    def _look_claiming(self, resident: Resident, found: Found | None, ours: Found | None, now: float) -> None:
        if ours is not None:
            if resident.fence is not None and ours.version > resident.fence:
                resident.version = ours.version
                moving, resident.moving = resident.moving, None
                self._run(resident, now)
                self._give_up(moving)
            else:
                self._claim(resident, ours.version)
        elif found is not None and resident.moving and found.entry.tenure == resident.moving.tenure:
            self._gone_to(resident, found.version, now)
        elif resident.creating and found is None:
            if resident.loaded:
                self._out.append(Claim(resident.tenure, resident.entry(self.me, resident.tenure), None))
        elif resident.creating and found is not None:
            self._decline(resident, f"{resident.name} is at {found.entry.place} already")
        else:
            self._give_up(resident.moving)
            self._leave(resident, found.entry.place if found else "")

    def _give_up(self, moving: Moving | None) -> None:
        if moving is not None:
            self._out.append(Tell(moving.order, refused="the directory was not sure; it stays"))

    def _claim(self, resident: Resident, version: int) -> None:
        """In our favour, over what was found: any other write over the same version can not happen then."""
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
