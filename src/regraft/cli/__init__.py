"""The command line `regraft`: reads files, calls the packages, prints. `main` is the entry."""

import sys

__all__ = ["main"]


def main() -> None:
    """The console script. Imports inside the `try`, so that Ctrl-C while loading ends without a traceback."""
    try:
        from regraft.processes.collecting import collect_seldom

        collect_seldom()
        from regraft.cli.entry import main as group

        group()
    except KeyboardInterrupt:
        sys.exit(130)
