"""What a host decides for its components: creation, moves, clones, ends, and where calls go. Sans-IO.

Events in, effects out (`effects`); the rules of ownership are in `life`. Orders and connections are opaque
keys of the shell. `tick` repeats every message that was not answered.
"""

from collections.abc import Callable

from regraft.components.effects import (
    Claim,
    Effect,
    Kill,
    Put,
    Respond,
    Send,
    SendCode,
    SetRole,
    Tell,
    Unlist,
)
from regraft.components.life import Life, Role
from regraft.components.messages import (
    Ask,
    Between,
    Call,
    CallId,
    Cancelled,
    Declined,
    Image,
    Offer,
    Ready,
    Reply,
    Settled,
    Want,
)
from regraft.components.ownership import Ownership
from regraft.components.resident import Copying, HostTimings, Moving, Resident
from regraft.components.work import Point, WorkerState

MOST_COMPONENTS = 1_000


class HostCore(Ownership):
    """`life` is unique to each start of the host; `seconds_of(bundle)` is the time limit of its calls."""

    def __init__(
        self, me: str, life: str, seconds_of: Callable[[str], float], timings: HostTimings | None = None
    ) -> None:
        super().__init__(me, life, seconds_of, timings)
        self._copies: dict[str, Copying] = {}

    # Orders

    def create(
        self, name: str, bundle: str, cells: dict[str, bytes], order: object, now: float
    ) -> list[Effect]:
        if (reason := self._no_room(name)) is not None:
            return [Tell(order, refused=reason)]
        image = Image(name=name, tenure=self._tenure(name), bundle=bundle, cells=cells)
        self._begin(image, "", now).order = order
        return self._effects()

    def _no_room(self, name: str) -> str | None:
        if self.named(name) is not None:
            return f"{name} is at {self.me} already"
        if len(self.residents) >= MOST_COMPONENTS:
            return f"{self.me} has {MOST_COMPONENTS} components already"
        return None

    def _begin(self, image: Image, sender: str, now: float) -> Resident:
        """A new component: the host claims its name when its worker has loaded it."""
        resident = self._enter(image, Life.CREATING, now)
        resident.sender = sender
        resident.work.load(now)  # the worker loads while the image is being stored
        self._out.append(Put(image, Role.CREATING, sender))
        return resident

    def migrate(self, name: str, to: str, order: object, now: float) -> list[Effect]:
        resident = self.named(name)
        if (reason := self._not_running(resident, name)) or resident is None or to == self.me:
            return [Tell(order, refused=reason)]
        until = now + self.timings.freeze
        resident.moving = Moving(self._tenure(name), to, order, now, until)
        if resident.work.freeze(now):
            resident.machine.become(Life.FREEZING)
        else:
            self._ship(resident, now)
        return self._effects()

    def _not_running(self, resident: Resident | None, name: str) -> str:
        if resident is None:
            return f"{name} is not at {self.me}"
        return "" if resident.life is Life.RUNNING else f"{name} is {resident.life.value} at {self.me}"

    def clone(self, name: str, to: str, name_there: str, order: object, now: float) -> list[Effect]:
        """A copy of its last point, which contains the effects of every call that it has answered."""
        resident = self.named(name)
        if (reason := self._not_running(resident, name)) or resident is None:
            return [Tell(order, refused=reason)]
        image = resident.work.copy(name_there, self._tenure(name_there))
        if to == self.me:
            if (reason := self._no_room(name_there) or "") != "":
                return [Tell(order, refused=reason)]
            self._begin(image, "", now).order = order
            return self._effects()
        until = now + self.timings.ship
        copying = self._copies[image.tenure] = Copying(image, to, order, until, now + self.timings.again)
        self._out.append(Send(to, Offer(image=copying.image, clone=True)))
        return self._effects()

    def terminate(self, name: str, order: object, now: float) -> list[Effect]:
        resident = self.named(name)
        if (reason := self._not_running(resident, name)) or resident is None:
            return [Tell(order, refused=reason)]
        resident.machine.become(Life.ENDING)
        resident.order = order
        resident.work.kill()
        self._out.append(SetRole(resident.tenure, Role.ENDING))
        resident.work.refuse_all(f"{name} has been terminated")
        self._out.append(Unlist(resident.tenure, name, resident.version))
        return self._effects()

    # Calls

    def called(self, call: Call, via: object, now: float) -> list[Effect]:
        resident = self.named(call.name)
        if resident is None or resident.life is Life.ENDING:
            return [Respond(via, Reply(id=call.id, place=self._gone.get(call.name, "")))]
        resident.work.called(call, via, now)
        if resident.life is Life.RUNNING:
            resident.work.next(now)
        return self._effects()

    # The worker

    def loaded(self, tenure: str, now: float) -> list[Effect]:
        resident = self.residents.get(tenure)
        if resident is None or resident.work.worker is not WorkerState.LOADING:
            return []
        resident.work.loaded()
        if resident.life is Life.RUNNING:
            resident.work.go(now)
        elif resident.life is Life.ARRIVING:
            self._out.append(Send(resident.sender, Ready(tenure=tenure)))
        elif resident.life is Life.CREATING:
            self._out.append(Claim(tenure, resident.entry(self.me, tenure), None))
        return self._effects()

    def at(self, tenure: str, id: CallId, now: float) -> None:
        if (resident := self.residents.get(tenure)) is not None:
            resident.work.at, resident.work.heard = id, now

    def point(self, tenure: str, point: Point, now: float) -> list[Effect]:
        resident = self.residents.get(tenure)
        if resident is None or resident.life not in (Life.RUNNING, Life.FREEZING):
            return []
        if resident.work.worker is not WorkerState.ACTIVE:
            return []  # from a process that is given up already: its Kill waits for the disk
        resident.work.point(point, now)
        if resident.life is Life.RUNNING:
            resident.work.next(now)
        elif point.frozen:
            self._ship(resident, now)
        return self._effects()

    def died(self, tenure: str, reason: str, now: float) -> list[Effect]:
        resident = self.residents.get(tenure)
        if resident is None or resident.work.worker is WorkerState.NONE:
            return []
        loading = resident.work.worker is WorkerState.LOADING
        resident.work.died(reason, now)
        if resident.life is Life.FREEZING:
            self._ship(resident, now)
        elif resident.life is Life.ARRIVING and loading and resident.fresh:
            self._decline(resident, reason)
        elif resident.life is Life.CREATING and loading:
            self._decline(resident, f"{resident.name} does not start: {reason}")
        return self._effects()

    # The move, at the source

    def _ship(self, resident: Resident, now: float) -> None:
        moving = resident.moving
        assert moving is not None
        resident.machine.become(Life.SHIPPING)
        moving.until, moving.again = now + self.timings.ship, now + self.timings.again
        self._offer(resident, moving)

    def _offer(self, resident: Resident, moving: Moving) -> None:
        image = resident.work.snapshot(moving.tenure)
        self._out.append(Send(moving.to, Offer(image=image, version=resident.version)))

    def _stay(self, resident: Resident, reason: str, now: float) -> None:
        """Calls the move off. It cannot have happened: the directory has not been asked to switch."""
        moving, resident.moving = resident.moving, None
        assert moving is not None
        self._out.append(Tell(moving.order, refused=reason))
        self._out.append(Send(moving.to, Cancelled(tenure=moving.tenure)))
        self._run(resident, now)

    def _moving(self, tenure: str) -> Resident | None:
        return next((r for r in self.residents.values() if r.moving and r.moving.tenure == tenure), None)

    # What other hosts say

    def received(self, sender: str, message: Between, now: float, problem: str = "") -> list[Effect]:
        """`problem`: why the code of an Offer cannot run here, if it cannot."""
        match message:
            case Offer():
                self._offered(sender, message, problem, now)
            case Want(tenure=tenure):
                self._wanted(sender, tenure)
            case Ready(tenure=tenure):
                self._ready(sender, tenure)
            case Declined(tenure=tenure, reason=reason):
                self._declined(tenure, f"{sender}: {reason}", now)
            case Settled(tenure=tenure, version=version):
                self._settled(tenure, version, now)
            case Cancelled(tenure=tenure):
                arriving = self.residents.get(tenure)
                if arriving is not None and arriving.life is Life.ARRIVING and arriving.sender == sender:
                    arriving.cancelled = True
                    self._look(arriving)
            case Ask(name=name, tenure=tenure):
                self._asked(sender, name, tenure)
        return self._effects()

    def _offered(self, sender: str, offer: Offer, problem: str, now: float) -> None:
        image = offer.image
        resident = self.residents.get(image.tenure)
        if resident is not None:
            waits = resident.life is (Life.RUNNING if offer.clone else Life.ARRIVING)
            if waits and resident.loaded:
                self._out.append(Send(sender, Ready(tenure=image.tenure)))
            return
        if image.tenure in self._over:
            return
        here = self.named(image.name)
        reason = problem or (
            self._no_room(image.name) if here is None or here.life is not Life.ARRIVING else ""
        )
        if reason:
            self._out.append(Send(sender, Declined(tenure=image.tenure, reason=reason)))
        elif offer.clone:
            self._begin(image, sender, now)
        else:
            resident = self._enter(image, Life.ARRIVING, now)
            resident.sender, resident.version = sender, offer.version
            resident.due = now + self.timings.ask
            resident.work.load(now)  # the worker loads while the image is being stored
            self._out.append(Put(image, Role.ARRIVING, sender, offer.version))

    def _wanted(self, sender: str, tenure: str) -> None:
        resident, copying = self._moving(tenure), self._copies.get(tenure)
        if resident is not None and resident.moving is not None and resident.life is Life.SHIPPING:
            self._out.append(SendCode(sender, resident.work.image.bundle))
            self._offer(resident, resident.moving)
        elif copying is not None:
            self._out.append(SendCode(sender, copying.image.bundle))
            self._out.append(Send(sender, Offer(image=copying.image, clone=True)))

    def _ready(self, sender: str, tenure: str) -> None:
        if (copying := self._copies.pop(tenure, None)) is not None:
            self._out.append(Tell(copying.order))
            return
        resident = self._moving(tenure)
        if resident is None:
            self._out.append(Send(sender, Cancelled(tenure=tenure)))
        elif resident.life is Life.SHIPPING and resident.moving and resident.moving.to == sender:
            resident.machine.become(Life.SWITCHING)
            self._out.append(Claim(resident.tenure, resident.entry(sender, tenure), resident.version))

    def _declined(self, tenure: str, reason: str, now: float) -> None:
        if (copying := self._copies.pop(tenure, None)) is not None:
            self._out.append(Tell(copying.order, refused=reason))
        resident = self._moving(tenure)
        if resident is not None and resident.life is Life.SHIPPING:
            self._stay(resident, reason, now)

    def _settled(self, tenure: str, version: int, now: float) -> None:
        resident = self.residents.get(tenure)
        if resident is None or resident.life is not Life.ARRIVING:
            return
        if resident.fresh:
            resident.version = version
            self._run(resident, now)
        else:
            self._look(resident)

    def _asked(self, sender: str, name: str, tenure: str) -> None:
        """No answer while this host is not sure itself."""
        here = [
            each for each in self.residents.values() if each.name == name and each.life is not Life.ARRIVING
        ]
        if all(each.life is Life.RUNNING for each in here):
            self._out.append(Send(sender, Cancelled(tenure=tenure)))

    # Time

    def tick(self, now: float) -> list[Effect]:
        for resident in list(self.residents.values()):
            self._tick(resident, now)
        for tenure, copying in list(self._copies.items()):
            if now >= copying.until:
                del self._copies[tenure]
                self._out.append(Tell(copying.order, refused=f"{copying.to} does not answer"))
            elif now >= copying.again:
                copying.again = now + self._pause(copying.until, now)
                self._out.append(Send(copying.to, Offer(image=copying.image, clone=True)))
        return self._effects()

    def _pause(self, until: float, now: float) -> float:
        """Doubles the time between offers: a large state is not sent over and over to a slow target."""
        return max(self.timings.again, now - (until - self.timings.ship))

    def _tick(self, resident: Resident, now: float) -> None:
        work, moving = resident.work, resident.moving
        may_load = resident.life in (Life.RUNNING, Life.CREATING, Life.CLAIMING, Life.ARRIVING)
        if may_load and work.overdue(now):
            self._out.append(Kill(resident.tenure))
            reason = f"it did not end or reach a checkpoint within {work.seconds:g} s"
            self._out += self.died(resident.tenure, reason, now)
        elif resident.life is Life.RUNNING and work.retry_at is not None and now >= work.retry_at:
            work.load(now)
        elif resident.life is Life.FREEZING and moving is not None and now >= moving.until:
            work.kill()
            self._ship(resident, now)
        elif resident.life is Life.SHIPPING and moving is not None:
            if now >= moving.until:
                self._stay(resident, f"{moving.to} does not answer", now)
            elif now >= moving.again:
                moving.again = now + self._pause(moving.until, now)
                self._offer(resident, moving)
        if resident.due is not None and now >= resident.due:
            arriving = resident.life is Life.ARRIVING
            resident.due = now + (self.timings.ask if arriving else self.timings.again)
            self._look(resident)
            if arriving:
                self._out.append(Send(resident.sender, Ask(name=resident.name, tenure=resident.tenure)))
