"""A host of components, beside a broker: the shell of `core` in an asyncio process.

On failure: a host that was killed finds its components again when it starts, and claims those that it owns.
Without the directory, components keep running, and moves wait. Without its disk the host stops; `failed`
says why.
"""

import asyncio
import contextlib
import hashlib
import secrets
import time
from collections import deque
from collections.abc import Callable, Coroutine, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from regraft.components import pipe
from regraft.components.bundles import Bundles
from regraft.components.caller import Calls
from regraft.components.core import HostCore
from regraft.components.directory import Directory, DirectoryAway
from regraft.components.effects import (
    Claim,
    Effect,
    Look,
    Respond,
    Send,
    SendCode,
    Tell,
    Unlist,
)
from regraft.components.manifest import NAME, check_name
from regraft.components.messages import (
    Call,
    Code,
    Ended,
    Hello,
    Message,
    Offer,
    Order,
    Reply,
    Want,
)
from regraft.components.network import Network, Peer, Security
from regraft.components.resident import HostTimings
from regraft.components.signing import Trust
from regraft.components.store import EffectQueue, Store
from regraft.components.workers import WorkerProcess, Workers
from regraft.coord import CoordError
from regraft.model import BadInput

TICK = 0.05
_pack = msgspec.msgpack.encode


class _Asked(NamedTuple):
    """An order, and the connection that hears of its end."""

    peer: Peer
    number: int


class ComponentHost:
    """`async with ComponentHost("b1", folder, trusted, directory) as host: await host.create(…)`"""

    def __init__(
        self,
        id: str,
        folder: Path,
        trusted: Path,
        directory: Directory,
        *,
        address: tuple[str, int] = ("127.0.0.1", 0),
        security: Security | None = None,
        timings: HostTimings | None = None,
        spares: int = 1,
    ) -> None:
        check_name(id, "host")
        self.id = id
        self.host, self.port = address
        self.directory = directory
        self.failed = ""
        self._failing = asyncio.Event()
        self.faults: deque[str] = deque(maxlen=100)
        self._folder = folder
        self._timings = timings
        self._bundles = Bundles(folder / "bundles", Trust(trusted))
        self._workers = Workers(id, folder, self._bundles, self._said, self._died, spares)
        self._wanted: set[str] = set()
        """Bundles that this host has asked other hosts for."""
        self._tasks: set[asyncio.Task[Any]] = set()
        self._network = Network(id, directory.address, security or Security())
        self.calls = Calls(id, directory, self._network)
        self._network.heard, self._network.lost = self._heard, self.calls.lost

    # Start and stop

    async def __aenter__(self) -> "ComponentHost":
        self._store = Store(self._folder)
        try:
            life = f"{self._store.life}-{secrets.token_hex(3)}"
            self._effects = EffectQueue(self._store, self._act, self._fail)
            self._core = HostCore(self.id, life, self._bundles.seconds, self._timings)
            await self._workers.start()
            self.port = await self._network.listen(self.host, self.port)
            await self.directory.announce(self.id, (self.host, self.port))
            self._perform(self._core.start(self._store.load(), _now()))
            self._begin(self._tick())
        except BaseException:
            await self.stop()
            raise
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    async def stop(self) -> None:
        """This host keeps owning its components, and finds them again at its next start."""
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        with contextlib.suppress(DirectoryAway, CoordError):
            await self.directory.withdraw()
        await self._network.close()
        await self._workers.close()
        await self._effects.close()
        self._store.close()

    def _begin(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _tick(self) -> None:
        while True:
            await asyncio.sleep(TICK)
            self._perform(self._core.tick(_now()))

    # Orders and calls of the program that runs the host

    @property
    def names(self) -> list[str]:
        return sorted({each.name for each in self._core.residents.values()})

    @property
    def peer_faults(self) -> list[str]:
        """Why the last connections failed."""
        return list(self._network.faults)

    async def create(self, name: str, bundle: bytes, state: Mapping[str, Any] | None = None) -> Ended:
        cells = {key: _pack(value) for key, value in (state or {}).items()}
        return await self._ordered(Order(number=0, kind="create", name=name, data=bundle, state=cells))

    async def migrate(self, name: str, target: str) -> Ended:
        return await self._ordered(Order(number=0, kind="migrate", name=name, target=target))

    async def clone(self, name: str, target: str, name_there: str) -> Ended:
        order = Order(number=0, kind="clone", name=name, target=target, name_there=name_there)
        return await self._ordered(order)

    async def terminate(self, name: str) -> Ended:
        return await self._ordered(Order(number=0, kind="terminate", name=name))

    async def call(self, name: str, method: str, *arguments: Any, **named: Any) -> Any:
        return await self.calls.call(name, method, *arguments, **named)

    async def _ordered(self, order: Order) -> Ended:
        ended = await self.calls.order(self.id, order)
        return ended or Ended(number=0, refused="no answer in time")

    # Messages

    def _heard(self, peer: Peer, message: Message) -> None:
        now = _now()
        match message:
            case Call():
                self._perform(self._core.called(message, peer, now))
            case Reply() | Ended():
                self.calls.heard(peer, message)
            case Order():
                self._order(peer, message)
            case Code():
                self._take(peer, message)
            case Offer():
                self._offered(peer, message)
            case Hello():
                self.faults.append(f"{peer.id}: said hello twice")
            case _:
                self._perform(self._core.received(peer.id, message, now))

    def _offered(self, peer: Peer, offer: Offer) -> None:
        image = offer.image
        if not NAME.fullmatch(image.name):
            problem = f"{image.name!r} is not the name of a component"
        elif not self._bundles.has(image.bundle):
            self._wanted.add(image.bundle)
            self._network.send(peer.id, Want(tenure=image.tenure))
            return
        else:
            problem = self._bundles.problem(image.bundle)
        self._perform(self._core.received(peer.id, offer, _now(), problem))

    def _take(self, peer: Peer, code: Code) -> None:
        """Takes only bundles that were asked for, so that no peer can fill the disk."""
        try:
            if code.bundle not in self._wanted or hashlib.sha256(code.data).hexdigest() != code.bundle:
                raise BadInput(peer.id, "sent a bundle that was not asked for")
            self._wanted.discard(code.bundle)
            self._bundles.take(code.data, f"bundle from {peer.id}")
        except (BadInput, OSError) as fault:
            self.faults.append(str(fault))

    def _order(self, peer: Peer, order: Order) -> None:
        asked, now = _Asked(peer, order.number), _now()
        try:
            match order.kind:
                case "create":
                    check_name(order.name, "name")
                    bundle = self._bundles.take(order.data, f"bundle of {order.name}")
                    cells = order.state or {}
                    self._perform(self._core.create(order.name, bundle.sha256, cells, asked, now))
                case "migrate":
                    self._perform(self._core.migrate(order.name, order.target, asked, now))
                case "clone":
                    check_name(order.name_there, "name")
                    self._perform(self._core.clone(order.name, order.target, order.name_there, asked, now))
                case "terminate":
                    self._perform(self._core.terminate(order.name, asked, now))
                case "list":
                    listed = [
                        (r.name, r.life.value, r.work.image.bundle) for r in self._core.residents.values()
                    ]
                    peer.send(Ended(number=order.number, listed=sorted(listed)))
                case _:
                    peer.send(Ended(number=order.number, refused=f"no order is called {order.kind!r}"))
        except (BadInput, OSError) as fault:
            peer.send(Ended(number=order.number, refused=str(fault)))

    # Effects

    def _perform(self, effects: list[Effect]) -> None:
        self._effects.add(*effects)

    async def failure(self) -> bool:
        """Waits until the host has failed."""
        await self._failing.wait()
        return True

    def _fail(self, reason: str) -> None:
        self.failed = reason
        self._failing.set()
        self._workers.kill_all()
        self._begin(self._network.close())

    def _act(self, effect: Effect) -> None:
        match effect:
            case Send(to=to, message=message):
                self._network.send(to, message)
            case SendCode(to=to, bundle=bundle):
                with contextlib.suppress(BadInput):
                    self._network.send(to, Code(bundle=bundle, data=self._bundles.data(bundle)))
            case Respond(via=via, reply=reply):
                assert isinstance(via, Peer)
                via.send(reply)
            case Tell(order=order, refused=refused, seconds=seconds):
                assert isinstance(order, _Asked)
                order.peer.send(Ended(number=order.number, refused=refused, seconds=seconds))
            case Look(tenure=tenure, name=name):
                self._begin(self._ask(tenure, self.directory.find(name), self._core.looked))
            case Claim(tenure=tenure, entry=entry, version=version):
                self._begin(self._ask(tenure, self.directory.put(entry, version), self._core.claimed))
            case Unlist(tenure=tenure, name=name, version=version):
                self._begin(self._ask(tenure, self.directory.remove(name, version), self._core.looked))
            case _:
                self._workers.act(effect)

    async def _ask(
        self, tenure: str, request: Coroutine[Any, Any, Any], answer: Callable[..., list[Effect]]
    ) -> None:
        try:
            result = await request
        except (DirectoryAway, CoordError) as fault:
            self.faults.append(str(fault))
            self._perform(self._core.away(tenure, _now()))
        else:
            self._perform(answer(tenure, result, _now()))

    # Workers

    def _said(self, tenure: str, worker: WorkerProcess, message: pipe.Up) -> None:
        match message:
            case pipe.Begun():
                self._perform(self._core.loaded(tenure, _now()))
            case pipe.Executing(id=id):
                self._core.at(tenure, id, _now())
            case pipe.Reached(point=point):
                self._perform(self._core.point(tenure, point, _now()))
            case pipe.CallOut():
                # Not before earlier points are stored: after a crash, calls are repeated from the last one.
                self._effects.add(lambda: self._begin(self._call_out(worker, message)))

    def _died(self, tenure: str, reason: str) -> None:
        self.faults.append(f"{tenure.partition('/')[0]}: {reason}")
        self._perform(self._core.died(tenure, reason, _now()))

    async def _call_out(self, worker: WorkerProcess, out: pipe.CallOut) -> None:
        answer = await self.calls.ask(out.id, out.answered, (out.name, out.method, out.arguments))
        worker.say(pipe.Returned(answer=answer))


def _now() -> float:
    return time.monotonic()
