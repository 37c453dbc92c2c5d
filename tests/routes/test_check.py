"""The judge of routes: planted faults are named, and figures agree with following each event by hand."""

from collections.abc import Mapping
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from regraft.model.routes import Entry, Publisher, RouteLimits, Routes, RouteWorkload, Subscriber
from regraft.model.switch_network import SwitchNetwork
from regraft.routes.check import check

# a - b - c, b - d, and a second way a - d. Edges: ab 0, ba 1, bc 2, cb 3, bd 4, db 5, ad 6, da 7.
NETWORK = SwitchNetwork.of([("a", "b"), ("b", "c"), ("b", "d"), ("a", "d")])
WORKLOAD = RouteWorkload(
    (Publisher("p", "a", 8.0, ("0",)), Publisher("q", "c", 4.0, ("01",))),
    (Subscriber("s", "c", ("00", "010")), Subscriber("t", "d", ("01",))),
)
GOOD: Mapping[str, tuple[Entry, ...]] = {
    "a": (Entry("0", "p", (0,), ()),),
    "b": (Entry("0", None, (2,), ()), Entry("01", None, (4,), ()), Entry("010", None, (2, 4), ())),
    "c": (
        Entry("00", None, (), ("s",)),
        Entry("010", "p", (), ("s",)),
        Entry("01", "q", (3,), ()),
        Entry("010", "q", (3,), ("s",)),
    ),
    "d": (Entry("01", None, (), ("t",)),),
}


def routes(limits: RouteLimits = WORKLOAD.limits, **tables: tuple[Entry, ...]) -> Routes:
    return Routes(NETWORK, replace(WORKLOAD, limits=limits), "publisher", dict(GOOD) | tables)


def test_good_tables_have_no_faults_and_the_figures_of_a_calculation_by_hand() -> None:
    found = check(routes())
    assert found.faults == []
    # p makes 8: 4 in 00, 2 in 010, 2 in 011. q makes 4: 2 in 010, 2 in 011.
    assert found.rate_on.tolist() == [8.0, 0.0, 6.0, 4.0, 8.0, 0.0, 0.0, 0.0]
    assert found.data_rate == found.cost == 26.0
    assert found.false_positives == 0.0
    assert found.longest_path == 2
    assert found.flows_at == {"a": 1, "b": 3, "c": 4, "d": 1}
    assert found.flows == 9
    assert found.load_at == {"a": 8.0, "b": 12.0, "c": 10.0, "d": 8.0}
    assert found.deliveries == 6.0 + 4.0 + 2.0 + 4.0


def test_events_that_nobody_wants_behind_an_edge_are_counted() -> None:
    found = check(routes(b=(Entry("0", None, (2, 4), ()),)))
    assert found.faults == []
    # 011 of p needlessly to c, 00 of p needlessly to d.
    assert found.false_positives == 2.0 + 4.0


@pytest.mark.parametrize(
    ("tables", "fault"),
    [
        ({"d": ()}, "events of p do not reach t"),
        ({"d": (Entry("010", None, (), ("t",)),)}, "events of p do not reach t"),
        ({"c": (*GOOD["c"], Entry("011", "p", (), ("s",))), "b": (Entry("0", None, (2, 4), ()),)},
         "events of p reach s, which does not want them"),
        ({"a": (Entry("0", "p", (0, 6), ()),)}, "events of p come to d a second time"),
        ({"a": (Entry("0", None, (0, 6), ()),), "d": (Entry("0", None, (5,), ("t",)),)},
         "events of p come to"),
        ({"a": (Entry("0", "p", (2,), ()),)}, "uses an edge of another switch"),
        ({"a": (Entry("0", "p", (0,), ("t",)),)}, "delivers to a host that is not here"),
        ({"a": (Entry("0", "p", (0, 0), ()),)}, "sends twice"),
        ({"a": (Entry("0", "p", (0,), ()), Entry("0", "p", (), ()))}, "two entries for one expression"),
    ],
)  # fmt: skip
def test_a_planted_fault_is_named(tables: dict[str, tuple[Entry, ...]], fault: str) -> None:
    found = check(Routes(NETWORK, WORKLOAD, "publisher", dict(GOOD) | tables))
    assert any(fault in each for each in found.faults), found.faults


@pytest.mark.parametrize(
    ("limits", "fault"),
    [
        (RouteLimits(flows=3), "c: 4 flows, 3 are allowed"),
        (RouteLimits(flows=3, flows_at={"c": 4}), None),
        (RouteLimits(load=11.0), "b: 12 events per second, 11 are allowed"),
        (RouteLimits(load=11.0, load_at={"b": 12.0}), None),
        (RouteLimits(path_length=1), "s: a path of 2 edges, 1 are allowed"),
    ],
)
def test_broken_limits_are_named(limits: RouteLimits, fault: str | None) -> None:
    faults = check(routes(limits)).faults
    assert faults == [] if fault is None else fault in faults


def by_hand(given_routes: Routes, publisher: Publisher, point: str) -> tuple[list[int], list[str]]:
    """One event, one copy after the other: the edges it crosses and whom it reaches."""
    crossed: list[int] = []
    reached: list[str] = []
    copies = [(publisher.switch, "")]
    while copies and len(crossed) < 50:
        switch, came = copies.pop()
        table = given_routes.tables.get(switch, ())
        for name in (publisher.id, None):
            fits = [e for e in table if e.publisher == name and point.startswith(e.dz)]
            if fits:
                entry = max(fits, key=lambda each: len(each.dz))
                reached += entry.deliver
                for edge in entry.out:
                    if NETWORK.edges[edge].cable != came:
                        crossed.append(edge)
                        copies.append((NETWORK.edges[edge].target, NETWORK.edges[edge].cable))
                break
    return crossed, reached


HOSTS = {"c": "s", "d": "t"}


@st.composite
def random_tables(draw: st.DrawFn) -> dict[str, tuple[Entry, ...]]:
    tables = {}
    for switch in NETWORK.switches:
        entries = {}
        for _ in range(draw(st.integers(0, 3))):
            dz = draw(st.sampled_from(["0", "00", "01", "010", "011"]))
            name = draw(st.sampled_from([None, "p", "q"]))
            out = draw(st.sets(st.sampled_from(NETWORK.leaving[switch]), max_size=2))
            deliver = (HOSTS[switch],) if switch in HOSTS and draw(st.booleans()) else ()
            entries[dz, name] = Entry(dz, name, tuple(sorted(out)), deliver)
        tables[switch] = tuple(entries.values())
    return tables


@settings(max_examples=50, deadline=None)
@given(random_tables())
def test_the_judge_agrees_with_following_every_event(tables: dict[str, tuple[Entry, ...]]) -> None:
    given_routes = Routes(NETWORK, WORKLOAD, "publisher", tables)
    right, once, rates = True, True, [0.0] * len(NETWORK.edges)
    for publisher in WORKLOAD.publishers:
        points = [p for p in ("000", "001", "010", "011") if p.startswith(publisher.advertisement)]
        for point in points:
            crossed, reached = by_hand(given_routes, publisher, point)
            visited = [publisher.switch, *(NETWORK.edges[edge].target for edge in crossed)]
            wanted = [s.id for s in WORKLOAD.subscribers if point.startswith(s.subscription)]
            right &= sorted(reached) == wanted
            once &= len(set(visited)) == len(visited)
            for edge in crossed:
                rates[edge] += publisher.rate / len(points)
    found = check(given_routes)
    assert (found.faults == []) == (right and once)
    if once:
        assert found.rate_on.tolist() == pytest.approx(rates)
