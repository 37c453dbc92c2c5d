"""`regraft what-if`: what the loop would have decided in a past period, and what that would have saved."""

import click


@click.command("what-if")
def what_if() -> None:
    """Replay a past period through the loop."""
