"""A participant's part in shift(i, j, k): the link i–j becomes i–k, while j–k stays (IPITT §III-C).

i moves with everything behind it (its subtree). Brokers other than i, j and k notice nothing: for them
nobody changes direction. The three participants buffer what would cross the links concerned, exchange
what they know about the subtree, and go on:

| stage | i | j | k |
|---|---|---|---|
| prepare | freezes j, connects to k | freezes i and k | freezes j, connects to i |
| | sends `Frozen` to j | sends `Frozen` to i and k | sends `Frozen` to j |
| ready | on `Frozen` from j | on `Frozen` from i and k | on `Frozen` from j |
| abort | thaws: nothing has changed | thaws | thaws |
| commit | k takes j's place: what came from j counts as k's | (waits) | has a new neighbour i |
| 1 | tells k its table | | is silent to i |
| 2 | | | serves i too; tells j of the subtree, then `Moved`; thaws j |
| 3 | | forgets i, thaws k; tells k what is new for it, then `Moved`; **done** | |
| 4 | | | tells i its table |
| 5 | sends what is unconfirmed, `Settled`; **done** | | |
| 6 | | | sends i what came from j for it; thaws i; **done** |

Freezing makes sure that nothing is on the wire of a link that changes; what is unconfirmed is held at
both of its ends. The publications of the subtree that k holds from j are exactly among those that i
sends again, so that after `Settled` k knows which of the rest to send to i.
"""

from collections import deque
from dataclasses import dataclass, field
from typing import NamedTuple

from regraft.broker.core.effects import Close, Dial, Effect, Hangup, Report, Send
from regraft.broker.core.forwarding import Forwarding
from regraft.broker.core.peers import Link
from regraft.broker.core.tables import Tables
from regraft.model import BadInput
from regraft.protocol.messages import AnyMessage, Frozen, Moved


class Shift(NamedTuple):
    """Broker i leaves j for k, which is a neighbour of j."""

    change: str
    i: str
    j: str
    k: str


@dataclass
class Part:
    """This broker's part in one shift."""

    shift: Shift
    frozen: tuple[str, ...]
    """Neighbours whose links stand still."""
    new: str
    """The neighbour to be, if this is i or k."""
    heard: set[str] = field(default_factory=set)
    """Neighbours from which nothing more will come."""
    connection: int | None = None
    """To the neighbour to be."""
    early: list[AnyMessage] = field(default_factory=list)
    """What that one, which has committed before us, has said."""
    ready: bool = False
    committed: bool = False
    told: bool = False
    """We are k and have told j (2)."""


EARLY = 64


class Relink:
    """The changes of links in which this broker takes part; each concerns other links."""

    def __init__(self, broker: str, tables: Tables, forwarding: Forwarding) -> None:
        self.broker = broker
        self.tables = tables
        self.forwarding = forwarding
        self.parts: dict[str, Part] = {}
        self.out: list[Effect] = []
        self.finished: deque[str] = deque(maxlen=64)
        """The last changes in which we were j."""
        self.heard_early: dict[str, set[str]] = {}
        """Neighbours that are frozen for a change that we have not been told of yet."""
        self.changed = False
        """Whether the set of our links has changed since the broker looked."""
        self.after: list[Send] = []
        """What must not overtake the tables."""
        self.adopted: list[tuple[int, Link, list[AnyMessage]]] = []
        """Connections that have become links, and what came on them before."""

    # The agent's commands

    def prepare(self, shift: Shift) -> None:
        part = self._part(shift)
        self.parts[shift.change] = part
        part.heard = self.heard_early.pop(shift.change, set())
        for name in part.frozen:
            link = self.forwarding.links[name]
            link.frozen = True
            if link.connection is not None:
                self.out.append(Send(link.connection, Frozen(shift.change)))
        if self.broker == shift.j:
            # What is behind i must not seem to k to be behind us, while k learns that it is behind it.
            self.tables.sides[shift.k].silent = True
        if part.new and self.broker < part.new:
            self.out.append(Dial(part.new))
        self._ready(part)

    def abort(self, change: str) -> None:
        """Back to the state before: nothing but buffering has happened."""
        part = self._known(change)
        if part.committed:
            raise BadInput(change, "is being carried out and can not be aborted any more")
        del self.parts[change]
        if part.new:
            self.out.append(Hangup(part.new))
            if part.connection is not None:
                self.out.append(Close(part.connection, "the change of links was aborted"))
        for name in part.frozen:
            self.tables.sides[name].silent = False
            self.thaw(name)
        self.out.append(Report(change, "aborted"))

    def commit(self, change: str) -> None:
        """At i and k; j follows when k tells it."""
        if change in self.finished:
            return
        part = self._known(change)
        if self.broker == part.shift.j:
            return
        if not self.is_ready(change):
            raise BadInput(change, "is not ready")
        part.committed = self.changed = True
        shift = part.shift
        if self.broker == shift.i:
            self._leave(shift.j)
            self.tables.rename(shift.j, shift.k)
            self.forwarding.rename(shift.j, shift.k)
            self._adopt(part)
        elif self.broker == shift.k:
            self.tables.add_side(shift.i)
            self.tables.sides[shift.i].silent = True
            self.forwarding.links[shift.i] = Link(shift.i)
            self._adopt(part)
            self.forwarding.links[shift.i].frozen = True

    def is_ready(self, change: str) -> bool:
        """Whether the change can be committed here now."""
        part = self._known(change)
        return part.ready and (not part.new or part.connection is not None)

    # What neighbours say

    def frozen(self, link: Link, message: Frozen) -> None:
        part = self.parts.get(message.change)
        if part is not None:
            part.heard.add(link.name)
            self._ready(part)
        elif len(self.heard_early) < EARLY:
            self.heard_early.setdefault(message.change, set()).add(link.name)

    def moved(self, link: Link, message: Moved) -> None:
        part = self.parts.get(message.change)
        if part is not None and self.broker == part.shift.j:
            self._forget(link, part)
        elif part is None and message.change in self.finished and link.connection is not None:
            self.after.append(Send(link.connection, message))  # it has not heard our answer
        elif part is not None and self.broker == part.shift.k:
            self.tables.drop_shadows(link.name)
            self.tables.sides[part.shift.i].silent = False

    def _forget(self, link: Link, part: Part) -> None:
        """We are j (3): k has the subtree now."""
        change, i, _, k = part.shift
        del self.parts[change]
        self.finished.append(change)
        self.changed = True
        self._leave(i)
        for held in list(self.forwarding.store):
            if i in held.sources:
                held.sources = [k if source == i else source for source in held.sources]
                held.waiting.pop(k, None)
                held.waiting.pop(i, None)
            elif held.waiting.pop(i, None) is not None and k not in held.sources:
                held.waiting.setdefault(k, 0)
            if not held.waiting:
                self.forwarding.complete(held)
        self.tables.remove_side(i)
        self.tables.sides[k].silent = False
        del self.forwarding.links[i]
        self.thaw(k)
        assert link.connection is not None
        self.after.append(Send(link.connection, Moved(change)))
        self.out.append(Report(change, "done"))

    def reconnected(self, link: Link) -> None:
        """What was said on the connection before may be lost."""
        assert link.connection is not None
        for change, part in self.parts.items():
            if link.name in part.frozen and not part.committed:
                self.out.append(Send(link.connection, Frozen(change)))
            if part.told and link.name == part.shift.j:
                self.after.append(Send(link.connection, Moved(change)))

    def expects(self, name: str) -> bool:
        """Whether the broker is a neighbour to be."""
        return any(name == part.new != "" and not part.committed for part in self.parts.values())

    def joined(self, name: str, connection: int) -> None:
        """The neighbour to be is connected."""
        part = next(each for each in self.parts.values() if each.new == name)
        part.connection = connection
        self._ready(part)

    def early(self, connection: int, message: AnyMessage) -> bool:
        """Whether this comes from a neighbour to be; it is kept until that is one."""
        part = next((each for each in self.parts.values() if each.connection == connection), None)
        if part is None or part.committed:
            return False
        part.early.append(message)
        return True

    def lost(self, connection: int) -> None:
        for part in self.parts.values():
            if part.connection == connection and not part.committed:
                part.connection, part.early = None, []

    def advance(self) -> None:
        """Go on with what the last event made possible."""
        for change, part in list(self.parts.items()):
            if not part.committed or not part.new:
                continue
            link = self.forwarding.links[part.new]
            if self.broker == part.shift.i and link.open:
                del self.parts[change]
                self.out.append(Report(change, "done"))
            elif self.broker == part.shift.k:
                if not part.told and self.tables.sides[part.new].heard_all:
                    self._tell(part)
                if part.told and link.settled:
                    self._serve(change, part)

    def _tell(self, part: Part) -> None:
        """We are k and know the subtree (2)."""
        part.told = True
        self._add_target(part.shift.i, without=part.shift.j)
        link = self.forwarding.links[part.shift.j]
        if link.connection is not None:
            self.after.append(Send(link.connection, Moved(part.shift.change)))
        self.thaw(part.shift.j)

    def _serve(self, change: str, part: Part) -> None:
        """We are k and have from i what it had for us (6): what j sent is not from the subtree."""
        del self.parts[change]
        self._add_target(part.shift.i)
        self.thaw(part.shift.i)
        self.out.append(Report(change, "done"))

    def _add_target(self, name: str, without: str = "") -> None:
        """What is held and wanted there waits for it too, unless it came from there or `without`."""
        for held in list(self.forwarding.store):
            if name in held.sources or name in held.waiting or without in held.sources:
                continue
            for piece in self.forwarding.store.pieces(held):
                if name in self.forwarding.targets(piece.run.events[0], piece.sources[0]):
                    piece.waiting[name] = 0

    # Parts of it

    def thaw(self, name: str) -> None:
        """Publications go again, in order, beginning with what has waited."""
        link = self.forwarding.links[name]
        link.frozen = False
        if link.open and not link.frozen:
            self.forwarding.send_unsent(link)

    def _leave(self, name: str) -> None:
        link = self.forwarding.links[name]
        self.out.append(Hangup(name))
        if link.connection is not None:
            self.out.append(Close(link.connection, "no longer neighbours"))
            link.lost()

    def _adopt(self, part: Part) -> None:
        assert part.connection is not None
        self.adopted.append((part.connection, self.forwarding.links[part.new], part.early))

    def _part(self, shift: Shift) -> Part:
        change, i, j, k = shift
        roles = {i: ((j,), k), j: ((i, k), ""), k: ((j,), i)}
        if self.broker not in roles or len(roles) < 3:
            raise BadInput(change, f"shift({i}, {j}, {k}) needs three brokers, and this is {self.broker!r}")
        frozen, new = roles[self.broker]
        links = self.forwarding.links
        if change in self.parts or any(name not in links for name in frozen) or new in links:
            raise BadInput(change, f"shift({i}, {j}, {k}) does not fit the links of {self.broker!r}")
        busy = {name for part in self.parts.values() for name in (*part.frozen, part.new)}
        if (busy & {*frozen, new}) - {""}:
            raise BadInput(change, "another change concerns the same link")
        return Part(shift, frozen, new)

    def _known(self, change: str) -> Part:
        if change not in self.parts:
            raise BadInput(change, "is not a change that this broker takes part in")
        return self.parts[change]

    def _ready(self, part: Part) -> None:
        connected = not part.new or part.connection is not None
        if not part.ready and connected and part.heard >= set(part.frozen):
            part.ready = True
            self.out.append(Report(part.shift.change, "ready"))
