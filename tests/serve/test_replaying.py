"""The loop with its real designer on made-up windows: traffic that stays, moves, and swings."""

import itertools
from collections.abc import Iterable
from dataclasses import replace

from regraft.estate.windows import MeasuredWindow
from regraft.loop.goals import Limits
from regraft.loop.policy import Mode, Policy
from regraft.model import Limits as PlanLimits
from regraft.model import Topology
from regraft.model.traffic import TrafficClass
from regraft.model.workload import Workload
from regraft.serve.designing import TopologyDesigner
from regraft.serve.network_facts import NetworkFacts
from regraft.serve.replaying import Replay, replay

IDS = [f"b{number}" for number in range(10)]
CHAIN = Topology.of(itertools.pairwise(IDS))
ONE = [(IDS[number], IDS[number + 5]) for number in range(5)]
OTHER = [(IDS[number], IDS[9 - number]) for number in range(5)]


def window(number: int, pairs: Iterable[tuple[str, str]], demand: float = 500.0) -> MeasuredWindow:
    traffic = tuple(TrafficClass(frozenset(pair), demand) for pair in pairs)
    count = round(demand * len(traffic))
    return MeasuredWindow(
        60.0 * number, 60.0 * (number + 1), Workload(traffic), count, count, 1, None, None, None, None, {}
    )


def designer(limits: Limits | None = None, **policy: object) -> TopologyDesigner:
    settings = Policy(**{"confirm": 2, "cool_down_seconds": 60.0, **policy})  # type: ignore[arg-type]
    plan = PlanLimits(time_limit=0.05, max_degree=limits.max_degree if limits else None)
    return TopologyDesigner(NetworkFacts(), limits or Limits(), settings, plan, time_limit=0.3)


def played(windows: list[MeasuredWindow], mode: Mode = "automatic", **policy: object) -> Replay:
    return replay(windows, CHAIN, [designer(None, **policy)], mode)[0]


def test_traffic_that_stays_is_served_better_after_one_change() -> None:
    found = played([window(number, ONE) for number in range(8)])
    assert len(found.changes) == 1
    assert found.changes[0].window == window(1, ONE).id, "confirmed in the second window"
    assert found.windows[-1].cost_with is not None
    assert found.windows[-1].cost is not None
    assert found.windows[-1].cost_with < 0.6 * found.windows[-1].cost
    assert found.saved_share > 0.2
    assert [each.kind for each in found.decisions].count("verified") == 1


def test_the_same_traffic_is_followed_if_it_is_exact_and_left_alone_if_it_is_sampled_thinly() -> None:
    def sampled(one_in: int) -> list[MeasuredWindow]:
        windows = [window(number, ONE) for number in range(8)]
        variances = {members: (one_in - 1) * demand for members, demand in windows[0].workload.traffic}
        return [replace(each, workload=replace(each.workload, variances=variances)) for each in windows]

    exact, dense, thin = (played(sampled(one_in)) for one_in in (1, 10, 1000))
    assert len(exact.changes) == len(dense.changes) == 1
    assert exact.windows[-1].cost_with == dense.windows[-1].cost_with
    said = next(each for each in dense.decisions if each.kind == "proposed")
    assert "(standard error " in said.text
    assert 0 < (said.numbers["gain_error"] or 0.0) < 0.1
    assert "gain_error" not in next(each for each in exact.decisions if each.kind == "proposed").numbers
    assert not thin.changes
    assert any("may be chance: one publication in 1000 was recorded" in each.text for each in thin.decisions)


def test_traffic_that_moves_is_followed() -> None:
    windows = [window(number, ONE if number < 6 else OTHER) for number in range(14)]
    found = played(windows)
    assert len(found.changes) == 2
    best = played([window(number, OTHER) for number in range(8)])
    assert found.windows[-1].cost_with == best.windows[-1].cost_with


def test_traffic_that_flips_every_window_settles() -> None:
    windows = [window(number, (ONE, OTHER)[number % 2]) for number in range(60)]
    found = played(windows)
    assert len(found.changes) <= 2
    assert all(change.at < windows[20].end for change in found.changes), "nothing more is changed later"
    assert found.cost_with <= found.cost


def test_traffic_that_flips_slowly_settles_because_changes_are_remembered() -> None:
    """Each swing gains 30 % for four windows; without memory it would be followed for ever."""
    windows = [window(number, (ONE, OTHER)[number // 4 % 2]) for number in range(80)]
    forgetful = played(windows, confirm=1, cool_down_seconds=0.0, memory_seconds=0.0)
    found = played(windows, confirm=1, cool_down_seconds=0.0, memory_seconds=1e9)
    assert len(forgetful.changes) >= 15
    assert len(found.changes) <= 6
    assert all(change.at < windows[40].end for change in found.changes)


def test_in_mode_observe_nothing_changes_and_it_is_said_what_could() -> None:
    found = played([window(number, ONE) for number in range(4)], "observe")
    assert not found.changes
    assert found.cost == found.cost_with
    assert "would-propose" in [each.kind for each in found.decisions]


def test_in_mode_propose_every_proposal_is_approved() -> None:
    found = played([window(number, ONE) for number in range(4)], "propose")
    assert len(found.changes) == 1
    assert [each.by for each in found.decisions if each.kind == "approved"] == ["whoever is asked"]


def test_a_limit_of_degrees_is_kept_by_what_is_designed() -> None:
    hub = [(IDS[0], other) for other in IDS[2:]]
    windows = [window(number, hub) for number in range(6)]
    makers = [designer(), designer(Limits(max_degree=3))]
    free, bound = replay(windows, CHAIN, makers, "automatic")
    assert free.with_loop is not None
    assert bound.with_loop is not None
    assert max(map(len, free.with_loop.neighbours.values())) > 3
    assert max(map(len, bound.with_loop.neighbours.values())) <= 3
    assert bound.changes
    assert bound.cost_with < bound.cost


def test_little_traffic_is_not_worth_a_change() -> None:
    found = played([window(number, ONE, demand=30.0) for number in range(6)], payback_windows=0.5)
    assert not found.changes
    assert any("not worth it" in each.text for each in found.decisions)


def test_without_windows_nothing_is_found() -> None:
    (found,) = replay([], CHAIN, [designer()], "automatic")
    assert (found.windows, found.changes, found.saved_share) == ([], [], 0.0)
