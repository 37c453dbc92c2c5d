"""Checks of what an application gives us: found later, its mistake would look like ours, or the broker's."""

import math
import ssl
from collections.abc import Iterable, Mapping
from typing import Any

from regraft.filters import Filter, parse
from regraft.model import BadInput
from regraft.protocol.events import EVENT_BYTES, Event, Value, check_names, encode
from regraft.protocol.names import check_client_name

WINDOWS = range(1, 2**20 + 1)


def sendable(place: str, text: str) -> bytes:
    """The text as it is sent. Python takes half of a surrogate pair for text; UTF-8 does not."""
    if not isinstance(text, str):
        raise BadInput(place, f"must be text, and is {_kind(text)}")
    try:
        return text.encode()
    except UnicodeEncodeError:
        raise BadInput(place, "has characters that cannot be written as UTF-8") from None


def check_name(name: str) -> None:
    sendable("name", name)
    check_client_name(name, "name")


def check_tls(tls: ssl.SSLContext | None) -> None:
    if tls is not None and not isinstance(tls, ssl.SSLContext):
        raise BadInput("tls", f"must be an ssl.SSLContext, or None for no TLS, and is {_kind(tls)}")


def check_window(window: int) -> None:
    if type(window) is not int or window not in WINDOWS:
        raise BadInput("window", f"must be a whole number from 1 to {WINDOWS[-1]}, and is {window!r}")


def check_timeout(timeout: float | None) -> None:
    if timeout is None:
        return
    if isinstance(timeout, bool) or not isinstance(timeout, int | float):
        raise BadInput(
            "timeout", f"must be a number of seconds, or None for no limit, and is {_kind(timeout)}"
        )
    if not 0 <= timeout < math.inf:
        raise BadInput("timeout", f"must be 0 or more seconds, or None for no limit, and is {timeout}")


def parsed(filter: str) -> Filter:
    """The parsed filter; `BadFilter` if a broker would refuse it."""
    sendable("filter", filter)
    return parse(filter)


def event_of(event: Event | Mapping[str, Value], data: bytes = b"") -> Event:
    if isinstance(event, Event):
        if data:
            raise BadInput("data", "an Event has its own data: give them to Event(attributes, data)")
        return event
    if not isinstance(event, Mapping):
        raise BadInput(
            "event", f"must be an Event or attributes such as {{'topic': 'temp'}}, and is {_kind(event)}"
        )
    return Event(dict(event), data)


def events_of(events: Iterable[Event | Mapping[str, Value]]) -> Iterable[Event]:
    if isinstance(events, Event | Mapping) or not isinstance(events, Iterable):
        raise BadInput(
            "events", f"must be a list of events, and is {_kind(events)}; `publish` takes a single one"
        )
    return map(event_of, events)


def encoded(event: Event) -> bytes:
    """The event as it is sent."""
    if not isinstance(event.attributes, dict):
        raise BadInput("event", f"its attributes must be a dict, and are {_kind(event.attributes)}")
    for name, value in event.attributes.items():
        if not isinstance(name, str):
            raise BadInput("event", f"the name of an attribute must be text, and {name!r} is not")
        if not isinstance(value, str | int | float):
            raise BadInput(
                "event", f"attributes are text, numbers of 64 bits, true or false: {name!r} is {_kind(value)}"
            )
    if not isinstance(event.data, bytes | bytearray | memoryview):
        raise BadInput("event", f"its data must be bytes, and are {_kind(event.data)}; text has `.encode()`")
    check_names(event.attributes)
    try:
        body = encode(event)
    except (TypeError, ValueError, OverflowError, RecursionError) as fault:
        raise BadInput("event", f"attributes are text, numbers of 64 bits, true or false: {fault}") from None
    if len(body) > EVENT_BYTES:
        raise BadInput("event", f"of {len(body)} bytes, at most {EVENT_BYTES} are allowed")
    return body


def _kind(value: Any) -> str:
    return "None" if value is None else f"of type {type(value).__name__}"
