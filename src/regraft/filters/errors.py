"""The fault of a filter that cannot be read."""

from regraft.model import BadInput

AROUND = 40
"""Of a long filter, so many characters on both sides of the fault are shown."""


class BadFilter(BadInput):
    """A filter that breaks a rule; the text is one line with the position (from 1) and the rule."""

    def __init__(self, position: int, rule: str) -> None:
        super().__init__(f"position {position}", rule)
        self.position = position

    def of(self, name: str, text: str) -> BadInput:
        """The same fault, with the filter and what stands at the position; `name` is the user's for it."""
        start, end = max(0, self.position - AROUND), self.position + AROUND
        part = ("…" if start else "") + text[start:end] + ("…" if end < len(text) else "")
        rest = text[self.position - 1 :][:AROUND]
        at = f"{self.place}, at {rest!r}" if rest else f"{self.place}, at the end"
        return BadInput(f"{name} {part!r}: {at}", self.rule)
