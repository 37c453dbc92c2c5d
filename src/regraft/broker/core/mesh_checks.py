"""What a client or a neighbour of a mesh broker may say: rules that no honest peer breaks.

A peer that breaks one is told the rule and disconnected, before anything of the message has taken effect.
"""

from typing import Final

from regraft.broker.core.mesh_roster import TopicState
from regraft.broker.core.mesh_streams import UNSURE, topic_of
from regraft.broker.core.peers import Session
from regraft.model import BadInput
from regraft.protocol import events
from regraft.protocol.messages import Confirm, Flood, Known, Positions, Roster, Run
from regraft.protocol.names import NAME_BYTES

LARGEST: Final = 2**63 - 1
"""The largest number of a publication; one more still fits into a message."""
LARGEST_ROSTER: Final = 2**64 - 2**32
LIFE_DIGITS: Final = 20


def check_run(session: Session, run: Run) -> None:
    client, _, life = run.publisher.partition("#")
    if client != session.client or not _is_life(life):
        raise BadInput("run", f"{run.publisher[:80]!r} is not a publisher of this client")
    run.check()
    if run.seqs[-1] > LARGEST:
        raise BadInput("run", f"numbers end at {LARGEST}")
    _check_sizes("run", run.events)


def check_confirm(session: Session, confirm: Confirm) -> None:
    if len(confirm.ranges) > 2 * session.window:
        raise BadInput("confirm", f"has {len(confirm.ranges)} numbers, {session.window} ranges are allowed")


def check_flood(flood: Flood) -> None:
    """Events are checked here again: an invalid one would otherwise be noticed only at its delivery."""
    seqs = flood.seqs
    _check_stream("flood", flood.stream)
    if not seqs or len(seqs) != len(flood.events):
        raise BadInput("flood", "has one number for each event, and at least one event")
    if [flood.previous, *seqs] != sorted({flood.previous, *seqs}) or flood.previous < 0:
        raise BadInput("flood", "numbers must ascend")
    if seqs[-1] > LARGEST or not 0 <= flood.floor <= LARGEST + 1:
        raise BadInput("flood", f"numbers end at {LARGEST}")
    _check_sizes("flood", flood.events)
    if not all(map(events.is_event, flood.events)):
        raise BadInput("flood", f"something that is no event in {flood.stream[:80]!r}")


def check_positions(positions: Positions) -> None:
    for stream, base, numbers in positions.streams:
        _check_stream("positions", stream)
        if not UNSURE <= base <= LARGEST or not all(0 < number <= LARGEST for number in numbers):
            raise BadInput("positions", f"a number of {stream[:80]!r} is not between 1 and {LARGEST}")


def check_roster(roster: Roster) -> None:
    names = [roster.broker, *roster.links, *roster.gone, *(topic for topic, _, _ in roster.topics)]
    if any(not 0 < len(name.encode()) <= NAME_BYTES for name in names):
        raise BadInput("roster", f"names have 1 to {NAME_BYTES} bytes")
    if not 0 <= roster.base < roster.number <= LARGEST_ROSTER:
        raise BadInput("roster", f"numbers ascend, up to {LARGEST_ROSTER}")
    if any(state not in set(TopicState) for _, _, state in roster.topics):
        raise BadInput("roster", f"the state of a topic is one of {[*map(int, TopicState)]}")


def check_known(known: Known) -> None:
    if not 0 < known.number <= LARGEST_ROSTER:
        raise BadInput("known", f"a number is between 1 and {LARGEST_ROSTER}")


def _check_stream(place: str, stream: str) -> None:
    client, _, life = stream.partition("/")[0].partition("#")
    topic = topic_of(stream)
    if not client or not topic or not _is_life(life):
        raise BadInput(place, f"{stream[:80]!r} is not the name of a stream, client#life/topic")
    if max(len(client.encode()), len(topic.encode())) > NAME_BYTES:
        raise BadInput(place, f"a client's or topic's name has at most {NAME_BYTES} bytes")


def _is_life(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) <= LIFE_DIGITS


def _check_sizes(place: str, bodies: list[bytes]) -> None:
    if max(map(len, bodies)) > events.EVENT_BYTES:
        raise BadInput(place, f"an event may have {events.EVENT_BYTES} bytes, one is longer")
