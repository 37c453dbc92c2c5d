"""What the demo's processes do: a node (`regraft.app.node`) whose links are far, or all clients."""

import logging
import sys
from collections.abc import Mapping

from regraft.app import node
from regraft.app.demo.clients import clients
from regraft.app.demo.demands import Workload
from regraft.app.demo.far import far_server
from regraft.app.healing import hosting
from regraft.broker.io.running import run, undisturbed
from regraft.filters.index import load_compiled
from regraft.model import Ends

load_compiled()


def run_node(seconds: Mapping[Ends, float]) -> None:
    """Settings come by standard input, as for every node."""
    logging.basicConfig(level="WARNING", format="%(asctime)s %(name)s: %(message)s")
    hosting.BrokerServer = far_server(seconds)  # type: ignore[attr-defined]
    sys.exit(run(undisturbed(node.main())))


def run_clients(addresses: Mapping[str, tuple[str, int]], work: Workload) -> None:
    logging.basicConfig(level="WARNING", format="%(asctime)s %(name)s: %(message)s")
    sys.exit(run(clients(addresses, work)))
