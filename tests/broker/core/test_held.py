"""Streams of held publications, against a plain dictionary."""

from hypothesis import given, settings
from hypothesis import strategies as st

from regraft.broker.core.held import REMEMBERED, Held, HeldRuns, HeldStream
from regraft.protocol.messages import Run


def held(*seqs: int, waiting: tuple[str, ...] = ("b",)) -> Held:
    run = Run("p#1", list(seqs), [str(seq).encode() for seq in seqs], 0)
    return Held(run, ["a"], dict.fromkeys(waiting, 0))


def test_a_run_is_cut_where_a_confirmation_ends() -> None:
    stream = HeldStream()
    stream.add(held(1, 3, 5, 7))
    assert [each.run.seqs for each in stream.within(3, 6)] == [[3, 5]]
    assert [each.run.seqs for each in stream] == [[1], [3, 5], [7]]
    assert [each.run.events for each in stream] == [[b"1"], [b"3", b"5"], [b"7"]]


def test_the_pieces_of_a_cut_run_are_released_one_by_one() -> None:
    stream = HeldStream()
    stream.add(held(1, 2, waiting=("b", "c")))
    first = stream.within(1, 1)[0]
    del first.waiting["b"]
    one, two = stream.find(1), stream.find(2)
    assert one is not None
    assert two is not None
    assert two.waiting == {"b": 0, "c": 0}
    assert one.waiting == {"c": 0}


def test_what_came_several_ways_comes_from_where_it_came_last_after_a_shift() -> None:
    """From i, then from elsewhere, then from k: it comes from k, or two brokers wait for each other."""
    several = Held(Run("p#1", [1], [b"1"], 0), ["i", "elsewhere", "k"], {})
    several.rename("i", "k")
    assert several.sources == ["elsewhere", "k"]


@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.lists(st.integers(1, 60), min_size=1, max_size=6, unique=True), max_size=8),
    st.lists(st.tuples(st.integers(1, 60), st.integers(0, 20)), max_size=8),
)
def test_finding_and_cutting_agree_with_a_dictionary(
    groups: list[list[int]], ranges: list[tuple[int, int]]
) -> None:
    stream = HeldStream()
    model: dict[int, bool] = {}
    taken: set[int] = set()
    for group in groups:
        low, high = min(group), max(group)
        if any(low <= seq <= high for seq in taken):
            continue  # runs do not interleave
        taken |= set(range(low, high + 1))
        stream.add(held(*sorted(group)))
        model.update(dict.fromkeys(group, True))
    for first, length in ranges:
        found = [seq for each in stream.within(first, first + length) for seq in each.run.seqs]
        assert found == sorted(seq for seq in model if first <= seq <= first + length)
    for seq in range(1, 61):
        assert (stream.find(seq) is not None) == (seq in model)


def test_the_store_counts_the_bytes_that_it_holds() -> None:
    store = HeldRuns()
    one = held(1, 2)
    store.keep(one)
    assert store.bytes == 2
    store.release(one)
    assert store.bytes == 0
    assert list(store) == []


def test_publishers_that_are_heard_of_once_are_forgotten_but_not_what_is_held_of_them() -> None:
    store = HeldRuns()
    store.keep(held(1))
    for at in range(3 * REMEMBERED):
        store.stream(f"q{at}#1").seen = 1
    assert len(store.streams) <= 2 * REMEMBERED
    assert [each.run.seqs for each in store] == [[1]]
    assert store.stream("p#1").seen == 1
