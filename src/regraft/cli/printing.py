"""What commands show on a terminal: text, and a progress bar while something takes long."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

PLAIN_WIDTH = 120


def shown(id: str) -> str:
    """An id as it is if all of it can be printed, else quoted."""
    return id if id.isprintable() else repr(id)


def console() -> "Console":
    """Standard output; a pipe or a file gets plain text of a fixed width."""
    from rich.console import Console

    return Console(highlight=False, width=None if sys.stdout.isatty() else PLAIN_WIDTH)


@contextmanager
def progress_bar(title: str, quiet: bool = False, total: float | None = 1.0) -> Iterator[Callable[..., None]]:
    """A bar on a terminal's standard error; elsewhere nothing. The value takes what rich's `update` takes."""
    if quiet or not sys.stderr.isatty():
        yield lambda **_: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (
        SpinnerColumn(),
        BarColumn(bar_width=24),
        TimeElapsedColumn(),
        TextColumn("{task.description}"),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        yield partial(bar.update, bar.add_task(title, total=total))
