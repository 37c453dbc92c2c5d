"""Error messages of switches in words (§7.5.4): those that rules can meet by name, others by number."""

_KINDS = {
    0: "no common version",
    1: "bad request",
    2: "bad action",
    3: "bad instruction",
    4: "bad match",
    5: "the rule was refused",
    0xFFFF: "experimenter",
}

_CODES = {
    (1, 0): "version not supported",
    (1, 1): "message type not supported",
    (1, 5): "no permission",
    (1, 9): "unknown table",
    (1, 10): "this controller is a slave",
    (2, 0): "unknown action type",
    (2, 4): "unknown port",
    (2, 7): "too many actions",
    (2, 13): "field cannot be set",
    (2, 14): "bad value for a field",
    (3, 0): "unknown instruction",
    (3, 2): "unknown table to go to",
    (4, 4): "masks of addresses not supported",
    (4, 6): "field not supported",
    (4, 7): "bad value of a field",
    (4, 8): "mask not supported",
    (4, 9): "a field lacks what it requires",
    (5, 0): "unspecified",
    (5, 1): "the table is full",
    (5, 2): "unknown table",
    (5, 3): "overlaps another rule",
    (5, 4): "no permission",
}

_TEXT_KINDS = (0,)
"""Here the data of the message is a sentence."""


def describe(kind: int, code: int, data: bytes) -> str:
    """One line."""
    words = f"{_KINDS.get(kind, f'error of type {kind}')}: {_CODES.get((kind, code), f'code {code}')}"
    if kind in _TEXT_KINDS and data:
        said = data.decode("ascii", "replace").strip("\0")
        words += f" ({''.join(letter if letter.isprintable() else '?' for letter in said)[:100]})"
    return words
