"""What rules may speak of: events with their arguments, actions, measured values, and the types of all these.

Types are those of the paper's declarations, by what they mean here: `Broker<T>` is one broker,
`Broker<List<T>>` several, `target` the destination database. A new event or action is one line here and one
case in `actions`.
"""

from typing import Final, Literal, NamedTuple

Type = Literal["number", "text", "truth", "broker", "brokers", "monitor", "target"]

SUBJECT: Final = "AdaptationManager"


def type_of(written: str) -> Type | None:
    """The type that a declaration names; T stands for any name."""
    plain: dict[str, Type] = {
        "target": "target",
        "Monitor": "monitor",
        "Compression": "brokers",
        "String": "text",
        "boolean": "truth",
        "int": "number",
        "long": "number",
        "float": "number",
        "double": "number",
        "Broker": "broker",
    }
    if written in plain:
        return plain[written]
    if written.startswith("Broker<List<"):
        return "brokers"
    return "broker" if written.startswith("Broker<") and "<" not in written[len("Broker<") :] else None


class Argument(NamedTuple):
    name: str
    type: Type


_MEASURED: Final = ("cpu", "memory", "threads", "queue", "input_rate", "output_rate")
MEASURES: Final = (*_MEASURED, "max_input_rate", "min_output_rate", "clients")
"""Fields of `model.facts.Load`: `broker.cpu`, and `Monitor.cpu` for the broker of the event."""
_LOAD: Final = tuple(Argument(name, "number") for name in _MEASURED)

EVENTS: Final[dict[str, tuple[Argument, ...]]] = {
    # The paper's four.
    "deleteBrokerRequest": (),
    "addBrokerRequest": (),
    "migrateBrokerRequest": (
        Argument("Monitor", "monitor"),
        Argument("max_input_rate", "number"),
        Argument("min_output_rate", "number"),
    ),
    "transferBrokerRequest": (
        Argument("brokers", "brokers"),
        Argument("local_ip_info", "text"),
        Argument("remote_ip_info", "text"),
    ),
    # What the monitor notices.
    "brokerOverloaded": _LOAD,
    "brokerMeasured": _LOAD,
    "brokerRecovered": (),
}

ACTIONS: Final[dict[str, frozenset[Type]]] = {
    "deleteBroker": frozenset({"broker", "brokers"}),
    "addBroker": frozenset({"broker", "brokers"}),
    "goBroker": frozenset({"broker", "brokers"}),
    "cloneBroker": frozenset({"broker", "brokers"}),
    "moveClients": frozenset({"broker"}),
    "shiftAway": frozenset({"broker"}),
}
"""Each takes one argument, of one of these types."""

CONTRADICTORY: Final = frozenset(
    {
        frozenset({"deleteBroker", "addBroker"}),
        frozenset({"deleteBroker", "shiftAway"}),
        frozenset({"goBroker", "cloneBroker"}),
    }
)
"""Two that cannot both be done to the same broker at the same event."""

ATTRIBUTES: Final[dict[Type, dict[str, Type]]] = {
    "broker": {**dict.fromkeys(MEASURES, "number"), "degree": "number", "dead": "truth", "id": "text"},
    "monitor": dict.fromkeys(MEASURES, "number"),
    "brokers": {"count": "number"},
}
METHODS: Final[dict[Type, dict[str, Type]]] = {
    # The paper compares it with a bound, so it is the number of these brokers.
    "brokers": {"getBrokersID": "number"},
    "broker": {"getBrokerID": "text"},
}
