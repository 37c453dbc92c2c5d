"""Least tables: every event gets its action, with as few entries as any table has."""

from itertools import product

from hypothesis import given, settings
from hypothesis import strategies as st

from regraft.filters.dz import Dz, DzSet
from regraft.routes.least_table import least_table

DIGITS = 3
POINTS = [format(number, f"0{DIGITS}b") for number in range(1 << DIGITS)]
PREFIXES = [dz for length in range(1, DIGITS + 1) for dz in map("".join, product("01", repeat=length))]
ANY = "any"


def looked_up(table: list[tuple[Dz, str | None]], point: Dz) -> str | None:
    matching = [(len(dz), action) for dz, action in table if point.startswith(dz)]
    return max(matching, key=lambda entry: entry[0])[1] if matching else None


def least_by_trying(wanted: dict[Dz, str | None]) -> int:
    """The least cost of a part, given the action from above: every action is tried for every prefix."""
    actions = {action for action in wanted.values() if action != ANY} | {None}

    def cost(dz: Dz, above: str | None) -> int:
        if len(dz) == DIGITS:
            own = 0 if wanted[dz] in (above, ANY) else 1
            return own
        without = cost(dz + "0", above) + cost(dz + "1", above)
        if not dz:
            return without
        return min([without] + [1 + cost(dz + "0", a) + cost(dz + "1", a) for a in actions])

    return cost("", None)


functions = st.fixed_dictionaries({point: st.sampled_from([None, "a", "b", ANY]) for point in POINTS})


def table_for(wanted: dict[Dz, str | None]) -> list[tuple[Dz, str | None]]:
    cases = [(DzSet(p for p in POINTS if wanted[p] == action), action) for action in ("a", "b")]
    return least_table(cases, DzSet(p for p in POINTS if wanted[p] == ANY))


@settings(max_examples=120, deadline=None)
@given(functions)
def test_the_table_says_what_was_asked_in_as_few_entries_as_possible(wanted: dict[Dz, str | None]) -> None:
    table = table_for(wanted)
    for point in POINTS:
        assert wanted[point] in (ANY, looked_up(table, point))
    assert len(table) == least_by_trying(wanted)
    assert all(1 <= len(dz) <= DIGITS for dz, _ in table)
    assert len({dz for dz, _ in table}) == len(table)


def test_an_exception_is_one_entry_more() -> None:
    table = least_table([(DzSet(["00", "011"]), "a"), (DzSet(["010"]), "b")])
    assert sorted(table) == [("0", "a"), ("010", "b")]


def test_what_is_not_wanted_inside_is_dropped_by_an_entry() -> None:
    table = least_table([(DzSet(["00", "0111", "0100", "0101"]), "a")])
    assert sorted(table, key=str) == [("0", "a"), ("0110", None)]


def test_an_entry_is_no_wider_than_what_may_come() -> None:
    assert least_table([(DzSet(["010"]), "a")], DzSet(["1", "00", "011"])) == [("010", "a")]


def test_the_whole_space_takes_two_entries_because_none_may_be_empty() -> None:
    assert sorted(least_table([(DzSet([""]), "a")])) == [("0", "a"), ("1", "a")]
