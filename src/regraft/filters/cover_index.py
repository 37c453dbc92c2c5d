"""Which of many filters cover a given one."""

from regraft.filters import Filter, covers


class CoverIndex:
    """Filters by key."""

    def __init__(self) -> None:
        self._filters: dict[int, Filter] = {}

    def add(self, key: int, filter: Filter) -> None:
        self._filters[key] = filter

    def remove(self, key: int) -> None:
        del self._filters[key]

    def covering(self, filter: Filter) -> int | None:
        return next((key for key, each in self._filters.items() if covers(each, filter)), None)

    def covered(self, filter: Filter) -> list[int]:
        return [key for key, each in self._filters.items() if covers(filter, each)]
