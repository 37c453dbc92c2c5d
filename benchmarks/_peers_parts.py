"""The parts of the broker benchmark that compare with other brokers: throughput, a chain, latency."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from benchmarks._load import Load
from benchmarks._load_clients import clients_rate
from benchmarks._load_run import Outcome, run
from benchmarks._peers import Peer, PeerFailed
from benchmarks._peers_mqtt import Amqtt, Mosquitto
from benchmarks._peers_rabbitmq import RabbitMQ
from benchmarks._table import Line

PAYLOAD = 256
FIRST_TRY = 2_000
"""Messages that warm a broker up and tell how many it passes in the time of a trial."""


@dataclass(frozen=True)
class Bench:
    """How much to run. `ours` is None where only the peers are measured."""

    trials: int
    seconds: float
    latency_seconds: float
    say: Callable[[str], None]
    ours: Peer | None = None

    def peers(self, *others: Peer) -> list[Peer]:
        return [*others, *([self.ours] if self.ours else [])]

    def throughput(self, peer: Peer, brokers: int) -> list[Outcome]:
        """As fast as acknowledged, each trial about as long as asked for."""
        with peer.chain(brokers) as chain:
            rate = run(chain, Load(FIRST_TRY, PAYLOAD)).rate
            # The first try starts cold and ends with a queue to drain: it tells too little.
            rate = run(chain, Load(max(FIRST_TRY, int(rate / 2)), PAYLOAD)).rate
            load = Load(max(FIRST_TRY, int(rate * self.seconds)), PAYLOAD)
            return [self._trial(peer, run(chain, load)) for _ in range(self.trials)]

    def latency(self, peer: Peer, rate: float) -> list[Outcome]:
        load = Load(int(rate * self.latency_seconds), PAYLOAD, rate)
        with peer.chain(1) as chain:
            run(chain, Load(FIRST_TRY, PAYLOAD, rate))
            return [self._trial(peer, run(chain, load)) for _ in range(self.trials)]

    def _trial(self, peer: Peer, outcome: Outcome) -> Outcome:
        latency = f"p50 {outcome.received.p50_us:,.0f} µs, p99 {outcome.received.p99_us:,.0f} µs"
        self.say(f"{peer.name}: {outcome.rate:,.0f}/s, {latency}{_faults([outcome])}")
        return outcome


def generators(bench: Bench) -> Iterator[Line]:
    """Which load drives Mosquitto fastest: ours must, or its figures are not Mosquitto's."""
    peer = Mosquitto()
    what = "load generator / Mosquitto's own clients, on Mosquitto at QoS 1"
    try:
        ours = [outcome.rate for outcome in bench.throughput(peer, 1)]
        with peer.chain(1) as chain:
            count = max(FIRST_TRY, int(median(ours) * bench.seconds / 2))
            theirs = [clients_rate(chain.first, count, PAYLOAD) for _ in ours]
    except PeerFailed as failure:
        yield Line(what, ">= 1 times", str(failure), None, {})
        return
    ratio = median(ours) / median(theirs)
    shown = f"{ratio:.2f} times ({median(ours):,.0f}/s against {median(theirs):,.0f}/s)"
    yield Line(what, ">= 1 times", shown, ratio >= 1, {"ours": ours, "clients": theirs})


def throughput(bench: Bench) -> Iterator[Line]:
    """One publisher, one broker, one subscriber."""
    peers = bench.peers(Mosquitto(), Amqtt(), RabbitMQ())
    what = f"one broker, acknowledged, {PAYLOAD} bytes"
    yield from _rates(bench, peers, 1, what, {"Mosquitto": 1.0, "amqtt": 10.0})


def chain(bench: Bench) -> Iterator[Line]:
    """A chain of three brokers: bridges at QoS 1, federation that confirms."""
    peers = bench.peers(Mosquitto(), RabbitMQ())
    what = f"three brokers in a row, acknowledged, {PAYLOAD} bytes"
    yield from _rates(bench, peers, 3, what, {"RabbitMQ": 2.0})


def latency(bench: Bench) -> Iterator[Line]:
    """One hop at 1,000 messages per second."""
    what, rate = "one hop at 1,000/s", 1_000.0
    tails: dict[str, float] = {}
    for peer in bench.peers(Mosquitto(), Amqtt(), RabbitMQ()):
        try:
            outcomes = bench.latency(peer, rate)
            name = f"{peer.name} {peer.version()}"
        except PeerFailed as failure:
            yield Line(f"{peer.name}: {what}", "-", str(failure), None, {})
            continue
        p50 = median(outcome.received.p50_us for outcome in outcomes)
        tails[peer.name] = median(outcome.received.p99_us for outcome in outcomes)
        shown = f"p50 {p50:,.0f} µs, p99 {tails[peer.name]:,.0f} µs{_faults(outcomes)}"
        yield Line(f"{name}: {what}", *_promise(bench, peer, outcomes, shown), _data(outcomes))
    if bench.ours and bench.ours.name in tails and "Mosquitto" in tails:
        ratio = tails[bench.ours.name] / tails["Mosquitto"]
        p99 = f"{bench.ours.name} / Mosquitto: p99 of {what}"
        yield Line(p99, "<= 3 times", f"{ratio:.2f} times", ratio <= 3, {"p99_us": tails})


PARTS: dict[str, Callable[[Bench], Iterator[Line]]] = {
    "generators": generators,
    "throughput": throughput,
    "chain": chain,
    "latency": latency,
}


def _rates(
    bench: Bench, peers: Sequence[Peer], brokers: int, what: str, wanted: dict[str, float]
) -> Iterator[Line]:
    """A line for each peer, then how many times faster ours is than those that it must beat."""
    rates: dict[str, float] = {}
    for peer in peers:
        try:
            outcomes = bench.throughput(peer, brokers)
            name = f"{peer.name} {peer.version()}"
        except PeerFailed as failure:
            yield Line(f"{peer.name}: {what}", "-", str(failure), None, {})
            continue
        each = [outcome.rate for outcome in outcomes]
        rates[peer.name] = median(each)
        shown = f"{median(each):,.0f}/s ({min(each):,.0f} to {max(each):,.0f}){_faults(outcomes)}"
        yield Line(f"{name}: {what}", *_promise(bench, peer, outcomes, shown), _data(outcomes))
    for name, times in wanted.items():
        if bench.ours and bench.ours.name in rates and name in rates:
            ratio = rates[bench.ours.name] / rates[name]
            promise = f"{bench.ours.name} / {name}: {what}"
            yield Line(promise, f">= {times:g} times", f"{ratio:.2f} times", ratio >= times, {"rates": rates})


def _promise(
    bench: Bench, peer: Peer, outcomes: Sequence[Outcome], shown: str
) -> tuple[str, str, bool | None]:
    """Ours must lose, repeat and reorder nothing; of the peers it is only said."""
    if bench.ours is None or peer.name != bench.ours.name:
        return "-", shown, None
    return "nothing lost, repeated, late", shown, all(outcome.complete for outcome in outcomes)


def _faults(outcomes: Sequence[Outcome]) -> str:
    """Empty, or what went wrong in all of the trials together."""
    counts = {
        name: sum(getattr(outcome.received, name) for outcome in outcomes)
        for name in ("lost", "repeated", "late")
    }
    return "".join(f", {count:,} {name}" for name, count in counts.items() if count)


def _data(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    trials = [
        {"rate": outcome.rate, "sent": outcome.sent._asdict(), "received": outcome.received._asdict()}
        for outcome in outcomes
    ]
    return {"trials": trials}
