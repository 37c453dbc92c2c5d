"""Which neighbours are interested in which topics, and where the topics' streams stood when we joined.

Neighbours tell each other their own topics. (That is for routing; `mesh_membership` judges whether a topic
is connected among all brokers that have it.) A broker that joins a topic, or comes back to it after a crash,
asks its neighbours first (`Positions`) and is *ready* when it knows enough:

- at most k − 1 neighbours have not answered, or k − 2 if it comes back, being a failure itself: one of
  those that answered then still knows what the failed ones knew; and
- an interested neighbour that is ready has answered, or there is none and all have answered, or all
  interested ones are as new as we are and have stayed so for `patience` seconds (the topic begins).

A stream begins, for us, after the smallest number that a ready interested neighbour promises to send
from. A neighbour that does not mention a stream will send all of it, unless it says that it has forgotten
some.
"""

from collections import Counter
from collections.abc import Iterable

import msgspec

from regraft.broker.core.effects import Store
from regraft.broker.core.mesh_streams import UNSURE, topic_of
from regraft.broker.core.peers import Link
from regraft.protocol.messages import Named, Positions, Update

_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(dict[str, str]).decode


class MeshLink(Link):
    """A neighbour in a mesh. What it told stays valid while it is away."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.life = 0
        self.topics: dict[str, str] = {}
        """With the mark of its joining: another mark means that it left in between and has forgotten."""
        self.promises: dict[str, dict[str, int]] = {}
        """By topic and stream: it sends us all after this number."""
        self.partial: set[str] = set()
        """Topics of which it has forgotten streams."""
        self.said: dict[str, str] = {}
        """As `topics`, but only what it told us itself, which we have answered."""
        self.told_all = False
        """It has told us everything that it knew, once in our life."""
        self._parts: dict[str, dict[str, int]] = {}
        """By topic: promises of an answer whose last part has not come."""

    def lost(self, now: float = 0.0) -> None:
        super().lost(now)
        self._parts.clear()

    def promise(self, topic: str, message: Positions) -> None:
        """The neighbour's answer, or a part of it."""
        part = self._parts.setdefault(topic, {})
        part |= {stream: base for stream, base, _ in message.streams if topic_of(stream) == topic}
        if message.last:
            self.promises[topic] = self._parts.pop(topic)
            (self.partial.add if message.partial else self.partial.discard)(topic)

    def promised(self, topic: str, stream: str) -> int | None:
        """After which number it sends all of the stream; None if it may have forgotten the stream."""
        promise = self.promises.get(topic, {}).get(stream, None if topic in self.partial else 0)
        return None if promise == UNSURE else promise


class OwnTopic:
    """A topic in which this broker is interested."""

    def __init__(self, mark: int, restored: bool) -> None:
        self.mark = str(mark)
        self.restored = restored
        """We had it in an earlier life: our subscribers are owed what came meanwhile."""
        self.ready = False
        self.settled = restored
        """We belong to the brokers among which the topic has begun: a neighbour that does has told us where
        it stands, or we are the first. Before that we may be apart from them, and a stream that we do not
        know may exist all the same."""
        self.heard: set[str] = set()
        """Neighbours that have noted our interest."""
        self.known: set[str] = set()
        """Those of them that were ready themselves, or not interested."""
        self.heard_all_at: float | None = None
        self.anew = False
        """No neighbour knew where the streams stood: each begins with what we see of it first."""
        self.partial = False
        """We, or a neighbour that told us where the streams stand, have forgotten some that were quiet."""


class MeshInterest:
    """Our topics and our neighbours'."""

    def __init__(self, neighbours: Iterable[str], k: int, patience: float) -> None:
        self.links: dict[str, MeshLink] = {name: MeshLink(name) for name in neighbours}
        self.own: dict[str, OwnTopic] = {}
        self.k = k
        self.patience = patience
        self._counts: Counter[str] = Counter()
        self._wanting: dict[str, set[str]] = {}
        self._added: set[str] = set()
        self._removed: set[str] = set()
        self._unready: set[str] = set()
        self._joined = 0
        self.changes = 0
        """Grows when a broker joins or leaves a topic, and when we become ready on one."""

    def wanting(self, topic: str) -> set[str]:
        """The neighbours that are interested in the topic, connected or not."""
        return self._wanting.get(topic, _NOBODY)

    def is_ready(self, topic: str) -> bool:
        return topic in self.own and self.own[topic].ready

    def is_settled(self, topic: str) -> bool:
        return self.is_ready(topic) and self.own[topic].settled

    def was_told(self, topic: str) -> bool:
        """Whether we are ready because a neighbour that is settled has said where the topic stands."""
        return self.is_ready(topic) and bool(self.wanting(topic) & self.own[topic].known)

    def may_publish(self, topic: str, subscribed: bool) -> bool:
        """Whether we are ready on the topic, and a publication has somewhere to go (or we have no links)."""
        return self.is_ready(topic) and (subscribed or bool(self.wanting(topic)) or not self.links)

    # Our own topics

    def join(self, topic: str, restored: bool) -> bool:
        """One filter more is on the topic; returns whether it is the first."""
        self._counts[topic] += 1
        if topic not in self.own:
            self._begin(topic, restored)
        return self._counts[topic] == 1

    def leave(self, topic: str) -> bool:
        """One filter less; returns whether it was the last. The topic stays ours until `drop`."""
        self._counts[topic] -= 1
        if self._counts[topic]:
            return False
        del self._counts[topic]
        return True

    def stay(self, topic: str) -> None:
        """After a start: the topic was ours, although no filter of ours is on it."""
        self._begin(topic, restored=True)

    def _begin(self, topic: str, restored: bool) -> None:
        self.changes += 1
        self._joined += 1
        self.own[topic] = OwnTopic(self._joined, restored)
        self._unready.add(topic)
        self._added.add(topic)
        self._removed.discard(topic)

    def drop(self, topic: str) -> None:
        """The topic is no longer ours."""
        self.changes += 1
        del self.own[topic]
        self._unready.discard(topic)
        self._added.discard(topic)
        self._removed.add(topic)

    def _named(self, topics: Iterable[str]) -> list[Named]:
        return [(topic, self.own[topic].mark) for topic in sorted(topics)]

    def everything(self) -> Update:
        """What a neighbour is told first on a new connection."""
        return Update(subscriptions=self._named(self.own), all_subscriptions=True)

    def change(self) -> Update | None:
        """What the other neighbours have to be told, if anything changed."""
        if not self._added and not self._removed:
            return None
        change = Update(subscriptions=self._named(self._added), gone_subscriptions=sorted(self._removed))
        self._added, self._removed = set(), set()
        return change

    # Our neighbours' topics

    def heard(self, link: MeshLink, update: Update) -> tuple[list[str], set[str]]:
        """The topics that the neighbour has joined since it last spoke, and those it has left."""
        self.changes += 1
        named = dict(update.subscriptions)
        gone = link.topics.keys() - named if update.all_subscriptions else set(update.gone_subscriptions)
        # Not what we know from others: that may be newer, and the neighbour will say it as well.
        gone = {each for each in gone - named.keys() if link.topics.get(each) == link.said.get(each)}
        joined = sorted(topic for topic, mark in named.items() if link.said.get(topic) != mark)
        link.said |= named
        link.told_all = link.told_all or update.all_subscriptions
        self._note(link, named)
        self._forget(link, gone)
        return joined, gone

    def heard_elsewhere(self, link: MeshLink, named: dict[str, str]) -> tuple[list[str], set[str]]:
        """Others say that the neighbour has these topics. Returns those that are news, and those that have
        gone, of the ones that it had not told us itself. From now on we keep publications for it even while
        it is away, because it relies on that.
        """
        joined = sorted(topic for topic, mark in named.items() if link.topics.get(topic) != mark)
        gone = {topic for topic in link.topics.keys() - named if link.topics[topic] != link.said.get(topic)}
        if joined or gone:
            self.changes += 1
        self._note(link, named)
        self._forget(link, gone)
        return joined, gone

    def _forget(self, link: MeshLink, topics: Iterable[str]) -> None:
        for topic in topics:
            link.topics.pop(topic, None)
            link.said.pop(topic, None)
            self._wanting.get(topic, set()).discard(link.name)
            if not self._wanting.get(topic):
                self._wanting.pop(topic, None)

    def _note(self, link: MeshLink, named: dict[str, str]) -> None:
        link.topics |= named
        for topic in named:
            self._wanting.setdefault(topic, set()).add(link.name)

    def remembered(self, link: MeshLink) -> Store:
        """Stores its topics: after a crash of ours, publications must be kept for it even if it is away."""
        return Store(f"link/{link.name}", _encode(link.topics))

    def restore(self, stored: dict[str, bytes]) -> None:
        """After a start: what our neighbours had told us in the previous life."""
        for name, link in self.links.items():
            if (value := stored.get(f"link/{name}")) is not None:
                link.said = _decode(value)
                self._note(link, link.said)

    def unlink(self, link: MeshLink) -> None:
        self.changes += 1
        self._forget(link, list(link.topics))
        del self.links[link.name]
        for topic in self.own.values():
            topic.heard.discard(link.name)
            topic.known.discard(link.name)

    def hear_positions(self, link: MeshLink, message: Positions) -> list[str]:
        """The neighbour has noted our interest, and says from where it will send; returns the topics."""
        topics = [name for name, mark in message.topics if name in self.own and self.own[name].mark == mark]
        for name in topics:
            own = self.own[name]
            if message.known:
                link.promise(name, message)
                own.partial = own.partial or message.partial
            if message.last:
                own.heard.add(link.name)
                self.changes += 1
                if message.known:
                    own.known.add(link.name)
        return topics

    def doubt(self, link: MeshLink, topic: str) -> None:
        """The neighbour is new to the topic: it will say when it knows where the streams stand."""
        link.promises.pop(topic, None)
        if (own := self.own.get(topic)) is not None:
            own.known.discard(link.name)

    # Being ready

    def newly_ready(self, now: float) -> list[str]:
        """The topics on which we know enough since the last call."""
        ready = [name for name in sorted(self._unready) if self._knows_enough(name, self.own[name], now)]
        for name in ready:
            self.changes += 1
            self.own[name].ready = True
        self._unready.difference_update(ready)
        return ready

    def _knows_enough(self, name: str, topic: OwnTopic, now: float) -> bool:
        here = {link.name for link in self.links.values() if link.connection is not None}
        missing = len(self.links) - len(topic.heard & here)
        if missing > self._slack(topic):
            return False
        interested = self.wanting(name)
        if interested & topic.known & here:
            return True
        if missing:
            return False
        if not interested:
            return True
        if topic.heard_all_at is None:
            topic.heard_all_at = now
        topic.anew = now - topic.heard_all_at >= self.patience
        return topic.anew

    def _slack(self, topic: OwnTopic) -> int:
        return max(0, self.k - 2 if topic.restored else self.k - 1)

    def begins_after(self, topic: str, stream: str) -> int | None:
        """The smallest number after which a connected neighbour promises to send the stream; 0 if too few
        are connected to tell, None if those that are may have forgotten the stream."""
        state = self.own[topic]
        if sum(link.connection is None for link in self.links.values()) > self._slack(state):
            return 0
        here = [
            link
            for name in self.wanting(topic) & state.known
            if (link := self.links[name]).connection is not None
        ]
        promises = [link.promised(topic, stream) for link in here]
        said = [promise for promise in promises if promise is not None]
        return min(said, default=None if promises else 0)

    def may_begin(self, stream: str, sender: str) -> bool:
        """Whether a stream begins with what this neighbour sends first of it: in a topic that began with us,
        unless another neighbour, connected or not, has promised to send more."""
        topic = topic_of(stream)
        state = self.own[topic]
        if not state.anew:
            return False
        links = {name: self.links[name] for name in self.wanting(topic) & state.known}
        first = (links[sender].promised(topic, stream) if sender in links else 0) or 0
        promises = [link.promised(topic, stream) for link in links.values()]
        return all(promise is None or promise >= first for promise in promises)


_NOBODY: set[str] = set()
