"""The log of a process that runs brokers or an agent: to standard error, at the level of REGRAFT_LOG."""

import logging
import os
import sys

LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL")


def start_logging(format: str = "%(name)s: %(message)s") -> None:
    """Ends the process if REGRAFT_LOG is not a level: nothing is running yet that could report the fault."""
    level = os.environ.get("REGRAFT_LOG") or "WARNING"
    if level.upper() not in LEVELS:
        print(f"regraft: REGRAFT_LOG: must be one of {', '.join(LEVELS)}, not {level!r}", file=sys.stderr)
        raise SystemExit(2)
    logging.basicConfig(level=level.upper(), format=format)
