"""The states of an adaptation, at a node that asks for it and at the one that leads it.

Ballots have states of their own (`election.ballot`); these cover what happens before and after.
"""

from enum import Enum

from regraft.model.transitions import Transitions


class WishState(Enum):
    """A request for an adaptation, at the node that asks (Mimosa Pudica §3.2).

    ● ─┬──its process is gone, its timer still runs──▶ EXPECTED ─┬──it is suspected──▶ ASKING
       │                                                         └──it is not suspected after all──▶ OVER
       └──suspected, asked for, or a rule applies──▶ ASKING

    ASKING ─┬──the database gives the grant──▶ ELECTING ─┬──the group has decided──▶ OVER
            │                                            └──too few answer, or it is not done yet──▶ PAUSED
            ├──denied, or nobody answers──▶ PAUSED ──after a while──▶ ASKING
            └──it is done meanwhile──▶ OVER

    PAUSED ──it is done meanwhile──▶ OVER
    """

    EXPECTED = "expected"
    ASKING = "asking for the grant"
    ELECTING = "the group elects and decides"
    PAUSED = "again later"
    OVER = "over"


WISHES = Transitions(
    {WishState.EXPECTED, WishState.ASKING},
    {
        WishState.EXPECTED: {WishState.ASKING, WishState.OVER},
        WishState.ASKING: {WishState.ELECTING, WishState.PAUSED, WishState.OVER},
        WishState.ELECTING: {WishState.PAUSED, WishState.OVER},
        WishState.PAUSED: {WishState.ASKING, WishState.OVER},
        WishState.OVER: (),
    },
)


class DutyState(Enum):
    """The work of a node that leads, or is about to (Mimosa Pudica §3.3, §4.2).

    ● ─┬──a majority follows it──▶ JUDGING ──the rules have been asked──▶ PROPOSED ─┬──accepted──▶ ACTING
       │                                                                            └──another leads──▶ OVER
       └──it leads after one that was suspected──▶ ACTING ──all is done, or why not is known──▶ OVER

    JUDGING ──another leads──▶ OVER
    """

    JUDGING = "judging"
    PROPOSED = "proposed to the group"
    ACTING = "carrying the decision out"
    OVER = "over"


DUTIES = Transitions(
    {DutyState.JUDGING, DutyState.ACTING},
    {
        DutyState.JUDGING: {DutyState.PROPOSED, DutyState.OVER},
        DutyState.PROPOSED: {DutyState.ACTING, DutyState.OVER},
        DutyState.ACTING: {DutyState.OVER},
        DutyState.OVER: (),
    },
)
