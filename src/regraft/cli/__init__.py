"""The command line `regraft`: reads files, calls the packages, prints. `main` is the entry."""

from regraft.cli.entry import main

__all__ = ["main"]
