"""Peers that break rules on purpose: `python -m benchmarks._hostile_attacks NAME PORT PACE`.

Repeats one attack on the broker at PORT until its input ends, PACE times per second at most (0: without
a pause). Prints `ready` after the first strike, or when
that has lasted for a second, and at the end one line of JSON, a `Report`.
The attacker lowers its own priority: an enemy has a machine of its own, and what is measured is the broker.
"""

import json
import os
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from typing import NamedTuple

from benchmarks._hostile_enemy import Enemy

from regraft.protocol.events import Event, encode
from regraft.protocol.messages import Advertise, AnyMessage, ClientHello, LinkHello, Run, Subscribe
from regraft.wire.numbered import Wire

DEEP = 65_000
FEW = 8
"""Frames that break a rule in one strike are not more: the first that is read ends the connection."""
SILENT = 200
"""Connections that say nothing, all at once."""
KNOWN = "mallory"
"""A name that has a token."""
JUNK = "topic = 'junk'"
EVENT = encode(Event({"topic": "junk"}, bytes(256)))
LARGE = encode(Event({"topic": "junk"}, bytes(2**20)))
LEVELS = "a/" * DEEP


class Report(NamedTuple):
    """`said` are the reasons that the broker gave, each with a count."""

    strikes: int
    said: dict[str, int]


class Attack(NamedTuple):
    what: str
    strike: Callable[[Enemy], None]
    cut_off: bool
    """Whether the broker has to end the connection; otherwise it refuses what was asked, or bears it."""


def busy(enemy: Enemy) -> None:
    """No attack: what it costs the conversation that somebody else computes on the machine."""
    until = time.monotonic() + 0.01
    while time.monotonic() < until:
        pass


def never_authenticates(enemy: Enemy) -> None:
    peers = [enemy.peer() for _ in range(SILENT)]
    for peer in peers:
        peer.until_the_end()


def wrong_token(enemy: Enemy) -> None:
    enemy.peer().say(ClientHello(KNOWN, [], [], token="guess")).until_the_end()


def never_reads(enemy: Enemy) -> None:
    """Subscribes to everything, the measured conversation too, and only shows that it is alive."""
    peer = enemy.peer(small=True).say(*enemy.hello(subscriptions=[("s1", "TRUE")]))
    peer.stay(2.5)
    peer.until_the_end()


def never_reads_its_own_flood(enemy: Enemy) -> None:
    reader = enemy.peer(small=True).say(*enemy.hello(subscriptions=[("s1", JUNK)]))
    writer = enemy.peer().say(*(hello := enemy.hello(advertisements=[("a1", JUNK)])))
    publisher = f"{hello[0].client}#1"
    for seq in range(1, 49):
        writer.say(Run(publisher, [seq], [LARGE], 0))
        reader.say()
    reader.stay(2.5)
    reader.until_the_end()
    writer.close()


def floods_within_its_window(enemy: Enemy) -> None:
    """As fast as the broker confirms: nothing is wrong with it but the amount."""
    peer = enemy.peer().say(*(hello := enemy.hello(advertisements=[("a1", JUNK)])))
    publisher, block = f"{hello[0].client}#1", 256
    first = 1
    while not enemy.stopped.is_set():
        seqs = list(range(first, first + block))
        peer.say(Run(publisher, seqs, [EVENT] * block, 0))
        enemy.strikes += 1
        first += block
        if not peer.wait_confirmed(first - 2048):
            break
    peer.close()


def floods_beyond_its_window(enemy: Enemy) -> None:
    peer = enemy.peer().say(
        *(hello := enemy.hello(advertisements=[("a1", JUNK)], subscriptions=[("s1", JUNK)]))
    )
    publisher, block = f"{hello[0].client}#1", 1024
    for number in range(12):
        seqs = list(range(1 + number * block, 1 + (number + 1) * block))
        peer.say(Run(publisher, seqs, [EVENT] * block, 0))
    peer.until_the_end()


def malformed(enemy: Enemy) -> None:
    """Bytes that are no message, before the hello and after it."""
    enemy.peer().write(b"GET / HTTP/1.1\r\nHost: broker\r\n\r\n" * 100).until_the_end()
    body = b"\x92\x02\x91\x93\xc1" + bytes(60_000)
    enemy.peer().say(*enemy.hello()).write(_framed(body) * FEW).until_the_end()


def out_of_order(enemy: Enemy) -> None:
    peer = enemy.peer().say(*enemy.hello())
    peer.wire.sent += 1
    peer.say(Subscribe("s1", "TRUE")).until_the_end()
    enemy.peer().say(ClientHello("other", [], [], version=99)).until_the_end()
    enemy.peer().say(LinkHello("stranger", 1)).until_the_end()


def oversized(enemy: Enemy) -> None:
    enemy.peer().say(ClientHello("long", [], [("s1", "x" * 2**21)])).until_the_end()
    enemy.peer().say(*enemy.hello()).write((2**32 - 1).to_bytes(4, "big") + bytes(2**16)).until_the_end()


def truncated(enemy: Enemy) -> None:
    """Fifteen of sixteen megabytes, and then nothing more."""
    frame = Wire().frame([Subscribe("s1", "x" * (15 * 2**20))])
    peer = enemy.peer().say(*enemy.hello())
    peer.write(_renumbered(frame)[: -(2**20)])
    enemy.stopped.wait(0.5)
    peer.close()


def unparsable_filters(enemy: Enemy) -> None:
    _subscribes(enemy, ["x >", "((x = 1)", "SELECT * FROM t", "x = 'open", "\x00"] * 20)


def huge_filters(enemy: Enemy) -> None:
    ranges = " OR ".join(f"x = {number}" for number in range(40_000))
    _subscribes(enemy, [ranges, "x = '" + "y" * 2**20 + "'", "NOT " * DEEP + "x"])


def longest_filters(enemy: Enemy) -> None:
    """As long as a filter may be, and never the same twice."""
    first = enemy.strikes * 10
    _subscribes(enemy, [" OR ".join(f"x = {first + k + number}" for number in range(500)) for k in range(5)])


def growing_filter(enemy: Enemy) -> None:
    """Short itself, and hundreds of megabytes long when it is evaluated."""
    long = f"LENGTH(CONCAT({', '.join(['topic'] * 500)})) = 1"
    enemy.peer().say(*enemy.hello(subscriptions=[("s1", long)])).stay(0.1)
    peer = enemy.peer().say(*(hello := enemy.hello(advertisements=[("a1", "EXISTS topic")])))
    peer.say(Run(f"{hello[0].client}#1", [1], [encode(Event({"topic": "a" * 10**6}))], 0))
    peer.wait_confirmed(1)
    peer.close()


def nested_parentheses(enemy: Enemy) -> None:
    _subscribes(enemy, ["(" * DEEP + "x = 1" + ")" * DEEP, "(" * DEEP])


def levels_in_a_topic(enemy: Enemy) -> None:
    _subscribes(
        enemy, [f"topic LIKE '{LEVELS}%'", f"topic = '{LEVELS}'", "topic LIKE '" + "%/" * DEEP + "%'"]
    )
    peer = enemy.peer().say(*(hello := enemy.hello(advertisements=[("a1", "TRUE")])))
    event = encode(Event({"topic": LEVELS}))
    peer.say(Run(f"{hello[0].client}#1", list(range(1, 9)), [event] * 8, 0))
    peer.wait_confirmed(8)
    peer.close()


def many_filters(enemy: Enemy) -> None:
    """All that a client may have, then it goes and comes back under another name."""
    names = [
        (f"s{number}", f"x >= {number} AND x <= {number + 1} AND topic = 'n{number}'")
        for number in range(1000)
    ]
    enemy.peer().say(*enemy.hello(subscriptions=names)).stay(0.2).close()


CONTROL = "busy"
ATTACKS = {
    CONTROL: Attack("control: a process that is busy, and no attack", busy, False),
    "silent": Attack("200 connections that never authenticate", never_authenticates, True),
    "token": Attack("wrong tokens in a loop", wrong_token, True),
    "deaf": Attack("a subscriber of the conversation that never reads", never_reads, True),
    "deaf-flood": Attack("a subscriber that never reads 48 MiB", never_reads_its_own_flood, True),
    "flood": Attack("a flood of publications within the window", floods_within_its_window, False),
    "flood-beyond": Attack("a flood beyond the window", floods_beyond_its_window, True),
    "malformed": Attack("malformed frames", malformed, True),
    "order": Attack("frames out of order, wrong version, unknown broker", out_of_order, True),
    "oversized": Attack("oversized frames", oversized, True),
    "truncated": Attack("frames of 16 MiB cut short", truncated, False),
    "unparsable": Attack("unparsable filters", unparsable_filters, False),
    "huge": Attack("filters of 1 MiB", huge_filters, False),
    "longest": Attack("filters as long as is allowed", longest_filters, False),
    "growing": Attack("a filter that makes 500 MB of an event", growing_filter, False),
    "nested": Attack("65,000 nested parentheses", nested_parentheses, False),
    "levels": Attack("65,000 levels in a topic", levels_in_a_topic, False),
    "filters": Attack("1,000 filters, again and again", many_filters, False),
}


def _subscribes(enemy: Enemy, filters: list[str]) -> None:
    """Each is refused by name, or taken; the client stays."""
    peer = enemy.peer().say(*enemy.hello())
    asked: list[AnyMessage] = []
    for number, filter in enumerate(filters):
        asked += [Subscribe(f"s{number}", filter), Advertise(f"a{number}", filter)]
    for message in asked:
        peer.say(message)
    peer.answers(len(asked))
    peer.close()


def _framed(body: bytes) -> bytes:
    return len(body).to_bytes(4, "big") + body


def _renumbered(frame: bytes) -> bytes:
    """As the second of a connection; small numbers are one byte, after the length and the array's head."""
    return frame[:5] + b"\x02" + frame[6:]


def main(name: str, port: int, pace: float) -> None:
    os.nice(10)
    enemy = Enemy(port)
    threading.Thread(target=_wait_for_the_end, args=(enemy,), daemon=True).start()
    striking = threading.Thread(target=_strike, args=(enemy, ATTACKS[name].strike, pace))
    striking.start()
    since = time.monotonic()
    while not enemy.strikes and time.monotonic() < since + 1.0:
        time.sleep(0.01)
    print("ready", flush=True)
    striking.join()
    print(json.dumps(Report(enemy.strikes, dict(Counter(enemy.said).most_common()))._asdict()), flush=True)


def _wait_for_the_end(enemy: Enemy) -> None:
    sys.stdin.read()
    enemy.stopped.set()


def _strike(enemy: Enemy, strike: Callable[[Enemy], None], pace: float) -> None:
    while not enemy.stopped.is_set():
        since = time.monotonic()
        strike(enemy)
        enemy.strikes += 1
        if pace:
            enemy.stopped.wait(max(0.0, since + 1 / pace - time.monotonic()))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), float(sys.argv[3]))
