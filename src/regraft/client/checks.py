"""What an application gives us is looked at here: later its fault would be ours, or the connection's."""

from regraft.model import BadInput
from regraft.protocol.events import EVENT_BYTES, Event, encode

NAME_BYTES = 255


def sendable(place: str, text: str) -> bytes:
    """Text as it is sent; half of a surrogate pair is text for Python, and for nobody else."""
    try:
        return text.encode()
    except UnicodeEncodeError:
        raise BadInput(place, "has characters that can not be written as UTF-8") from None


def check_name(name: str) -> None:
    if not 0 < len(sendable("name", name)) <= NAME_BYTES or "#" in name or "/" in name:
        raise BadInput("name", f"a client's name has 1 to {NAME_BYTES} bytes, and no '#' or '/'")


def encoded(event: Event) -> bytes:
    """The event as it is sent."""
    try:
        body = encode(event)
    except (TypeError, ValueError, OverflowError, RecursionError) as fault:
        raise BadInput("event", f"attributes are text, numbers of 64 bits, true or false: {fault}") from None
    if len(body) > EVENT_BYTES:
        raise BadInput("event", f"of {len(body)} bytes, at most {EVENT_BYTES} are allowed")
    return body
