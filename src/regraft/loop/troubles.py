"""Parts that fail: the loop only observes until they work again, and tries them less and less often.

Measuring, coordination and the disk count as working when they have succeeded. Design, plan and deploy can
only be tried by using them: when it is time to try again the loop may act (`Trouble.lifted`).
"""

import msgspec

from regraft.loop.commands import Probe
from regraft.loop.step_draft import StepDraft
from regraft.loop.values import Trouble
from regraft.model.phrases import counted

PROBED = ("coordination", "disk")
"""Parts that can be asked whether they work; the others are tried by using them."""


def mark_failing(draft: StepDraft, part: str, reason: str) -> None:
    known = draft.state.troubles.get(part)
    failures = known.failures + 1 if known else 1
    policy = draft.policy
    wait = min(policy.back_off_seconds * 2.0 ** min(failures - 1, 30), policy.longest_back_off_seconds)
    trouble = Trouble(
        part=part,
        reason=reason,
        since=known.since if known else draft.at,
        failures=failures,
        retry_at=draft.at + wait,
    )
    draft.set(troubles={**draft.state.troubles, part: trouble})
    again = f"tried again in {wait:g} s" + (f", failure {failures} in a row" if failures > 1 else "")
    draft.log("degraded", f"{part} fails: {reason}; the loop only observes, {again}")


def mark_working(draft: StepDraft, part: str) -> None:
    """The part has just been seen to work."""
    trouble = draft.state.troubles.get(part)
    if trouble is None:
        return
    draft.set(troubles={name: each for name, each in draft.state.troubles.items() if name != part})
    lasted = draft.at - trouble.since
    text = f"{part} works again, after {lasted:.0f} s and {counted(trouble.failures, 'failure')}"
    draft.log("recovered", text, acted=True)


def try_again(draft: StepDraft) -> None:
    """Probe the parts that are due to be tried again, or let the loop use them."""
    for part, trouble in draft.state.troubles.items():
        if trouble.lifted or draft.at < trouble.retry_at:
            continue
        if part in PROBED:
            # Not probed again before the answer, which sets the time anew; this is for a lost answer.
            later = draft.at + draft.policy.longest_back_off_seconds
            _change(draft, trouble, retry_at=later)
            draft.do(Probe(part=part))
        elif part != "measure":  # `measure_if_due` tries it again
            _change(draft, trouble, lifted=True)


def _change(draft: StepDraft, trouble: Trouble, **fields: object) -> None:
    changed = msgspec.structs.replace(trouble, **fields)
    draft.set(troubles={**draft.state.troubles, trouble.part: changed})


def blocks(draft: StepDraft, *parts: str) -> bool:
    """Whether one of the parts fails and is not to be tried again yet."""
    found = (draft.state.troubles.get(part) for part in parts)
    return any(each is not None and not each.lifted and draft.at < each.retry_at for each in found)
