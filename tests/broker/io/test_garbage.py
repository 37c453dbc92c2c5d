"""Garbage collection: what is old is set aside, and looked at when there is nothing else to do."""

import gc
from collections.abc import Iterator

import pytest

from regraft.broker.io.garbage import IDLE_ROUNDS, NEVER, SetAside


class Cycle:
    def __init__(self) -> None:
        self.me = self


@pytest.fixture
def aside() -> Iterator[SetAside]:
    before = gc.get_threshold()
    made = SetAside()
    made.begin()
    yield made
    gc.set_threshold(*before)
    gc.unfreeze()


def test_only_new_things_are_looked_at(aside: SetAside) -> None:
    assert gc.get_threshold()[1:] == (NEVER, NEVER)
    kept = [Cycle() for _ in range(1000)]
    assert not aside.round(1.0)
    assert not any(each in gc.get_objects() for each in kept[:3])


def test_a_busy_process_never_looks_at_everything_an_idle_one_does(aside: SetAside) -> None:
    aside._looked_at = 0
    assert not any(aside.round(float(number)) for number in range(1, 20))
    assert any(aside.round(20.0) for _ in range(IDLE_ROUNDS + 1))


def test_an_idle_process_does_not_look_again_at_what_has_not_grown(aside: SetAside) -> None:
    assert not any(aside.round(1.0) for _ in range(3 * IDLE_ROUNDS))
