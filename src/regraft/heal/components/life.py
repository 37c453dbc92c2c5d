"""The life of a component at one host, and who owns it: the one place that is in the directory.

| state     | the directory says  | worker            | calls    | after a crash of this host            |
|-----------|---------------------|-------------------|----------|---------------------------------------|
| ARRIVING  | another place       | loaded, stands    | wait     | asks the directory, then the sender   |
| CLAIMING  | this place, or none | loaded or not     | wait     | writes the directory again, then runs |
| RUNNING   | this place          | runs              | executed | CLAIMING                              |
| FREEZING  | this place          | ends what it does | wait     | CLAIMING: the move has not happened   |
| SHIPPING  | this place          | stands            | wait     | CLAIMING: the move has not happened   |
| SWITCHING | this or the other   | stands            | wait     | CLAIMING finds out which              |
| ENDING    | this place, or none | killed            | refused  | goes on with ending                   |
| (nothing) | another place, none | none              | sent on  | nothing                               |

The only commit point is one compare-and-set of the directory's entry, sent by the owner while its worker
stands. Whoever is not sure of its outcome writes the entry once more in its own favour: one of the two
writes wins, and the other can never happen. Hence a host that starts claims by a write, never by a read: a
write of its earlier life may still be on its way.
"""

from enum import Enum

from regraft.model import RegraftError


class Life(Enum):
    ARRIVING = "arriving"
    CLAIMING = "claiming"
    RUNNING = "running"
    FREEZING = "freezing"
    SHIPPING = "shipping"
    SWITCHING = "switching"
    ENDING = "ending"
    GONE = "gone"


class Role(Enum):
    """What is stored of it, for the next life of the host."""

    CREATING = "creating"
    ARRIVING = "arriving"
    MINE = "mine"
    ENDING = "ending"


_L = Life
TRANSITIONS: dict[Life, frozenset[Life]] = {
    _L.ARRIVING: frozenset({_L.CLAIMING, _L.RUNNING, _L.GONE}),
    _L.CLAIMING: frozenset({_L.RUNNING, _L.GONE}),
    _L.RUNNING: frozenset({_L.FREEZING, _L.SHIPPING, _L.ENDING}),
    _L.FREEZING: frozenset({_L.SHIPPING, _L.RUNNING}),
    _L.SHIPPING: frozenset({_L.SWITCHING, _L.RUNNING}),
    _L.SWITCHING: frozenset({_L.CLAIMING, _L.GONE}),
    _L.ENDING: frozenset({_L.GONE}),
    _L.GONE: frozenset(),
}


class WrongTurn(RegraftError):
    """A transition that the table does not have: a fault of ours."""
