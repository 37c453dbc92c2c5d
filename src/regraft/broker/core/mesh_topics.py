"""Which topics a filter pins.

A mesh routes by topic (kTCO §III): a subscription or advertisement has to say which topics it is about,
in every alternative and by name. Whatever else it asks is judged at delivery.
"""

from typing import Final

from regraft.filters import Filter

TOPIC: Final = "topic"
"""The attribute that is an event's topic."""


def topics_of(filter: Filter) -> frozenset[str] | None:
    """The topics that the filter pins; None if it does not pin them."""
    topics: set[str] = set()
    for conjunction in filter.normal:
        constraint = conjunction.constraints.get(TOPIC)
        if constraint is None or constraint.missing:
            return None
        names = constraint.strings.finite
        if names is None:
            return None
        topics |= names
    return frozenset(topics)


def topic_of(stream: str) -> str:
    """A stream is `client#life/topic`; neither the client nor the life has a slash."""
    return stream.partition("/")[2]


def stream_of(publisher: str, topic: str) -> str:
    return f"{publisher}/{topic}"
