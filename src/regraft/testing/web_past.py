"""The invented past of a service in memory: windows, a change, a proposal and decisions."""

import time
from random import Random

from regraft.evaluate.assess import assess
from regraft.loop.goals import Limits, Seen
from regraft.loop.judging import compare
from regraft.model import Plan, Topology
from regraft.model.workload import Workload
from regraft.serve import views as v
from regraft.serve.history import compared
from regraft.testing import web_overlay as made

WINDOW = 10.0
PAST = (
    ("kept", "gain 3 % is below the 10 % that a change needs"),
    ("kept", "gain 14 %, seen in 1 of 3 windows"),
    ("kept", "gain 19 %, seen in 2 of 3 windows"),
    ("proposed", "gain 21 % in 3 windows pays back the change in 40 s"),
)


def past(cost: float, started: float) -> list[v.Point]:
    """The windows of ten minutes in which the overlay was changed once."""
    rng = Random(5)
    points = []
    for n in range(60):
        before = n < 20
        points.append(
            v.Point(
                at=started - (60 - n) * WINDOW,
                routing_cost=cost * (1.4 if before else 1.0) * rng.uniform(0.97, 1.03),
                cost_per_publication=7.0 * (1.4 if before else 1.0),
                publications_per_second=240 * rng.uniform(0.9, 1.1),
                deliveries_per_second=900 * rng.uniform(0.9, 1.1),
                p50_ms=14 * rng.uniform(0.9, 1.2) * (1.3 if before else 1.0),
                p99_ms=62 * rng.uniform(0.9, 1.2) * (1.3 if before else 1.0),
                p999_ms=90 * rng.uniform(0.9, 1.2),
                queue=1024 * (rng.randrange(5, 40) + (160 if 19 <= n <= 21 else 0)),
                epoch=6 if before else 7,
            )
        )
    return points


def changed(points: list[v.Point]) -> v.RunMark:
    """The change that the points show."""
    return v.RunMark(
        run="2-past",
        plan="0" * 64,
        began=points[19].at,
        ended=points[20].at,
        state="done",
        cause="loop",
        back=False,
        actions=14,
        published=300,
        delivered=900,
        lost=0,
        duplicated=0,
        reordered=0,
    )


def snapshot(point: v.Point, classes: int) -> v.SnapshotView:
    return v.SnapshotView(
        id=time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(point.at - WINDOW)),
        start=point.at - WINDOW,
        end=point.at,
        measured_at=point.at + 1,
        seconds=0.8,
        publications=2400,
        deliveries=9000,
        records=31_000,
        rejected=0,
        late=2,
        classes=classes,
        topics=12,
        p50_ms=point.p50_ms,
        p99_ms=point.p99_ms,
        queue=point.queue,
        epoch=point.epoch,
        numbers={"routing_cost": point.routing_cost},
    )


def proposed(
    plan: Plan, current: Topology, goal: Topology, workload: Workload, started: float, epoch: int
) -> v.ProposalView:
    """A plan that waits for a person, judged by the goals of the loop."""
    now, then = (Seen(each, assess(each, workload, made.NUMBERS), WINDOW) for each in (current, goal))
    found = compare(now, then, Limits(max_degree=12), tolerance=0.005)
    before, after = dict(now.assessment.numbers), dict(then.assessment.numbers)
    one, two = before["routing_cost"] or 1.0, after["routing_cost"] or 0.0
    return v.ProposalView(
        sha256=plan.sha256,
        state="waiting",
        reason="the mode is propose",
        cause="traffic",
        made_at=started,
        changed_at=started,
        window=None,
        windows=3,
        windows_needed=3,
        initial=current.sha256,
        goal=goal.sha256,
        epoch=epoch,
        planner="fast",
        method="ocbr",
        steps=len(plan.steps),
        actions=plan.actions,
        gain=1 - two / one,
        improves="routing_cost",
        needed_gain=0.05,
        saved_per_hour=(one - two) * 360,
        price=420.0,
        pays_back_after=420.0 / max(one - two, 1.0) * WINDOW,
        needs_approval="the mode is propose",
        numbers_before=before,
        numbers_after=after,
        verdicts=compared(found),
    )


def healed(broker: str, at: float, number: int) -> v.AdaptationView:
    return v.AdaptationView(
        id=f"a{number}",
        kind="delete",
        cause=f"{broker} does not answer",
        at=at,
        rules=("deleteBrokerRules",),
        leader="b1",
        intents=(),
        said=(f"delete {broker}",),
        timeout_ms=320.0,
        vote_ms=40.0,
        election_ms=25.0,
        adaptation_ms=380.0,
        outcome="done",
        reason="",
    )
