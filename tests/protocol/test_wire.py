"""Frames: what is written is read, and whatever else arrives is refused with a reason."""

import contextlib

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from regraft.protocol.messages import AnyMessage, Bye, Confirm, LinkHello, Run
from regraft.protocol.wire import HEADER, BadFrame, Wire

SAID: list[AnyMessage] = [
    LinkHello("b1", 3),
    Run("p#1", [1, 2], [b"x", b""], 7),
    Confirm("p#1", [1, 2]),
    Bye("done"),
]


def body(frame: bytes) -> memoryview:
    return memoryview(frame)[HEADER:]


def test_what_is_written_is_read() -> None:
    here, there = Wire(), Wire()
    frame = here.frame(SAID)
    assert there.length(frame[:HEADER]) == len(frame) - HEADER
    assert there.messages(body(frame)) == SAID


def test_a_repeated_frame_says_nothing() -> None:
    here, there = Wire(), Wire()
    frame = here.frame(SAID)
    there.messages(body(frame))
    assert there.messages(body(frame)) == []


def test_a_missing_frame_is_noticed_at_the_next_even_if_that_is_empty() -> None:
    here, there = Wire(), Wire()
    here.frame(SAID)
    with pytest.raises(BadFrame, match="number 2 came after 0: frames are missing"):
        there.messages(body(here.frame([])))


def test_a_frame_over_the_limit_is_refused_before_it_is_read() -> None:
    with pytest.raises(BadFrame, match="of 101 bytes, at most 100 are allowed"):
        Wire(limit=100).length((101).to_bytes(4, "big"))


@pytest.mark.parametrize(
    "wrong", [b"", b"\xc1", b"\x92\x01", msgspec.msgpack.encode([1, [[99]]]), b"\x91" * 70_000]
)
def test_what_is_no_frame_is_refused_with_one_line(wrong: bytes) -> None:
    with pytest.raises(BadFrame) as caught:
        Wire().messages(wrong)
    assert "\n" not in str(caught.value)


@settings(max_examples=500, deadline=None)
@given(st.binary(max_size=200))
def test_arbitrary_bytes_raise_nothing_but_bad_frame(data: bytes) -> None:
    with contextlib.suppress(BadFrame):
        Wire().messages(data)


@settings(max_examples=300, deadline=None)
@given(st.integers(0, 400), st.binary(min_size=1, max_size=4))
def test_a_damaged_frame_raises_nothing_but_bad_frame(at: int, damage: bytes) -> None:
    frame = bytearray(body(Wire().frame(SAID)))
    at %= len(frame)
    frame[at : at + len(damage)] = damage
    with contextlib.suppress(BadFrame):
        Wire().messages(bytes(frame))
