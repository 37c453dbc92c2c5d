"""Is one topology better than another? Goals in order: a later one never breaks an earlier one.

A candidate is accepted for the sake of the first goal that it clearly improves. Every goal before that one
must be kept as it is (within the tolerance), and no hard goal at all may be broken, or get worse if it is
broken already. Goals after it may get worse: they matter less.
"""

from collections.abc import Sequence

import msgspec

from regraft.loop.goals import GOALS, Goal, Limits, Seen, Verdict, goal_name


class Comparison(msgspec.Struct, frozen=True, kw_only=True):
    """`improves` is the goal for whose sake the change is good, `gain` by how much (0.31: 31 % less);
    `against` is why it is not to be made."""

    now: tuple[Verdict, ...]
    then: tuple[Verdict, ...]
    improves: str | None = None
    gain: float = 0.0
    expects: str = ""
    """Which forecast of the traffic the gain is in; empty: in the traffic that was measured."""
    error: float = 0.0
    """The standard error of a gain of the routing cost; 0 if the traffic is not estimated from a sample."""
    mends: bool = False
    """What it improves is a hard goal that is broken now."""
    against: str | None = None

    def refused(self, reason: str) -> "Comparison":
        """The same numbers, and a reason against the change."""
        return Comparison(now=self.now, then=self.then, against=reason)

    @property
    def gain_numbers(self) -> dict[str, float | None]:
        """The gain, and its standard error if it has one, for the decision log."""
        found: dict[str, float | None] = {"gain": self.gain}
        return found | {"gain_error": self.error} if self.error else found


def judge(seen: Seen, limits: Limits, goals: Sequence[Goal] = GOALS) -> tuple[Verdict, ...]:
    """The verdict of each goal that applies, in order of priority."""
    found = (goal.judge(seen, limits) for goal in goals)
    return tuple(verdict for verdict in found if verdict is not None)


def compare(
    now: Seen, then: Seen, limits: Limits, tolerance: float, goals: Sequence[Goal] = GOALS
) -> Comparison:
    """Compare the topology `then` with the topology `now`, for the same traffic."""
    return weigh(judge(now, limits, goals), judge(then, limits, goals), tolerance)


def weigh(now: tuple[Verdict, ...], then: tuple[Verdict, ...], tolerance: float) -> Comparison:
    before = {verdict.goal: verdict for verdict in now}
    improves: str | None = None
    gain = 0.0
    mends = False
    if (fault := broken(now, then, tolerance)) is not None:
        return Comparison(now=now, then=then, against=fault)
    for verdict in then:
        old = before.get(verdict.goal)
        if improves is not None:
            continue
        change = _gain(old, verdict)
        if verdict.hard:
            if old is not None and old.kept is False and verdict.kept:
                improves, gain, mends = verdict.goal, max(change, 0.0), True
        elif change < -tolerance:
            worse = f"{goal_name(verdict.goal)} would get worse: {verdict.reason}"
            return Comparison(now=now, then=then, against=worse)
        elif change > tolerance:
            improves, gain = verdict.goal, change
    against = None if improves else "no goal gets better"
    return Comparison(now=now, then=then, improves=improves, gain=gain, mends=mends, against=against)


def beyond_chance(found: Comparison, error: float, errors: float, one_in: float) -> Comparison:
    """The comparison, with a reason against the change if its gain of the routing cost is at most `errors`
    times its standard `error`. `one_in`: how many publications a recorded one stands for."""
    if found.improves != "routing_cost" or not error:
        return found
    chance, tested = errors * error, msgspec.structs.replace(found, error=error)
    if found.gain > chance:
        return tested
    but = f"{found.gain:.1%} less routing cost, but {chance:.1%} may be chance"
    reason = f"{but}: one publication in {round(one_in, 1):g} was recorded"
    return msgspec.structs.replace(tested, against=reason)


def broken(now: tuple[Verdict, ...], then: tuple[Verdict, ...], tolerance: float) -> str | None:
    """The first hard goal that the change would break, or make worse; None if there is none."""
    before = {verdict.goal: verdict for verdict in now}
    for verdict in then:
        if verdict.hard and not _as_good(before.get(verdict.goal), verdict, tolerance):
            return f"{goal_name(verdict.goal)}: {verdict.reason}"
    return None


def _as_good(old: Verdict | None, new: Verdict, tolerance: float) -> bool:
    """Whether a hard goal is kept or, if it was broken or unknown before, at least not worse."""
    if new.kept or old is None:
        return bool(new.kept)
    if new.kept is None:
        return old.kept is None
    return old.kept is False and _gain(old, new) >= -tolerance


def _gain(old: Verdict | None, new: Verdict) -> float:
    """How much smaller the number is, relative to the old one."""
    before, after = _measure(old), _measure(new)
    if before is None or after is None or before == after:
        return 0.0
    return (before - after) / abs(before) if before else -1.0


def _measure(verdict: Verdict | None) -> float | None:
    """The number in units of its limit, if it has one.

    The verdict on capacity may be about a broker in one topology and about a link in the other; only their
    shares of their limits can be compared.
    """
    if verdict is None or verdict.number is None:
        return None
    return verdict.number / verdict.limit if verdict.limit else verdict.number
