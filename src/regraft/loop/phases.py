"""The phases of the loop: which work is under way, and what may follow it (IPITT §IV-A, OCBR §3).

    ● ─┬─▶ WAITING ─┬──the window is over──▶ MEASURING ─┬──▶ JUDGING
       │            │                                   └──too little traffic, or it failed──▶ WAITING
       │            ├──healing wants a repair──▶ PLANNING
       │            └──a plan is approved, or the last run is to be taken back──▶ DEPLOYING
       └──a run was interrupted──▶ DEPLOYING

    JUDGING ─┬──look for something better, or refine what was confirmed──▶ DESIGNING
             └──nothing is to be done now, or it failed──▶ WAITING

    DESIGNING ─┬──worth a change, and confirmed──▶ PLANNING
               └──not worth it, not confirmed yet, or it failed──▶ WAITING

    PLANNING ─┬──the plan is proposed or only shown, or there is none──▶ WAITING
              ├──a repair that needs no approval──▶ DEPLOYING
              └──healing wants a repair, so the plan for the traffic is given up──▶ PLANNING

    DEPLOYING ─┬──the run is at rest, or could not begin──▶ WAITING
               └──coordination works again: the same run is followed again──▶ DEPLOYING

People and healing do not wait for the end of a window. The work that is under way is given up for them, and
its answer, which has an old ticket, is ignored:

    MEASURING ─┐
    JUDGING ───┤
    DESIGNING ─┴──healing wants a repair──▶ PLANNING

    MEASURING ─┐
    JUDGING ───┤
    DESIGNING ─┤
    PLANNING ──┴──a plan is approved, or the last run is to be taken back──▶ DEPLOYING

While a run is under way nothing is measured. A loop that only observes gets as far as PLANNING: its plan is
shown and cannot be approved. As soon as the loop may do more, the same plan is proposed, if it still gains.
"""

from collections.abc import Mapping
from enum import StrEnum

from regraft.loop import events
from regraft.model.transitions import Transitions


class Phase(StrEnum):
    WAITING = "waiting"
    MEASURING = "measuring"
    JUDGING = "judging"
    DESIGNING = "designing"
    PLANNING = "planning"
    DEPLOYING = "deploying"


_P = Phase
PHASES = Transitions(
    {_P.WAITING, _P.DEPLOYING},
    {
        _P.WAITING: {_P.MEASURING, _P.PLANNING, _P.DEPLOYING},
        _P.MEASURING: {_P.JUDGING, _P.WAITING, _P.PLANNING, _P.DEPLOYING},
        _P.JUDGING: {_P.DESIGNING, _P.WAITING, _P.PLANNING, _P.DEPLOYING},
        _P.DESIGNING: {_P.PLANNING, _P.WAITING, _P.DEPLOYING},
        _P.PLANNING: {_P.WAITING, _P.DEPLOYING, _P.PLANNING},
        _P.DEPLOYING: {_P.WAITING, _P.DEPLOYING},
    },
)
ANSWERED_IN: Mapping[type[events.Event], Phase] = {
    events.Measured: Phase.MEASURING,
    events.Judged: Phase.JUDGING,
    events.Designed: Phase.DESIGNING,
    events.PlanMade: Phase.PLANNING,
    events.Deployed: Phase.DEPLOYING,
}
"""The one phase in which each answer is accepted."""
