"""Frames come out however the bytes are cut, and whatever is no frame is refused with a reason."""

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from regraft.model import BadInput
from regraft.wire.frames import LENGTH, BadFrame, Format, Frames


class Said(msgspec.Struct, frozen=True):
    number: int
    text: str = ""


class Checked(msgspec.Struct, frozen=True):
    """A message that refuses some values by itself."""

    number: int

    def __post_init__(self) -> None:
        if self.number < 0:
            raise BadInput("number", "must not be negative")


PACKED: Format[Said, Said] = Format(Said, 1000)
LINES: Format[Said, Said] = Format(Said, 1000, lines=True)
FORMATS = st.sampled_from([PACKED, LINES])
MESSAGES = st.lists(st.builds(Said, st.integers(0, 2**40), st.text(max_size=20)), max_size=10)


def pieces(content: bytes, data: st.DataObject) -> list[bytes]:
    cuts = sorted(data.draw(st.lists(st.integers(0, len(content)), max_size=8)))
    return [content[start:end] for start, end in zip([0, *cuts], [*cuts, len(content)], strict=True)]


def outcome(format: Format[Said, Said], chunks: list[bytes]) -> tuple[list[Said], str]:
    """The messages before the first fault, and what that was."""
    frames, found = Frames(format), list[Said]()
    try:
        for chunk in chunks:
            frames.add(chunk)
            for message in frames.messages():
                found.append(message)
    except BadFrame as fault:
        return found, str(fault)
    return found, ""


@given(FORMATS, MESSAGES, st.data())
def test_messages_survive_every_way_of_cutting_the_bytes(
    format: Format[Said, Said], sent: list[Said], data: st.DataObject
) -> None:
    content = b"".join(map(format.frame, sent))
    assert outcome(format, pieces(content, data)) == (sent, "")


@given(FORMATS, MESSAGES, st.binary(max_size=50), st.data())
def test_garbage_is_found_at_the_same_place_however_it_is_cut(
    format: Format[Said, Said], sent: list[Said], garbage: bytes, data: st.DataObject
) -> None:
    content = b"".join(map(format.frame, sent)) + garbage
    whole = outcome(format, [content])
    assert whole[0][: len(sent)] == sent
    assert outcome(format, pieces(content, data)) == whole


@given(MESSAGES.filter(bool), st.integers(1, 5))
def test_a_caller_that_stops_early_gets_the_others_later(sent: list[Said], most: int) -> None:
    frames, found = Frames(PACKED), list[Said]()
    frames.add(b"".join(map(PACKED.frame, sent)))
    while len(found) < len(sent):
        for _, message in zip(range(most), frames.messages(), strict=False):
            found.append(message)
    assert found == sent


@pytest.mark.parametrize(
    ("format", "content", "reason"),
    [
        (PACKED, LENGTH.pack(1001), "a frame of 1001 bytes, where 1000 are allowed"),
        (PACKED, b"GET / HTTP/1.1\r\n", "a frame of 1195725856 bytes, where 1000 are allowed"),
        (PACKED, LENGTH.pack(1) + b"\xc1", "something that is not a message: "),
        (PACKED, LENGTH.pack(0), "something that is not a message: "),
        (PACKED, LENGTH.pack(900) + b"\x91" * 900, "something that is not a message: "),
        (LINES, b"x" * 1001, "a line of more than 1000 bytes"),
        (LINES, b"x" * 1001 + b"\n", "a line of more than 1000 bytes"),
        (LINES, b"[" * 900 + b"\n", "something that is not a message: "),
        (LINES, b"\n", "something that is not a message: "),
        (LINES, b'{"number": "one"}\n', "something that is not a message: Expected `int`, got `str`"),
    ],
)
def test_what_is_no_frame_is_refused_with_one_line(
    format: Format[Said, Said], content: bytes, reason: str
) -> None:
    found, fault = outcome(format, [content])
    assert (found, fault[: len(reason)], "\n" in fault) == ([], reason, False)


def test_a_frame_may_be_as_large_as_allowed() -> None:
    for format, outside in ((PACKED, 4), (LINES, 1)):
        around = len(format.frame(Said(1, "x" * 900))) - 900 - outside
        said = [Said(1, "x" * (1000 - around)), Said(2)]
        content = b"".join(map(format.frame, said))
        assert outcome(format, [content]) == (said, "")
        too_large = format.frame(Said(1, "x" * (1001 - around)))
        assert outcome(format, [too_large])[0] == []


def test_a_check_of_the_message_itself_is_a_reason_too() -> None:
    format: Format[Checked, Any] = Format(Checked, 1000)
    frames = Frames(format)
    frames.add(format.frame({"number": -1}))
    with pytest.raises(BadFrame, match="not a message: number: must not be negative"):
        next(frames.messages())


class Costly(msgspec.Struct, frozen=True):
    """A message that needs more memory than there is."""

    number: int

    def __post_init__(self) -> None:
        raise MemoryError


def test_too_little_memory_is_no_fault_of_the_peer() -> None:
    costly: Format[Costly, Said] = Format(Costly, 1000)
    with pytest.raises(MemoryError):
        costly.message(msgspec.msgpack.encode({"number": 1}))


def test_the_format_may_change_between_two_messages_that_came_together() -> None:
    small: Format[Said, Said] = Format(Said, 30)
    frames = Frames(small)
    frames.add(PACKED.frame(Said(1)) + PACKED.frame(Said(2, "x" * 500)))
    messages = frames.messages()
    assert next(messages) == Said(1)
    frames.format = PACKED
    assert next(messages) == Said(2, "x" * 500)
