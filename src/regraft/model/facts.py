"""What is known when rules are evaluated: the overlay, what happened, what was measured (Mimosa Pudica §4.2).

Its monitor counts threads, CPU and memory; queue and rates come from the broker's telemetry.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import msgspec

from regraft.model.topology import Topology


class Load(msgspec.Struct, frozen=True, kw_only=True):
    """The load of one broker. None means not measured, and is never taken for zero.

    `cpu` and `memory` are shares of what there is, from 0 to 1; rates are messages per second.
    `max_input_rate` is the most that the broker could take in lately, `min_output_rate` the least that had to
    leave it.
    """

    cpu: float | None = None
    memory: float | None = None
    threads: float | None = None
    queue: float | None = None
    input_rate: float | None = None
    output_rate: float | None = None
    max_input_rate: float | None = None
    min_output_rate: float | None = None
    clients: float | None = None


Argument = float | str | bool | tuple[str, ...]


class Event(msgspec.Struct, frozen=True, kw_only=True):
    """Something that rules may ask for with `on`. `broker` is the one it is about (B_j in Mimosa Pudica).

    `brokers` are the others that it names: between which a new one is to stand, to which components are to
    go. The rest is in `arguments`, by the names of the rules' vocabulary.
    """

    name: str
    broker: str = ""
    brokers: tuple[str, ...] = ()
    components: tuple[str, ...] = ()
    arguments: dict[str, Argument] = {}
    at: float = 0.0


class Removal(NamedTuple):
    """A broker that healing has removed."""

    at: float
    broker: str
    healthy: bool


@dataclass(frozen=True)
class Facts:
    """What is known at one moment. `events` are in the order of their arrival."""

    overlay: Topology
    events: tuple[Event, ...] = ()
    loads: Mapping[str, Load] = field(default_factory=dict)
    components: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """The components of each broker."""
    dead: frozenset[str] = frozenset()
    """Brokers of the overlay that do not answer."""
    removed: tuple[Removal, ...] = ()
    """Brokers that were removed lately."""
    now: float = 0.0

    @property
    def living(self) -> tuple[str, ...]:
        return tuple(id for id in self.overlay.ids if id not in self.dead)
