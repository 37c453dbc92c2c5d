"""Faults of rules: each names line and column."""

from regraft.heal.rules.syntax import At
from regraft.model import BadInput


class BadRule(BadInput):
    """A rule that does not parse, or says what cannot be; `place` ends in line:column."""


class Misfit(BadRule):
    """Seen from within the text: `within_text` adds where the text is from."""

    def __init__(self, at: At, rule: str) -> None:
        super().__init__(str(at), rule)

    def within_text(self, place: str) -> BadRule:
        return BadRule(placed(place, self.place), self.rule)


def placed(place: str, at: At | str) -> str:
    return f"{place}:{at}" if place else str(at)
