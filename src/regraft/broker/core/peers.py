"""The two kinds of peers of a broker, as it remembers them: neighbours and clients."""

from collections import deque

from regraft.protocol.messages import Run


class Link:
    """A neighbour and the connection to it, if there is one.

    `epoch` numbers the connections of the broker's life: what was sent on an earlier one was not sent.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.connection: int | None = None
        self.epoch = 0
        self.life = 0
        """Of the neighbour: if it has grown, the neighbour has forgotten everything."""
        self.open = False
        """The neighbour has told all its subscriptions on this connection: publications may go."""
        self.settled = False
        """The neighbour has sent again all that was unconfirmed."""
        self.frozen = False
        """A change of links is under way: publications wait."""

    def lost(self, now: float = 0.0) -> None:
        """`now` is what clients' sessions need; a neighbour is waited for without a limit."""
        self.connection = None
        self.open = self.settled = False


class Session:
    """A client: its filters, and what is on the way to and from it. It outlives its connections."""

    def __init__(self, client: str, now: float) -> None:
        self.client = client
        self.target = f"@{client}"
        self.connection: int | None = None
        self.epoch = 0
        self.visit = 0
        """The client's latest connection, here or (if it has moved) elsewhere."""
        self.moved_at = now
        """When it last went on: said hello, sent again, confirmed."""
        self.left_at = now
        """When its last connection ended (or the broker started)."""
        self.advertisements: dict[str, str] = {}
        self.subscriptions: dict[str, str] = {}
        self.window = 0
        self.on_the_way = 0
        """Publications sent to the client that it has not confirmed."""
        self.queue: deque[tuple[str, int, int]] = deque()
        """Publisher, first and last number of what waits for the client's window."""
        self.inbox: deque[Run] = deque()
        """What it published before all its advertisements were in place."""
        self.resent = False
        """It has sent again, on this connection, what was unconfirmed."""
        self.settled = False
        """And that has been routed."""
        self.broken = -1
        """The broker came back from a crash, and has not got again what was sent until this visit."""
        self.distrusts: dict[str, int] = {}
        """Publishers of whose earlier visits something may be missing: it comes again, and all after it."""
        self.claiming = False
        """It came from another broker: deliveries wait until that one has handed over."""
        self.fetching = False
        """It came from another broker, which keeps what it handed over until the client confirmed it."""
        self.moved = False
        """It has gone to another broker, which has been handed what was left."""

    def doubts(self, run: Run) -> bool:
        """Whether something of the publisher may be missing before this, which comes again then."""
        return run.visit <= self.distrusts.get(run.publisher.partition("#")[0], -1)

    def lost(self, now: float) -> None:
        self.connection = None
        self.left_at = now
        self.queue.clear()
        self.on_the_way = 0
