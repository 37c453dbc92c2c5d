"""Windows of the past, measured on Spark from the telemetry that is still there."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from regraft.estate.regraft.expecting import Expecting
from regraft.estate.regraft.tables import AT_ONCE, TABLES, read_windows
from regraft.estate.windows import MeasuredWindow
from regraft.model import BadInput, Topology, ends
from regraft.model.snapshot import Snapshot

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True)
class Past:
    """The windows of a period in order, including those without traffic."""

    snapshot: Snapshot
    width: float
    starts: tuple[float, ...]
    expecting: Expecting

    def windows(self) -> Iterator[MeasuredWindow]:
        """Each with the forecast that could have been made then. Can be read once."""
        spans = [(start, start + self.width) for start in self.starts]
        yield from map(self.expecting.after, read_windows(self.snapshot, spans))


def measured_past(
    session: "SparkSession",
    telemetry: str,
    out: str,
    width: float,
    begin: float,
    end: float,
    forecast: tuple[int, int],
) -> Past:
    """`BadInput` if nothing was recorded in the period. `forecast`: as in `EstateSettings`."""
    from regraft.measure.run import Job, run  # noqa: PLC0415 — loads pyspark

    snapshot = run(Job(telemetry, out, round(width * 1e6), tables=TABLES | {"link_load"}), session).snapshot
    known = [parse_time(start, "windows") for start in snapshot.windows]
    within = [start for start in known if begin <= start and start + width <= end]
    if not within:
        span = f"; there are records from {snapshot.windows[0]} on" if known else ""
        raise BadInput(telemetry, f"nothing was recorded between --from and --to{span}")
    count = round((max(within) - min(within)) / width) + 1
    starts = tuple(min(within) + width * number for number in range(count))
    return Past(snapshot, width, starts, Expecting(out, width, *forecast))


def topology_then(past: Past) -> Topology:
    """The tree of the links that carried something in the first window with traffic.

    `BadInput` if they do not form a tree.
    """
    pairs = set()
    for first in range(0, len(past.starts), AT_ONCE):
        loads = past.snapshot.by_window("link_load", ("from", "to"), past.starts[first : first + AT_ONCE])
        if links := next(filter(None, loads.values()), None):
            pairs = {ends(row["from"], row["to"]) for row in links}
            break
    try:
        return Topology.of(sorted(pairs), sorted(past.snapshot.manifest["brokers"]))
    except BadInput as fault:
        raise BadInput("--topology", f"is needed: the telemetry shows no whole tree ({fault.rule})") from None


def parse_time(text: str, option: str) -> float:
    """Seconds since 1970 of an ISO 8601 time; without a zone it is UTC."""
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        raise BadInput(option, f"{text!r} is not a time such as 2026-11-16T06:40:00Z") from None
    return (at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp()
