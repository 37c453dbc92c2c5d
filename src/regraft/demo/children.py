"""What a process of the demo runs: a node (`regraft.node`) with delayed links, or all clients.

The fork server imports this module before it forks, so everything that a process needs is loaded here and
in `preloaded`.
"""

import logging
import sys
from collections.abc import Mapping

from regraft.broker.io.running import run
from regraft.demo.clients import run_until_input_ends
from regraft.demo.delayed_links import delayed_server
from regraft.demo.demands import Workload
from regraft.model import Ends
from regraft.node import process as node
from regraft.node.healing import hosting


def run_node(seconds: Mapping[Ends, float]) -> None:
    """Run one broker; its settings come from standard input, as for every node."""
    logging.basicConfig(level="WARNING", format="%(asctime)s %(name)s: %(message)s")
    # `hosting` starts the broker, and a broker that this node stands in for: both need delayed links.
    hosting.BrokerServer = delayed_server(seconds)  # type: ignore[attr-defined]
    sys.exit(run(node.main()))


def run_clients(addresses: Mapping[str, tuple[str, int]], work: Workload) -> None:
    logging.basicConfig(level="WARNING", format="%(asctime)s %(name)s: %(message)s")
    sys.exit(run(run_until_input_ends(addresses, work)))
