"""Did a change gain what it should have? The first whole window on the new topology shows it."""

from regraft.loop import events
from regraft.loop.commands import Settle
from regraft.loop.turn import Turn
from regraft.loop.values import ProposalState


def verify(turn: Turn, event: events.Judged) -> None:
    """Costs are compared per publication, because two windows never have the same traffic."""
    expected, window = turn.state.expected, event.window
    if expected is None or window.start < expected.after or not window.publications:
        return
    turn.set(expected=None)
    if event.cost is None or turn.state.topology != expected.goal or not expected.cost_before:
        return
    cost = event.cost / window.publications
    gained = 1 - cost / expected.cost_before
    numbers: dict[str, float | None] = {
        "expected_gain": expected.gain,
        "gain": gained,
        "cost_before": expected.cost_before,
        "cost_after": cost,
    }
    kind = "verified" if gained > 0 else "disappointed"
    text = f"a publication costs {cost:.4g} instead of {expected.cost_before:.4g}: {gained:.1%} saved"
    turn.log(kind, f"{text}, {expected.gain:.1%} were expected", plan=expected.plan, numbers=numbers)
    turn.do(Settle(plan=expected.plan, state=ProposalState.DONE, reason="carried out", measured_gain=gained))
