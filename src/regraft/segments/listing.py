"""Which segments a store has of a broker, found without looking at all that it has ever written."""

from collections.abc import Iterator

from regraft.model.store import Store
from regraft.segments.names import SegmentName, is_hour, parse_name


def last_name(store: Store, folder: str) -> SegmentName | None:
    """The last segment of a broker. If those of its last hour were removed, a name before all that may have
    been there: the next segment must not have an earlier hour."""
    for hour in reversed(_hours(store, folder)):
        names = _names(store, folder, hour)
        return names[-1] if names else SegmentName(folder, hour, 0, 0)
    return None


def names_after(store: Store, folder: str, last: SegmentName | None) -> Iterator[SegmentName]:
    """The segments of a broker after that one, in order; all without one."""
    for hour in _hours(store, folder):
        if last is None or hour >= last.hour:
            yield from (name for name in _names(store, folder, hour) if last is None or name > last)


def folders(store: Store) -> list[str]:
    """What may be the folders of brokers."""
    return [each.name for each in store.list() if each.is_folder]


def _hours(store: Store, folder: str) -> list[str]:
    return [each.name for each in store.list(folder) if each.is_folder and is_hour(each.name)]


def _names(store: Store, folder: str, hour: str) -> list[SegmentName]:
    files = (each for each in store.list(f"{folder}/{hour}") if not each.is_folder)
    found = (parse_name(f"{folder}/{hour}/{each.name}") for each in files)
    return [name for name in found if name is not None]
