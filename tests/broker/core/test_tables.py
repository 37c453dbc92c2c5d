"""What neighbours are told, beside what the simulations of brokers show of it."""

from regraft.broker.core.sides import Side
from regraft.broker.core.tables import Tables


class Counted(dict[str, Side]):
    """Counts how often all neighbours are iterated over."""

    walks = 0

    def items(self):  # type: ignore[no-untyped-def]
        self.walks += 1
        return super().items()


def test_a_neighbour_that_was_told_everything_costs_no_look_at_the_others() -> None:
    tables = Tables(f"n{number}" for number in range(100))
    tables.sides = sides = Counted(tables.sides)
    for side in sides.values():
        side.knows_advertisements = side.knows_subscriptions = True
    told = [tables.update(name) for name in sides]
    assert all(each is not None and each.all_advertisements and each.all_subscriptions for each in told)
    sides.walks = 0
    assert [tables.update(name) for name in sides] == [None] * 100
    assert sides.walks == 0
    sides["n7"].veil = "n8"  # what was said without a veil was not said with one
    assert tables.update("n7") is not None
