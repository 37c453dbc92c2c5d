"""Running a mesh design so that a person can watch it, and end its exchanging early."""

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

from regraft.cli.watching import Watched, run_watched

if TYPE_CHECKING:
    from regraft.design import MeshDesign, MeshOptions
    from regraft.model import Infeasible
    from regraft.plan.watch import Watch

NO_LIMIT = 1e9
"""Seconds: the effort of a design is a number of trials, so that a seed decides the result."""


def designed(
    interest: Mapping[str, frozenset[str]], method: str, options: "MeshOptions", quiet: bool
) -> "Watched[MeshDesign | Infeasible]":
    """The design; its exceptions come through."""
    from regraft.design import design_mesh

    with _bar(quiet) as tell:

        def work(watch: "Watch") -> "MeshDesign | Infeasible":
            def told(stage: str, done: float, links: int) -> bool:
                tell(f"{stage}: {links:,} links" if links else stage, done)
                return watch.stopped

            return design_mesh(interest, method, options, told)

        return run_watched(work, NO_LIMIT, quiet=True)


@contextmanager
def _bar(quiet: bool) -> Iterator[Callable[[str, float], None]]:
    """A bar on a terminal's standard error; nothing elsewhere."""
    if quiet or not sys.stderr.isatty():
        yield lambda text, done: None
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
        task = bar.add_task("designing", total=1.0)

        def tell(text: str, done: float) -> None:
            bar.update(task, description=text, completed=done)

        yield tell
