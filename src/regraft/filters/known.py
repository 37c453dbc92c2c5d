"""Filters that have been read, by their text: the same text gives the same object while anybody has it.

The last ones are kept, and so are refusals, so that asking again costs nothing. What is kept is bounded by
the length of the texts: a filter takes about 200 bytes for each character.
"""

from collections import OrderedDict
from typing import Generic, Protocol, TypeVar
from weakref import WeakValueDictionary

from regraft.filters.errors import BadFilter

KEPT_CHARACTERS = 2**17


class Texted(Protocol):
    """Something that can be referred to weakly."""

    @property
    def text(self) -> str: ...


T = TypeVar("T", bound=Texted)


class Known(Generic[T]):
    """Text → filter, or the fault that it has."""

    def __init__(self, characters: int = KEPT_CHARACTERS) -> None:
        self._alive: WeakValueDictionary[str, T] = WeakValueDictionary()
        self._kept: OrderedDict[str, T | BadFilter] = OrderedDict()
        self._characters = 0
        self._most = characters

    def get(self, text: str) -> T | None:
        """The filter, if it is known; its fault again, if it has one."""
        found = self._kept.get(text)
        if found is None:
            return self._alive.get(text)
        if isinstance(found, BadFilter):
            raise BadFilter(found.position, found.rule)
        return found

    def keep(self, text: str, found: T | BadFilter) -> None:
        if not isinstance(found, BadFilter):
            self._alive[text] = found
        if text not in self._kept:
            self._characters += len(text)
        self._kept[text] = found
        while self._characters > self._most and len(self._kept) > 1:
            self._characters -= len(self._kept.popitem(last=False)[0])
