"""The fault of a filter that cannot be read."""

from regraft.model import BadInput

AROUND = 40
"""How many characters of a long filter are shown on each side of the fault."""


class BadFilter(BadInput):
    """A filter that breaks a rule; the text is one line with the position (from 1) and the rule."""

    def __init__(self, position: int, rule: str) -> None:
        super().__init__(f"position {position}", rule)
        self.position = position

    def of(self, name: str, text: str) -> BadInput:
        """The same fault, showing the filter around the position; `name` is what the user calls it."""
        start, end = max(0, self.position - AROUND), self.position + AROUND
        part = ("…" if start else "") + text[start:end] + ("…" if end < len(text) else "")
        rest = text[self.position - 1 :][:AROUND]
        at = f"{self.place}, at {rest!r}" if rest else f"{self.place}, at the end"
        return BadInput(f"{name} {part!r}: {at}", self.rule)
