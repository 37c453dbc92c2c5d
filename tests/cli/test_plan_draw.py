"""Pictures: what each panel shows, where brokers and their names stand, and when none is drawn."""

import math
from itertools import combinations
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regraft.cli.labels import place_labels
from regraft.cli.layout import centre, places
from regraft.cli.plan_draw import MOST_STEPS, columns_for, draw_plan, panels_of
from regraft.cli.plan_frames import frames
from regraft.model import Action, BadInput, Bounds, Broker, Link, Plan, Step, Topology


def plan(current: Topology, goal: Topology, *steps: Step) -> Plan:
    return Plan(current.kind, current.sha256, goal.sha256, steps, "fast", Bounds(0, 0))


NOW = Topology.of([("a", "b"), ("b", "c"), ("c", "d")])
GOAL = Topology.of([("b", "c"), ("b", "d"), ("d", "e")])
STEPS = (
    (Action("append", ("e", "d")),),
    (Action("shift", ("d", "c", "b")),),
    (Action("detach", ("a", "b")),),
)
PLAN = plan(NOW, GOAL, *STEPS)


def test_frames_follow_the_plan_to_the_goal() -> None:
    first, second, third = frames(PLAN, NOW)
    assert first.links == set(NOW.by_ends)
    assert first.joining == {"e"}
    assert first.added == {("d", "e")}
    assert second.removed == {("c", "d")}
    assert second.added == {("b", "d")}
    assert second.guards == {("b", "c")}
    assert third.leaving == {"a"}
    assert third.removed == {("a", "b")}
    assert third.links_after == set(GOAL.by_ends)
    assert third.brokers_after == set(GOAL.ids)


def test_mesh_changes_have_frames_too() -> None:
    mesh = Topology.of([("a", "b")], ["a", "b", "c"], "mesh")
    (changed,) = frames(plan(mesh, mesh, (Action("link", ("c", "a")), Action("unlink", ("b", "a")))), mesh)
    assert changed.removed == {("a", "b")}
    assert changed.added == {("a", "c")}


def test_panels_show_before_each_step_and_after() -> None:
    before, first, second, third, after = panels_of(PLAN, NOW, GOAL)
    assert [panel.title for panel in (before, first, after)] == ["before", "step 1", "after"]
    assert before.links == {("a", "b"): "old", ("b", "c"): "goal", ("c", "d"): "old"}
    assert second.links[("c", "d")] == "removed"
    assert second.links[("b", "d")] == "added"
    assert second.links[("b", "c")] == "guard"
    assert (first.brokers["e"], third.brokers["a"]) == ("added", "removed")
    assert (first.subtitle, third.subtitle) == ("1 append", "1 detach")
    assert set(after.links.values()) == {"goal"}
    assert after.subtitle == "3 steps, 3 actions"


def test_of_a_long_plan_the_first_and_last_steps_are_shown() -> None:
    there, back = (Action("shift", ("a", "b", "c")),), (Action("shift", ("a", "c", "b")),)
    panels = panels_of(plan(NOW, NOW, *[there, back] * 20), NOW, NOW)
    assert len(panels) == MOST_STEPS + 3
    assert panels[MOST_STEPS // 2 + 1].title == f"… {40 - MOST_STEPS} more steps …"
    assert panels[-2].title == "step 40"


@given(st.integers(1, 60))
def test_rows_are_not_wider_than_five_and_not_wasted(panels: int) -> None:
    columns = columns_for(panels)
    assert 1 <= columns <= 5
    assert -panels % columns <= 2


@given(st.integers(1, 40).flatmap(lambda n: st.tuples(*[st.integers(0, i) for i in range(n)])))
def test_brokers_stand_apart_inside_the_square(above: tuple[int, ...]) -> None:
    tree = Topology.of([(f"b{i + 1}", f"b{j}") for i, j in enumerate(above)])
    star = Topology.of([("b0", f"b{i + 1}") for i in range(len(above))])
    where = places(tree, star)
    assert set(where) == set(tree.ids)
    assert all(-1e-9 <= coordinate <= 1 + 1e-9 for place in where.values() for coordinate in place)
    nearest = min(math.dist(where[one], where[other]) for one, other in combinations(where, 2))
    assert nearest > 0.15 / math.sqrt(len(where))


def test_brokers_with_coordinates_stand_on_the_map() -> None:
    cities = {"oslo": (59.9, 10.7), "rome": (41.9, 12.5), "lisbon": (38.7, -9.1)}
    brokers = tuple(Broker(id, latitude=y, longitude=x) for id, (y, x) in cities.items())
    tree = Topology(brokers, (Link(("oslo", "rome")), Link(("lisbon", "rome"))))
    where = places(tree, tree)
    assert where["oslo"][1] > where["rome"][1] > where["lisbon"][1]
    assert where["lisbon"][0] < where["oslo"][0] < where["rome"][0]


def test_brokers_on_one_spot_are_pulled_apart() -> None:
    brokers = tuple(Broker(id, latitude=1.0, longitude=2.0) for id in "abc")
    tree = Topology(brokers, (Link(("a", "b")), Link(("b", "c"))))
    assert len(set(places(tree, tree).values())) == 3


def test_brokers_that_come_and_go_and_isolated_ones_have_places() -> None:
    assert set(places(NOW, GOAL)) == set("abcde")
    apart = Topology.of([("a", "b")], ["a", "b", "c"], "mesh")
    assert set(places(apart, apart)) == set("abc")
    alone = Topology.of([], ["a"])
    assert set(places(alone, alone)) == {"a"}


def test_the_centre_is_in_the_middle_of_the_longest_way() -> None:
    assert centre(Topology.of([("a", "b"), ("b", "c"), ("c", "d"), ("d", "e")])) == "c"


def test_names_avoid_each_other_and_the_edge() -> None:
    points = {"left": (12.0, 50.0), "near": (16.0, 50.0), "far": (150.0, 50.0)}
    middle = place_labels({id: id for id in points}, points, [("left", "far")], 2.0, (200.0, 100.0))
    assert math.dist(middle["left"], middle["near"]) > 6
    assert all(8 < x < 192 for x, _ in middle.values())


def test_the_same_plan_gives_the_same_svg(tmp_path: Path) -> None:
    for name in ("one.svg", "two.svg"):
        draw_plan(PLAN, NOW, GOAL, tmp_path / name)
    assert (tmp_path / "one.svg").read_bytes() == (tmp_path / "two.svg").read_bytes()


def test_ids_with_dollars_and_any_script_are_drawn(tmp_path: Path) -> None:
    odd = Topology.of([("$x^", "布鲁克"), ("布鲁克", "<&>")])
    draw_plan(plan(odd, odd), odd, odd, tmp_path / "odd.svg")
    assert (tmp_path / "odd.svg").stat().st_size > 1000


def test_too_many_brokers_are_not_drawn(tmp_path: Path) -> None:
    large = Topology.of([("hub", f"b{i}") for i in range(401)])
    with pytest.raises(BadInput, match=r"more than 400 brokers"):
        draw_plan(plan(large, large), large, large, tmp_path / "large.svg")
    assert not list(tmp_path.iterdir())
