"""Running a tree design so that a person can watch it, and stop it and keep what it has."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from regraft.cli.watching import Watched, run_watched
from regraft.model import Topology

if TYPE_CHECKING:
    from regraft.cli.design_ocbr import Request
    from regraft.design.ocbr import Design, Problem, Progress
    from regraft.plan.watch import Watch


def designed(problem: "Problem", topology: Topology | None, request: "Request") -> "Watched[Design]":
    """The design; its exceptions come through."""
    from regraft.design.ocbr import Effort, propose_tree
    from regraft.design.ocbr.warm import warm

    with _bar(request.as_json) as tell:
        warm()

        def work(watch: "Watch") -> "Design":
            def told(progress: "Progress") -> None:
                tell(progress, watch.elapsed / watch.seconds)

            effort = Effort(request.moves, lambda: watch.expired, told, lambda: watch.elapsed / watch.seconds)
            return propose_tree(problem, topology, request.method, request.budget, effort, request.seed)

        return run_watched(work, request.time_limit, quiet=True)


@contextmanager
def _bar(quiet: bool) -> "Iterator[Callable[[Progress, float], None]]":
    """A bar on a terminal's standard error; nothing elsewhere."""
    if quiet or not sys.stderr.isatty():
        yield lambda progress, gone: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, SpinnerColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bar

    columns = (
        SpinnerColumn(),
        BarColumn(bar_width=24),
        TimeElapsedColumn(),
        TextColumn("{task.description}"),
    )
    with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("designing", total=1.0)

        def tell(progress: "Progress", gone: float) -> None:
            bar.update(task, completed=min(1.0, gone), description=f"{progress.doing}: {progress.cost:,.6g}")

        yield tell
