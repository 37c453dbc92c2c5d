"""Compile the kernels ahead of time, so that no routes wait for it: `python -m regraft.routes.warm`."""

from regraft.model.routes import Publisher, RouteWorkload, Subscriber
from regraft.model.switch_network import SwitchNetwork
from regraft.routes.compute import RouteState, compute_routes


def warm() -> None:
    """Compute tiny routes that use every compiled function."""
    network = SwitchNetwork.of([("a", "b"), ("b", "c"), ("c", "d"), ("d", "a"), ("b", "d"), ("c", "e")])
    workload = RouteWorkload(
        (Publisher("p", "a", 1.0, ("0",)),),
        tuple(Subscriber(f"to {switch}", switch, ("0",)) for switch in ("c", "d", "e")),
    )
    assert isinstance(compute_routes(network, workload), RouteState)


if __name__ == "__main__":
    warm()
