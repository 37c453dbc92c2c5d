"""Which brokers decide about a request (Mimosa Pudica §3.2, §3.3): the path, and those concerned. Pure.

In the paper the group is the brokers between the publisher and the subscriber of the message that was under
way. Here it also has all neighbours of a broker that is to be deleted. With 2f + 1 brokers the paper
tolerates f crashes; a group that is too small for that gets the nearest other brokers, so that the living are
a majority even if one more of them crashes.
"""

from collections import deque
from collections.abc import Iterable, Mapping

from regraft.heal.database.records import BrokerRecord, Map
from regraft.heal.grant import Grant, GrantRequest, Member

Near = Mapping[str, frozenset[str]]


def neighbours(map: Map) -> dict[str, frozenset[str]]:
    near: dict[str, set[str]] = {id: set() for id in map.brokers}
    for one, other in map.links:
        near.setdefault(one, set()).add(other)
        near.setdefault(other, set()).add(one)
    return {id: frozenset(around) for id, around in near.items()}


def distances(near: Near, source: str, stop: str = "") -> dict[str, int]:
    """How many links each broker is from the source; the search ends at `stop`, if that is given."""
    far = {source: 0}
    waiting = deque([source])
    while waiting:
        broker = waiting.popleft()
        if broker == stop:
            break
        for other in sorted(near[broker]):
            if other not in far:
                far[other] = far[broker] + 1
                waiting.append(other)
    return far


def path(near: Near, source: str, destination: str) -> tuple[str, ...]:
    """The brokers from source to destination, both included; empty if they are not connected."""
    if source not in near or destination not in near:
        return ()
    far = distances(near, destination, source)
    if source not in far:
        return ()
    way = [source]
    while way[-1] != destination:
        way.append(min((each for each in near[way[-1]] if each in far), key=lambda each: (far[each], each)))
    return tuple(way)


def concerned(map: Map, request: GrantRequest) -> tuple[str, ...] | str:
    """The ids of the group, the closest to the publisher first; or why there is none."""
    near = neighbours(map)
    known = request.target in near
    if request.kind == "add" and known:
        return f"{request.target!r} is in the overlay already"
    if request.kind != "add" and not known:
        return f"{request.target!r} is no broker of the overlay"
    if request.asker not in near:
        return f"the asker {request.asker!r} is no broker of the overlay"
    chosen = {
        request.asker,
        *path(near, request.source or request.asker, request.destination or request.asker),
    }
    if known:
        chosen |= {request.target, *near[request.target]}
    dead = {each for each in (*request.suspects, *_deleted(request)) if each in near}
    publisher = request.source if request.source in near else request.asker
    by_distance = sorted(distances(near, publisher).items(), key=lambda each: (each[1], each[0]))
    for id, _ in sorted(distances(near, request.asker).items(), key=lambda each: (each[1], each[0])):
        if _majority_lives(chosen, dead, spare=1):
            break
        chosen.add(id)
    if not _majority_lives(chosen, dead):
        return f"{len(chosen - dead)} of {len(chosen)} brokers live: that is no majority"
    return tuple(id for id, _ in by_distance if id in chosen)


def grant_of(id: str, map: Map, request: GrantRequest, records: Mapping[str, BrokerRecord]) -> Grant | str:
    """The group as it is when the request's turn comes; or why there is none."""
    ids = concerned(map, request)
    if isinstance(ids, str):
        return ids
    members = tuple(_member(each, records) for each in ids)
    down = {each for each in ids if each in records and records[each].state != "up"}
    suspects = {*request.suspects, *_deleted(request), *down} & set(ids)
    return Grant(
        id=id,
        kind=request.kind,
        asker=request.asker,
        target=request.target,
        members=members,
        suspects=tuple(sorted(suspects)),
        source=request.source,
        destination=request.destination,
        epoch=map.epoch,
    )


def _member(id: str, records: Mapping[str, BrokerRecord]) -> Member:
    record = records.get(id)
    return Member(id, record.life, record.host, record.port) if record else Member(id)


def _deleted(request: GrantRequest) -> Iterable[str]:
    return (request.target,) if request.kind == "delete" else ()


def _majority_lives(chosen: set[str], dead: set[str], spare: int = 0) -> bool:
    """`spare`: how many of the living may still crash."""
    return 2 * (len(chosen - dead) - spare) > len(chosen)
