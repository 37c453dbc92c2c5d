"""A participant's part in a change of links (IPITT §III-C): shift(i, j, k) turns i–j into i–k; j–k stays.

i moves with everything behind it (its subtree). Brokers other than i, j and k notice nothing: for them
every other broker stays in the same direction. The three participants buffer what would cross these links,
exchange what they know about the subtree, and continue. The stages are those of `change.PartStage`:

| stage | i | j | k |
|---|---|---|---|
| prepare | stores its part, freezes j, calls k | stores its part, freezes i and k; *veils* i from k | as i |
| | sends `Frozen` to j | sends `Frozen` to i, and to k with the subtree's homes | sends `Frozen` to j |
| ready | on `Frozen` from j | on `Frozen` from i and k | on `Frozen` from j: stores the homes |
| abort | thaws: nothing has changed | thaws, lifts the veil | thaws |
| commit | k takes j's place: what came from j is k's | (waits) | what j told of the homes is i's |
| 1 | tells k its table | | tells i its table |
| 2 | | | knows the subtree: tells j about it, says `Moved`; thaws j |
| 3 | | forgets i; sends k what was on its way to the subtree, answers `Moved`: **done** | |
| 4 | sends k what is unconfirmed: **done** | | |
| 5 | | | sends i what is held for it; thaws i: **done** |

Freezing makes sure that nothing is on the wire of a link that changes; what is unconfirmed is held at
both of its ends. The veil: from prepare on j tells k nothing new about i's subtree, and tells it what was
hidden because something of the subtree covers it. So all that k knows through j is either of the subtree
(its home says so) or complete without it, and k can tell i everything else.

**Crashes.** A part is stored from prepare to done. A broker that starts and finds one that is prepared but
not committed is in doubt: the links concerned stay down until the agent says commit or abort. It knows
nothing of its neighbours then, so to commit it only has to rename one. A broker that finds a committed part
continues where the table says, with empty tables. j then does not believe k's "all" before `Moved`: k may
have been told of the commit later, and not have counted the subtree. No broker waits for what a crash has
destroyed, and no two brokers wait for each other: k waits for what i tells (until then it drops nothing of
what j told, because j may have forgotten the subtree); i waits for what k tells; j waits for k's `Moved`,
which is said again on every connection. If j has forgotten what was on its way to the subtree, that comes
again from behind j. k then holds its own copies back until they come again too, so that i gets all of it in
order (`subtree_runs`).
"""

from regraft.broker.core.change import RECORD, Change, Part, PartStage, new_part, parts_of, role_of, to_record
from regraft.broker.core.effects import Close, Dial, Effect, Hangup, Report, Send, Store
from regraft.broker.core.forwarding import Forwarding
from regraft.broker.core.peers import Link
from regraft.broker.core.subtree_runs import SubtreeRuns
from regraft.broker.core.tables import Tables
from regraft.model import BadInput
from regraft.protocol.messages import AnyMessage, Frozen, Moved, Run

EARLY = 64
"""The most changes of which neighbours may say `Frozen` before we are told of them."""
APART = "apart"
"""The key under which it is stored that this broker is not in the overlay."""


class Relink:
    """The changes of links in which this broker takes part. No two of them concern the same link."""

    def __init__(self, broker: str, tables: Tables, forwarding: Forwarding, stored: dict[str, bytes]) -> None:
        self.broker = broker
        self.tables = tables
        self.forwarding = forwarding
        self.runs = SubtreeRuns(tables, forwarding)
        self.parts = parts_of(broker, stored)
        self.apart = APART in stored
        """This broker is not in the overlay: it has been detached, or was not appended yet. Publications here
        would reach no subscriber elsewhere, so clients have to go to other brokers."""
        self.out: list[Effect] = []
        self.stores: list[Store] = []
        """What has to be on the disk before any other effect leaves."""
        self.heard_early: dict[str, dict[str, tuple[int, list[str]]]] = {}
        """Neighbours that are frozen for a change of which we have not been told yet: their lives and
        homes."""
        self.unanswered: dict[str, str] = {}
        """Changes, and the neighbour that has said `Moved` and waits for the answer."""
        self.changed = False
        """Whether our set of links has changed since the broker last looked."""
        self.after: list[Send] = []
        """Messages that must not overtake the tables."""
        self.adopted: list[tuple[int, Link, list[AnyMessage]]] = []
        """Connections that have become links, and the messages that came on them before."""
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
        """Tell neighbours that nothing more comes, once we know what is behind each neighbour of ours."""
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
        """Return to the state before the change: nothing but buffering has happened."""
        part = self._known(id)
        if part.committed:
            raise BadInput(id, "is being carried out and cannot be aborted any more")
        part.become(PartStage.ABORTED)
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
        self.out.append(Report(id, PartStage.ABORTED.value))

    def commit(self, id: str) -> None:
        """Carry the change out. j waits until k tells it to, unless a crash has made it forget everything."""
        part = self._known(id)
        if part.committed or (self._is(part, "shift", 1) and not part.in_doubt):
            return
        if part.stage not in (PartStage.READY, PartStage.IN_DOUBT):
            raise BadInput(id, "is not ready")
        part.become(PartStage.COMMITTED)
        self.changed = True
        self._remember(part)
        if part.change.operation in ("append", "detach") and part.change.i == self.broker:
            self.set_apart(part.change.operation == "detach")
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
        return {id: part.stage.value for id, part in self.parts.items()}

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
        """We are j: everything for the subtree has gone to k, or (if we have forgotten it) will come
        again."""
        for change, name in list(self.unanswered.items()):
            link = self.forwarding.links.get(name)
            if link is None or link.connection is None:
                del self.unanswered[change]  # it will ask again
            elif link.open and not link.frozen:
                del self.unanswered[change]
                self.forwarding.sends.append(Send(link.connection, Moved(change, True)))

    def reconnected(self, link: Link) -> None:
        """What was said on the connection before this one may be lost."""
        assert link.connection is not None
        for id, part in self.parts.items():
            if not self._is(part, "shift", 2) or link.name != part.change.j:
                continue
            if part.life and link.life != part.life:
                self.runs.await_again(part.change.i, part.change.j)
                part.life = link.life
            if part.told:
                self.after.append(Send(link.connection, Moved(id)))

    def barred(self, name: str) -> bool:
        """Whether the link to this neighbour is in doubt and stays down."""
        return any(
            part.in_doubt and name in (*part.role.frozen, part.role.new) for part in self.parts.values()
        )

    def expects(self, name: str) -> bool:
        """Whether a change that is not committed adds this broker as a neighbour."""
        return any(name == part.role.new != "" and not part.committed for part in self.parts.values())

    def joined(self, name: str, life: int, connection: int) -> None:
        """The neighbour that a change adds is connected."""
        part = next(each for each in self.parts.values() if each.role.new == name and not each.committed)
        part.connection, part.new_life, part.early = connection, life, []
        self._ready(part)

    def early(self, connection: int, message: AnyMessage) -> bool:
        """Whether this comes from a neighbour that a change adds; it is kept until the change is
        committed."""
        part = next((each for each in self.parts.values() if each.connection == connection), None)
        if part is None or part.committed:
            return False
        part.early.append(message)
        return True

    def lost(self, connection: int) -> None:
        for part in self.parts.values():
            if part.connection == connection and not part.committed:
                part.connection, part.early = None, []

    # Continuing

    def advance(self) -> None:
        """Continue with what the last event made possible."""
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
        part.become(PartStage.TOLD)
        rest.patient = False
        self.tables.believe(j)
        self.tables.unveil(j)
        link = self.forwarding.links[j]
        if link.connection is not None:
            self.after.append(Send(link.connection, Moved(part.change.id)))
        self.runs.add_target(i, j)
        self.thaw(j)

    def arrived(self, run: Run, source: str) -> None:
        """We are k: what j sends now is on its way to the subtree, even if we had it before."""
        for part in self.parts.values():
            if part.told and self._is(part, "shift", 2) and source == part.change.j:
                self.runs.arrived(run, part.change.i, source)

    def _serve(self, part: Part) -> None:
        """We are k (5): what was on its way from j to the subtree has come, or j has forgotten it."""
        self.runs.served(part.change.i)
        self.tables.sides[part.change.j].elsewhere = None
        self.thaw(part.change.i)
        self._done(part)

    def _forget_subtree(self, part: Part) -> None:
        """We are j (3): k has the subtree now."""
        i, k = part.change.i, part.change.k
        self.changed = True
        self._leave(i)
        self.runs.hand_over(i, k)
        self.tables.remove_side(i, successor=k)
        self.forwarding.succeed(i, k)
        del self.forwarding.links[i]
        self.thaw(k)
        self._done(part)

    # Steps of the protocol

    def thaw(self, name: str) -> None:
        """Publications are sent again, in order, beginning with those that have waited."""
        link = self.forwarding.links[name]
        link.frozen = False
        if link.open:
            self.forwarding.send_unsent(link)

    def _change_links(self, part: Part) -> None:
        """Change our links. After a crash, some of it may have been done in the previous life."""
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
        return new_part(change, role)

    def _known(self, id: str) -> Part:
        if id not in self.parts:
            raise BadInput(id, "is not a change that this broker takes part in")
        return self.parts[id]

    def _is(self, part: Part, operation: str, place: int) -> bool:
        return part.change.operation == operation and part.change.brokers[place] == self.broker

    def _ready(self, part: Part) -> None:
        if part.said_ready or part.in_doubt or (part.role.new and part.connection is None):
            return
        if part.heard >= set(part.role.frozen) and not (self._is(part, "detach", 0) and self._busy()):
            part.said_ready = True
            if part.stage is PartStage.PREPARED:
                part.become(PartStage.READY)
            self.out.append(Report(part.change.id, PartStage.READY.value))

    def _busy(self) -> bool:
        """Whether there is still something here that would be lost without links."""
        return bool(self.forwarding.sessions) or next(iter(self.forwarding.store), None) is not None

    def _mark(self, part: Part) -> None:
        """For the telemetry: what is sent to these neighbours before the part is over has waited for it."""
        self.forwarding.under.update(dict.fromkeys((*part.role.frozen, part.role.new), part.change.id))

    def _unmark(self, part: Part) -> None:
        for name in (*part.role.frozen, part.role.new):
            self.forwarding.under.pop(name, None)

    def _done(self, part: Part) -> None:
        part.become(PartStage.DONE)
        self._unmark(part)
        self._forget_part(part)
        self.out.append(Report(part.change.id, PartStage.DONE.value))

    def _remember(self, part: Part) -> None:
        self.stores.append(Store(RECORD + part.change.id, to_record(part)))

    def _forget_part(self, part: Part) -> None:
        del self.parts[part.change.id]
        self.stores.append(Store(RECORD + part.change.id, None))
