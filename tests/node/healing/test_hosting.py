"""The memory of a deputy that has ended is collected, also in a process that is never idle."""

import gc
import weakref
from collections.abc import Iterator

import pytest

from regraft.node.healing import hosting
from regraft.node.healing.hosting import collect_garbage


class Ended:
    """A broker that has ended: full of cycles."""

    def __init__(self) -> None:
        self.server = self


@pytest.fixture(autouse=True)
def _nothing_set_aside() -> Iterator[None]:
    gc.collect()
    yield
    gc.unfreeze()


def set_aside() -> "weakref.ref[Ended]":
    left = weakref.ref(Ended())
    gc.freeze()
    return left


def test_cycles_that_were_set_aside_are_collected_and_the_rest_is_set_aside_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(hosting, "GARBAGE_OBJECTS", 10**9)  # other tests have left very much
    left = set_aside()
    gc.collect()
    assert left() is not None, "what is set aside is not looked at"
    assert collect_garbage()
    assert left() is None
    assert gc.get_freeze_count() > 1000


def test_too_many_objects_are_left_for_an_idle_moment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hosting, "GARBAGE_OBJECTS", 100)
    left = set_aside()
    assert not collect_garbage()
    assert left() is not None
