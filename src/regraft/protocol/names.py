"""The one rule for the names of clients and the ids of their filters (not of components and users).

They are parts of composed names: a publisher is `client#life`, a stream of a mesh `client#life/topic`. So
neither may contain '#' or '/'. Every broker applies the rule to what a peer says, and a client applies it
first, so that the application that chose the name gets the error.
"""

from regraft.model import BadInput

NAME_BYTES = 255
"""The longest name, in UTF-8. Topics have this limit too."""
RULE = f"has 1 to {NAME_BYTES} bytes, and no '#' or '/'"


def is_name(text: str) -> bool:
    """Whether a client may have this name, or a filter this id."""
    return 0 < len(text.encode()) <= NAME_BYTES and "#" not in text and "/" not in text


def check_client_name(name: str, place: str) -> None:
    """Raise `BadInput` at `place` unless a client may have this name."""
    if not is_name(name):
        raise BadInput(place, f"a client's name {RULE}")
