"""The bytes of a busy broker's telemetry: all publications recorded; one in so many, and all counted.

    python -m benchmarks._measure_bytes --rate 50000 --seconds 20 --one-in 100

The same traffic twice, in runs as brokers get them, through what gathers and closes their segments: from 50
publishers on 20 topics to four subscribers each, and to two neighbours. `lines`: the bytes of all records as
lines of JSON, as telemetry was written when the bound of 2 % was set.
"""

import argparse
import io
import json
from collections.abc import Iterator
from itertools import islice
from random import Random

import msgspec

from regraft.broker.core.forwarding import Fact
from regraft.broker.io.counting import Counting
from regraft.broker.io.gathering import SeenFacts, gather
from regraft.protocol.events import Event, encode
from regraft.protocol.messages import Run
from regraft.segments.reading import records_in
from regraft.segments.writing import OpenSegment

PUBLISHERS, TOPICS, SUBSCRIBERS, NEIGHBOURS = 50, 20, 4, 2
BEGIN = 1_767_225_600_000_000
"""2026-01-01, in microseconds."""
SEGMENT_SECONDS = 2.0
RUN = 8
"""How many publications travel together, about."""
EACH = 1 + SUBSCRIBERS + NEIGHBOURS
"""The records of one publication."""


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rate", type=int, default=50_000, help="records a second, if all are recorded")
    parser.add_argument("--seconds", type=int, default=20)
    parser.add_argument("--one-in", type=int, default=100)
    options = parser.parse_args()
    found = {}
    for one_in in (1, options.one_in):
        batches = traffic(options.rate)
        each = round(options.rate / EACH / RUN * SEGMENT_SECONDS)
        sizes, rows, lines = 0, 0, 0
        for _ in range(round(options.seconds / SEGMENT_SECONDS)):
            segment = OpenSegment("b0", one_in)
            counting = Counting(one_in, lambda now, _: now)
            for batch in islice(batches, each):
                if one_in == 1:
                    gather("b0", segment, batch)
                else:
                    counting.add(batch.facts, batch.seen, batch.held)
            if (taken := counting.take(batch.seen)) is not None:
                gather("b0", segment, taken)
            rows += len(segment)
            content = segment.close()
            sizes += len(content)
            lines += sum(len(msgspec.json.encode(each)) + 1 for each in records_in(io.BytesIO(content)))
        found[one_in] = {"bytes": sizes, "records": rows, "lines": lines}
    print(json.dumps({"exact": found[1], "sampled": found[options.one_in]}))


def traffic(rate: int) -> Iterator[SeenFacts]:
    """A run of publications at a time, and what became of the run."""
    chance, at, serial = Random(1), BEGIN, dict.fromkeys(range(PUBLISHERS), 0)
    topic_of = [chance.randrange(TOPICS) for _ in range(PUBLISHERS)]
    while True:
        number, length = chance.randrange(PUBLISHERS), chance.randint(1, 2 * RUN - 1)
        topic = f"site/{topic_of[number]}"
        events = [
            encode(Event({"topic": topic, "value": round(chance.gauss(20, 5), 2)}, b"x" * 40))
            for _ in range(length)
        ]
        first = serial[number] + 1
        serial[number] += length
        run = Run(f"sensor-{number}#1", list(range(first, first + length)), events, at)
        seen = at + round(chance.lognormvariate(7, 0.7))
        facts = [Fact("publication", run, f"@sensor-{number}", "")]
        facts += [Fact("hop", run, "", f"b{1 + near}") for near in range(NEIGHBOURS)]
        facts += [
            Fact("delivery", run, "", f"@reader-{(number * 7 + each) % 100}") for each in range(SUBSCRIBERS)
        ]
        yield SeenFacts(at, seen, chance.randrange(100_000), facts)
        at += round(length * EACH / rate * 1e6)


if __name__ == "__main__":
    main()
