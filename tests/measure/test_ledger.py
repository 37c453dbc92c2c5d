"""Runs take turns: whatever two of them do at once, or one leaves behind, only whole commits count."""

import random
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import msgspec
import pyarrow as pa
import pytest

from regraft.measure.lake import Lake, Superseded
from regraft.measure.ledger import PipelineState, Turn, _claimed, commit, read_state, resumed, turn
from regraft.model import BadInput
from regraft.model.delta import DATE, WINDOW, open_table
from regraft.model.snapshot import STATE, Counts, read_snapshot

pytestmark = pytest.mark.slow

WIDTH = 60_000_000
TABLES = ("one", "two")
WINDOW_TYPE = pa.timestamp("us", tz="UTC")


def row(window: int, value: int) -> pa.Table:
    columns = {
        WINDOW: pa.array([window * WIDTH], pa.int64()).cast(WINDOW_TYPE),
        "value": pa.array([value], pa.int64()),
        DATE: pa.array(["1970-01-01"]),
    }
    return pa.table(columns)


def committed(now: Turn) -> Turn:
    state = msgspec.structs.replace(now.state, commit=now.state.commit + 1)
    manifest = {"snapshot": state.commit, "counts": Counts().as_json()}
    return Turn(commit(state, now.lake, manifest), now.lake)


def values(place: str) -> dict[str, list[int]]:
    """What the newest versions hold, which readers see that know nothing of snapshots."""
    found = {}
    for name in TABLES:
        lake = Lake(place, 0, {name: table.version()} if (table := open_table(f"{place}/{name}")) else {})
        rows = lake.read(name, ["value"])
        found[name] = [] if rows is None else sorted(rows["value"].to_pylist())
    return found


def test_two_runs_on_one_machine_are_refused(tmp_path: Path) -> None:
    out = str(tmp_path)
    with turn(out, WIDTH), pytest.raises(BadInput, match="another run is writing"), turn(out, WIDTH):
        pass


@pytest.fixture(params=["folder", "s3"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "folder":
        return str(tmp_path / "out")
    return f"{request.getfixturevalue('bucket')}/out"


def test_a_run_that_is_superseded_changes_nothing_and_its_rows_are_taken_back(place: str) -> None:
    first = _claimed(place, WIDTH)
    for name in TABLES:
        first.lake.append_rows(name, row(1, 1))
    first = committed(first)
    # It goes on writing while another one, on another host, begins and commits.
    first.lake.append_rows("one", row(2, 2))
    second = _claimed(place, WIDTH)
    first.lake.append_rows("two", row(2, 2))
    second.lake.append_rows("one", row(3, 3))
    with pytest.raises(Superseded, match="another run writes there now"):
        committed(first)
    with pytest.raises(Superseded):
        first.lake.append_rows("one", row(4, 4))
    with pytest.raises(Superseded):
        resumed(place, WIDTH, first.lake.epoch)
    second.lake.delete_windows("two", [WIDTH])
    second.lake.append_rows("two", row(1, 5))
    second = committed(second)
    assert values(place) == {"one": [1, 3], "two": [5]}
    assert read_snapshot(place).version == 2
    assert resumed(place, WIDTH, second.lake.epoch).state == second.state


class Driver(NamedTuple):
    now: Turn
    wrote: dict[str, list[int]]


@pytest.mark.parametrize("seed", range(6))
def test_with_any_order_of_starts_kills_and_commits_the_tables_are_those_of_the_commits(
    tmp_path: Path, seed: int
) -> None:
    """Up to three drivers at once; every commit is checked against a list in memory."""
    chance, place = random.Random(seed), str(tmp_path)
    expected: dict[str, list[int]] = {name: [] for name in TABLES}
    drivers: list[Driver] = []
    commits = lost = 0
    for number in range(60):
        if not drivers or (len(drivers) < 3 and chance.random() < 0.15):
            drivers.append(Driver(_claimed(place, WIDTH), {name: [] for name in TABLES}))
            continue
        driver = chance.choice(drivers)
        act = chance.choice(["write", "write", "write", "commit", "kill"])
        try:
            if act == "write":
                name = chance.choice(TABLES)
                driver.now.lake.append_rows(name, row(number, number))
                driver.wrote[name].append(number)
            elif act == "commit":
                drivers.remove(driver)
                drivers.append(Driver(committed(driver.now), {name: [] for name in TABLES}))
                for name, some in driver.wrote.items():
                    expected[name] += some
                commits += 1
                epoch = driver.now.lake.epoch
                assert epoch == max(each.now.lake.epoch for each in drivers), "only the newest one commits"
                versions = read_state(place, WIDTH).tables
                for name, version in versions.items():
                    rows = Lake(place, 0, {name: version}).read(name, ["value"])
                    assert rows is not None
                    assert sorted(rows["value"].to_pylist()) == expected[name]
            else:
                drivers.remove(driver)
        except Superseded:
            lost += 1
            with suppress(ValueError):
                drivers.remove(driver)
    assert commits > 2
    final = _claimed(place, WIDTH)
    for name in TABLES:
        final.lake.append_rows(name, row(99, 99))
    committed(final)
    assert values(place) == {name: sorted([*expected[name], 99]) for name in TABLES}
    assert lost or seed


def test_the_state_does_not_grow_with_what_was_committed(tmp_path: Path) -> None:
    now, sizes = _claimed(str(tmp_path), WIDTH), []
    for number in range(70):  # more than the commits after which files are merged
        now.lake.append_rows("one", row(number, number))
        now.lake.tidy(["one"])
        now = committed(now)
        sizes.append(len(msgspec.json.encode(now.state)))
    assert sizes[-1] - sizes[0] < 20
    assert values(str(tmp_path))["one"] == list(range(70))
    assert len(now.lake.files("one")) < 10
    assert read_snapshot(str(tmp_path)).version == 70
    assert open_table(tmp_path / STATE) is not None


def test_what_nobody_has_committed_is_the_state_of_the_beginning(tmp_path: Path) -> None:
    assert read_state(tmp_path, WIDTH) == PipelineState(WIDTH)
    with pytest.raises(BadInput, match="has no tables of `regraft measure`"):
        read_snapshot(tmp_path)
    _claimed(str(tmp_path), WIDTH)
    with pytest.raises(BadInput, match="has no snapshot of `regraft measure` yet"):
        read_snapshot(tmp_path)
