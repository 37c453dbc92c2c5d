"""What kTCO's text says about its figures in numbers, and the same numbers from measured rows."""

from collections.abc import Callable, Iterator, Mapping
from itertools import pairwise
from statistics import fmean
from typing import NamedTuple

from regraft.lab.ktco_trial import Measured, Trial

Rows = Mapping[Trial, Measured]
Value = Callable[[Rows], float | None]
FIGURE_3 = {"topics": 200, "subscriptions": 30}
FIGURE_4 = {"nodes": 800, "subscriptions": 30}
FIGURE_5 = {"nodes": 800, "topics": 200}
LARGEST, AVERAGE = "largest_diameter", "average_diameter"


class Printed(NamedTuple):
    """One number of the text: `says` in its words; `figure` is 0 if it is about all figures."""

    figure: int
    section: str
    says: str
    value: float
    measured: Value


def fits(trial: Trial, where: Mapping[str, object]) -> bool:
    return all(getattr(trial, name) == value for name, value in where.items())


def mean(rows: Rows, quantity: str, where: Mapping[str, object]) -> float | None:
    """The mean over all rows that fit; None if no row does."""
    found = [float(getattr(row, quantity)) for trial, row in rows.items() if fits(trial, where)]
    return fmean(found) if found else None


def compared(
    rows: Rows, quantity: str, one: tuple[str, int], other: tuple[str, int], where: Mapping[str, object]
) -> list[tuple[float, float]]:
    """The values of two algorithms, each with its k, at all points that both have."""
    found = []
    for trial, row in rows.items():
        if (trial.algorithm, trial.k) == one and fits(trial, where):
            rival = rows.get(trial._replace(algorithm=other[0], k=other[1]))
            if rival is not None and getattr(rival, quantity):
                found.append((float(getattr(row, quantity)), float(getattr(rival, quantity))))
    return found


GM, GM2, CYCLE = ("GM", 1), ("GM2", 2), ("CyclePT", 2)


def ratio(quantity: str, one: tuple[str, int], other: tuple[str, int], **where: object) -> Value:
    """The mean over the points of one algorithm's value over the other's."""

    def value(rows: Rows) -> float | None:
        pairs = compared(rows, quantity, one, other, where)
        return fmean(a / b for a, b in pairs) if pairs else None

    return value


def gap(quantity: str, one: tuple[str, int], other: tuple[str, int], **where: object) -> Value:
    def value(rows: Rows) -> float | None:
        pairs = compared(rows, quantity, one, other, where)
        return fmean(a - b for a, b in pairs) if pairs else None

    return value


def degree(algorithm: str, k: int, **where: object) -> Value:
    return lambda rows: mean(rows, "degree", {"algorithm": algorithm, "k": k, **where})


def strongest(**where: object) -> Value:
    """The k at which HararyPT, whose even k lie on a smooth curve, has as many links as CyclePT.

    An odd k costs more links than the next even one: the diameters of its Harary graphs are different
    links in every topic.
    """

    def value(rows: Rows) -> float | None:
        ks = sorted({t.k for t in rows if t.algorithm == "HararyPT" and t.k % 2 == 0 and fits(t, where)})
        shares = [(k, ratio("degree", ("HararyPT", k), CYCLE, **where)(rows)) for k in ks]
        for (k, below), (next, above) in pairwise(shares):
            if below is not None and above is not None and below < 1 <= above:
                return k + (next - k) * (1 - below) / (above - below)
        return None

    return value


_EXPO, _ZIPF, _UNIF = ({"distribution": name, **FIGURE_3} for name in ("expo", "zipf", "unif"))

PRINTED = (
    Printed(3, "§VIII-A", "degree of GM2 / GM: below", 1.66, ratio("degree", GM2, GM, **FIGURE_3)),
    Printed(3, "§VIII-A", "degree of CyclePT / GM2: about", 5, ratio("degree", CYCLE, GM2, **FIGURE_3)),
    Printed(
        3, "§VIII-A", "k up to which HararyPT has fewer links than CyclePT, Expo", 12, strongest(**_EXPO)
    ),
    Printed(3, "§VIII-A", "k up to which HararyPT has fewer links than CyclePT, Zipf", 7, strongest(**_ZIPF)),
    Printed(3, "§VIII-A", "k up to which HararyPT has fewer links than CyclePT, Unif", 5, strongest(**_UNIF)),
    Printed(4, "§VIII-B", "degree of GM2 / GM: at most", 1.66, ratio("degree", GM2, GM, **FIGURE_4)),
    Printed(4, "§VIII-B", "degree of CyclePT - GM2: at least", 43.1, gap("degree", CYCLE, GM2, **FIGURE_4)),
    Printed(
        4,
        "App. D-A",
        "degree of HararyPT, k = 10, |T| = 100, Unif",
        54.22,
        degree("HararyPT", 10, distribution="unif", topics=100, **FIGURE_4),
    ),
    Printed(
        4,
        "App. D-A",
        "degree of HararyPT, k = 10, |T| = 1000, Unif",
        222.84,
        degree("HararyPT", 10, distribution="unif", topics=1000, **FIGURE_4),
    ),
    Printed(
        4,
        "App. D-A",
        "degree of HararyPT, k = 6 / CyclePT, Expo: almost",
        1,
        ratio("degree", ("HararyPT", 6), CYCLE, distribution="expo", **FIGURE_4),
    ),
    Printed(
        4,
        "App. D-A",
        "degree of HararyPT, k = 6 / CyclePT, Zipf: almost",
        1,
        ratio("degree", ("HararyPT", 6), CYCLE, distribution="zipf", **FIGURE_4),
    ),
    Printed(
        5,
        "App. D-B",
        "degree of HararyPT, k = 12, |T(v)| = 100, average",
        60.20,
        degree("HararyPT", 12, subscriptions=100, **FIGURE_5),
    ),
    Printed(
        5,
        "App. D-B",
        "degree of CyclePT, |T(v)| = 100, average",
        177.23,
        degree("CyclePT", 2, subscriptions=100, **FIGURE_5),
    ),
    Printed(6, "§VIII-D", "Diam of GM2 / GM, Unif", 0.40, ratio(LARGEST, GM2, GM, **_UNIF)),
    Printed(6, "§VIII-D", "average diameter of GM2 / GM, Unif", 0.50, ratio(AVERAGE, GM2, GM, **_UNIF)),
    Printed(
        6, "§VIII-D", "Diam of GM - GM2, |V| = 1000, Unif", 17.5, gap(LARGEST, GM, GM2, nodes=1000, **_UNIF)
    ),
    Printed(
        6,
        "§VIII-D",
        "average diameter of GM - GM2, |V| = 1000, Unif",
        10.0,
        gap(AVERAGE, GM, GM2, nodes=1000, **_UNIF),
    ),
    Printed(8, "App. D-C", "Diam of GM2 / GM", 0.45, ratio(LARGEST, GM2, GM, **FIGURE_3)),
    Printed(8, "App. D-C", "average diameter of GM2 / GM", 0.51, ratio(AVERAGE, GM2, GM, **FIGURE_3)),
    Printed(
        8, "App. D-C", "Diam of GM - GM2, |V| = 1000, Expo", 16.75, gap(LARGEST, GM, GM2, nodes=1000, **_EXPO)
    ),
    Printed(
        8, "App. D-C", "Diam of GM - GM2, |V| = 1000, Zipf", 10.5, gap(LARGEST, GM, GM2, nodes=1000, **_ZIPF)
    ),
    Printed(0, "§IX", "degree of GM2 / GM: about", 1.65, ratio("degree", GM2, GM)),
)


class Beside(NamedTuple):
    """kTCO's figure and ours; None where the points for it were not measured."""

    printed: Printed
    measured: float | None

    def __str__(self) -> str:
        ours = "not measured" if self.measured is None else f"{self.measured:.4g}"
        return f"{self.printed.says} {self.printed.value:g}; here {ours}"


def beside(rows: Rows) -> Iterator[Beside]:
    for printed in PRINTED:
        yield Beside(printed, printed.measured(rows))
