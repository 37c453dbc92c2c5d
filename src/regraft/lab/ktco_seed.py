"""What kTCO's prose prints of its figures, and the same of rows that were measured."""

from collections.abc import Callable, Iterator, Mapping
from statistics import fmean
from typing import NamedTuple

from regraft.lab.ktco_trial import Measured, Trial

Rows = Mapping[Trial, Measured]


class Printed(NamedTuple):
    section: str
    says: str
    value: float
    measured: Callable[[Rows], float | None]


def mean(rows: Rows, quantity: str, **where: object) -> float | None:
    """Over all rows that fit; None if there is none."""
    found = [
        float(getattr(row, quantity))
        for trial, row in rows.items()
        if all(getattr(trial, name) == value for name, value in where.items())
    ]
    return fmean(found) if found else None


def ratio(rows: Rows, quantity: str, one: str, other: str, **where: object) -> float | None:
    """The mean over the points of one algorithm's value over another's."""
    found = []
    for trial, row in rows.items():
        if trial.algorithm == one and all(getattr(trial, name) == value for name, value in where.items()):
            rival = trial._replace(algorithm=other, k=1 if other == "GM" else 2)
            if rival in rows and getattr(rows[rival], quantity):
                found.append(getattr(row, quantity) / getattr(rows[rival], quantity))
    return fmean(found) if found else None


def gap(rows: Rows, quantity: str, **where: object) -> float | None:
    """GM's value less GM2's."""
    one, other = (mean(rows, quantity, algorithm=name, **where) for name in ("GM", "GM2"))
    return None if one is None or other is None else one - other


def _harary(topics: int) -> Callable[[Rows], float | None]:
    where = {"algorithm": "HararyPT", "k": 10, "nodes": 800, "topics": topics, "subscriptions": 30}
    return lambda rows: mean(rows, "degree", distribution="unif", **where)


def _gap(distribution: str, quantity: str) -> Callable[[Rows], float | None]:
    return lambda rows: gap(
        rows, quantity, distribution=distribution, nodes=1000, topics=200, subscriptions=30
    )


PRINTED = (
    Printed(
        "§VIII-A", "degree of GM2 over GM's, average", 1.66, lambda rows: ratio(rows, "degree", "GM2", "GM")
    ),
    Printed("App. D-A", "degree of HararyPT, k = 10, |T| = 100, Unif", 54.22, _harary(100)),
    Printed("App. D-A", "degree of HararyPT, k = 10, |T| = 1000, Unif", 222.84, _harary(1000)),
    Printed(
        "App. D-B",
        "degree of CyclePT, |T(v)| = 100, average",
        177.23,
        lambda rows: mean(rows, "degree", algorithm="CyclePT", subscriptions=100),
    ),
    Printed(
        "App. D-B",
        "degree of HararyPT, k = 12, |T(v)| = 100, average",
        60.20,
        lambda rows: mean(rows, "degree", algorithm="HararyPT", k=12, subscriptions=100),
    ),
    Printed(
        "App. D-C",
        "Diam of GM2 over GM's, average",
        0.45,
        lambda rows: ratio(rows, "largest_diameter", "GM2", "GM", topics=200, subscriptions=30),
    ),
    Printed(
        "App. D-C",
        "average diameter of GM2 over GM's, average",
        0.51,
        lambda rows: ratio(rows, "average_diameter", "GM2", "GM", topics=200, subscriptions=30),
    ),
    Printed("App. D-C", "Diam of GM less GM2's, |V| = 1000, Expo", 16.75, _gap("expo", "largest_diameter")),
    Printed("App. D-C", "Diam of GM less GM2's, |V| = 1000, Zipf", 10.5, _gap("zipf", "largest_diameter")),
    Printed("App. D-C", "Diam of GM less GM2's, |V| = 1000, Unif", 17.5, _gap("unif", "largest_diameter")),
    Printed("§VIII-D", "average diameter of GM less GM2's, Unif", 10.0, _gap("unif", "average_diameter")),
)


def seed_rows(rows: Rows) -> Iterator[tuple[str, str, float, float | str]]:
    for printed in PRINTED:
        measured = printed.measured(rows)
        yield f"kTCO {printed.section}", printed.says, printed.value, "" if measured is None else measured
