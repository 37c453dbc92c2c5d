"""Typed values in nodes: unknown fields are ignored, corrupt nodes are reported with their repair."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.coord.wires import finish

from regraft.coord import Conflict, Coord, Corrupt, Exists, Record, Stored, typed


class Broken(Record, frozen=True, kw_only=True):
    step: int
    names: tuple[str, ...] = ()


class Later(Record, frozen=True, kw_only=True):
    v: int = 2
    step: int


def test_a_value_is_written_and_read_and_written_over_what_was_read(hosts: str, root: str) -> None:
    async def scenario() -> None:
        async with await Coord.connect(hosts) as coord:
            assert await typed.read(coord, root, Broken) is None
            first = await typed.write(coord, root, Broken(step=1), None)
            with pytest.raises(Exists):
                await typed.write(coord, root, Broken(step=1), None)
            assert await typed.read(coord, root, Broken) == Stored(Broken(step=1), first)
            second = await typed.write(coord, root, Broken(step=2, names=("é",)), first)
            with pytest.raises(Conflict):
                await typed.write(coord, root, Broken(step=3), first)
            assert await typed.read(coord, root, Broken) == Stored(Broken(step=2, names=("é",)), second)

    finish(scenario())


def test_fields_of_a_later_version_are_ignored() -> None:
    assert typed.decode("/x", b'{"v":1,"step":3,"colour":"red"}', Broken) == Broken(step=3)
    assert typed.decode("/x", b'{"v":1,"step":3}', Later) == Later(v=1, step=3)


def test_a_later_schema_is_refused() -> None:
    with pytest.raises(Corrupt, match="/x: holds version 2 of Broken, and this Regraft reads 1"):
        typed.decode("/x", typed.encode(Later(step=3)), Broken)


@pytest.mark.parametrize(
    "data",
    [b"", b"null", b"{", b'{"v":1}', b'{"step":"1"}', b"[1]", b"\xff\xfe", b'{"step":1}x', b"[" * 100_000],
)
def test_garbage_names_the_node_and_the_repair(data: bytes) -> None:
    with pytest.raises(Corrupt) as fault:
        typed.decode("/regraft/plan", data, Broken)
    text = str(fault.value)
    assert text.startswith("/regraft/plan: does not hold a Broken: ")
    assert text.endswith("; to repair: regraft znode delete /regraft/plan")
    assert "\n" not in text


@given(st.binary(max_size=200))
def test_no_bytes_give_anything_but_a_value_or_corrupt(data: bytes) -> None:
    try:
        value = typed.decode("/x", data, Broken)
    except Corrupt:
        return
    assert isinstance(value, Broken)


def test_a_watch_yields_corrupt_nodes_and_continues(hosts: str, root: str) -> None:
    async def scenario() -> None:
        async with await Coord.connect(hosts) as coord:
            values = typed.watch(coord, root, Broken)
            assert await anext(values) is None
            await coord.create(root, b"garbage")
            assert isinstance(await anext(values), Corrupt)
            node = await coord.set(root, typed.encode(Broken(step=1)), 0)
            assert await anext(values) == Stored(Broken(step=1), node)

    finish(scenario())
