"""Maintenance windows: when the loop may change something by itself. All times are UTC."""

import re

import msgspec

from regraft.model import BadInput

DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
DAY = 86_400
EPOCH_WEEKDAY = 3
"""1970-01-01 was a Thursday."""
_SLOT = re.compile(r"(?:([A-Za-z,-]+)\s+)?(\d\d):(\d\d)-(\d\d):(\d\d)")
RULE = 'must be such as "01:00-05:00", "Sat,Sun 00:00-24:00" or "Mon-Fri 22:00-04:00" (UTC)'


class Slot(msgspec.Struct, frozen=True):
    """From minute `begin` to minute `end` of each of the days; an end before the begin is on the next day."""

    days: tuple[int, ...]
    begin: int
    end: int

    def __str__(self) -> str:
        days = "" if len(self.days) == len(DAYS) else ",".join(DAYS[day] for day in self.days) + " "
        return f"{days}{_clock(self.begin)}-{_clock(self.end)}"


def slot(text: str, place: str = "maintenance") -> Slot:
    """Parse a slot; raises `BadInput` if the text is not one."""
    found = _SLOT.fullmatch(text.strip())
    if found is None:
        raise BadInput(place, f"{text!r} {RULE}")
    begin, end = (60 * int(found[h]) + int(found[h + 1]) for h in (2, 4))
    wrong = begin >= 24 * 60 or end > 24 * 60 or int(found[3]) > 59 or int(found[5]) > 59 or begin == end
    days = _days(found[1]) if found[1] else tuple(range(len(DAYS)))
    if wrong or not days:
        raise BadInput(place, f"{text!r} {RULE}")
    return Slot(days, begin, end)


def is_open(slots: tuple[Slot, ...], at: float) -> bool:
    """Whether `at` (seconds since 1970) is in one of the slots; without slots it is always open."""
    return not slots or any(_holds(each, at) for each in slots)


def _holds(each: Slot, at: float) -> bool:
    day, second = divmod(int(at), DAY)
    weekday, minute = (day + EPOCH_WEEKDAY) % len(DAYS), second // 60
    if each.begin < each.end:
        return weekday in each.days and each.begin <= minute < each.end
    yesterday = (weekday - 1) % len(DAYS)
    return (weekday in each.days and minute >= each.begin) or (yesterday in each.days and minute < each.end)


def _days(text: str) -> tuple[int, ...]:
    number = {name.lower(): place for place, name in enumerate(DAYS)}
    days: set[int] = set()
    for part in text.lower().split(","):
        first, _, last = part.partition("-")
        if first not in number or (last and last not in number):
            return ()
        one, two = number[first], number[last or first]
        days |= {(one + step) % len(DAYS) for step in range((two - one) % len(DAYS) + 1)}
    return tuple(sorted(days))


def _clock(minutes: int) -> str:
    return f"{minutes // 60:02d}:{minutes % 60:02d}"
