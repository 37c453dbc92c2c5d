"""200 brokers in one process, 1,000 subscribers, the IPITT workload: memory, and nothing lost.

Prints one table (Markdown): the memory of an idle broker, then what became of everything that was due
(IPITT §VI-A: 20 publishers at the root with 5 messages/s each, subscribers at the leaves). Who is due what
is computed without the filters. Brokers, subscribers and publishers are three processes; the brokers
keep their journals on the disk. `--quick` takes 40 brokers, 200 subscribers and 10 s.
"""

import argparse
import asyncio
import json
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np
from benchmarks._overlay_clients import Brief, load
from benchmarks._overlay_work import Arrivals, Verdict, due, judged
from benchmarks._table import Line, show
from rich.console import Console

from regraft.lab.ipitt_workload import PUBLISHERS, RATE, subscriptions

MIB = 2**20
IDLE_MIB = 3.0
STOP_SECONDS = 60.0
console = Console(stderr=True, highlight=False)


class Measured(NamedTuple):
    """Memory in bytes of the process that has all brokers."""

    before: int
    idle: int
    subscribed: int
    after: int
    faults: dict[str, str]
    arrivals: Arrivals


def main() -> None:
    options = arguments().parse_args()
    if options.quick:
        options.brokers, options.subscribers, options.seconds = 40, 200, 10.0
    brief = Brief(options.brokers, options.subscribers, options.seconds, options.seed, {})
    measured = asyncio.run(measure(brief))
    about = (
        f"{brief.brokers} brokers in one process, {brief.subscribers:,} subscribers, "
        f"{PUBLISHERS} publishers with {RATE:g}/s each for {brief.seconds:g} s"
    )
    shown = show(lines(brief, measured), about, options.out, brief=brief._asdict())
    sys.exit(0 if all(line.met is not False for line in shown) else 1)


async def measure(brief: Brief) -> Measured:
    with TemporaryDirectory(prefix="regraft-bench-") as name:
        folder = Path(name)
        async with _child("_overlay_brokers", str(brief.brokers), name) as brokers:
            told = json.loads(await _line(brokers))
            console.log(f"{brief.brokers} brokers are linked")
            file = folder / "brief.json"
            file.write_text(json.dumps(brief._replace(addresses=told["addresses"])._asdict()))
            arrivals = folder / "arrivals.npz"
            async with (
                _child("_overlay_clients", "subscribe", str(file), str(arrivals)) as subscribers,
                _child("_overlay_clients", "publish", str(file), "-") as publishers,
            ):
                await _expect(publishers, "ready")
                await _expect(subscribers, "ready")
                console.log(f"{brief.subscribers:,} subscriptions are in place")
                subscribed = await _ask(brokers)
                await _say(publishers)
                await _expect(publishers, "done")
                console.log("everything published is acknowledged")
                await _say(subscribers)
                await _expect(subscribers, "done")
                after = await _ask(brokers)
                memory = (told["before"], told["idle"], subscribed["memory"], after["memory"])
                return Measured(*memory, after["faults"], load(arrivals))


def lines(brief: Brief, measured: Measured) -> Iterator[Line]:
    idle = (measured.idle - measured.before) / brief.brokers / MIB
    data = {"before": measured.before, "idle": measured.idle}
    yield Line("memory per idle broker", f"<= {IDLE_MIB:g} MiB", f"{idle:.2f} MiB", idle <= IDLE_MIB, data)
    for when, size in _memory(measured):
        shown = f"{size / MIB:,.0f} MiB, {size / MIB / brief.brokers:.2f} MiB per broker"
        yield Line(f"the whole process, {when}", "-", shown, None, {"bytes": size})
    sent = brief.publications()
    publishers = np.array([each.publisher for each in sent], np.int64)
    verdict = judged(due(subscriptions(brief.subscribers, brief.seed), sent), measured.arrivals, publishers)
    yield _verdict_line(len(sent), verdict)
    if verdict.delivered:
        p50, p99, worst = np.percentile(measured.arrivals.seconds, (50, 99, 100)) * 1e3
        shown = f"p50 {p50:.1f} ms, p99 {p99:.1f} ms, worst {worst:.0f} ms"
        yield Line("delivery", "-", shown, None, {"p50_ms": p50, "p99_ms": p99, "worst_ms": worst})
    failed = measured.faults
    yield Line("brokers that gave up", "0", f"{len(failed)}", not failed, {"faults": failed})


def _memory(measured: Measured) -> Iterator[tuple[str, int]]:
    yield "idle", measured.idle
    yield "subscriptions in place", measured.subscribed
    yield "after the load", measured.after


def _verdict_line(sent: int, verdict: Verdict) -> Line:
    faults = ", ".join(
        f"{getattr(verdict, name):,} {name}" for name in ("lost", "repeated", "unwanted", "reordered")
    )
    what = f"{sent:,} publications, {verdict.due:,} deliveries due"
    measured = f"{verdict.delivered:,} delivered, {faults}"
    return Line(what, "nothing lost, repeated, reordered", measured, verdict.complete, verdict._asdict())


@asynccontextmanager
async def _child(module: str, *words: str) -> AsyncIterator[Process]:
    """Ended with the block by the end of its input, or killed."""
    command = (sys.executable, "-m", f"benchmarks.{module}", *words)
    process = await asyncio.create_subprocess_exec(
        *command, stdin=PIPE, stdout=PIPE, cwd=Path(__file__).parent.parent, start_new_session=True
    )
    try:
        yield process
    finally:
        assert process.stdin is not None
        process.stdin.close()
        try:
            async with asyncio.timeout(STOP_SECONDS):
                await process.wait()
        except BaseException:
            process.kill()
            await process.wait()
            raise


async def _line(process: Process) -> str:
    assert process.stdout is not None
    if not (line := await process.stdout.readline()):
        sys.exit("bench: a process ended without a report; what it said is above")
    return line.decode().rstrip("\n")


async def _expect(process: Process, wanted: str) -> None:
    if (line := await _line(process)) != wanted:
        sys.exit(f"bench: expected {wanted!r}, got {line!r}")


async def _say(process: Process) -> None:
    assert process.stdin is not None
    process.stdin.write(b"\n")
    await process.stdin.drain()


async def _ask(brokers: Process) -> dict[str, Any]:
    await _say(brokers)
    answer: dict[str, Any] = json.loads(await _line(brokers))
    return answer


def arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="scripts/bench overlay", description=__doc__)
    parser.add_argument("--brokers", type=int, default=200, help="in one process (default 200)")
    parser.add_argument("--subscribers", type=int, default=1000, help="default 1,000")
    parser.add_argument("--seconds", type=float, default=60.0, help="of load (default 60)")
    parser.add_argument("--seed", type=int, default=1, help="of the workload (default 1)")
    parser.add_argument("--quick", action="store_true", help="40 brokers, 200 subscribers, 10 s")
    parser.add_argument("--out", type=Path, metavar="FILE", help="write everything measured as JSON")
    return parser


if __name__ == "__main__":
    main()
