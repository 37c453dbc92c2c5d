"""Plans, action costs and interest in files: the round trip, and each broken rule with its place."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.model.measured_tables import write_tables

from regraft.model import Action, ActionCosts, BadInput, Bounds, Plan, Proof, Topology
from regraft.model.cost_files import costs_from, read_costs
from regraft.model.interest_files import read_interest
from regraft.model.plan_files import ARGUMENTS, plan_from, read_plan, write_plan

HERE, THERE = Topology.of([("a", "b"), ("b", "c")]).sha256, Topology.of([("a", "c"), ("b", "c")]).sha256
PLAN = Plan(
    "tree", HERE, THERE, ((Action("shift", ("a", "b", "c")),),), "fast", Bounds(1, 1), Proof("all", 1, 1)
)

ids = st.text(st.characters(codec="utf-8"), min_size=1, max_size=4)


@st.composite
def plans(draw: st.DrawFn) -> Plan:
    kind, operations = draw(
        st.sampled_from(
            [
                ("tree", ["shift", "append", "detach"]),
                ("mesh", ["link", "unlink", "append", "detach"]),
            ]
        )
    )
    operation = st.sampled_from(operations)
    action = operation.flatmap(
        lambda name: st.tuples(*[ids] * ARGUMENTS[name]).map(lambda brokers: Action(name, brokers))
    )
    steps = draw(st.lists(st.lists(action, max_size=3).map(tuple), max_size=4).map(tuple))
    sizes = st.integers(0, 10**6)
    proof = draw(st.none() | st.builds(Proof, st.text(st.characters(codec="utf-8")), sizes, sizes))
    return Plan(kind, HERE, THERE, steps, draw(ids), Bounds(draw(sizes), draw(sizes)), proof)  # type: ignore[arg-type]


@given(plan=plans())
def test_a_plan_survives_the_round_trip(plan: Plan, tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("plan") / "plan.json"
    write_plan(plan, path)
    assert read_plan(path) == plan
    assert json.loads(path.read_text("utf-8"))["sha256"] == plan.sha256


def test_the_file_has_the_public_fields(tmp_path: Path) -> None:
    write_plan(PLAN, tmp_path / "plan.json")
    assert json.loads((tmp_path / "plan.json").read_text()) == {
        "kind": "tree",
        "initial": HERE,
        "goal": THERE,
        "steps": [[["shift", "a", "b", "c"]]],
        "planner": "fast",
        "bounds": {"steps": 1, "actions": 1},
        "proof": {"over": "all", "steps": 1, "actions": 1},
        "sha256": PLAN.sha256,
    }


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"steps": [[["shift", "a", "b", "d"]]]}, "sha256: is not that of the content"),
        ({"steps": []}, "sha256: is not that of the content"),
        ({"goal": HERE}, "sha256: is not that of the content"),
        ({"sha256": "0" * 64}, "sha256: is not that of the content"),
        ({"sha256": "0"}, "sha256: must be a sha256"),
        ({"initial": 5}, "initial: must be a string"),
        ({"kind": "mesh"}, "steps[0][0]: shift is not an operation on a mesh"),
        ({"kind": "ring"}, "kind: must be 'tree' or 'mesh'"),
        ({"steps": {}}, "steps: must be a list"),
        ({"steps": [5]}, "steps[0]: must be a list"),
        ({"steps": [[[]]]}, "steps[0][0]: unknown operation None"),
        ({"steps": [[[["shift"]]]]}, "steps[0][0]: unknown operation ['shift']"),
        ({"steps": [[["twist", "a"]]]}, "steps[0][0]: unknown operation 'twist'"),
        ({"steps": [[["shift", "a", "b"]]]}, "steps[0][0]: shift takes 3 brokers, not 2"),
        ({"steps": [[["shift", "a", "b", 3]]]}, "steps[0][0][3]: a broker id must be a string"),
        ({"planner": None}, "planner: must be a string"),
        ({"bounds": {"steps": 1}}, "bounds: the field 'actions' is missing"),
        ({"bounds": {"steps": -1, "actions": 0}}, "bounds.steps: must be a whole number from 0"),
        ({"bounds": {"steps": 1.5, "actions": 0}}, "bounds.steps: must be a whole number"),
        ({"proof": {"steps": 1, "actions": 1}}, "proof: the field 'over' is missing"),
        ({"proof": 7}, "proof: must be an object"),
    ],
)
def test_a_broken_or_changed_plan_is_refused(change: dict[str, Any], expected: str, tmp_path: Path) -> None:
    path = tmp_path / "plan.json"
    path.write_text(json.dumps(PLAN.as_json() | {"sha256": PLAN.sha256} | change))
    with pytest.raises(BadInput) as caught:
        read_plan(path)
    assert str(caught.value).startswith(f"{path}: {expected}")


@pytest.mark.parametrize("missing", ["kind", "initial", "goal", "steps", "planner", "bounds", "sha256"])
def test_each_field_of_a_plan_is_needed(missing: str) -> None:
    document = PLAN.as_json() | {"sha256": PLAN.sha256}
    del document[missing]
    with pytest.raises(BadInput, match=f"the field '{missing}' is missing"):
        plan_from(document)


def test_costs_are_read_by_operation_and_by_action(tmp_path: Path) -> None:
    path = tmp_path / "costs.json"
    path.write_text('{"shift": 2, "append": 4, "actions": [{"action": ["shift", "a", "b", "c"], "cost": 7}]}')
    costs = read_costs(path)
    assert costs == ActionCosts({Action("shift", ("a", "b", "c")): 7}, {"shift": 2, "append": 4})
    assert costs.of(Action("detach", ("a", "b"))) == 1


@pytest.mark.parametrize(
    ("document", "expected"),
    [
        ([], "must be an object"),
        ({"shfit": 1}, "'shfit': unknown operation"),
        ({"shift": -1}, "shift: must be a whole number from 0"),
        ({"shift": 1.5}, "shift: must be a whole number"),
        ({"shift": True}, "shift: must be a whole number"),
        ({"shift": 10**10}, "shift: must be a whole number from 0 to 1000000000"),
        ({"actions": {}}, "actions: must be a list"),
        ({"actions": [7]}, "actions[0]: must be an object"),
        ({"actions": [{"cost": 1}]}, "actions[0]: the field 'action' is missing"),
        ({"actions": [{"action": ["shift", "a", "b", "c"]}]}, "actions[0]: the field 'cost' is missing"),
        ({"actions": [{"action": ["shift", "a"], "cost": 1}]}, "actions[0].action: shift takes 3 brokers"),
        (
            {"actions": [{"action": ["link", "a", "b"], "cost": 1}] * 2},
            "actions[1]: the cost of link(a, b) is given twice",
        ),
    ],
)
def test_broken_costs_are_refused(document: Any, expected: str) -> None:
    with pytest.raises(BadInput) as caught:
        costs_from(document)
    assert str(caught.value).startswith(expected)


def test_interest_is_grouped_by_topic(tmp_path: Path) -> None:
    path = tmp_path / "interest.csv"
    path.write_text('topic,node,since\nt1,a,1\nt1,b,2\n\n"t,2",a,3\nt1,a,4\n')
    assert read_interest(path) == {"t1": {"a", "b"}, "t,2": {"a"}}


def test_the_measured_table_is_interest_as_it_is(tmp_path: Path) -> None:
    """Rows that have ended do not count, publishers do."""
    ended = datetime(2026, 1, 5, tzinfo=UTC)
    rows: list[dict[str, Any]] = [
        {"broker": "a", "role": "publisher", "topic": "t", "until": None},
        {"broker": "b", "role": "subscriber", "topic": "t", "until": None},
        {"broker": "c", "role": "subscriber", "topic": "t", "until": ended},
        {"window": 60_000_000, "broker": "c", "role": "subscriber", "topic": "u", "until": None},
    ]
    write_tables(tmp_path / "tables", {"interest": rows})
    assert read_interest(tmp_path / "tables" / "interest") == {"t": {"a", "b"}, "u": {"c"}}
    (tmp_path / "interest.csv").write_text("broker,topic,until\na,t,\nb,t,2026-01-05\n")
    assert read_interest(tmp_path / "interest.csv") == {"t": {"a"}}


def test_interest_that_pins_no_topic_is_refused(tmp_path: Path) -> None:
    table = pa.table({"broker": ["a"], "topic": pa.array([None], pa.string())})
    pq.write_table(table, tmp_path / "interest.parquet")
    with pytest.raises(BadInput, match=r"row 0\.topic: is missing: a mesh serves"):
        read_interest(tmp_path / "interest.parquet")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a,b\n", "line 1: the header must name the columns"),
        ("node,topic\na,t\nb\n", "line 3: a row needs a node and a topic"),
        ("node,topic\na,\n", "line 2: a row needs a node and a topic"),
        ('node,topic\n"a,t\n', "line 2: not CSV"),
        ("", "the file is empty"),
    ],
)
def test_broken_interest_is_refused(text: str, expected: str, tmp_path: Path) -> None:
    path = tmp_path / "interest.csv"
    path.write_text(text)
    with pytest.raises(BadInput) as caught:
        read_interest(path)
    assert str(caught.value).startswith(f"{path}: {expected}")
