"""What segments are called: `b0/2026-11-19T15/1795101543000000-00000017.parquet`.

A broker has a folder, with a folder for each hour in it. In a folder of an hour, names in alphabetical order
are in the order in which the segments were closed: first the life of the broker (when it began, in
microseconds), then the number of the segment in that life. So a reader remembers one name for each broker,
and looks at no folder before the hour of that name.
"""

import re
from datetime import UTC, datetime
from typing import NamedTuple

SUFFIX = ".parquet"
_HOUR = "%Y-%m-%dT%H"
_HOUR_NAME = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}")
_SEGMENT = re.compile(rf"([^/]+)/({_HOUR_NAME.pattern})/([0-9]{{16}})-([0-9]{{8}})\.parquet")


class SegmentName(NamedTuple):
    """Of one broker, these are in the order in which the segments were closed."""

    folder: str
    hour: str
    life: int
    number: int

    @property
    def path(self) -> str:
        """The name in the store."""
        return f"{self.folder}/{self.hour}/{self.life:016d}-{self.number:08d}{SUFFIX}"


def parse_name(path: str) -> SegmentName | None:
    """None if it is not the name of a segment of a broker."""
    if (found := _SEGMENT.fullmatch(path)) is None:
        return None
    folder, hour, life, number = found.groups()
    return SegmentName(folder, hour, int(life), int(number))


def is_hour(name: str) -> bool:
    """Whether this is the name of a folder of an hour."""
    return _HOUR_NAME.fullmatch(name) is not None


def hour_of(micros: int) -> str:
    return datetime.fromtimestamp(micros // 1_000_000, UTC).strftime(_HOUR)


def folder_of(broker: str) -> str:
    """A broker's id as the name of a folder: no two ids have the same one, and no name is hidden."""
    plain = (each if each.isalnum() or each in "-_." else _escaped(each) for each in broker)
    name = "".join(plain)
    return f"{_escaped(name[0])}{name[1:]}" if name[:1] in (".", "_") else name


def _escaped(character: str) -> str:
    """Always two digits for each byte: "%2013" could be one character or two."""
    return "".join(f"%{byte:02x}" for byte in character.encode("utf-8", "surrogatepass"))
