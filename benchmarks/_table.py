"""The table that every benchmark prints: what was promised, what was measured, on which machine."""

import json
import os
import platform
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple


class Line(NamedTuple):
    """A row of the result: `met` is None where nothing was promised or nothing could be compared."""

    what: str
    wanted: str
    measured: str
    met: bool | None
    data: dict[str, Any]


def show(lines: Iterable[Line], about: str, out: Path | None, **more: Any) -> list[Line]:
    """Print the rows as they come, and keep all of it as JSON in `out`."""
    print(f"{machine()}; {about}\n")
    print("| what | wanted | measured | met |\n|---|---|---|---|", flush=True)
    shown: list[Line] = []
    for line in lines:
        shown.append(line)
        met = {True: "yes", False: "**no**", None: "-"}[line.met]
        print(f"| {line.what} | {line.wanted} | {line.measured} | {met} |", flush=True)
        if out:
            content = {"machine": machine(), **more, "lines": [each._asdict() for each in shown]}
            out.write_text(json.dumps(content, indent=1) + "\n")
    return shown


def machine() -> str:
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    python = f"Python {platform.python_version()}"
    return f"{os.cpu_count()} cores, {memory:.0f} GiB, {platform.system()} {platform.machine()}, {python}"
