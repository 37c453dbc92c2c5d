"""Every key of the configuration file: what it means, what it may be, and what it is if nobody says.

The starter file of `regraft init`, the checks, and docs/configuration.md are all made from this table.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, field

from regraft.loop.maintenance import RULE, slot
from regraft.model import BadInput

Scalar = str | int | float | bool | list[str]
_LENGTH = re.compile(r"(\d+(?:\.\d+)?)\s*(ms|s|m|h|d)", re.ASCII)
_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86_400.0}
_SIZE = re.compile(r"(\d{1,15})\s*([kMGT]?)B?", re.ASCII)
LONGEST = 100 * 366 * 86_400.0
"""A hundred years, in seconds."""
_SIZES = {"": 1, "k": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}


@dataclass(frozen=True)
class Kind:
    """`accepts` is asked for a value of the right type; `expected` says it in words."""

    expected: str
    types: tuple[type, ...]
    accepts: Callable[[object], bool] = field(default=lambda value: True)


def text(what: str = "text") -> Kind:
    return Kind(what, (str,), lambda value: "\0" not in value)  # type: ignore[operator]


def choice(*names: str) -> Kind:
    return Kind("one of " + ", ".join(f'"{name}"' for name in names), (str,), lambda value: value in names)


def whole(least: int, most: int = 10**12) -> Kind:
    at_most = "" if most == 10**12 else f" to {most}"
    return Kind(f"a whole number from {least}{at_most}", (int,), lambda value: least <= value <= most)  # type: ignore[operator]


def number(least: float, most: float = float("inf")) -> Kind:
    at_most = "" if most == float("inf") else f" to {most:g}"
    top = min(most, 1e15)  # nothing is infinite: the state could not be read again
    return Kind(f"a number from {least:g}{at_most}", (int, float), lambda value: least <= value <= top)  # type: ignore[operator]


def length(least: str = "0s") -> Kind:
    def accepts(value: object) -> bool:
        found = _LENGTH.fullmatch(str(value).strip()) is not None
        return found and seconds(least) <= seconds(str(value)) <= LONGEST

    more = "" if least == "0s" else f", at least {least}"
    return Kind(f'a length of time such as "500ms", "60s", "5m" or "1h"{more}', (str,), accepts)


def size() -> Kind:
    return Kind(
        'a size such as "200MB"', (str,), lambda value: _SIZE.fullmatch(str(value).strip()) is not None
    )


def slots() -> Kind:
    def accepts(value: object) -> bool:
        try:
            return all(slot(each) for each in value)  # type: ignore[attr-defined]
        except BadInput:
            return False

    return Kind(f"a list of times, each of which {RULE}", (list,), accepts)


def names() -> Kind:
    return Kind("a list of names", (list,))


def switch() -> Kind:
    return Kind("true or false", (bool,))


def seconds(value: str) -> float:
    found = _LENGTH.fullmatch(value.strip())
    if found is None:
        raise BadInput(value, "is not a length of time")
    return float(found[1]) * _UNITS[found[2]]


def byte_count(value: str) -> int:
    found = _SIZE.fullmatch(value.strip())
    if found is None:
        raise BadInput(value, "is not a size")
    return int(found[1]) * _SIZES[found[2]]


@dataclass(frozen=True)
class Key:
    kind: Kind
    default: Scalar
    about: str


@dataclass(frozen=True)
class Section:
    about: str
    keys: dict[str, Key]


NO_LIMIT = "0: no limit."

SECTIONS: dict[str, Section] = {
    "overlay": Section(
        "The brokers.",
        {
            "name": Key(text(), "overlay", "What the dashboard and the log call it."),
            "directory": Key(
                text("a path"),
                "out/overlay.json",
                "What `regraft up` wrote: where ZooKeeper is. Paths are seen from this file's folder.",
            ),
            "network": Key(
                text("a path, or nothing"),
                "",
                "Topology, GML or GraphML file: which links are possible, what links and brokers cost, "
                'latencies, coordinates. "": every pair may be linked, everything costs 1.',
            ),
        },
    ),
    "zookeeper": Section(
        "The ensemble. Its secret is in the environment: REGRAFT_ZOOKEEPER_AUTH=digest:USER:PASSWORD",
        {
            "hosts": Key(text("HOST:PORT,…, or nothing"), "", '"": the one that overlay.directory names.'),
            "root": Key(text("a path of a node"), "/regraft", "Under which our nodes are."),
            "ca": Key(text("a path, or nothing"), "", "Speak TLS, and trust this authority (PEM)."),
            "certificate": Key(text("a path, or nothing"), "", "Our certificate (PEM)."),
            "key": Key(text("a path, or nothing"), "", "Its key (PEM)."),
        },
    ),
    "telemetry": Section(
        "What the brokers write: the folder of `regraft up --telemetry`.",
        {
            "folder": Key(text("a path"), "out/telemetry", "Spools, one folder or file for each broker."),
            "top": Key(
                whole(0),
                0,
                "Keep so many of the heaviest traffic classes of a window, merge the others. " + NO_LIMIT,
            ),
            "keep": Key(
                length(),
                "7d",
                "So long spools stay after they were measured; then they are removed, and `regraft what-if` "
                'can not look back further. "0s": for ever.',
            ),
        },
    ),
    "spark": Section(
        "Where it is measured. The session is kept while the loop runs.",
        {
            "master": Key(
                text(), "local[2]", "local[N], spark://HOST:PORT, yarn, k8s://… or sc://HOST:PORT."
            ),
            "memory": Key(text('a size such as "1g"'), "1g", "Of a Spark that is started here."),
            "small": Key(
                switch(),
                True,
                "Start it for little data (up to some 100,000 records a window): it is ready sooner.",
            ),
            "time_limit": Key(length("1s"), "5m", "Of one measurement; then Spark is started anew."),
        },
    ),
    "loop": Section(
        "How bold it is. One unit of price is one message over one link or broker.",
        {
            "mode": Key(
                choice("observe", "propose", "automatic"),
                "propose",
                "observe: only show what it would propose. propose: a person approves. automatic: by itself, "
                "within [automatic].",
            ),
            "window": Key(length("100ms"), "60s", "Δt: how long traffic is watched before it is judged."),
            "settle": Key(length(), "2s", "After a window, until the brokers have written what they know."),
            "least_publications": Key(whole(0), 100, "A window with fewer says nothing about the traffic."),
            "confirm": Key(whole(1, 100), 3, "Windows in a row in which a better topology has to be better."),
            "least_gain": Key(number(0, 1), 0.05, "Share of the cost that a change has to save."),
            "tolerance": Key(number(0, 1), 0.005, "A goal that is worse by less than this share is kept."),
            "payback_windows": Key(number(0), 20.0, "In so many windows a change has to earn its price."),
            "action_price": Key(number(0), 50.0, "Of one link change."),
            "buffered_price": Key(number(0), 1.0, "Of a message that waits while a link is changed."),
            "cool_down": Key(length(), "3m", "After a change, until the next one may be designed."),
            "memory": Key(
                length(), "1h", "So long a change is remembered: undoing it needs twice the gain, and so on."
            ),
            "heal": Key(switch(), True, "What healing wants is done without asking, except in mode observe."),
            "back_off": Key(length("100ms"), "5s", "After a failure; doubled with every further one."),
            "longest_back_off": Key(length("1s"), "5m", "Between two tries at most."),
        },
    ),
    "automatic": Section(
        "Within which limits mode automatic acts without asking.",
        {
            "max_actions": Key(whole(0), 0, "Link changes of one plan. " + NO_LIMIT),
            "actions_per_hour": Key(whole(0), 200, "Link changes. " + NO_LIMIT),
            "transformations_per_hour": Key(whole(0), 6, "Plans. " + NO_LIMIT),
            "maintenance": Key(
                slots(),
                [],
                'When, in UTC, such as ["Mon-Fri 01:00-05:00", "Sat,Sun 00:00-24:00"]. []: always.',
            ),
        },
    ),
    "goals": Section(
        "What no change may break, in this order; then cost, diameter and balance are made better.",
        {
            "max_degree": Key(whole(0), 0, "Links of a broker. " + NO_LIMIT),
            "broker_capacity": Key(number(0), 0.0, "Messages a second through a broker. " + NO_LIMIT),
            "link_capacity": Key(number(0), 0.0, "Messages a second over a link. " + NO_LIMIT),
            "latency_ms": Key(number(0), 0.0, "Expected delivery latency. " + NO_LIMIT),
            "k": Key(whole(0, 100), 2, "Of a mesh: fewer failures on a topic never cut it. " + NO_LIMIT),
        },
    ),
    "design": Section(
        "How a better topology is looked for.",
        {
            "tree": Key(
                choice("auto", "global", "neighbourhoods", "exact"), "auto", "As `regraft design ocbr`."
            ),
            "mesh": Key(
                choice("greedy-k", "gm", "gm2", "harary", "cycle"), "greedy-k", "As `regraft design METHOD`."
            ),
            "alpha": Key(number(0), 1.0, "Weight of links in the routing cost (OCBR)."),
            "beta": Key(number(0), 1.0, "Weight of brokers."),
            "time_limit": Key(length("10ms"), "3s", "Of the search."),
        },
    ),
    "plan": Section(
        "How the way there is looked for.",
        {
            "planner": Key(choice("fast", "exact"), "fast", "As `regraft plan --planner`."),
            "minimise": Key(choice("steps", "actions"), "steps", "What is made least first."),
            "time_limit": Key(length("10ms"), "1s", "Of the search."),
        },
    ),
    "deploy": Section(
        "How carefully links are changed. The secret of the canaries is in the environment: REGRAFT_TOKEN",
        {
            "seconds": Key(number(0.1), 10.0, "For one change to be ready; then it is tried again."),
            "attempts": Key(whole(1), 3, "For each change."),
            "at_once": Key(whole(0), 0, "Changes at a time. " + NO_LIMIT),
            "per_broker": Key(whole(0), 1, "The same, at one broker. " + NO_LIMIT),
            "queue_bytes": Key(whole(0), 0, "Wait while a broker holds more. " + NO_LIMIT),
            "latency_ms": Key(number(0), 0.0, "Wait while a canary takes longer. " + NO_LIMIT),
            "canaries": Key(whole(0, 100), 3, "Subscribers that audit a change; 0: none."),
        },
    ),
    "state": Section(
        "What the loop remembers across restarts: decisions, proposals, operations, tables.",
        {
            "folder": Key(text("a path"), "out/loop", "Nobody else may write there."),
            "least_free": Key(size(), "200MB", "With less room on the disk, nothing is measured."),
            "keep": Key(length("1h"), "30d", "So long decisions and figures of windows are kept."),
            "windows": Key(
                whole(10), 1000, "So many of the last windows keep their tables and clean records."
            ),
        },
    ),
    "web": Section(
        "REST and dashboard. Tokens are in the environment: REGRAFT_WEB_TOKENS=NAME:ROLE:SECRET,… with the "
        "roles viewer, operator, admin",
        {
            "enabled": Key(switch(), True, "false: the loop alone."),
            "host": Key(text(), "127.0.0.1", "Anything but loopback needs tokens or client certificates."),
            "port": Key(whole(0, 65_535), 0, "0: a free one, which is printed."),
            "certificate": Key(text("a path, or nothing"), "", "Speak TLS with this certificate (PEM)."),
            "key": Key(text("a path, or nothing"), "", "Its key (PEM)."),
            "ca": Key(text("a path, or nothing"), "", "Clients show certificates of this authority (PEM)."),
            "tokens_file": Key(
                text("a path, or nothing"),
                "",
                "Users beside those of the environment, in lines `NAME ROLE sha256:HEX` (of a token) or "
                "`NAME ROLE certificate` (with that common name).",
            ),
            "requests_per_minute": Key(whole(1), 600, "Of one client; a tenth of them may change something."),
            "audit_log": Key(text("a path, or nothing"), "", '"": audit.ndjson in state.folder.'),
            "plain_http": Key(switch(), False, "Something in front of it speaks TLS: allow tokens without."),
            "hosts": Key(names(), [], "Names by which it may be asked, behind a proxy."),
        },
    ),
}
