"""`regraft demo`: brokers, traffic, the loop, a crash, and a count of every event."""

import asyncio
import json
import signal
import time
from collections.abc import Callable
from contextlib import AsyncExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import click

from regraft.cli.help_headings import Command
from regraft.cli.up_options import make_folder
from regraft.cli.watching import stopped_by_signal

if TYPE_CHECKING:
    from regraft.cli.demo_view import DemoView
    from regraft.demo.running import Options, Scene
    from regraft.demo.story import Story

RATES = click.FloatRange(1.0, 5000.0)


@click.command(cls=Command)
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    default=Path("out/demo"),
    show_default=True,
    metavar="FOLDER",
    help="Where report.html, summary.json and topologies are written.",
)
@click.option("--rate", type=RATES, default=60.0, show_default=True, help="Events a second.")
@click.option(
    "--window",
    type=click.FloatRange(3.0, 600.0),
    default=10.0,
    show_default=True,
    metavar="SECONDS",
    help="How long traffic is watched before it is judged.",
)
@click.option("--small", is_flag=True, help="Eight brokers instead of 24.")
@click.option("--keep", is_flag=True, help="Leave it running, with the dashboard, until Ctrl-C.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object at the end.")
def demo(out: Path, rate: float, window: float, small: bool, keep: bool, as_json: bool) -> int:
    """Watch Regraft work, on this machine, in one to three minutes.

    24 brokers are started, one for each of 24 cities of a European carrier's network, with its distances as
    latencies, joined by the fewest hops to one hub. Clients publish and subscribe by the demands between
    these cities. The loop measures the traffic on Spark, finds a better tree, and changes the links while
    events flow. Then the broker with the most links is killed, and the others heal around it. Every event
    is counted end to end: exit code 1 if one is lost, duplicated or out of order.

    \b
    Examples:
      regraft demo
      regraft demo --small --keep     # eight brokers; the dashboard stays until Ctrl-C
    """
    from regraft.cli.demo_report import write_report
    from regraft.cli.demo_summary import answer, summary
    from regraft.demo.network import SMALL
    from regraft.demo.running import Options

    make_folder(out)
    options = Options(SMALL if small else (), rate, window)
    try:
        story, written = asyncio.run(_played(options, out, keep, as_json, write_report))
    except asyncio.CancelledError:  # by a signal
        raise KeyboardInterrupt from None
    if as_json:
        click.echo(json.dumps(answer(story, written)))
    elif not keep:
        click.echo(summary(story))
        click.echo("\nwritten: " + ", ".join(str(path) for path in written))
    return 0 if story.flawless else 1


async def _played(
    options: "Options", out: Path, keep: bool, quiet: bool, write_report: Any
) -> "tuple[Story, list[Path]]":
    """Runs the demo and writes the report. However it ends, nothing is left running."""
    from regraft.cli.demo_summary import summary
    from regraft.cli.demo_view import view_for
    from regraft.demo.running import running, scene
    from regraft.demo.show import show

    started = time.monotonic()
    task = asyncio.current_task()
    assert task is not None
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, _cancel_once(task))
    with TemporaryDirectory(prefix="regraft-demo-", ignore_cleanup_errors=True) as folder:
        view = view_for(quiet)
        seen = scene(options, view.say)
        async with view.on(seen), AsyncExitStack() as stack:
            await stack.enter_async_context(running(seen, options, Path(folder)))
            url = await _dashboard(stack, seen) if keep else None
            if url is not None:
                view.say(f"dashboard at {url}")
            story = await show(seen, options, started)
            assert seen.stage is not None
            samples, published = list(seen.stage.samples), list(seen.stage.published)
            written = await asyncio.to_thread(write_report, story, seen, samples, published, out)
            if url is not None:
                view.off()
                if not quiet:
                    click.echo(summary(story))
                    click.echo("\nwritten: " + ", ".join(str(path) for path in written))
                await _kept(view, seen, url)
    return story, written


def _cancel_once(task: "asyncio.Task[Any]") -> Callable[[], None]:
    """Cancels at the first signal only: a second one must not interrupt the clean-up."""
    asked: list[bool] = []

    def cancel() -> None:
        if not asked:
            asked.append(task.cancel())

    return cancel


async def _dashboard(stack: AsyncExitStack, seen: "Scene") -> str:
    """Starts the dashboard, as `regraft serve` does; its URL."""
    from regraft.web.serving import serving

    assert seen.service is not None
    assert seen.stage is not None
    served = await stack.enter_async_context(serving(seen.service, seen.stage.configuration.web))
    return served.url


async def _kept(view: "DemoView", seen: "Scene", url: str) -> None:
    """Leaves it running until Ctrl-C, which is a normal end here."""
    assert seen.stage is not None
    assert seen.service is not None
    stop = stopped_by_signal()
    traffic = asyncio.create_task(seen.stage.publish_again())
    try:
        await seen.stage.nodes.restart(seen.victim)
        seen.service.resume("demo")
        view.say(f"{seen.victim} has joined again. The demo continues; dashboard at {url}. Ctrl-C stops it.")
        await stop.wait()
    finally:
        traffic.cancel()
        await asyncio.gather(traffic, return_exceptions=True)
