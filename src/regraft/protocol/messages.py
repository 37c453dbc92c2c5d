"""What peers say to each other, as values; how they become bytes is the business of `wire`.

Three kinds of peers talk: brokers that are neighbours (a *link*), a client and its broker, and, while
a link is being moved, the agents of the participants through the core's commands (`relink`).

| message | from → to | meaning |
|---|---|---|
| LinkHello | broker ↔ broker | who I am, which life of mine this is |
| ClientHello | client → broker | who I am, what I advertise and subscribe, where my session was |
| Welcome | broker → client | you are in; this many publications may be unconfirmed |
| Update | broker ↔ broker | how my advertisements and subscriptions for you changed, and what is in place |
| Advertise, Subscribe, Withdraw | client → broker | a filter comes or goes |
| InPlace | broker → client | the overlay has the filter: from now on the guarantee holds for it |
| Run | towards subscribers | publications of one publisher, in order |
| Confirm | towards publishers | these have reached every subscriber behind me |
| Settled | broker, client → broker | all that was unconfirmed has been sent again; what follows is new |
| Claim, Flushed, Handover, Claimed | broker ↔ broker | a client moved here: fetch what is held for it |
| Frozen, Moved | broker ↔ broker | a link is being moved (`relink`) |
| Positions, Flood, Received, Pressure | broker ↔ broker | in a mesh (`mesh`) |
| Roster, Known | broker ↔ broker | in a mesh: a broker's topics, and which others know them (`mesh_roster`) |
| Waiting | broker → client | in a mesh: why a filter is not in place yet |
| Refused | broker → client | what you sent breaks this rule |
| Bye | both | the session or link ends on purpose |
"""

from typing import TypeAlias

import msgspec

from regraft.model import BadInput

VERSION = 2
"""The version of the protocol. Peers of different versions refuse each other, naming both numbers."""

Named: TypeAlias = tuple[str, str]
"""A filter's id (unique in the overlay) and its text."""


class Message(msgspec.Struct, array_like=True, tag=True, frozen=True, gc=False):
    """One of the messages below."""


class LinkHello(Message, frozen=True, tag=1):
    broker: str
    life: int
    """Grows with every start of the broker: a neighbour sees by it that the broker has forgotten all."""
    version: int = VERSION
    token: str = ""


class ClientHello(Message, frozen=True, tag=2):
    client: str
    advertisements: list[Named]
    subscriptions: list[Named]
    visit: int = 0
    """Grows with every connection of the client: of two brokers, the one it visited later has it."""
    home: str = ""
    """The broker that had the session last (any name, if it is not known which); empty for a new session."""
    window: int = 1024
    """How many publications may be on the way to the client unconfirmed."""
    version: int = VERSION
    token: str = ""


class Welcome(Message, frozen=True, tag=3):
    broker: str
    window: int
    resumed: bool
    """Whether the session was known here; otherwise it begins anew or is being fetched."""


class Update(Message, frozen=True, tag=4):
    """All of it takes effect at once, additions before removals.

    On a new connection everything is told anew; what was told on an earlier one stays valid until
    `all_…` says that the rest is gone.
    """

    advertisements: list[Named] = []
    subscriptions: list[Named] = []
    gone_advertisements: list[str] = []
    gone_subscriptions: list[str] = []
    all_advertisements: bool = False
    """I know every advertisement behind me, and have told you all of them."""
    all_subscriptions: bool = False
    placed_advertisements: list[str] = []
    """Of yours: every broker behind me has them, and I have told you the subscriptions that overlap."""
    placed_subscriptions: list[str] = []
    but_moving: bool = False
    """`all_…` leaves out what is behind the broker whose link is being moved to you."""


class Advertise(Message, frozen=True, tag=5):
    id: str
    filter: str


class Subscribe(Message, frozen=True, tag=6):
    id: str
    filter: str


class Withdraw(Message, frozen=True, tag=7):
    id: str


class InPlace(Message, frozen=True, tag=8):
    id: str


class Run(Message, frozen=True, tag=9):
    """Publications of one publisher that travel together: `seqs` ascend, one for each event."""

    publisher: str
    seqs: list[int]
    events: list[bytes]
    at: int
    """When the first of them was published: microseconds since the epoch, by the publisher's clock."""
    visit: int = 0
    """The publisher's connection on which they were sent: if they are sent again from elsewhere, the
    later way is the one that counts."""

    def check(self) -> "Run":
        """Itself, if it is well formed."""
        seqs = self.seqs
        if not seqs or seqs[0] < 1 or len(seqs) != len(self.events) or seqs != sorted(set(seqs)):
            raise BadInput("run", "numbers must ascend from 1, one for each event, and at least one")
        return self

    def part(self, part: slice) -> "Run":
        """A part of the run."""
        return Run(self.publisher, self.seqs[part], self.events[part], self.at, self.visit)

    def one(self, at: int) -> "Run":
        """The run of one of its publications."""
        return self.part(slice(at, at + 1))


ANY_VISIT = 2**62
"""Greater than every visit: what is confirmed with it is confirmed whatever visit it was sent on."""


class Confirm(Message, frozen=True, tag=10):
    """Confirms what you sent me of `publisher` on this connection: from ranges[0] to ranges[1], and so on.

    It concerns only what the publisher sent on this visit or an earlier one: what it sent again since has to
    be confirmed again.
    """

    publisher: str
    ranges: list[int]
    visit: int = ANY_VISIT


class Settled(Message, frozen=True, tag=11):
    """From a neighbour or a client: what follows is new."""


class Claim(Message, frozen=True, tag=12):
    """Asked through the whole tree; every broker answers for itself and all behind it."""

    client: str
    by: str
    """The broker that asks."""
    number: int
    visit: int
    """The client's visit there: a later one is not disturbed by it."""
    answered: bool = False
    """I have your answer, and the client has not confirmed all of it yet: continue to keep it."""


class Flushed(Message, frozen=True, tag=19):
    """Everything that was published behind me before the claim has been sent to you."""

    by: str
    number: int


class Handover(Message, frozen=True, tag=13):
    """Everything that brokers behind me hold for the client, which has left them."""

    client: str
    by: str
    number: int
    newest: int
    """The latest visit of the client that is known behind me, 0 if none is."""
    runs: list[Run]
    broken: list[tuple[str, int]]
    """Publishers whose broker came back from a crash and that have not sent again what was unconfirmed,
    and their visit: of what they sent until then, something may be missing."""
    last: bool = True
    """If False, more runs of the same answer follow."""


class Claimed(Message, frozen=True, tag=14):
    """The client has confirmed all that was handed over; no broker need keep it."""

    client: str
    by: str
    number: int
    visit: int


class Frozen(Message, frozen=True, tag=17):
    """Nothing more of mine is on its way to you: the change of links may happen."""

    change: str
    homes: list[str] = []
    """To the new neighbour of the subtree: brokers there whose clients have filters."""


class Moved(Message, frozen=True, tag=18):
    """The subtree that was behind one neighbour of yours is behind me now; I have told you all of it."""

    change: str
    answer: bool = False
    """I have heard that, and have sent you what was on its way to the subtree."""


class Refused(Message, frozen=True, tag=15):
    about: str
    """The id of a filter, `publisher#seq` of a publication, or empty for the connection."""
    reason: str


class Bye(Message, frozen=True, tag=16):
    reason: str = ""


class Positions(Message, frozen=True, tag=20):
    """I have noted your interest in `topics`; of their streams I send you all after these numbers."""

    topics: list[Named]
    """As they were named in the `Update` that this answers."""
    streams: list[tuple[str, int, list[int]]] = []
    """Stream, the number after which I send (−1: I do not know yet), the numbers I know of (the last of
    them at least)."""
    known: bool = True
    """False: I am new to these topics, or have forgotten them, and am asking my neighbours too."""
    partial: bool = False
    """I have forgotten streams of these topics that were quiet: I say nothing of those not mentioned."""
    last: bool = True
    """If False, more streams of the same topics follow."""


class Flood(Message, frozen=True, tag=21):
    """Publications of one publisher on one topic, each the successor of the one before."""

    stream: str
    previous: int
    """The number of the stream's publication before the first of these; 0 if there is none."""
    floor: int
    """All of the publisher's publications below this number have been acknowledged."""
    seqs: list[int]
    events: list[bytes]
    at: int


class Received(Message, frozen=True, tag=22):
    """I keep these as well from now on. `Confirm` will say that they are delivered."""

    stream: str
    seqs: list[int]


class Pressure(Message, frozen=True, tag=23):
    """`broker` holds more than it should on these topics: do not acknowledge. Passed on through the mesh."""

    broker: str
    number: int
    """Grows with every change: an older one is void."""
    topics: list[str]


class Roster(Message, frozen=True, tag=24):
    """The links and topics of `broker`, or how they changed. Passed on over every link of the mesh."""

    broker: str
    number: int
    """Grows with every change: an older one is void."""
    base: int
    """The number of the roster that this one changes; 0: this is all of it."""
    links: list[str]
    topics: list[tuple[str, str, int]]
    """Topic, mark of its joining (as in `Update`), state (`mesh_roster.State`)."""
    gone: list[str] = []


class Known(Message, frozen=True, tag=25):
    """These brokers have the roster of `broker` with this number. Goes back the way that it came."""

    broker: str
    number: int
    by: list[str]


class Waiting(Message, frozen=True, tag=26):
    """The filter with this id is not in place yet, and why."""

    id: str
    reason: str


AnyMessage: TypeAlias = (
    LinkHello
    | ClientHello
    | Welcome
    | Update
    | Advertise
    | Subscribe
    | Withdraw
    | InPlace
    | Run
    | Confirm
    | Settled
    | Claim
    | Flushed
    | Handover
    | Claimed
    | Frozen
    | Moved
    | Refused
    | Bye
    | Positions
    | Flood
    | Received
    | Pressure
    | Roster
    | Known
    | Waiting
)
