"""Checks the end of a run: nothing remains that should not, and every table is as if it were built fresh.

It reads the brokers' own tables but judges them by filters alone: what each neighbour must have been told
follows from the clients' filters and the tree.
"""

from collections.abc import Iterable, Iterator

from regraft.broker.core.broker import Broker
from regraft.broker.core.peers import SessionState
from regraft.broker.core.sides import Side
from regraft.client.core import Client
from regraft.filters import covers, overlaps, parse
from regraft.testing.checker import Checker


def remains(
    brokers: Iterable[Broker], clients: Iterable[tuple[Client, str]], checker: Checker
) -> Iterator[str]:
    """Every reason why the run is not over; `clients` are those that have not left, with their brokers."""
    by_id = {broker.id: broker for broker in brokers}
    there = list(clients)
    for broker in by_id.values():  # likely causes come before likely effects: callers show the first few
        yield from _sessions(broker, {client.name: client for client, home in there if home == broker.id})
    for client, _ in there:
        yield from _client(client, checker)
    for broker in by_id.values():
        yield from _kept(broker)
        yield from _waiting(broker)
        yield from _advertisements(broker, by_id)
        for name, side in broker.tables.sides.items():
            yield from (
                f"{broker.id} for {name}: {fault}" for fault in _shown(broker, name, side, by_id[name])
            )


def _client(client: Client, checker: Checker) -> Iterator[str]:
    if not client.connected:
        yield f"{client.name} is not connected"
    if client.unacknowledged:
        yield f"{client.unacknowledged} publications of {client.name} are not acknowledged"
    if client.name in checker.subscribers:
        for id, each in checker.subscribers[client.name].subscriptions.items():
            if not each.placed and not each.withdrawn:
                yield f"subscription {id} of {client.name} was never reported in place"


def _sessions(broker: Broker, clients: dict[str, Client]) -> Iterator[str]:
    sessions = {session.client: session for session in broker.forwarding.sessions.values()}
    if sessions.keys() != clients.keys():
        yield f"{broker.id} has sessions {sorted(sessions)}, its clients are {sorted(clients)}"
        return
    for name, session in sessions.items():
        client = clients[name]
        if (session.advertisements, session.subscriptions) != (client.advertisements, client.subscriptions):
            yield f"{broker.id} has other filters of {name} than it has itself"
        if (
            session.claiming
            or session.state is SessionState.MOVED
            or session.inbox
            or session.on_the_way
            or session.queue
        ):
            yield f"{broker.id}: the session of {name} is not at rest"


def _kept(broker: Broker) -> Iterator[str]:
    for held in broker.forwarding.store:
        run = held.run
        yield f"{broker.id} still holds {run.publisher} {run.seqs} from {held.sources} for {held.waiting}"
    if broker.forwarding.store.bytes:
        yield f"{broker.id} counts {broker.forwarding.store.bytes} bytes held"
    claims = broker.claims
    for asked in claims.asked.values():
        yield f"{broker.id} keeps {asked.claim} of {asked.back or 'itself'}, missing {sorted(asked.missing)}"
    for client in (*claims.outstanding, *claims.waiting):
        yield f"{broker.id} is not done with the claim of {client}"
    for link in broker.forwarding.links.values():
        if not (link.connection is not None and link.open and link.settled):
            yield f"the link {broker.id}–{link.name} is not open and settled"


def _waiting(broker: Broker) -> Iterator[str]:
    tables = broker.tables
    for entry in (*tables.advertisements.values(), *tables.subscriptions.values()):
        if strangers := entry.waiting - tables.sides.keys():
            yield f"{broker.id}: {entry.id} waits for {sorted(strangers)}, which are no neighbours"


def _advertisements(broker: Broker, brokers: dict[str, Broker]) -> Iterator[str]:
    expected = {
        f"{other.id}/{session.client}/{id}": parse(text)
        for other in brokers.values()
        for session in other.forwarding.sessions.values()
        for id, text in session.advertisements.items()
    }
    known = {id: entry.filter for id, entry in broker.tables.advertisements.items()}
    if known != expected:
        yield f"{broker.id} knows advertisements {sorted(known)}, there are {sorted(expected)}"
    local = {
        f"{broker.id}/{session.client}/{id}": parse(text)
        for session in broker.forwarding.sessions.values()
        for id, text in session.subscriptions.items()
    }
    entries = broker.tables.subscriptions.values()
    if {e.id: e.filter for e in entries if e.origin not in broker.tables.sides} != local:
        yield f"{broker.id} has other local subscriptions than its sessions"
    for entry in (*entries, *broker.tables.advertisements.values()):
        if entry.waiting:
            yield f"{broker.id}: {entry.id} still waits for {entry.waiting}"


def _shown(broker: Broker, name: str, side: Side, neighbour: Broker) -> Iterator[str]:
    """What `broker` has shown the neighbour must cover all that is wanted there, and nothing else."""
    tables, mirror = broker.tables, neighbour.tables.sides[broker.id]
    wanted = {
        entry.id: entry.filter
        for entry in tables.subscriptions.values()
        if entry.origin != name
        and any(overlaps(a.filter, entry.filter) for a in side.advertisements.values())
    }
    shown = side.showing.shown
    if {id: entry.filter for id, entry in mirror.subscriptions.items()} != shown:
        yield f"it has {sorted(mirror.subscriptions)}, was shown {sorted(shown)}"
    if not shown.keys() <= wanted.keys():
        yield f"shown without need: {sorted(shown.keys() - wanted.keys())}"
    if set(side.showing.ids()) != wanted.keys():
        yield f"wanted {sorted(wanted)}, known as such {sorted(side.showing.ids())}"
    for id, filter in wanted.items():
        if id not in shown and not any(covers(each, filter) for each in shown.values()):
            yield f"{id} is neither shown nor covered"
    for id, filter in shown.items():
        if any(other != id and covers(each, filter) for other, each in shown.items()):
            yield f"{id} is shown although it is covered"
    if side.doubtful_advertisements or side.doubtful_subscriptions:
        yield "something is still doubtful"
