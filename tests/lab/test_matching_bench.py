"""The matching benchmark on little input; skipped without DuckDB, which only benchmarks need."""

from pathlib import Path

import pytest

pytest.importorskip("duckdb")

from benchmarks import matching

LINES = "".join(
    f"[class,'STOCK'],[symbol,'{symbol}'],[close,{day}.5],[volume,{100 * day}]\n"
    for symbol in ("ONE", "TWO")
    for day in range(1, 30)
)


@pytest.mark.parametrize("width", [None, 50.0])
def test_index_and_scan_answer_alike_on_the_ipitt_workload(width: float | None) -> None:
    load = matching.ipitt_load(500, width)
    index, line = matching.loaded(load)
    assert len(index) == 500
    assert line.data["subscriptions"] == 500
    times = matching.timed(index, load)
    assert times.matches > 0
    assert matching.against_scan(load, times._replace(arrays=1.0, scan=99.0), promised=True).met is False
    assert matching.against_scan(load, times._replace(arrays=1.0, scan=101.0), promised=True).met is True


def test_index_and_scan_answer_alike_on_stock_quotes(tmp_path: Path) -> None:
    (tmp_path / "quotes.txt").write_text(LINES)
    load = matching.quotes_load(300, tmp_path)
    index, _ = matching.loaded(load)
    assert matching.timed(index, load).matches > 0


def test_a_wrong_answer_stops_the_benchmark() -> None:
    load = matching.ipitt_load(300, None)
    index, _ = matching.loaded(load)
    for key in range(0, 300, 2):
        index.remove(key)
    with pytest.raises(SystemExit, match="differ"):
        matching.timed(index, load)


def test_growth_is_measured_from_the_smallest_to_the_largest() -> None:
    assert matching.growth({10**4: 4.0, 10**5: 9.0, 10**6: 8.0}).data == {"factor": 2.0}
    assert matching.growth({10**4: 1.0, 10**6: 11.0}).met is False
