"""What the demo's processes do: a node (`regraft.node`) whose links are far, or all clients."""

import logging
import sys
from collections.abc import Mapping

from regraft.broker.io.running import run, undisturbed
from regraft.demo.clients import clients
from regraft.demo.demands import Workload
from regraft.demo.far import far_server
from regraft.filters.index import load_compiled
from regraft.model import Ends
from regraft.node import process as node
from regraft.node.healing import hosting

load_compiled()


def run_node(seconds: Mapping[Ends, float]) -> None:
    """Settings come by standard input, as for every node."""
    logging.basicConfig(level="WARNING", format="%(asctime)s %(name)s: %(message)s")
    hosting.BrokerServer = far_server(seconds)  # type: ignore[attr-defined]
    sys.exit(run(undisturbed(node.main())))


def run_clients(addresses: Mapping[str, tuple[str, int]], work: Workload) -> None:
    logging.basicConfig(level="WARNING", format="%(asctime)s %(name)s: %(message)s")
    sys.exit(run(clients(addresses, work)))
