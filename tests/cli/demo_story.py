"""An invented story, for the tests of the demo's summary and report."""

from itertools import pairwise
from random import Random

from regraft.demo.network import hub_tree, network
from regraft.demo.story import CarriedOut, Decision, HealedCrash, Sample, Story, period
from regraft.demo.tally import Counts
from regraft.model import Ends, ends

BEGAN = 1_800_000_000.0
NET = network()
TREE = hub_tree(NET)
BEFORE = tuple(sorted(TREE.by_ends))


def without(dead: str, links: tuple[Ends, ...]) -> tuple[Ends, ...]:
    """The links without this broker; its neighbours are joined in a chain."""
    near = sorted({end for pair in links if dead in pair for end in pair} - {dead})
    return tuple(
        sorted({*(pair for pair in links if dead not in pair), *(ends(*two) for two in pairwise(near))})
    )


def samples(seconds: int = 60, each: int = 40) -> list[Sample]:
    random = Random(1)
    return [
        (BEGAN + second + number / each, 5 + random.expovariate(0.2) * (4 if 25 < second < 28 else 1))
        for second in range(seconds)
        for number in range(each)
    ]


def story(counts: Counts | None = None) -> Story:
    seen = samples()
    times = (("before", 1, 20, 71.5), ("during", 20, 23, 74.0), ("after", 23, 40, 56.0))
    return Story(
        began=BEGAN,
        seconds=98.7,
        brokers=24,
        publishers=12,
        subscribers=23,
        rate=150.0,
        counts=counts or Counts(published=9_000, due=69_000, delivered=69_000),
        periods=(
            *(period(name, seen, BEGAN + a, BEGAN + b, cost) for name, a, b, cost in times),
            period("healing", seen, BEGAN + 40, BEGAN + 43),
            period("healed", seen, BEGAN + 43, BEGAN + 60),
        ),
        change=CarriedOut(
            plan="abcdef0123456789" * 4,
            method="global",
            planner="fast",
            gain=0.217,
            measured_gain=0.21,
            steps=3,
            actions=9,
            seconds=2.9,
            waited=8.4,
            measuring=4.2,
            costs=(71.5, 70.0, 74.0, 56.0),
            canaries={"published": 140, "delivered": 420, "lost": 0, "duplicated": 0, "reordered": 0},
            moves=(
                ("shift(Roma, Milan, Zurich)",),
                ("shift(<b>, b, c)", "shift(d, e, f)"),
                ("shift(g, h, i)",),
            ),
        ),
        healing=HealedCrash(
            victim="Frankfurt",
            pid=4711,
            links=8,
            deputy=0.12,
            removed=2.5,
            by="Paris",
            rules=("deleteBrokerRules",),
            timeout_ms=31.0,
            vote_ms=12.0,
            election_ms=40.0,
            adaptation_ms=35.0,
        ),
        before=BEFORE,
        after=BEFORE,
        healed=without("Frankfurt", BEFORE),
        decisions=(
            Decision(at=BEGAN + 14, kind="proposed", text="3 steps, 9 actions save 21.7% of routing_cost"),
            Decision(at=BEGAN + 40, kind="verified", text="a publication costs <less>"),
        ),
        windows=(
            {
                "start": BEGAN,
                "end": BEGAN + 10,
                "publications": 1500,
                "deliveries": 11500,
                "records": 31000,
                "seconds": 4.2,
                "p50_ms": 9.0,
                "p99_ms": 31.0,
                "cost": 71.5,
            },
            {
                "start": BEGAN + 10,
                "end": BEGAN + 20,
                "publications": 1500,
                "deliveries": 11500,
                "records": 31000,
                "seconds": 3.9,
                "p50_ms": None,
                "p99_ms": None,
                "cost": None,
            },
        ),
    )
