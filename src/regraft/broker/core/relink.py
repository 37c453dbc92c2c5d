"""A participant's part in a change of links (IPITT §III-C): shift(i, j, k) turns i–j into i–k; j–k stays.

i moves with everything behind it (its subtree). Brokers other than i, j and k notice nothing: for them
nobody changes direction. The three participants buffer what would cross the links concerned, exchange
what they know about the subtree, and go on:

| stage | i | j | k |
|---|---|---|---|
| prepare | remembers it, freezes j, calls k | remembers it, freezes i and k; *veils* i from k | as i |
| | sends `Frozen` to j | sends `Frozen` to i, and to k with the subtree's homes | sends `Frozen` to j |
| ready | on `Frozen` from j | on `Frozen` from i and k | on `Frozen` from j: remembers the homes |
| abort | thaws: nothing has changed | thaws, lifts the veil | thaws |
| commit | k takes j's place: what came from j is k's | (waits) | what j told of the homes is i's |
| 1 | tells k its table | | tells i its table |
| 2 | | | knows the subtree: has told j of it, says `Moved`; thaws j |
| 3 | | forgets i; sends k what was on its way to the subtree, answers `Moved`: **done** | |
| 4 | sends k what is unconfirmed: **done** | | |
| 5 | | | sends i what is held for it; thaws i: **done** |

Freezing makes sure that nothing is on the wire of a link that changes; what is unconfirmed is held at
both of its ends. The veil: from prepare on j tells k nothing new about i's subtree, and tells it what was
hidden because something of the subtree covers it. So all that k knows through j is either of the subtree
(its home says so) or complete without it, and k can tell i everything else.

**Crashes.** A part is remembered from prepare to done. Who finds one after a start, prepared but not
committed, is in doubt: the links concerned stay down until the agent says commit or abort; nothing is known
then, so that committing is a change of names. Who finds one committed goes on where the table says, with
empty tables. j then takes nothing that k calls "all" for all before `Moved`: k may have been told of the
commit later, and not have counted the subtree. Nobody waits for what a crash has taken, and no two wait for
each other: k waits for what i tells (until then it drops nothing of j's, which may have forgotten the
subtree); i waits for what k tells; j for k's `Moved`, which is said again on every connection. If j has
forgotten what was on its way to the subtree, it comes again from behind j; k then waits with its own copies
until they come again too, so that i gets all of it in order.
"""

from regraft.broker.core.change import RECORD, Change, Part, parts_of, role_of, to_record
from regraft.broker.core.effects import Close, Dial, Effect, Hangup, Report, Send, Store
from regraft.broker.core.forwarding import Forwarding
from regraft.broker.core.peers import Link
from regraft.broker.core.tables import Tables
from regraft.model import BadInput
from regraft.protocol.messages import AnyMessage, Frozen, Moved, Run

EARLY = 64
APART = "apart"
SERVED = "!"
"""Before a neighbour's name, as a target: what waits until it is known whether it goes there. No broker's
name begins so."""
FORGETFUL = "!"
"""Before a neighbour's name, as a source: it has crashed since, and sends this again."""


class Relink:
    """The changes of links in which this broker takes part; each concerns other links."""

    def __init__(self, broker: str, tables: Tables, forwarding: Forwarding, stored: dict[str, bytes]) -> None:
        self.broker = broker
        self.tables = tables
        self.forwarding = forwarding
        self.parts = parts_of(broker, stored)
        self.apart = APART in stored
        """This broker is not in the overlay: it has been detached, or was not appended yet. Who publishes
        here reaches nobody, so clients have to go elsewhere."""
        self.out: list[Effect] = []
        self.stores: list[Store] = []
        """What has to be on the disk before anything else of this leaves."""
        self.heard_early: dict[str, dict[str, tuple[int, list[str]]]] = {}
        """Neighbours that are frozen for a change that we have not been told of yet: their life and homes."""
        self.unanswered: dict[str, str] = {}
        """Changes and the neighbour that has said `Moved`."""
        self.changed = False
        """Whether the set of our links has changed since the broker looked."""
        self.after: list[Send] = []
        """What must not overtake the tables."""
        self.adopted: list[tuple[int, Link, list[AnyMessage]]] = []
        """Connections that have become links, and what came on them before."""
        for part in self.parts.values():
            self._mark(part)
            if part.committed:
                self.changed = True
                self._change_links(part)

    # The agent's commands

    def prepare(self, change: Change) -> None:
        part = self._part(change)
        self.parts[change.id] = part
        self._mark(part)
        self._remember(part)
        for name, (life, homes) in self.heard_early.pop(change.id, {}).items():
            self._heard(part, name, life, homes)
        for name in part.role.frozen:
            self.forwarding.links[name].frozen = True
        if self._is(part, "shift", 1):
            self.tables.veil(change.k, change.i)
        if self._is(part, "shift", 2):
            self.tables.sides[change.j].patient = True
        if part.role.new and self.broker < part.role.new:
            self.out.append(Dial(part.role.new))
        self._ready(part)

    def _freeze(self, part: Part) -> None:
        """Tell neighbours that nothing more comes, when we know what is behind each of ours."""
        if part.in_doubt or part.committed or not all(map(self._knows, self.tables.sides)):
            return
        for name in part.role.frozen:
            link = self.forwarding.links[name]
            if link.connection is not None and part.frozen.get(name) != link.epoch:
                part.frozen[name] = link.epoch
                self.after.append(Send(link.connection, Frozen(part.change.id, self._homes(part, name))))

    def _knows(self, name: str) -> bool:
        side = self.tables.sides[name]
        return side.knows_advertisements and side.knows_subscriptions

    def _homes(self, part: Part, name: str) -> list[str]:
        if not self._is(part, "shift", 1) or name != part.change.k:
            return []
        side = self.tables.sides[part.change.i]
        return sorted({each.home for each in (*side.advertisements.values(), *side.subscriptions.values())})

    def abort(self, id: str) -> None:
        """Back to the state before: nothing but buffering has happened."""
        part = self._known(id)
        if part.committed:
            raise BadInput(id, "is being carried out and can not be aborted any more")
        self._forget_part(part)
        if part.role.new:
            self.out.append(Hangup(part.role.new))
            if part.connection is not None:
                self.out.append(Close(part.connection, "the change of links was aborted"))
        for name in part.role.frozen:
            side = self.tables.sides[name]
            if side.veil:
                self.tables.unveil(name)
            if side.patient:
                side.patient = False
                self.tables.believe(name)
            self._dial(name)
            self.thaw(name)
        self._unmark(part)
        self.out.append(Report(id, "aborted"))

    def commit(self, id: str) -> None:
        """It was decided. j waits until k tells it, unless it has forgotten everything."""
        part = self._known(id)
        if part.committed or (self._is(part, "shift", 1) and not part.in_doubt):
            return
        if not part.ready and not part.in_doubt:
            raise BadInput(id, "is not ready")
        part.committed = self.changed = True
        self._remember(part)
        if part.change.operation in ("append", "detach") and part.change.i == self.broker:
            self.set_apart(part.change.operation == "detach")
        part.in_doubt = False
        self._change_links(part)
        for name in part.role.frozen:
            self._dial(name)
        if part.role.new and part.connection is not None:
            self.forwarding.links[part.role.new].life = part.new_life
            self.adopted.append((part.connection, self.forwarding.links[part.role.new], part.early))
        elif part.role.new:
            self._dial(part.role.new)

    def set_apart(self, apart: bool) -> None:
        self.apart = apart
        self.stores.append(Store(APART, b"1" if apart else None))

    def stages(self) -> dict[str, str]:
        """How far each change is here."""
        return {id: part.stage for id, part in self.parts.items()}

    @property
    def leaving(self) -> bool:
        """Whether this broker is about to be detached: its clients have to go elsewhere."""
        return any(self._is(part, "detach", 0) for part in self.parts.values())

    # What neighbours say

    def frozen(self, link: Link, message: Frozen) -> None:
        part = self.parts.get(message.change)
        if part is not None:
            self._heard(part, link.name, link.life, message.homes)
        else:
            self.heard_early.setdefault(message.change, {})[link.name] = link.life, message.homes
            if len(self.heard_early) > EARLY:
                del self.heard_early[next(iter(self.heard_early))]

    def _heard(self, part: Part, name: str, life: int, homes: list[str]) -> None:
        part.heard.add(name)
        if self._is(part, "shift", 2) and not part.committed:
            part.homes, part.life = homes, life
            self._remember(part)
        self._ready(part)

    def moved(self, link: Link, message: Moved) -> None:
        part = self.parts.get(message.change)
        if message.answer:
            if part is not None and self._is(part, "shift", 2) and part.told:
                self._serve(part)
            return
        if part is not None and self._is(part, "shift", 1):
            if part.committed:
                self.tables.aware(link.name)
                self._done(part)
            else:
                self._forget_subtree(part)
        self.unanswered[message.change] = link.name

    def _answer(self) -> None:
        """Everything for the subtree has gone to the neighbour, or (if we have forgotten it) will come."""
        for change, name in list(self.unanswered.items()):
            link = self.forwarding.links.get(name)
            if link is None or link.connection is None:
                del self.unanswered[change]  # it will ask again
            elif link.open and not link.frozen:
                del self.unanswered[change]
                self.forwarding.sends.append(Send(link.connection, Moved(change, True)))

    def reconnected(self, link: Link) -> None:
        """What was said on the connection before may be lost."""
        assert link.connection is not None
        for id, part in self.parts.items():
            if not self._is(part, "shift", 2) or link.name != part.change.j:
                continue
            if part.life and link.life != part.life:
                self._await_again(part)
                part.life = link.life
            if part.told:
                self.after.append(Send(link.connection, Moved(id)))

    def _await_again(self, part: Part) -> None:
        """We are k: j has forgotten what it sent us, and what it had for the subtree alone. All of it comes
        again, in order, and nothing that comes by this way goes to the subtree before that."""
        i, j = part.change.i, part.change.j
        for held in list(self.forwarding.store):
            if held.sources[-1] != j:
                continue
            held.sources[-1] = FORGETFUL + j
            held.waiting.pop(i, None)
            held.waiting.pop(SERVED + i, None)
            if not held.waiting:
                self.forwarding.complete(held)

    def barred(self, name: str) -> bool:
        """Whether the link to this neighbour is in doubt and stays down."""
        return any(
            part.in_doubt and name in (*part.role.frozen, part.role.new) for part in self.parts.values()
        )

    def expects(self, name: str) -> bool:
        """Whether the broker is a neighbour to be."""
        return any(name == part.role.new != "" and not part.committed for part in self.parts.values())

    def joined(self, name: str, life: int, connection: int) -> None:
        """The neighbour to be is connected."""
        part = next(each for each in self.parts.values() if each.role.new == name and not each.committed)
        part.connection, part.new_life, part.early = connection, life, []
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

    # Going on

    def advance(self) -> None:
        """Go on with what the last event made possible."""
        for part in list(self.parts.values()):
            if not part.committed:
                self._freeze(part)
                self._ready(part)
            elif self._is(part, "shift", 2):
                self._tell(part)
            elif self._is(part, "shift", 1):
                continue  # until k has said `Moved`
            elif not part.role.new or self.forwarding.links[part.role.new].open:
                self._done(part)
        if self.unanswered:
            self._answer()

    def _tell(self, part: Part) -> None:
        """We are k: (2) when we know the subtree."""
        i, j = part.change.i, part.change.j
        rest = self.tables.sides[j]
        if part.told or not self.tables.sides[i].heard_all or not rest.knows_advertisements:
            return
        part.told = True
        rest.patient = False
        self.tables.believe(j)
        self.tables.unveil(j)
        link = self.forwarding.links[j]
        if link.connection is not None:
            self.after.append(Send(link.connection, Moved(part.change.id)))
        self._add_target(i, j)
        self.thaw(j)

    def arrived(self, run: Run, source: str) -> None:
        """We are k: what j sends now is on its way to the subtree, also if we have had it before."""
        for part in self.parts.values():
            if not part.told or not self._is(part, "shift", 2) or source != part.change.j:
                continue
            i, stream = part.change.i, self.forwarding.store.stream(run.publisher)
            for seq, event in zip(run.seqs, run.events, strict=True):
                held = stream.find(seq)
                if held is None or i in held.waiting or i in held.sources:
                    continue
                if i in self.forwarding.targets(event, source) and not stream.later(i, run.visit, source):
                    stream.within(seq, seq)[0].waiting[i] = 0

    def _serve(self, part: Part) -> None:
        """We are k (5): what was on its way from j to the subtree has come, or j has forgotten it."""
        self.forwarding.forget(SERVED + part.change.i)
        self.tables.sides[part.change.j].elsewhere = None
        self.thaw(part.change.i)
        self._done(part)

    def _forget_subtree(self, part: Part) -> None:
        """We are j (3): k has the subtree now."""
        i, k = part.change.i, part.change.k
        self.changed = True
        self._leave(i)
        for held in list(self.forwarding.store):
            from_subtree = held.sources[-1] == i
            held.rename(i, k)
            wanted = held.waiting.pop(i, None) is not None
            if from_subtree:
                held.waiting.pop(k, None)
            elif wanted and held.sources[-1] != k:
                held.waiting[k] = 0  # again, if it has it: it may have left the subtree out (`_add_target`)
            if not held.waiting:
                self.forwarding.complete(held)
        self.tables.remove_side(i, heir=k)
        self.forwarding.succeed(i, k)
        del self.forwarding.links[i]
        self.thaw(k)
        self._done(part)

    def _add_target(self, name: str, old: str) -> None:
        """What is held and wanted there waits for it too, so that nothing is confirmed without it. Which way
        it came last decides, if it came by several. What came from its old neighbour may have been published
        there: then it is sent again from there, and must not come there before that. Or its publisher has
        gone from there to behind the old neighbour, which knows that, and sends it again (`arrived`): until
        then it is not confirmed. What came from nobody who is there (it was handed over to a client, or j
        has forgotten it), or on an earlier visit, is not the next of its stream there: that comes again."""
        behind = self._publishers(name)
        for held in list(self.forwarding.store):
            source = held.sources[-1]
            if name in held.sources or name in held.waiting or not self._is_there(source):
                continue
            if self.forwarding.store.stream(held.run.publisher).later(name, held.run.visit, source):
                continue
            if source == old and behind.get(held.run.publisher.partition("#")[0], True):
                held.waiting[SERVED + name] = 0
                continue
            for piece in self.forwarding.store.pieces(held):
                if name in self.forwarding.targets(piece.run.events[0], source):
                    piece.waiting[name] = 0

    def _is_there(self, source: str) -> bool:
        return source in self.forwarding.links or source in self.forwarding.sessions

    def _publishers(self, name: str) -> dict[str, bool]:
        """Of every client that advertises: whether it does so behind this neighbour. Of one that does not
        advertise any more nothing can be acknowledged."""
        behind: dict[str, bool] = {}
        for entry in self.tables.advertisements.values():
            behind[entry.client] = behind.get(entry.client, False) or entry.origin == name
        return behind

    # Parts of it

    def thaw(self, name: str) -> None:
        """Publications go again, in order, beginning with what has waited."""
        link = self.forwarding.links[name]
        link.frozen = False
        if link.open:
            self.forwarding.send_unsent(link)

    def _change_links(self, part: Part) -> None:
        """The links afterwards; after a crash some of it may have been done before."""
        role, links = part.role, self.forwarding.links
        if self._is(part, "shift", 0):
            if role.gone in links:
                self._leave(role.gone)
                self.tables.rename(role.gone, role.new)
                self.forwarding.rename(role.gone, role.new)
            return
        if role.gone in links:
            self._leave(role.gone)
            self.forwarding.forget(role.gone)
            self.tables.remove_side(role.gone)
            del links[role.gone]
        if role.new and role.new not in links:
            self.tables.add_side(role.new)
            links[role.new] = Link(role.new)
        if self._is(part, "shift", 1):
            self.tables.sides[part.change.k].unaware = True
        if self._is(part, "shift", 2):
            j = part.change.j
            rest = self.tables.sides[j]
            rest.patient, rest.elsewhere = True, set(part.homes)
            self.tables.veil(j, role.new)  # which may still hear from j
            self.tables.take_over(j, role.new, set(part.homes))
            self.tables.learn(j)
            self.forwarding.succeed(j, role.new)
            links[role.new].frozen = links[j].frozen = True

    def _leave(self, name: str) -> None:
        link = self.forwarding.links[name]
        self.out.append(Hangup(name))
        if link.connection is not None:
            self.out.append(Close(link.connection, "no longer neighbours"))
            link.lost()

    def _dial(self, name: str) -> None:
        link = self.forwarding.links.get(name)
        if link is not None and link.connection is None and self.broker < name and not self.barred(name):
            self.out.append(Dial(name))

    def _part(self, change: Change) -> Part:
        role = role_of(self.broker, change)
        links = self.forwarding.links
        needed = {*role.frozen, role.gone} - {""}
        if change.id in self.parts or not needed <= links.keys() or role.new in links:
            raise BadInput(change.id, f"{change} does not fit the links of {self.broker!r}")
        busy = {name for each in self.parts.values() for name in (*each.role.frozen, each.role.new)}
        if (busy & {*role.frozen, role.new}) - {""}:
            raise BadInput(change.id, "another change concerns the same link")
        if change.operation == "append" and self.broker == change.i and links:
            raise BadInput(change.id, f"{self.broker!r} has links already")
        if change.operation == "detach" and self.broker == change.i and len(links) > 1:
            raise BadInput(change.id, f"{self.broker!r} is not a leaf")
        return Part(change, role)

    def _known(self, id: str) -> Part:
        if id not in self.parts:
            raise BadInput(id, "is not a change that this broker takes part in")
        return self.parts[id]

    def _is(self, part: Part, operation: str, place: int) -> bool:
        return part.change.operation == operation and part.change.brokers[place] == self.broker

    def _ready(self, part: Part) -> None:
        if part.ready or part.in_doubt or (part.role.new and part.connection is None):
            return
        if part.heard >= set(part.role.frozen) and not (self._is(part, "detach", 0) and self._busy()):
            part.ready = True
            self.out.append(Report(part.change.id, "ready"))

    def _busy(self) -> bool:
        """Whether there is still something here that would be lost without links."""
        return bool(self.forwarding.sessions) or next(iter(self.forwarding.store), None) is not None

    def _mark(self, part: Part) -> None:
        """For the telemetry: what goes to these neighbours before the part is over has waited for it."""
        self.forwarding.under.update(dict.fromkeys((*part.role.frozen, part.role.new), part.change.id))

    def _unmark(self, part: Part) -> None:
        for name in (*part.role.frozen, part.role.new):
            self.forwarding.under.pop(name, None)

    def _done(self, part: Part) -> None:
        self._unmark(part)
        self._forget_part(part)
        self.out.append(Report(part.change.id, "done"))

    def _remember(self, part: Part) -> None:
        self.stores.append(Store(RECORD + part.change.id, to_record(part)))

    def _forget_part(self, part: Part) -> None:
        del self.parts[part.change.id]
        self.stores.append(Store(RECORD + part.change.id, None))
