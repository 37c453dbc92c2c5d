"""A program: the telemetry of brokers on their hosts, with the writer, outbox and shipping of brokers.

Standard input: one line of JSON with, for each host, its first process, its folder and its user; the store;
and the arguments of `network`. Then, whenever more is to be put, a line with a number: the records of so
many seconds. When the input ends, each broker waits until all is in the store, and says what it has counted.
They are forked from this process, which has loaded everything.
"""

import json
import os
import sys
import time
from datetime import timedelta
from pathlib import Path

import msgspec
from tests.measure.telemetry import START, Record, _told, network

from regraft.broker.io.configuration import Telemetry
from regraft.broker.io.segment_writer import SegmentWriter
from regraft.protocol.telemetry import AnyRecord
from regraft.segments.writing import OpenSegment
from regraft.testing.hosts.host import children_in, enter

SEGMENT_SECONDS = 0.5
PATIENCE = 600.0


def main() -> None:
    hosts, store, seed, publications, seconds = json.loads(sys.stdin.readline())
    records = network(seed, publications, seconds=seconds, brokers=len(hosts))
    inputs: list[int] = []
    for number, (first_process, folder, user) in enumerate(hosts):
        theirs, ours = os.pipe()
        inputs.append(ours)
        member = os.pidfd_open(first_process)
        name = f"b{number}"
        own = [record for record in records if record["broker"] == name]
        with children_in(member):
            if os.fork() == 0:
                for each in inputs:
                    os.close(each)
                be_broker(member, Path(folder), user, theirs, name, store, own)
        os.close(theirs)
        os.close(member)
    for line in sys.stdin:
        for ours in inputs:
            os.write(ours, line.encode())
    for ours in inputs:
        os.close(ours)
    codes = [os.wait()[1] for _ in inputs]
    sys.exit(int(any(codes)))


def be_broker(
    member: int, folder: Path, user: int, theirs: int, name: str, store: str, records: list[Record]
) -> None:
    """Never returns."""
    code = 1
    try:
        enter(member, folder)
        os.setgroups([])
        os.setgid(user)
        os.setuid(user)
        os.environ["HOME"] = str(folder)
        os.dup2(theirs, 0)
        put(name, store, folder, records)
        code = 0
    finally:
        os._exit(code)


def gather(into: OpenSegment, batch: list[AnyRecord]) -> int:
    into.records(batch)
    return 0


def put(name: str, store: str, folder: Path, records: list[Record]) -> None:
    telemetry = Telemetry(store, segment_seconds=SEGMENT_SECONDS, outbox=folder / "outbox")
    writer: SegmentWriter[list[AnyRecord]] = SegmentWriter(name, telemetry, gather)
    total = 0
    for line in os.fdopen(0):
        until = START + timedelta(seconds=float(line))
        due = [record for record in records if record["at"] < until]
        records = records[len(due) :]
        total += len(due)
        if due:
            writer.offer([msgspec.convert(_told(record), AnyRecord) for record in due], len(due))
    last = time.monotonic() + PATIENCE
    while time.monotonic() < last and (writer.written < total or writer.waiting.segments):
        time.sleep(0.1)
    writer.close()
    said = {"broker": name, "written": writer.written, "not_recorded": writer.not_recorded}
    said |= {"waiting": writer.waiting.segments}
    os.write(1, f"{json.dumps(said)}\n".encode())


if __name__ == "__main__":
    main()
