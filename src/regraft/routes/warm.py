"""Compile the kernels once, so that the first routes do not wait: `python -m regraft.routes.warm`."""

from regraft.model.routes import Publisher, RouteWorkload, Subscriber
from regraft.model.switch_network import SwitchNetwork
from regraft.routes.compute import RouteState, compute_routes


def warm() -> None:
    """Routes over something tiny with everything that is compiled."""
    network = SwitchNetwork.of([("a", "b"), ("b", "c"), ("c", "d"), ("d", "a"), ("b", "d"), ("c", "e")])
    workload = RouteWorkload(
        (Publisher("p", "a", 1.0, ("0",)),),
        tuple(Subscriber(f"to {switch}", switch, ("0",)) for switch in ("c", "d", "e")),
    )
    assert isinstance(compute_routes(network, workload), RouteState)


if __name__ == "__main__":
    warm()
