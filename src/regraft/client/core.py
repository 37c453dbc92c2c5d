"""The client as a state machine without input or output: publisher and subscriber in one.

It numbers what it publishes and keeps it until the overlay has confirmed it; it drops what it has seen
(the highest number of each publisher: a stream comes in order) and confirms what the application has
consumed. After every reconnection, to the same broker or another, it says who it is and what filters
it has, and sends again what is unconfirmed: broker and client then agree.
"""

from collections import deque
from collections.abc import Iterable, Sequence
from typing import NamedTuple, TypeAlias

from regraft.protocol.messages import (
    Advertise,
    AnyMessage,
    Bye,
    ClientHello,
    Confirm,
    InPlace,
    Refused,
    Run,
    Settled,
    Subscribe,
    Waiting,
    Welcome,
    Withdraw,
)

SOMEWHERE = "?"
"""The home while it is not known which broker has our session: one may have taken our hello unanswered."""


class Delivered(NamedTuple):
    """New publications of one publisher for the application."""

    publisher: str
    seqs: Sequence[int]
    events: Sequence[bytes]
    at: int


class Acknowledged(NamedTuple):
    """Our publications up to this number have reached every client that subscribed to them."""

    up_to: int


class Placed(NamedTuple):
    """The filter with this id is in place (or, if it was withdrawn, gone)."""

    id: str


class Rejected(NamedTuple):
    """The broker refuses a filter (`about` is its id), a publication (its number) or the connection."""

    about: str
    reason: str


class Connected(NamedTuple):
    """The broker has let us in."""

    broker: str
    resumed: bool


class Waits(NamedTuple):
    """The filter with this id is not in place yet, and why."""

    id: str
    reason: str


Happening: TypeAlias = Delivered | Acknowledged | Placed | Rejected | Connected | Waits


class Client:
    """One client; `life` tells this process from earlier ones of the same name, and is greater."""

    def __init__(
        self,
        name: str,
        life: int,
        window: int = 4096,
        token: str = "",
        most: int = 512,
        *,
        returning: bool = False,
    ) -> None:
        self.name = name
        self.publisher = f"{name}#{life}"
        self._life = life
        self.window = window
        self.token = token
        self.most = most
        """The most publications that travel in one run."""
        self.home = SOMEWHERE if returning else ""
        """The broker that has our session; any may, if an earlier process of this name has left one."""
        self.connected = False
        """The broker has let us in: publications may go."""
        self.advertisements: dict[str, str] = {}
        self.subscriptions: dict[str, str] = {}
        self.highest: dict[str, int] = {}
        self._credit = 0
        self._next_seq = 1
        self._next_id = 1
        self._unacknowledged: deque[tuple[int, bytes, int]] = deque()
        """Sent and not confirmed: number, event, when."""
        self._unsent: deque[tuple[int, bytes, int]] = deque()
        self._acknowledged: set[int] = set()
        """Confirmed although an earlier one is not."""
        self._consuming: dict[str, deque[list[int]]] = {}
        """By publisher: [number, whether the application is done with it], in order of delivery."""
        self._open = False
        self._visit = life * 2**20  # greater than every visit of an earlier process
        self._out: list[AnyMessage] = []

    # What the application wants

    def advertise(self, filter: str) -> str:
        id = self._id("a")
        self.advertisements[id] = filter
        self._say(Advertise(id, filter))
        return id

    def subscribe(self, filter: str) -> str:
        id = self._id("s")
        self.subscriptions[id] = filter
        self._say(Subscribe(id, filter))
        return id

    def withdraw(self, id: str) -> None:
        """Withdraw an advertisement only when everything published under it has been acknowledged."""
        self.advertisements.pop(id, None)
        self.subscriptions.pop(id, None)
        self._say(Withdraw(id))

    def publish(self, events: Iterable[bytes], at: int) -> int:
        """Queue events for sending; returns the number of the last."""
        for event in events:
            self._unsent.append((self._next_seq, event, at))
            self._next_seq += 1
        return self._next_seq - 1

    def consumed(self, publisher: str, seq: int) -> None:
        """The application is done with this delivery: it may be confirmed."""
        consuming = self._consuming[publisher]
        if consuming[0][0] == seq:
            consuming[0][1] = 1
        else:
            next(each for each in consuming if each[0] == seq)[1] = 1
        self._confirm(publisher, consuming)

    def leave(self) -> None:
        """End the session: nothing is kept for us any more."""
        self._say(Bye())

    @property
    def unacknowledged(self) -> int:
        return len(self._unacknowledged) + len(self._unsent)

    # What the connection says

    def opened(self) -> None:
        """There is a connection: say who we are."""
        self._open = True
        self._visit += 1
        self._out = [
            ClientHello(
                self.name,
                list(self.advertisements.items()),
                list(self.subscriptions.items()),
                self._visit,
                self.home,
                self.window,
                token=self.token,
            )
        ]
        self.home = self.home or SOMEWHERE

    def closed(self) -> None:
        self.connected = self._open = False
        self._out = []

    def received(self, messages: Sequence[AnyMessage]) -> list[Happening]:
        """What the broker said, as what it means for the application."""
        happened: list[Happening] = []
        for message in messages:
            if isinstance(message, Run):
                self._run(message, happened)
            elif isinstance(message, Confirm):
                self._confirmed(message, happened)
            elif isinstance(message, InPlace):
                happened.append(Placed(message.id))
            elif isinstance(message, Waiting):
                happened.append(Waits(message.id, message.reason))
            elif isinstance(message, Welcome):
                happened.append(self._welcome(message))
            elif isinstance(message, Refused):
                self._refused(message, happened)
        return happened

    def take(self) -> list[AnyMessage]:
        """What has to be sent now."""
        if self.connected:
            self._send_publications(self._credit - len(self._unacknowledged))
        out, self._out = self._out, []
        return out

    # How it reacts

    def _welcome(self, welcome: Welcome) -> Connected:
        self.connected = True
        self.home = welcome.broker
        self._credit = welcome.window
        again = len(self._unacknowledged)
        self._unsent.extendleft(reversed(self._unacknowledged))
        self._unacknowledged.clear()
        self._send_publications(again)  # all of them, whatever the window here: they are older than the rest
        self._out.append(Settled())
        return Connected(welcome.broker, welcome.resumed)

    def _send_publications(self, room: int) -> None:
        while self._unsent and room > 0:
            batch = [self._unsent.popleft() for _ in range(min(room, self.most, len(self._unsent)))]
            room -= len(batch)
            self._unacknowledged.extend(batch)
            seqs = [seq for seq, _, _ in batch]
            events = [event for _, event, _ in batch]
            self._out.append(Run(self.publisher, seqs, events, batch[0][2], self._visit))

    def _run(self, run: Run, happened: list[Happening]) -> None:
        highest = self.highest.get(run.publisher, 0)
        consuming = self._consuming.setdefault(run.publisher, deque())
        fresh = 0
        if run.seqs[0] <= highest:
            fresh = sum(seq <= highest for seq in run.seqs)
            open_ones = {each[0] for each in consuming}
            for seq in run.seqs[:fresh]:
                if seq not in open_ones:
                    self._out.append(Confirm(run.publisher, [seq, seq]))
        seqs = run.seqs[fresh:]
        if seqs:
            self.highest[run.publisher] = seqs[-1]
            consuming.extend([seq, 0] for seq in seqs)
            happened.append(Delivered(run.publisher, seqs, run.events[fresh:], run.at))

    def _confirm(self, publisher: str, consuming: deque[list[int]]) -> None:
        if not consuming[0][1]:
            return
        first = last = consuming[0][0]
        while consuming and consuming[0][1]:
            last = consuming.popleft()[0]
        out = self._out
        if out and isinstance(out[-1], Confirm) and out[-1].publisher == publisher:
            out[-1].ranges[-1] = last
        else:
            out.append(Confirm(publisher, [first, last]))

    def _confirmed(self, confirm: Confirm, happened: list[Happening]) -> None:
        if confirm.visit < self._visit:
            return  # it is about an earlier connection, and we have sent the same again since
        ranges = iter(confirm.ranges)
        for first, last in zip(ranges, ranges, strict=False):
            self._done(first, last, happened)

    def _done(self, first: int, last: int, happened: list[Happening]) -> None:
        """These of our publications need not be kept; report up to which number all are acknowledged."""
        waiting = self._unacknowledged
        if not waiting or last < waiting[0][0]:
            return
        if first > waiting[0][0]:
            self._acknowledged.update(seq for seq, _, _ in waiting if first <= seq <= last)
            return
        up_to = 0
        while waiting and (waiting[0][0] <= last or waiting[0][0] in self._acknowledged):
            up_to = waiting.popleft()[0]
            self._acknowledged.discard(up_to)
        happened.append(Acknowledged(up_to))

    def _refused(self, refused: Refused, happened: list[Happening]) -> None:
        publisher, _, seq = refused.about.rpartition("#")
        if publisher == self.publisher:
            happened.append(Rejected(seq, refused.reason))
            self._done(int(seq), int(seq), happened)
        else:
            self.advertisements.pop(refused.about, None)
            self.subscriptions.pop(refused.about, None)
            happened.append(Rejected(refused.about, refused.reason))

    def _id(self, kind: str) -> str:
        self._next_id += 1
        return f"{kind}{self._life}-{self._next_id}"

    def _say(self, message: AnyMessage) -> None:
        if self._open:  # otherwise the next hello says it
            self._out.append(message)
