"""The life of a component at one host, and who owns it: the one place that is in the directory.

    ● ─┬─▶ ARRIVING ─┬──the directory names this place──▶ CLAIMING
       │             ├──the sender says that it has switched──▶ RUNNING
       │             └──the move was called off──▶ GONE
       ├─▶ CREATING ─┬──the claim is written──▶ RUNNING
       │             └──the name is taken, or it cannot start──▶ GONE
       ├─▶ CLAIMING ─┬──the claim is written──▶ RUNNING
       │             └──another place owns it──▶ GONE
       └─▶ ENDING ──the entry is deleted──▶ GONE

    RUNNING ─┬──order to move──▶ FREEZING ──the worker has paused, or was killed──▶ SHIPPING
             ├──order to move, no worker is active──▶ SHIPPING
             └──order to terminate──▶ ENDING

    SHIPPING ─┬──the target is ready──▶ SWITCHING ─┬──the directory names the target──▶ GONE
              │                                    └──the outcome is not known──▶ CLAIMING
              └──the target declines, or does not answer──▶ RUNNING

| state     | the directory says  | worker             | calls     | after a crash of this host            |
|-----------|---------------------|--------------------|-----------|---------------------------------------|
| ARRIVING  | another place       | loaded, paused     | wait      | asks the directory, then the sender   |
| CREATING  | none, or this place | loaded, paused     | wait      | CREATING                              |
| CLAIMING  | this place, or none | loaded or not      | wait      | writes the directory again, then runs |
| RUNNING   | this place          | active             | executed  | CLAIMING                              |
| FREEZING  | this place          | finishes its call  | wait      | CLAIMING: the move has not happened   |
| SHIPPING  | this place          | paused             | wait      | CLAIMING: the move has not happened   |
| SWITCHING | this or the other   | paused             | wait      | CLAIMING finds out which              |
| ENDING    | this place, or none | killed             | refused   | continues to end it                   |
| GONE      | another place, none | none               | forwarded | nothing                               |

The only commit point is one compare-and-set of the directory's entry, which the owner sends while its worker
is paused. A host that is not sure of the outcome writes the entry once more in its own favour: one of the
two writes wins, and the other can never happen. For the same reason a host that starts claims its components
by a write, never by a read: a write from before its restart may still be on its way.
"""

from enum import Enum

from regraft.model.transitions import Transitions


class Life(Enum):
    CREATING = "creating"
    ARRIVING = "arriving"
    CLAIMING = "claiming"
    RUNNING = "running"
    FREEZING = "freezing"
    SHIPPING = "shipping"
    SWITCHING = "switching"
    ENDING = "ending"
    GONE = "gone"


class Role(Enum):
    """What the host stores of the life of a component, to find its way after a restart."""

    CREATING = "creating"
    ARRIVING = "arriving"
    MINE = "mine"
    ENDING = "ending"


_L = Life
TRANSITIONS = Transitions(
    {_L.CREATING, _L.ARRIVING, _L.CLAIMING, _L.ENDING},
    {
        _L.CREATING: {_L.RUNNING, _L.GONE},
        _L.ARRIVING: {_L.CLAIMING, _L.RUNNING, _L.GONE},
        _L.CLAIMING: {_L.RUNNING, _L.GONE},
        _L.RUNNING: {_L.FREEZING, _L.SHIPPING, _L.ENDING},
        _L.FREEZING: {_L.SHIPPING},
        _L.SHIPPING: {_L.SWITCHING, _L.RUNNING},
        _L.SWITCHING: {_L.CLAIMING, _L.GONE},
        _L.ENDING: {_L.GONE},
        _L.GONE: {},
    },
)
AFTER_RESTART = {
    Role.CREATING: Life.CREATING,
    Role.ARRIVING: Life.ARRIVING,
    Role.MINE: Life.CLAIMING,
    Role.ENDING: Life.ENDING,
}
