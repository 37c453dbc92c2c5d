"""Planted bugs: each breaks one rule of the cores, and the simulation must notice it.

A bug replaces one method of a core by a version with a mistake that somebody could make. Inside `planted` the
core has this bug.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple
from unittest.mock import patch

import msgspec

from regraft.broker.core.claims import Claims, OpenClaim
from regraft.broker.core.forwarding import Forwarding
from regraft.broker.core.held import Held
from regraft.broker.core.peers import Link, Session, SessionState
from regraft.broker.core.sessions import Sessions
from regraft.broker.core.showing import Showing
from regraft.broker.core.tables import Tables
from regraft.client.core import Client, Connected, Happening
from regraft.filters import Filter
from regraft.protocol.messages import Confirm, Run, Update, Welcome


class Bug(NamedTuple):
    owner: type
    method: str
    broken: Callable[..., Any]


BUGS: dict[str, Bug] = {}
"""All bugs by name; the docstring of `broken` says what is wrong."""


def _bug(owner: type, method: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def planted_as(broken: Callable[..., Any]) -> Callable[..., Any]:
        BUGS[broken.__name__] = Bug(owner, method, broken)
        return broken

    return planted_as


@contextmanager
def planted(name: str) -> Iterator[None]:
    """The core with this bug."""
    owner, method, broken = BUGS[name]
    with patch.object(owner, method, broken):
        yield


# Publications

_hold, _targets, _drain = Forwarding.hold, Forwarding.targets, Forwarding.drain


@_bug(Forwarding, "hold")
def confirm_before_downstream(
    self: Forwarding,
    run: Run,
    source: str,
    targets: tuple[str, ...],
    overtaken: tuple[int, str] = (0, ""),
    *,
    alike: bool = False,
) -> None:
    """A publication is confirmed as soon as it is forwarded."""
    _hold(self, run, source, targets, overtaken, alike=alike)
    self._confirm(Held(run, [source], {}))


@_bug(Forwarding, "arrive")
def dedupe_by_publisher_only(self: Forwarding, run: Run, source: str) -> None:
    """Whatever comes from a publisher that has been seen is taken for a repetition."""
    stream = self.store.stream(run.publisher)
    if stream.seen:
        return self._confirm(Held(run, [source], {}))
    stream.seen = run.seqs[-1]
    for piece, targets, _ in self._split(run, source):
        self.hold(piece, source, targets)
    return None


@_bug(Forwarding, "arrive")
def stop_repetitions(self: Forwarding, run: Run, source: str) -> None:
    """A repetition is confirmed here, and not forwarded to neighbours that may not have it."""
    stream = self.store.stream(run.publisher)
    for at, seq in enumerate(run.seqs):
        piece = run.one(at)
        if seq > stream.seen:
            stream.seen = seq
            self.hold(piece, source, self.targets(piece.events[0], source))
        elif stream.find(seq) is not None:
            self._again(stream.within(seq, seq)[0], source, piece)
        else:
            self._confirm(Held(piece, [source], {}))


@_bug(Forwarding, "_again")
def forget_new_path(self: Forwarding, held: Held, source: str, run: Run) -> None:
    """A publication that comes by another way is confirmed to the old one only."""


@_bug(Forwarding, "send_again")
def forget_to_send_again(self: Forwarding, link: Link) -> None:
    """After a reconnection nothing unconfirmed is sent again."""


@_bug(Forwarding, "send_again")
def send_again_in_wrong_order(self: Forwarding, link: Link) -> None:
    """What is unconfirmed is sent again, the latest first."""
    for held in reversed(self.store.waiting_for(link.name)):
        self.offer(held, link.name)


@_bug(Forwarding, "confirmed")
def confirm_up_to(self: Forwarding, confirm: Confirm, target: str, epoch: int) -> None:
    """A confirmation is read as one of everything before it, too."""
    stream = self.store.busy.get(confirm.publisher)
    for held in [] if stream is None else stream.within(0, confirm.ranges[-1]):
        if held.waiting.get(target) == epoch:
            if (session := self.sessions.get(target)) is not None:
                session.on_the_way -= len(held.run.seqs)
            self.release(held, target)
    if target in self.sessions:
        self.drain(self.sessions[target])


@_bug(Forwarding, "targets")
def keep_old_routes(self: Forwarding, event: bytes, source: str) -> tuple[str, ...]:
    """Routes that were computed stay, although subscriptions have changed."""
    self._routed_at = self.tables.version
    return _targets(self, event, source)


@_bug(Forwarding, "drain")
def ignore_window(self: Forwarding, session: Session) -> None:
    """A client is sent more than it asked for."""
    window, session.window = session.window, 2**30
    _drain(self, session)
    session.window = window


# Tables

_subscribe, _advertise = Tables.subscribe, Tables.advertise
_heard, _connected, _update = Tables.heard, Tables.connected, Tables.update


@_bug(Tables, "subscribe")
def place_subscription_at_once(self: Tables, id: str, filter: Filter, origin: str) -> None:
    """A subscription is reported in place before the neighbours that were told have it in place."""
    _subscribe(self, id, filter, origin)
    self.subscriptions[id].waiting.clear()
    self._subscribed(self.subscriptions[id])


@_bug(Tables, "advertise")
def place_advertisement_at_once(self: Tables, id: str, filter: Filter, origin: str) -> None:
    """An advertisement is reported in place before those behind have answered with subscriptions."""
    _advertise(self, id, filter, origin)
    self.advertisements[id].waiting.clear()
    self._advertised(self.advertisements[id])


@_bug(Tables, "heard")
def trust_first_table(self: Tables, name: str, update: Update) -> None:
    """The first thing that a neighbour says is taken for all that it knows."""
    _heard(self, name, msgspec.structs.replace(update, all_advertisements=True, all_subscriptions=True))


@_bug(Tables, "update")
def tell_removals_first(self: Tables, name: str) -> Update | None:
    """What is taken back is told before what comes in its place."""
    showing = self.sides[name].showing
    if not showing.removed:
        return _update(self, name)
    added, showing.added = showing.added, {}
    told = _update(self, name)
    showing.added = added
    return told


@_bug(Tables, "connected")
def drop_doubtful_at_once(self: Tables, name: str) -> None:
    """A neighbour that connects anew has its old table dropped before it has told a new one."""
    _connected(self, name)
    side = self.sides[name]
    for id in list(side.subscriptions):
        self.unsubscribe(id)
    for id in list(side.advertisements):
        self.unadvertise(id)


@_bug(Showing, "drop")
def forget_to_uncover(self: Showing, id: str) -> list[str]:
    """What a withdrawn subscription hid stays hidden."""
    if (cover := self.hidden_by.pop(id, None)) is not None:
        del self._hides[cover][id]
    elif id in self.shown:
        for other in self._unshow(id):
            del self.hidden_by[other]
    return []


@_bug(Showing, "_cover")
def forget_hidden_under_moved_cover(self: Showing, id: str, cover: str) -> None:
    """A cover that is itself covered does not take along what it hid."""
    filter = self.shown[id]
    for other in self._unshow(id):
        del self.hidden_by[other]
    self._hide(id, filter, cover)


# Sessions

_answer, _own_part = Claims.answer, Claims._own_part


@_bug(Sessions, "store")
def forget_sessions(self: Sessions, session: Session) -> None:
    """Sessions do not survive a crash of their broker."""


@_bug(Claims, "answer")
def hand_over_unsettled(self: Claims) -> None:
    """A claim is answered before what was unconfirmed has come again."""
    for asked in self.asked.values():
        asked.flushed |= self.forwarding.links.keys()
    _answer(self)


@_bug(Claims, "_own_part")
def forget_at_handover(self: Claims, asked: OpenClaim) -> None:
    """The old broker forgets what it handed over before the client has confirmed it."""
    _own_part(self, asked)
    session = self.sessions.all.get(f"@{asked.claim.client}")
    if session is not None and session.state is SessionState.MOVED:
        self.sessions.end(session)


@_bug(Forwarding, "drain")
def deliver_before_handover(self: Forwarding, session: Session) -> None:
    """A client that moved gets what is new before what its old broker still has for it."""
    claiming, session.claiming = session.claiming, False
    _drain(self, session)
    session.claiming = claiming


# Clients

_run, _welcome, _done = Client._run, Client._welcome, Client._done


@_bug(Client, "_run")
def deliver_repetitions(self: Client, run: Run, happened: list[Happening]) -> None:
    """The client does not recognise what it has seen."""
    self.highest.pop(run.publisher, None)
    _run(self, run, happened)


@_bug(Client, "_run")
def dedupe_by_number_only(self: Client, run: Run, happened: list[Happening]) -> None:
    """The client drops numbers that it has seen, of whatever publisher."""
    self.highest[run.publisher] = max(self.highest.values(), default=0)
    _run(self, run, happened)


@_bug(Client, "_welcome")
def publish_new_before_unconfirmed(self: Client, welcome: Welcome) -> Connected:
    """After a reconnection a publisher sends what is unconfirmed again, but last."""
    unconfirmed = list(self._unacknowledged)
    self._unacknowledged.clear()
    connected = _welcome(self, welcome)
    self._unsent.extend(unconfirmed)
    return connected


@_bug(Client, "_done")
def acknowledge_up_to(self: Client, first: int, last: int, happened: list[Happening]) -> None:
    """The publisher reads a confirmation as one of everything before it, too."""
    _done(self, 0, last, happened)
