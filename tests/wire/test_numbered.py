"""Frames of the data path: what is written is read, however it is cut, and anything else is refused."""

import contextlib

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from regraft.protocol.messages import AnyMessage, Bye, Confirm, LinkHello, Refused, Run, Subscribe
from regraft.wire.frames import HEADER, BadFrame
from regraft.wire.numbered import Reader, Wire, frames

TEXT = st.text(max_size=20)
NUMBER = st.integers(0, 2**40)
MESSAGES = st.one_of(
    st.builds(Subscribe, TEXT, TEXT),
    st.builds(Refused, TEXT, TEXT),
    st.builds(Bye, TEXT),
    st.builds(Confirm, TEXT, st.lists(NUMBER, max_size=6)),
    st.builds(Run, TEXT, st.lists(NUMBER, max_size=5), st.lists(st.binary(max_size=50), max_size=5), NUMBER),
)


@given(st.lists(st.lists(MESSAGES, max_size=4), max_size=6), st.data())
def test_messages_survive_every_way_of_cutting_the_bytes(
    batches: list[list[AnyMessage]], data: st.DataObject
) -> None:
    wire = Wire()
    content = b"".join(wire.frame(batch) for batch in batches)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(content)), max_size=8)))
    reader, found = Reader(Wire()), []
    for start, end in zip([0, *cuts], [*cuts, len(content)], strict=True):
        found += reader.messages(content[start:end])
    assert found == [message for batch in batches for message in batch]


@given(st.lists(st.binary(max_size=200), max_size=5))
def test_any_bytes_are_messages_or_a_bad_frame(chunks: list[bytes]) -> None:
    reader = Reader(Wire(limit=1000))
    try:
        for chunk in chunks:
            reader.messages(chunk)
    except BadFrame:
        pass


@given(st.binary(min_size=1, max_size=60), st.integers(0, 10_000), st.integers(0, 255))
def test_a_changed_byte_is_never_another_kind_of_fault(data: bytes, place: int, value: int) -> None:
    content = bytearray(Wire().frame([Run("p#1", [1, 2], [data, data], 5), Bye("x")]))
    content[place % len(content)] = value
    with contextlib.suppress(BadFrame):
        Reader(Wire(limit=10_000)).messages(bytes(content))


def test_a_frame_that_announces_too_much_is_refused_before_it_comes() -> None:
    with pytest.raises(BadFrame, match="of 2000 bytes, at most 1000 are allowed"):
        Reader(Wire(limit=1000)).messages((2000).to_bytes(4, "big"))


def test_a_missing_frame_is_noticed_at_the_next() -> None:
    wire = Wire()
    first, _, third = (wire.frame([Bye(str(number))]) for number in range(3))
    reader = Reader(Wire())
    assert reader.messages(first) == [Bye("0")]
    with pytest.raises(BadFrame, match="number 3 came after 1"):
        reader.messages(third)


def test_a_repeated_frame_is_dropped() -> None:
    frame = Wire().frame([Bye()])
    assert Reader(Wire()).messages(frame + frame) == [Bye()]


def test_deep_nesting_is_a_bad_frame() -> None:
    body = b"\x92\x01" + b"\x91" * 65_000 + b"\x90"
    with pytest.raises(BadFrame, match="not a message"):
        Reader(Wire()).messages(len(body).to_bytes(4, "big") + body)


def test_many_messages_are_spread_over_frames_that_the_peer_allows() -> None:
    wire, reader = Wire(limit=1000), Reader(Wire(limit=1000))
    messages: list[AnyMessage] = [Refused(str(number), "x" * 90) for number in range(50)]
    sent = list(frames(wire, messages))
    assert all(len(frame) <= 1004 for frame in sent)
    assert [message for frame in sent for message in reader.messages(frame)] == messages


def test_a_run_that_is_too_long_is_cut_into_runs() -> None:
    run = Run("p#1", list(range(1, 41)), [bytes(90)] * 40, 7)
    wire, reader = Wire(limit=1000), Reader(Wire(limit=1000))
    pieces = [each for frame in frames(wire, [run]) for each in reader.messages(frame)]
    assert all(
        isinstance(piece, Run) and msgspec.structs.replace(piece, seqs=[], events=[]) == Run("p#1", [], [], 7)
        for piece in pieces
    )
    assert [seq for piece in pieces for seq in piece.seqs] == run.seqs  # type: ignore[union-attr]


def test_what_can_not_be_cut_is_a_bad_frame() -> None:
    with pytest.raises(BadFrame, match="a Subscribe is longer than a frame may be"):
        list(frames(Wire(limit=1000), [Bye(), Subscribe("s1", "x" * 2000)]))


# One frame

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
