"""The fault of a filter that can not be read."""

from regraft.model import BadInput


class BadFilter(BadInput):
    """A filter that breaks a rule; the text is one line with the position (from 1) and the rule."""
