"""Runs one node; `process` says what it reads and prints."""

import sys

from regraft.broker.io.running import run
from regraft.model.process_log import start_logging
from regraft.node.process import main

start_logging("%(asctime)s %(name)s: %(message)s")
sys.exit(run(main()))
