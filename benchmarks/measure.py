"""The data pipeline: against DuckDB, from 10 to 100 million rows, streaming, HararyPT, sampled telemetry.

Prints one table (Markdown): what was promised, what was measured. Each side of a comparison has a process of
its own, both in this run and on the same files; tables are compared row by row. `--part` picks some parts,
`--rows` and the other sizes make them smaller; files go to `--folder` and are removed unless `--keep`.
"""

import argparse
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median, quantiles

from benchmarks._measure_child import measured
from benchmarks._measure_equal import differences, rows
from benchmarks._table import Line, show

Part = Callable[[argparse.Namespace, Path], Iterator[Line]]


def tables(options: argparse.Namespace, folder: Path) -> Iterator[Line]:
    """Records to tables, Spark against DuckDB."""
    records = _records(options, folder, options.rows)
    # In turns: the machine is not equally fast all the time.
    runs = [
        (
            measured("benchmarks._measure_duckdb", records, folder / "duckdb"),
            measured("benchmarks._measure_spark", records, folder / f"spark-{turn}"),
        )
        for turn in range(options.repeat)
    ]
    wrong = differences(folder / "spark-0", folder / "duckdb")
    theirs, ours = (
        {name: median(each[side][name] for each in runs) for name in ("seconds", "cpu", "peak_gib")}
        for side in (0, 1)
    )
    ratio, effort = ours["seconds"] / theirs["seconds"], ours["cpu"] / theirs["cpu"]
    data = {"runs": runs, "differences": wrong, "rows": rows(folder / "duckdb")}
    what = f"{options.rows:,} records (segments) to classes, interest, loads, latencies: Spark against DuckDB"
    shown = f"{ratio:.1f} times ({ours['seconds']:.1f} s against {theirs['seconds']:.1f} s)"
    shown += f"; in processor time {effort:.1f} times ({ours['cpu']:.0f} s against {theirs['cpu']:.0f} s)"
    each = ", ".join(f"{spark['seconds'] / duckdb['seconds']:.2f}" for duckdb, spark in runs)
    shown += f"; medians of {len(runs)} runs in turns ({each})"
    yield Line(what, "<= 3 times", shown, ratio <= 3, data)
    shown = ", ".join(f"{name} {count}" for name, count in wrong.items())
    yield Line(
        "rows that differ (quantiles: by more than the stated error)",
        "none",
        shown,
        not any(wrong.values()),
        {},
    )
    yield _memory(what="memory of Spark and its Python processes", peak=ours["peak_gib"])


def growth(options: argparse.Namespace, folder: Path) -> Iterator[Line]:
    """The cost of a row as there are more of them."""
    costs = {}
    for count in (options.rows // 5, options.rows * 2):
        records = _records(options, folder, count)
        found = measured("benchmarks._measure_spark", records, folder / f"spark-{count}")
        costs[count] = (found["seconds"] / count * 1e6, found["cpu"] / count * 1e6, found["peak_gib"])
        if not options.keep and not options.data:
            shutil.rmtree(records)
    few, many = costs.values()
    shown = f"{many[0] / few[0]:.2f} times ({few[0]:.2f} and {many[0]:.2f} µs; "
    shown += f"processor {few[1]:.2f} and {many[1]:.2f})"
    what = f"time for a row at {max(costs):,} against {min(costs):,}"
    yield Line(
        what, "<= 1.2 times", shown, many[0] <= 1.2 * few[0], {"costs": {str(k): v for k, v in costs.items()}}
    )
    yield _memory(f"memory at {max(costs):,} rows", many[2])


def streaming(options: argparse.Namespace, folder: Path) -> Iterator[Line]:
    """Segments at a steady rate."""
    found = measured(
        *("benchmarks._measure_stream", folder / "stream"),
        *("--rate", options.rate, "--seconds", options.seconds),
    )
    whole = found["read"] == found["written"]
    largest = found.get("largest")
    shown = f"{found['read']:,} of {found['written']:,} records, {found['windows']} windows"
    if largest is not None:
        shown += f"; delay {found['median']:.1f} s, at most {largest:.1f} s"
    what = f"{options.rate:,} records a second for {options.seconds} s: from a window's end to its tables"
    yield Line(what, "<= 5 s", shown, whole and largest is not None and largest <= 5, found)


def harary(options: argparse.Namespace, folder: Path) -> Iterator[Line]:
    """A large mesh."""
    sizes = [f"--{name}={getattr(options, name)}" for name in ("nodes", "topics", "subscriptions", "k")]
    found = measured(
        "benchmarks._measure_harary", folder / "harary", *sizes, *(["--check"] if options.check else [])
    )
    shown = f"{found['seconds']:.0f} s (processor {found['cpu']:.0f} s), {found['links']:,} links, "
    shown += f"average degree {found['average_degree']:.1f}, {found['peak_gib']:.1f} GiB"
    if options.check:
        shown += f"; k holds: {found['topics']} ({found['check_seconds']:.0f} s)"
    what = f"HararyPT, {options.nodes:,} nodes, {options.topics:,} topics, "
    what += f"{options.subscriptions} each, k = {options.k}"
    yield Line(what, "<= 300 s", shown, found["seconds"] <= 300, found)


def sampling(options: argparse.Namespace, folder: Path) -> Iterator[Line]:
    """Sampled telemetry: are its errors what they say, and what does it save?"""
    found = measured("benchmarks._measure_sampling", folder / "sampling", "--seeds", options.seeds)
    least = min(found["held"].values())
    shown = ", ".join(f"{name} {count}" for name, count in sorted(found["held"].items()))
    what = f"one publication in 100: windows of {options.seeds} whose demand is within 1.96 errors, by class"
    yield Line(what, ">= 93 %", shown, least >= 0.93 * options.seeds, found)
    found = measured("benchmarks._measure_bytes", "--rate", options.rate)
    exact, sampled = found["exact"], found["sampled"]
    share, of_segments = (sampled["bytes"] / each for each in (exact["lines"], exact["bytes"]))
    shown = f"{share:.2%} ({sampled['bytes'] / 1e3:,.0f} of {exact['lines'] / 1e3:,.0f} KB); "
    shown += f"of all records in segments {of_segments:.1%} (of {exact['bytes'] / 1e3:,.0f} KB)"
    what = f"bytes of counts and one publication in 100, of all records ({options.rate:,} a second) in JSON"
    yield Line(what, "<= 2 %", shown, share <= 0.02, found)


def cost(options: argparse.Namespace, folder: Path) -> Iterator[Line]:
    """What this telemetry takes from a broker."""
    found = measured("benchmarks._measure_cost", folder / "cost", "--turns", 3 * options.repeat)
    rates = [sampled[0] / without[0] for without, sampled in found["turns"]]
    times = [sampled[1] / without[1] for without, sampled in found["turns"]]
    least, _, most = sorted(1 - each for each in quantiles(rates))
    shown = f"{1 - median(rates):.1%} of throughput (median of {len(rates)} pairs; half of them from "
    shown += f"{least:.1%} to {most:.1%}); processor time of the broker {median(times):.3f} times"
    what = "counts and one publication in 100, against no telemetry: one broker, acknowledged, 256 bytes"
    yield Line(what, "<= 3 %", shown, 1 - median(rates) <= 0.03, found)


def history(options: argparse.Namespace, folder: Path) -> Iterator[Line]:
    """After a long time."""
    sizes = ["--windows", options.windows, "--segments", options.segments]
    found = measured("benchmarks._measure_history", folder / "history", *sizes)
    few, many, idle = found["few"], found["many"], found["idle"]
    ratio = many["seconds"] / few["seconds"]
    shown = f"{ratio:.2f} times ({many['seconds']:.2f} s against {few['seconds']:.2f} s; processor "
    shown += f"{many['cpu']:.2f} s against {few['cpu']:.2f} s)"
    what = f"a run for one more window after {options.windows:,}, against after 100"
    yield Line(what, "<= 1.2 times", shown, ratio <= 1.2, found)
    shown = f"{idle['cpu']:.3f} s ({idle['seconds']:.3f} s)"
    what = f"processor time of a run that finds nothing new, {found['segments']:,} segments"
    yield Line(what, "< 1 s", shown, idle["cpu"] < 1, {})


PARTS: dict[str, Part] = {
    "tables": tables,
    "growth": growth,
    "streaming": streaming,
    "harary": harary,
    "sampling": sampling,
    "cost": cost,
    "history": history,
}


def _memory(what: str, peak: float) -> Line:
    return Line(what, "<= 8 GiB", f"{peak:.1f} GiB", peak <= 8, {"gib": peak})


def _records(options: argparse.Namespace, folder: Path, count: int) -> Path:
    """Segments, made once."""
    place: Path = (options.data or folder) / f"records-{count}"
    if not place.exists():
        measured("benchmarks._measure_records", place, count)
    return place


def main() -> None:
    options = arguments().parse_args()
    if options.folder is not None:
        options.folder.mkdir(parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix="regraft-bench-", dir=options.folder))
    try:
        lines = (line for name in options.part or PARTS for line in PARTS[name](options, folder))
        show(lines, "local[2], each side alone in its process", options.out)
    finally:
        if not options.keep:
            shutil.rmtree(folder, ignore_errors=True)


def arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="scripts/bench measure", description=__doc__)
    parser.add_argument(
        "--part", action="append", choices=list(PARTS), help="only this part; may be repeated"
    )
    parser.add_argument("--rows", type=int, default=50_000_000)
    parser.add_argument("--repeat", type=int, default=5, help="runs of each side of a comparison")
    parser.add_argument("--rate", type=int, default=50_000, help="records a second of the stream")
    parser.add_argument("--seconds", type=int, default=60, help="of the stream")
    for name, default in (("nodes", 1_000_000), ("topics", 10_000), ("subscriptions", 30), ("k", 4)):
        parser.add_argument(f"--{name}", type=int, default=default, help="of HararyPT")
    parser.add_argument(
        "--seeds", type=int, default=100, help="windows of sampled telemetry, each another one"
    )
    parser.add_argument("--windows", type=int, default=40_000, help="of the long history")
    parser.add_argument("--segments", type=int, default=100_000, help="of the long history")
    parser.add_argument("--check", action="store_true", help="also prove k for every topic")
    parser.add_argument("--folder", type=Path, metavar="DIR", help="where files go for a while")
    parser.add_argument("--data", type=Path, metavar="DIR", help="records to use again: DIR/records-ROWS")
    parser.add_argument("--keep", action="store_true", help="leave the files there")
    parser.add_argument("--out", type=Path, metavar="FILE", help="write everything measured as JSON")
    return parser


if __name__ == "__main__":
    main()
