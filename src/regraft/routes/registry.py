"""Components by kind and name, imported when first needed, so that unused solvers cost nothing."""

from importlib import import_module
from typing import Any

from regraft.model import BadInput

COMPONENTS: dict[str, dict[str, str]] = {
    "paths": {
        "linear-program": "path_program:linear_paths",
        "dijkstra": "path_search:shortest_paths",
    },
    "trees": {
        "union": "path_trees:union_of_paths",
        "chosen": "path_trees:chosen_paths",
    },
    "embedding": {
        "exact": "embedding:embed",
        "fewest-flows": "embedding_flows:embed_few",
    },
    "clustering": {
        "atoms": "clustering_atoms:by_atoms",
        "overlap": "clustering_overlap:by_overlap",
        "prefix": "clustering_prefix:by_prefix",
        "diameter": "clustering_diameter:by_diameter",
        "spectral": "clustering_spectral:by_spectrum",
    },
    "selection": {
        "rings": "selection:rings_around",
        "all": "selection:everything",
    },
    "fragmentation": {
        "none": "fragmentation:whole",
        "parts": "fragmentation:in_parts",
        "exchange": "fragment_exchange:exchange",
    },
    "subgraph": {
        "shortest-path-trees": "subgraph_paths:shortest_path_trees",
        "combination": "combination:combination",
        "spanning-tree": "spanning_tree:spanning_trees",
        "spanning-tree-cut": "spanning_program:cut_spanning_trees",
        "balanced": "balanced_tree:balanced_trees",
        "steiner": "steiner:steiner_trees",
        "steiner-program": "steiner_program:exact_steiner_trees",
        "steiner-approximation": "steiner_approximation:approximate_steiner_trees",
        "centre-switches": "centre_switches:through_centres",
        "virtual": "virtual_points:through_virtual_points",
    },
    "cycles": {
        "components": "cycles:cycles_in",
    },
    "rebalancing": {
        "none": "rebalancing:unchanged",
        "total-load": "rebalancing:total_load",
        "suggestion": "rebalancing:suggestion",
    },
}


def component(kind: str, name: str) -> Any:
    """The component of this name."""
    module, _, function = COMPONENTS[kind][known_name(kind, name)].partition(":")
    return getattr(import_module(f"regraft.routes.{module}"), function)


def known_name(kind: str, name: str) -> str:
    """The name, if there is such a component; otherwise a `BadInput` that lists the names."""
    names = COMPONENTS[kind]
    if name not in names:
        raise BadInput(kind, f"unknown component {name!r}, choose one of {', '.join(names)}")
    return name
