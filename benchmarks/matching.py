"""Matching: events against 10^4 to 10^6 subscriptions, beside a DuckDB scan of the same predicates.

Prints one table (Markdown) to standard output; progress goes to standard error. The subscriptions have
the shape of IPITT §VI-A: classes by Zipf and two ranges, either random as there, or so narrow that ten
match, whatever their number. Every answer that DuckDB gives is compared with the index's. `--quotes DIR`
adds the stock quotes of the PADRES group (files in their syntax, `*.txt` or `*.txt.gz`).
"""

import argparse
import tracemalloc
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any, NamedTuple

import duckdb
import numpy as np
import numpy.typing as npt
from benchmarks._table import Line, show
from rich.console import Console

from regraft.filters.expression import parse
from regraft.filters.index import MatchingIndex
from regraft.lab.ipitt_workload import ATTRIBUTES, CLASSES, class_name, events, subscriptions
from regraft.lab.stock_quotes import read_publications

Event = dict[str, Any]
Floats = npt.NDArray[np.float64]
ROUNDS = 5
FIXED_MATCHES = 10
PROMISED = 10**6
SCAN_WANTED = 100
GROWTH_WANTED = 10
"""From 10^4 to 10^6 subscriptions at a fixed match count; linear would be 100."""


@dataclass(frozen=True)
class Load:
    """Subscriptions in columns and events for them; `names` are the values that `group` numbers."""

    what: str
    equal: str
    names: list[str]
    group: npt.NDArray[np.int64]
    ranges: dict[str, tuple[Floats, Floats]]
    events: Sequence[Event]


class Times(NamedTuple):
    """Seconds for one event, medians of the rounds."""

    matches: float
    lists: float
    arrays: float
    scan: float
    compared: float


def main() -> None:
    options = arguments().parse_args()
    say = Console(stderr=True, highlight=False).log
    sizes = (10**4, 10**5) if options.quick else (10**4, 10**5, 10**6)
    about = f"DuckDB {duckdb.__version__}; median of {ROUNDS} rounds"
    show(all_lines(sizes, options.quotes, say), about, options.out)


def arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="scripts/bench matching", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="at most 10^5 subscriptions")
    parser.add_argument(
        "--quotes", type=Path, metavar="DIR", help="also match the stock quotes in this folder"
    )
    parser.add_argument("--out", type=Path, metavar="FILE", help="write everything measured as JSON")
    return parser


def all_lines(sizes: Sequence[int], quotes: Path | None, say: Callable[[str], None]) -> Iterator[Line]:
    yield from few_filters()
    loaded(ipitt_load(1000, None))  # loads the compiled code: not part of what is measured
    fixed: dict[int, float] = {}
    for size in sizes:
        for width in (None, 1000 * (FIXED_MATCHES * CLASSES / size) ** 0.5):
            say(f"{size:,} subscriptions, {'random' if width is None else 'narrow'} ranges")
            load = ipitt_load(size, width)
            index, line = loaded(load)
            yield line
            times = timed(index, load)
            yield against_scan(load, times, size == PROMISED)
            if width is not None:
                fixed[size] = times.lists
    yield growth(fixed)
    yield changes(index)
    if quotes is not None:
        say("stock quotes")
        load = quotes_load(max(sizes), quotes)
        index, line = loaded(load)
        yield line
        yield against_scan(load, timed(index, load), False)


def ipitt_load(size: int, width: float | None) -> Load:
    some = subscriptions(size, seed=1, width=width)
    ranges = {name: (some.low[:, a].copy(), some.high[:, a].copy()) for a, name in enumerate(ATTRIBUTES)}
    shape = "random ranges" if width is None else f"ranges for {FIXED_MATCHES} matches"
    names = [class_name(number) for number in range(CLASSES)]
    what = f"IPITT, {size:,} subscriptions, {shape}"
    return Load(what, "class", names, some.classes, ranges, list(islice(events(seed=2), 4000)))


def quotes_load(size: int, folder: Path) -> Load:
    """Subscribers to one symbol each: a range between two of its closing prices, and a least volume."""
    files = sorted((*folder.glob("*.txt"), *folder.glob("*.txt.gz")))
    quotes = [quote for file in files for quote in read_publications(file)]
    random = np.random.default_rng(3)
    by_symbol: dict[str, list[Event]] = {}
    for quote in quotes:
        by_symbol.setdefault(str(quote["symbol"]), []).append(quote)
    names = list(by_symbol)
    closes = [np.array([float(quote["close"]) for quote in by_symbol[name]]) for name in names]
    volumes = [np.array([float(quote["volume"]) for quote in by_symbol[name]]) for name in names]
    group = random.integers(0, len(names), size=size)
    drawn = random.random((3, size))
    one, other, volume = (
        np.array(
            [some[number][int(at * len(some[number]))] for number, at in zip(group, places, strict=True)]
        )
        for some, places in zip((closes, closes, volumes), drawn, strict=True)
    )
    ranges = {
        "close": (np.minimum(one, other), np.maximum(one, other)),
        "volume": (volume, np.full(size, np.inf)),
    }
    chosen = [quotes[number] for number in random.integers(0, len(quotes), size=4000)]
    what = f"stock quotes ({len(quotes):,} of {len(names)} symbols), {size:,} subscriptions"
    return Load(what, "symbol", names, group, ranges, chosen)


def loaded(load: Load) -> tuple[MatchingIndex, Line]:
    """The index with all subscriptions, and what that took; once more to count what it keeps in memory."""
    texts = [load.names[number] for number in load.group.tolist()]
    keys = np.arange(len(texts))

    def filled() -> MatchingIndex:
        index = MatchingIndex()
        index.add_boxes(keys, {load.equal: texts}, load.ranges)
        return index

    start = perf_counter()
    filled()
    seconds = perf_counter() - start
    tracemalloc.start()
    index = filled()
    memory = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    data = {"seconds": seconds, "bytes": memory, "subscriptions": len(texts)}
    return index, Line(f"{load.what}: load", "", f"{seconds:.2g} s, {memory / 2**20:.0f} MiB", None, data)


def timed(index: MatchingIndex, load: Load) -> Times:
    """Index and scans take turns, so that all see the same machine; their answers must be equal."""
    scan, compare = scanner(load), comparer(load)
    lists, arrays, scans, compared, matches = [], [], [], [], 0
    share = len(load.events) // ROUNDS
    for turn in range(ROUNDS):
        batch = load.events[turn * share : (turn + 1) * share]
        start = perf_counter()
        for event in batch:
            index.match(event)
        lists.append((perf_counter() - start) / share)
        start = perf_counter()
        for event in batch:
            matches += len(index.match_array(event))
        arrays.append((perf_counter() - start) / share)
        scanned = batch[:20]
        start = perf_counter()
        answers = [scan(event) for event in scanned]
        scans.append((perf_counter() - start) / len(scanned))
        start = perf_counter()
        for event in scanned:
            compare(event)
        compared.append((perf_counter() - start) / len(scanned))
        for event, answer in zip(scanned, answers, strict=True):
            if sorted(index.match(event)) != sorted(answer.tolist()):
                raise SystemExit(f"{load.what}: index and scan differ on {event}")
    return Times(matches / share / ROUNDS, median(lists), median(arrays), median(scans), median(compared))


def scanner(load: Load) -> Callable[[Event], npt.NDArray[np.int64]]:
    """The same subscriptions as a DuckDB table, and the query for one event."""
    columns: dict[str, Any] = {"key": np.arange(len(load.group)), "grp": load.group.astype(np.uint8)}
    terms, asked = ["grp = $1"], list(load.ranges)
    for number, name in enumerate(asked, start=2):
        columns[f"{name}_low"], columns[f"{name}_high"] = load.ranges[name]
        terms.append(f"{name}_low <= ${number} AND {name}_high >= ${number}")
    connection = duckdb.connect()
    connection.register("given", columns)
    connection.execute("CREATE TABLE subscription AS SELECT * FROM given")
    query = f"SELECT key FROM subscription WHERE {' AND '.join(terms)}"
    number_of = {name: number for number, name in enumerate(load.names)}

    def scan(event: Event) -> npt.NDArray[np.int64]:
        values = [number_of[event[load.equal]], *(float(event[name]) for name in asked)]
        found: npt.NDArray[np.int64] = connection.execute(query, values).fetchnumpy()["key"]
        return found

    return scan


def comparer(load: Load) -> Callable[[Event], npt.NDArray[np.int64]]:
    """What NumPy alone can do: the subscriptions sorted by group, every range of the event's compared."""
    order = np.argsort(load.group, kind="stable")
    starts = np.searchsorted(load.group[order], np.arange(len(load.names) + 1)).tolist()
    sorted_ranges = {name: (low[order], high[order]) for name, (low, high) in load.ranges.items()}
    number_of = {name: number for number, name in enumerate(load.names)}

    def compare(event: Event) -> npt.NDArray[np.int64]:
        number = number_of[event[load.equal]]
        group = slice(starts[number], starts[number + 1])
        inside = np.ones(group.stop - group.start, np.bool_)
        for name, (low, high) in sorted_ranges.items():
            inside &= (low[group] <= event[name]) & (event[name] <= high[group])
        return order[group][inside]

    return compare


def against_scan(load: Load, times: Times, promised: bool) -> Line:
    ratio, list_ratio = times.scan / times.arrays, times.scan / times.lists
    measured = (
        f"{times.matches:.0f} matches: {times.arrays * 1e6:.3g} µs as an array, {times.lists * 1e6:.3g} µs as"
        f" a list; scan {times.scan * 1e6:,.0f} µs: {ratio:,.0f} and {list_ratio:,.0f} times"
        f" (NumPy over the class: {times.compared * 1e6:,.0f} µs)"
    )
    wanted = f"at least {SCAN_WANTED} times a DuckDB scan" if promised else ""
    met = ratio >= SCAN_WANTED if promised else None
    return Line(f"{load.what}: one event", wanted, measured, met, times._asdict())


def growth(fixed: dict[int, float]) -> Line:
    least, most = min(fixed), max(fixed)
    factor = fixed[most] / fixed[least]
    what = f"growth from {least:,} to {most:,} subscriptions at {FIXED_MATCHES} matches"
    wanted = f"well below linear ({most // least}): at most {GROWTH_WANTED}"
    return Line(what, wanted, f"{factor:.2f} times", factor <= GROWTH_WANTED, {"factor": factor})


def changes(index: MatchingIndex) -> Line:
    """One subscription more, one less, in the largest index; filters parsed before."""
    filters = [parse(text) for text in subscriptions(1000, seed=9).filters()]
    for filter in filters:
        _ = filter.normal
    first = 2 * len(index)
    adds, removes = [], []
    for _ in range(ROUNDS):
        start = perf_counter()
        for key, filter in enumerate(filters, start=first):
            index.add(key, filter)
        adds.append((perf_counter() - start) / len(filters))
        start = perf_counter()
        for key in range(first, first + len(filters)):
            index.remove(key)
        removes.append((perf_counter() - start) / len(filters))
    measured = f"add {median(adds) * 1e6:.3g} µs, remove {median(removes) * 1e6:.3g} µs"
    what = f"one subscription more or less among {len(index):,}"
    return Line(what, "", measured, None, {"add": median(adds), "remove": median(removes)})


def few_filters() -> Iterator[Line]:
    """A broker with a handful of subscriptions uses the same class."""
    happened = list(islice(events(seed=2), 2000))
    for count in (1, 8, 32):
        index = MatchingIndex()
        for key, text in enumerate(subscriptions(count, seed=1).filters()):
            index.add(key, parse(text))
        rounds = []
        for _ in range(ROUNDS):
            start = perf_counter()
            for event in happened:
                index.match(event)
            rounds.append((perf_counter() - start) / len(happened))
        micros = median(rounds) * 1e6
        yield Line(
            f"IPITT, {count} subscriptions: one event", "", f"{micros:.2g} µs", None, {"micros": micros}
        )


if __name__ == "__main__":
    main()
