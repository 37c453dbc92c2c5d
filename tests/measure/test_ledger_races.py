"""What an older run commits at the very moment at which a newer one changes the same table."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.measure.test_ledger import WIDTH, committed, row, values

from regraft.measure import lake
from regraft.measure.lake import Superseded
from regraft.measure.ledger import Turn, _claimed
from regraft.model.delta import open_table

pytestmark = pytest.mark.slow


@pytest.fixture
def meanwhile(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], None]], None]:
    """What is to happen once, between looking at a table and changing it."""
    waiting: list[Callable[[], None]] = []

    def opened(place: str, version: int | None = None) -> Any:
        table = open_table(place, version)
        while waiting:
            waiting.pop()()
        return table

    monkeypatch.setattr(lake, "open_table", opened)
    return waiting.append


@pytest.fixture
def turns(tmp_path: Path) -> tuple[Turn, Turn]:
    return _claimed(str(tmp_path), WIDTH), _claimed(str(tmp_path), WIDTH)


@pytest.mark.parametrize("is_there", [False, True])
def test_the_newer_run_takes_back_what_the_older_one_commits_meanwhile(
    tmp_path: Path, meanwhile: Callable[[Callable[[], None]], None], turns: tuple[Turn, Turn], is_there: bool
) -> None:
    older, newer = turns
    if is_there:
        newer.lake.append_rows("one", row(1, 1))
        newer = committed(newer)
        older, newer = newer, _claimed(str(tmp_path), WIDTH)
    meanwhile(lambda: older.lake.append_rows("one", row(2, 2)))
    newer.lake.append_rows("one", row(3, 3))
    with pytest.raises(Superseded, match="another run writes there now"):
        older.lake.append_rows("one", row(4, 4))
    committed(newer)
    assert values(str(tmp_path))["one"] == ([1, 3] if is_there else [3])


def test_the_older_run_ends_if_the_newer_one_makes_a_table_at_that_moment(
    tmp_path: Path, meanwhile: Callable[[Callable[[], None]], None], turns: tuple[Turn, Turn]
) -> None:
    older, newer = turns
    meanwhile(lambda: newer.lake.append_rows("one", row(1, 1)))
    with pytest.raises(Superseded, match="another run writes there now"):
        older.lake.append_rows("one", row(2, 2))
    committed(newer)
    assert values(str(tmp_path))["one"] == [1]
