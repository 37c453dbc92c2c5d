"""The configuration: which component by name for each kind, and the numbers they are run with."""

from dataclasses import dataclass

from regraft.model.routes import Matching


@dataclass(frozen=True)
class Settings:
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
    matching: Matching = "filter"
    """Tables that look at the dz-expression alone (the seed's), or at the publisher as well."""
    apart_above: float = 0.01
    """Publishers get trees of their own where a shared one costs more than this share on top."""
    paths_per_pair: int = 1
    """Shortest and next-best paths that a tree is chosen among."""
    rings: int = 2
    """Rings of neighbours around what is in use; the whole network if negative."""
    fragment_size: int = 12
    """Most switches of a fragment."""
    balance: float = 2.0
    """α of balanced trees: a path is at most so many times the shortest."""
    centres: int = 3
    """Most centre switches."""
    clusters: int = 4
    """K of (5.50) and of spectral clustering."""
    prefix: int = 2
    """Digits that filters of one cluster share, when clustered by prefix."""
    rounds: int = 3
    """Most turns of the iteration phase."""
    processes: int = 1
    seed: int = 0
    """For what is drawn by lot: only spectral clustering does."""
    time_limit: float = 10.0
    """Seconds that one integer program may take."""


DEFAULTS = Settings()
