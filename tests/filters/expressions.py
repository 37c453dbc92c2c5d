"""Random filters and events, and a grid of events that tells any two simple filters apart."""

from collections.abc import Mapping
from itertools import product

from hypothesis import strategies as st

from regraft.filters import Filter, parse
from regraft.filters.values import truth_of

NAMES = ("a", "b", "c")
NUMBERS = ("0", "1", "3", "-2", "5", "2.5", "3.0")
TEXTS = ("'x'", "'y'", "'3'", "'03'", "'true'", "'TRUE'", "'2.5'", "''")
TRUTHS = ("TRUE", "FALSE")
ORDER = ("<", "<=", ">", ">=")
EQUAL = ("=", "!=")

# One value for each cell into which the constants above can cut the values of an attribute.
CELLS: tuple[bool | int | float | str | None, ...] = (
    None, True, False,
    -7, -2, -1, 0, 0.5, 1, 2, 2.5, 2.75, 3, 4, 5, 5.5, 9,
    "-0000007", "-002", "-2", "-01", "00", "0", "001", "1", "02", "+3", "03", "3", "04", "05", "5", "09",
    "x", "y", "", "2.5", "2.50", "true", "TRUE", "tRuE", "false", "FaLsE", "other", "99999999999",
)  # fmt: skip

Event = dict[str, bool | int | float | str]


def event(values: Mapping[str, bool | int | float | str | None]) -> Event:
    return {name: value for name, value in values.items() if value is not None}


GRID = [event(dict(zip("ab", values, strict=True))) for values in product(CELLS, CELLS)]
events = st.fixed_dictionaries({name: st.sampled_from(CELLS) for name in NAMES}).map(event)


@st.composite
def comparisons(draw: st.DrawFn, names: tuple[str, ...] = NAMES) -> str:
    """A comparison of one attribute with a constant."""
    name = draw(st.sampled_from(names))
    constant = draw(st.sampled_from(NUMBERS + TEXTS + TRUTHS))
    # Mostly an order on numbers and equality on the rest, because `a < 'x'` never holds.
    plain = ORDER + EQUAL if constant in NUMBERS else EQUAL
    operator = draw(st.sampled_from(plain) | st.sampled_from(ORDER + EQUAL))
    return (
        f"{constant} {operator} {name}" if draw(st.integers(0, 5)) == 0 else f"{name} {operator} {constant}"
    )


@st.composite
def single_tests(draw: st.DrawFn) -> str:
    name = draw(st.sampled_from(NAMES))
    constants = draw(st.lists(st.sampled_from(NUMBERS + TEXTS + TRUTHS), min_size=1, max_size=4))
    return draw(
        st.sampled_from(
            (
                f"EXISTS {name}",
                f"{name} IN ({', '.join(constants)})",
                f"{name} NOT IN ({', '.join(constants)})",
                f"{name} LIKE {constants[0] if constants[0] in TEXTS else repr('3')}",
                f"NOT {name}",
                name,
            )
        )
    )


def combined(leaves: st.SearchStrategy[str], size: int = 6) -> st.SearchStrategy[str]:
    def larger(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
        pairs = st.tuples(inner, st.sampled_from(("AND", "OR", "AND", "OR", "XOR")), inner)
        return pairs.map(lambda p: f"({p[0]}) {p[1]} ({p[2]})") | inner.map(lambda x: f"NOT ({x})")

    return st.recursive(leaves, larger, max_leaves=size)


simple_filters = combined(comparisons(names=("a", "b")), 4)
box_filters = combined(comparisons() | single_tests())

FUNCTIONS = ("INT", "BOOL", "STRING", "ABS", "LENGTH", "UPPER", "NONE", "CONCAT")
PATTERNS = ("'%'", "'_'", "'%3'", "'t%'", "'0%'", "'x'")

_values = st.recursive(
    st.sampled_from(NAMES + NUMBERS + TEXTS + TRUTHS),
    lambda inner: st.one_of(
        st.builds("({} {} {})".format, inner, st.sampled_from("+-*/%"), inner),
        st.builds("-{}".format, inner),
        st.builds("{}({})".format, st.sampled_from(FUNCTIONS), inner),
        st.builds("LEFT({}, {})".format, inner, inner),
    ),
    max_leaves=3,
)
_odd = st.one_of(
    st.builds("{} {} {}".format, _values, st.sampled_from(ORDER + EQUAL), _values),
    st.builds("{} {} {}".format, _values, st.sampled_from(("LIKE", "NOT LIKE")), st.sampled_from(PATTERNS)),
    st.builds("{} IN ({}, {})".format, _values, _values, _values),
    _values,
)
any_filters = combined(st.one_of(comparisons(), single_tests(), _odd))


def passes(f: Filter, attributes: Event) -> bool:
    """CESQL 1.0 §1.2, by the reference evaluation."""
    value, fault = f.evaluate(attributes)
    return value is True and fault is None


def normal_passes(f: Filter, attributes: Event) -> bool:
    """By the normal form: some box allows the event, and its conditions have the outcome they must have."""

    def outcome(text: str) -> bool | None:
        value, fault = parse(text).evaluate(attributes)
        return None if fault else truth_of(value)

    return any(
        conjunction.allows(attributes)
        and all(outcome(text) is wanted for text, wanted in conjunction.residue)
        for conjunction in f.normal
    )
