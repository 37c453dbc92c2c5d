"""The states of a run, of its actions, and of what agents report: Enums, tables and drawings (IPITT §IV-C).

The strings are those in the journal. Every write of a state is a compare-and-set, so a transition that is not
in the table is a fault of the core that computed it, and raises. Which transition is due is decided elsewhere
(`deployer_core`, `agent_core`).
"""

from enum import StrEnum

from regraft.model.transitions import Transitions


class RunState(StrEnum):
    """How far a run is.

    ● ──▶ BEGINNING ──all nodes below it are written──▶ RUNNING ─┬──the last step is over──▶ DONE
                                                                 ├──a change failed too often──▶ FAILED
                                                                 └──it was ordered to end──▶ STOPPED

    FAILED ──┬──it is resumed──▶ RUNNING
    STOPPED ─┘

    A run that has failed, or was ordered to end, remains RUNNING until none of its changes is under way.
    """

    BEGINNING = "beginning"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    STOPPED = "stopped"


class RunOrder(StrEnum):
    """What a user or healing orders a run to do. While it is RUNNING, any order may replace any other."""

    RUN = "run"
    PAUSE = "pause"
    STOP = "stop"
    ROLL_BACK = "roll back"


class ActionState(StrEnum):
    """How far an action is with its current change. The deployer writes it, except for the decision.

    ● ──▶ PENDING ──the brokers are commanded──▶ PREPARING ─┬──agent: all are ready──▶ COMMITTED
                                                            └──agent: refused, or too slow──▶ ABORTED

    COMMITTED ─┬──all report done, and it was the last change──▶ DONE
               └──all report done, and another change follows──▶ PENDING

    ABORTED ──all report that they have given it up──▶ PENDING
    """

    PENDING = "pending"
    PREPARING = "preparing"
    COMMITTED = "committed"
    ABORTED = "aborted"
    DONE = "done"


class Reported(StrEnum):
    """What an agent has reported of its broker's part in one change. It follows the action's decision.

    ● ──▶ NOTHING ─┬──▶ PREPARED ─┬──▶ READY
                   │              └──decided: aborted──▶ ABORTED
                   ├──▶ READY ─┬──decided: committed──▶ COMMITTED ──▶ DONE
                   │           ├──decided: committed, and over at once──▶ DONE
                   │           └──decided: aborted──▶ ABORTED
                   ├──the broker refuses──▶ REFUSED ──decided: aborted──▶ ABORTED
                   └──decided: aborted, before the broker was told──▶ ABORTED

    An agent that has restarted may read an old report of its own and then seem to skip a state. That is
    harmless, so agents do not check this table; a test of the simulation does.
    """

    NOTHING = ""
    PREPARED = "prepared"
    READY = "ready"
    REFUSED = "refused"
    COMMITTED = "committed"
    ABORTED = "aborted"
    DONE = "done"


IN_DOUBT = "in doubt"
"""A broker tells its agent its stages by the same names, and has one that is never reported: it has crashed
since it prepared, and does not know what was decided."""

_R, _A, _S = RunState, ActionState, Reported
RUN_STATES = Transitions(
    {_R.BEGINNING},
    {
        _R.BEGINNING: {_R.RUNNING},
        _R.RUNNING: {_R.DONE, _R.FAILED, _R.STOPPED},
        _R.DONE: {},
        _R.FAILED: {_R.RUNNING},
        _R.STOPPED: {_R.RUNNING},
    },
)
ACTION_STATES = Transitions(
    {_A.PENDING},
    {
        _A.PENDING: {_A.PREPARING},
        _A.PREPARING: {_A.COMMITTED, _A.ABORTED},
        _A.COMMITTED: {_A.DONE, _A.PENDING},
        _A.ABORTED: {_A.PENDING},
        _A.DONE: {},
    },
)
REPORTS = Transitions(
    {_S.NOTHING},
    {
        _S.NOTHING: {_S.PREPARED, _S.READY, _S.REFUSED, _S.ABORTED},
        _S.PREPARED: {_S.READY, _S.ABORTED},
        _S.READY: {_S.COMMITTED, _S.DONE, _S.ABORTED},
        _S.REFUSED: {_S.ABORTED},
        _S.COMMITTED: {_S.DONE},
        _S.ABORTED: {},
        _S.DONE: {},
    },
)
