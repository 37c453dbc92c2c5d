"""Memory against oscillation: a candidate needs twice the gain for each remembered change that it undoes.

A change counts as undone by a candidate if at least half of its links, those added and those removed, would
be as they were before it. So traffic that swings between two patterns ends in one topology: every second
swing has to gain twice as much as those before, and no gain is above 100 %.
"""

from regraft.loop.policy import Policy
from regraft.loop.values import Candidate, Change


def undone(memory: tuple[Change, ...], candidate: Candidate) -> int:
    """How many of the remembered changes the candidate would undo."""
    added, removed = set(candidate.added), set(candidate.removed)
    return sum(_undoes(added, removed, change) for change in memory)


def _undoes(added: set[tuple[str, str]], removed: set[tuple[str, str]], change: Change) -> bool:
    back = len(removed.intersection(change.added)) + len(added.intersection(change.removed))
    return 2 * back >= len(change.added) + len(change.removed) > 0


def required_gain(memory: tuple[Change, ...], candidate: Candidate, policy: Policy) -> float:
    return policy.least_gain * float(2 ** undone(memory, candidate))


def still_remembered(memory: tuple[Change, ...], at: float, policy: Policy) -> tuple[Change, ...]:
    return tuple(change for change in memory if change.at > at - policy.memory_seconds)
