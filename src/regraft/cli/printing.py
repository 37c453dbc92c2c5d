"""Text for a terminal: ids as they are if they print, quoted if they would not."""

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

PLAIN_WIDTH = 120


def shown(id: str) -> str:
    return id if id.isprintable() else repr(id)


def console() -> "Console":
    """Standard output; a pipe or a file gets plain text of a fixed width."""
    from rich.console import Console

    return Console(highlight=False, width=None if sys.stdout.isatty() else PLAIN_WIDTH)
