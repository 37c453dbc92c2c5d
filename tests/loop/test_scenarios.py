"""Histories of the loop as text: what it is told (`>`), and all that it does and logs about it.

A scenario is a file in `scenarios`. Its first line makes the loop; every other line that begins with `>` is a
call of `Driven` (tests/loop/driving.py), an event by its name with its fields, or `later`: time passes, and
nothing happens. What follows is what the steps did. `REGRAFT_WRITE_SCENARIOS=1` writes the files anew: read
the difference before you believe it.
"""

import ast
import os
import shlex
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.loop.driving import Driven

from regraft.loop import commands as c
from regraft.loop import events as e
from regraft.model.intents import Delete
from regraft.testing.loop_world import compared

FOLDER = Path(__file__).parent / "scenarios"
GIVEN = "> "


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.txt")), ids=lambda path: path.stem)
def test_the_loop_does_what_the_scenario_says(path: Path) -> None:
    wanted = path.read_text()
    played = "\n".join(play([line for line in wanted.splitlines() if line.startswith((GIVEN, "#"))])) + "\n"
    if os.environ.get("REGRAFT_WRITE_SCENARIOS"):
        path.write_text(played)
    assert played == wanted


def play(lines: list[str]) -> list[str]:
    loop: Driven | None = None
    told: list[str] = []
    for line in lines:
        told.append(line)
        if line.startswith("#"):
            continue
        name, *words = shlex.split(line.removeprefix(GIVEN))
        fields = {key: _value(key, text) for key, _, text in (word.partition("=") for word in words)}
        if loop is None:
            loop = Driven(name, **fields)  # type: ignore[arg-type]
            continue
        seen: list[c.Command] = []
        _record(loop, seen)
        before = loop.state.phase
        if name == "later":
            loop.now += fields["seconds"]
        elif hasattr(loop, name):
            getattr(loop, name)(**fields)
        else:
            if name in ("Failed", "PlanMade", "Designed"):
                fields.setdefault("ticket", loop.state.ticket)
            loop.give(getattr(e, name)(at=loop.now, **fields))
        told += [f"  {_shown(each)}" for each in seen]
        if loop.state.phase != before:
            told.append(f"  {before} → {loop.state.phase}")
    return told


def _record(loop: Driven, seen: list[c.Command]) -> None:
    """A call of `Driven` may give several events: everything that comes of them counts."""

    def give(event: e.Event) -> tuple[c.Command, ...]:
        done = Driven.give(loop, event)
        seen.extend(done)
        return done

    loop.give = give  # type: ignore[method-assign]


def _value(key: str, text: str) -> Any:
    if key == "intent":
        return Delete(broker=text)
    try:
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text
    return compared(value) if key in ("candidate", "proposal") and isinstance(value, float) else value


def _shown(command: c.Command) -> str:
    if not isinstance(command, c.Log):
        fields = {name: getattr(command, name) for name in command.__struct_fields__ if name != "ticket"}
        return " ".join(
            [type(command).__name__, *(f"{name}={_short(each)}" for name, each in fields.items())]
        )
    decision = command.decision
    marks = [decision.kind, "did" if decision.acted else "said"]
    marks += [f"by {decision.by}"] if decision.by != "loop" else []
    marks += [f"plan {decision.plan}"] if decision.plan else []
    numbers = [f"{name} {'-' if each is None else f'{each:g}'}" for name, each in decision.numbers.items()]
    return f"{' '.join(marks)}: {decision.text}" + (f" [{', '.join(numbers)}]" if numbers else "")


def _short(value: Any) -> str:
    """Of what a command carries, what tells it apart."""
    if isinstance(value, msgspec.Struct):
        for name in ("planned", "plan", "id", "goal"):
            if hasattr(value, name):
                rest = [f"{each}={_short(getattr(value, each))}" for each in _TELLING if hasattr(value, each)]
                return f"{_short(getattr(value, name))}({', '.join(rest)})"
    if isinstance(value, tuple):
        return f"[{', '.join(map(_short, value))}]"
    return f"{value:g}" if isinstance(value, float) else str(value)


_TELLING = (
    "windows",
    "observed",
    "needs_approval",
    "cause",
    "by",
    "back",
    "stopping",
    "interrupted",
    "actions",
)
