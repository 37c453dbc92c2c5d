"""The two kinds of peers of a broker, and what it knows of each: neighbours and clients."""

from collections import deque
from enum import Enum

from regraft.model.transitions import Machine, Transitions
from regraft.protocol.messages import Run


class Link:
    """A neighbour and the connection to it, if there is one.

    `epoch` numbers the connections of the broker's life. What was sent on an earlier one counts as not sent.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.connection: int | None = None
        self.epoch = 0
        self.life = 0
        """The neighbour's life. If it has grown, the neighbour has forgotten everything."""
        self.open = False
        """The neighbour has told all its subscriptions on this connection: publications may be sent."""
        self.settled = False
        """The neighbour has sent again all that was unconfirmed."""
        self.frozen = False
        """A change of links is under way: publications wait."""

    def lost(self, now: float = 0.0) -> None:
        """`now` is for the sessions of clients; a neighbour is waited for without a limit."""
        self.connection = None
        self.open = self.settled = False


class SessionState(Enum):
    """Which broker holds what a client is owed. Whether the client is connected is another matter.

    ● ─┬──its filters come ahead of its first hello──▶ EXPECTED ──hello──▶ HERE
       └──hello, or the broker has started──▶ HERE ──hello, after a visit elsewhere──▶ CLAIMING

    CLAIMING ─┬──others have handed over what they hold──▶ FETCHING ──the client has confirmed it──▶ HERE
              └──hello, after another visit elsewhere──▶ CLAIMING

    FETCHING ─┬──hello, after a visit elsewhere──▶ CLAIMING
    MOVED ────┘

    EXPECTED ─┐
    HERE ─────┤
    CLAIMING ─┤
    FETCHING ─┤
    MOVED ────┴──another broker claims the session──▶ MOVED

    EXPECTED ─┐
    HERE ─────┤
    CLAIMING ─┤
    FETCHING ─┤
    MOVED ────┴──goodbye, too slow, away for too long, or the other broker has it all──▶ ENDED

    While CLAIMING nothing is delivered, because what is new must not overtake what another broker still
    holds. While FETCHING the other broker keeps what it has handed over. `claims` has the protocol. In a mesh
    a session stays with its broker, and is only EXPECTED, HERE or ENDED.
    """

    EXPECTED = "expected"
    HERE = "here"
    CLAIMING = "claiming"
    FETCHING = "fetching"
    MOVED = "moved"
    ENDED = "ended"


_S = SessionState
SESSION_STATES = Transitions(
    {_S.EXPECTED, _S.HERE},
    {
        _S.EXPECTED: {_S.HERE, _S.MOVED, _S.ENDED},
        _S.HERE: {_S.CLAIMING, _S.MOVED, _S.ENDED},
        _S.CLAIMING: {_S.FETCHING, _S.CLAIMING, _S.MOVED, _S.ENDED},
        _S.FETCHING: {_S.HERE, _S.CLAIMING, _S.MOVED, _S.ENDED},
        _S.MOVED: {_S.CLAIMING, _S.MOVED, _S.ENDED},
        _S.ENDED: {},
    },
)


class Session:
    """A client: its filters, and what is on the way to and from it. It outlives its connections."""

    def __init__(self, client: str, now: float, state: SessionState = SessionState.HERE) -> None:
        self.client = client
        self._states = Machine(SESSION_STATES, state, f"the session of {client}")
        self.target = f"@{client}"
        self.connection: int | None = None
        self.epoch = 0
        self.visit = 0
        """The client's latest connection, here or (if it has moved) elsewhere."""
        self.moved_at = now
        """When it last made progress: said hello, sent again, confirmed."""
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
        """What it has sent again has been routed."""
        self.broken = -1
        """The broker came back from a crash, and still lacks what the client sent up to this visit."""
        self.distrusts: dict[str, int] = {}
        """Publishers, and the visit up to which something of theirs may be missing: it comes again, with all
        that follows it."""
        self.claiming = False
        """It is CLAIMING. A plain attribute, because it is read for every delivery."""
        self.fetching = False
        """Stored: what other brokers hold for it is to be claimed after a crash. True while CLAIMING and
        FETCHING, and kept as it was when the session is MOVED."""

    @property
    def state(self) -> SessionState:
        return self._states.state

    def become(self, state: SessionState) -> None:
        self._states.become(state)
        self.claiming = state is SessionState.CLAIMING
        if state is SessionState.CLAIMING:
            self.fetching = True

    def doubts(self, run: Run) -> bool:
        """Whether something of the publisher may be missing before this run. If so, the run comes again."""
        return run.visit <= self.distrusts.get(run.publisher.partition("#")[0], -1)

    def lost(self, now: float) -> None:
        self.connection = None
        self.left_at = now
        self.queue.clear()
        self.on_the_way = 0
