"""Parts that fail: the loop only observes until they work again, and tries them less and less often.

Measuring, coordination and the disk count as working when they have succeeded. Design, plan and deploy can
only be tried by using them: when it is time to try again the loop may act (`Trouble.lifted`).
"""

import msgspec

from regraft.loop.commands import Probe
from regraft.loop.turn import Turn
from regraft.loop.values import Trouble
from regraft.model.phrases import counted

PROBED = ("coordination", "disk")
"""Parts that can be asked whether they work; the others are tried by using them."""


def mark_failing(turn: Turn, part: str, reason: str) -> None:
    known = turn.state.troubles.get(part)
    failures = known.failures + 1 if known else 1
    policy = turn.policy
    wait = min(policy.back_off_seconds * 2.0 ** min(failures - 1, 30), policy.longest_back_off_seconds)
    trouble = Trouble(
        part=part,
        reason=reason,
        since=known.since if known else turn.at,
        failures=failures,
        retry_at=turn.at + wait,
    )
    turn.set(troubles={**turn.state.troubles, part: trouble})
    again = f"tried again in {wait:g} s" + (f", failure {failures} in a row" if failures > 1 else "")
    turn.log("degraded", f"{part} fails: {reason}; the loop only observes, {again}")


def mark_working(turn: Turn, part: str) -> None:
    """The part has just been seen to work."""
    trouble = turn.state.troubles.get(part)
    if trouble is None:
        return
    turn.set(troubles={name: each for name, each in turn.state.troubles.items() if name != part})
    lasted = turn.at - trouble.since
    text = f"{part} works again, after {lasted:.0f} s and {counted(trouble.failures, 'failure')}"
    turn.log("recovered", text, acted=True)


def try_again(turn: Turn) -> None:
    """Probe the parts that are due to be tried again, or let the loop use them."""
    for part, trouble in turn.state.troubles.items():
        if trouble.lifted or turn.at < trouble.retry_at:
            continue
        if part in PROBED:
            # Not probed again before the answer, which sets the time anew; this is for a lost answer.
            later = turn.at + turn.policy.longest_back_off_seconds
            _change(turn, trouble, retry_at=later)
            turn.do(Probe(part=part))
        elif part != "measure":  # `measure_if_due` tries it again
            _change(turn, trouble, lifted=True)


def _change(turn: Turn, trouble: Trouble, **fields: object) -> None:
    changed = msgspec.structs.replace(trouble, **fields)
    turn.set(troubles={**turn.state.troubles, trouble.part: changed})


def blocks(turn: Turn, *parts: str) -> bool:
    """Whether one of the parts fails and is not to be tried again yet."""
    found = (turn.state.troubles.get(part) for part in parts)
    return any(each is not None and not each.lifted and turn.at < each.retry_at for each in found)
