"""The configuration: which component by name for each kind, and the numbers they are run with."""

from dataclasses import dataclass, fields
from typing import Any, Literal

from regraft.model import BadInput
from regraft.model.fields import a_number, a_text, a_whole_number, an_object
from regraft.model.routes import Matching

RebalanceWhen = Literal["limits", "always"]

CHOICES = {"matching": ("publisher", "filter"), "rebalance_when": ("limits", "always")}

LEAST = {
    "paths_per_pair": 1,
    "fragment_size": 2,
    "centres": 1,
    "clusters": 1,
    "rounds": 1,
    "processes": 1,
    "balance": 1.001,
}
"""The least allowed value of each number."""


@dataclass(frozen=True)
class RouteSettings:
    """Names are those of the registry; the defaults are the fastest that give the least data rate."""

    paths: str = "dijkstra"
    trees: str = "union"
    embedding: str = "exact"
    clustering: str = "atoms"
    selection: str = "all"
    fragmentation: str = "none"
    subgraph: str = "steiner"
    cycles: str = "components"
    rebalancing: str = "suggestion"
    rebalance_when: RebalanceWhen = "limits"
    """Weights follow the load while a load limit is broken, or "always" until they converge (§6.5)."""
    matching: Matching = "filter"
    """Tables match on the dz-expression alone (as in the thesis), or on the publisher as well."""
    apart_above: float = 0.01
    """Publishers get separate trees if a shared one costs more than this share on top of those."""
    paths_per_pair: int = 1
    """How many shortest and next-best paths of each pair a tree is chosen from."""
    rings: int = 2
    """How many rings of neighbours around the edges in use a sub graph has; negative: everything."""
    fragment_size: int = 12
    """The most switches of a fragment."""
    balance: float = 2.0
    """α of balanced trees: a path is at most α times as long as the shortest."""
    centres: int = 3
    """The most centre switches."""
    clusters: int = 4
    """K of (5.50) and of spectral clustering."""
    prefix: int = 2
    """How many digits the filters of one cluster share, when clustered by prefix."""
    rounds: int = 3
    """The most rounds of the iteration phase."""
    processes: int = 1
    seed: int = 0
    """The seed of random numbers: only spectral clustering uses any."""
    time_limit: float = 10.0
    """How many seconds one integer program may take."""


DEFAULTS = RouteSettings()


def settings_from(document: Any) -> RouteSettings:
    """The settings of a parsed JSON document; those that it does not name have their defaults."""
    known = {each.name: each.default for each in fields(RouteSettings)}
    given: dict[str, Any] = {}
    for key, value in an_object(document, "").items():
        if key not in known:
            raise BadInput(key, f"unknown setting, there are {', '.join(known)}")
        if isinstance(known[key], str):
            given[key] = a_text(value, key)
        elif isinstance(known[key], int):
            given[key] = a_whole_number(value, key, -1 if key == "rings" else int(LEAST.get(key, 0)), 10**9)
        else:
            given[key] = a_number(value, key, LEAST.get(key, 0))
    for key, (one, other) in CHOICES.items():
        if key in given and given[key] not in (one, other):
            raise BadInput(key, f"must be {one!r} or {other!r}, not {given[key]!r}")
    return RouteSettings(**given)
