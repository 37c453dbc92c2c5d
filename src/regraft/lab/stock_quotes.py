"""The stock quotes of the PADRES group as events.

Their publications are lines such as

    [class,'STOCK'],[symbol,'YHOO'],[open,25.25],[volume,6475000],[date,'25-Jun-96']

a list of pairs; text is quoted with ', everything else is a number. Files may be gzip.
"""

import gzip
import re
from collections.abc import Iterator
from pathlib import Path

from regraft.model import BadInput

Event = dict[str, str | int | float]

_PAIR = re.compile(r"\[\s*([A-Za-z_]\w*)\s*,\s*(?:'([^']*)'|([^\[\]',\s]+))\s*\]")


def parse_publication(line: str) -> Event:
    """The attributes of one publication."""
    event: Event = {}
    rest = line.strip()
    place = 0
    while True:
        pair = _PAIR.match(rest, place)
        if pair is None:
            raise BadInput(f"column {place + 1}", "a pair [attribute,value] is expected here")
        name, text, number = pair.groups()
        if name in event:
            raise BadInput(f"column {place + 1}", f"{name} is given twice")
        event[name] = text if text is not None else _number(number, place)
        place = pair.end()
        if place == len(rest):
            return event
        if rest[place] != ",":
            raise BadInput(f"column {place + 1}", "pairs are separated by commas")
        place += 1


def read_publications(path: Path) -> Iterator[Event]:
    """The publications of one file, in its order; empty lines are skipped."""
    opener = gzip.open if path.suffix == ".gz" else open
    with opener(path, "rt", encoding="utf-8") as lines:
        for number, line in enumerate(lines, start=1):
            if line.strip():
                try:
                    yield parse_publication(line)
                except BadInput as fault:
                    raise fault.within(f"{path}: line {number}") from None


def _number(text: str, place: int) -> int | float:
    for read in (int, float):
        try:
            return read(text)
        except ValueError:
            continue
    raise BadInput(f"column {place + 1}", f"{text!r} is neither a number nor text in quotes")
