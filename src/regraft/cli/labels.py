"""Places the names beside their brokers in a picture: on the side where each covers the least."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

Point = tuple[float, float]
SIZE = 6.5
"""Font size in points."""
WIDE, HIGH = 0.58, 1.15
"""Width of a letter and height of a line, as multiples of the font size."""


class Box(NamedTuple):
    left: float
    bottom: float
    right: float
    top: float

    def overlap(self, other: "Box") -> float:
        wide = min(self.right, other.right) - max(self.left, other.left)
        high = min(self.top, other.top) - max(self.bottom, other.bottom)
        return wide * high if wide > 0 and high > 0 else 0.0

    def holds(self, point: Point) -> bool:
        return self.left < point[0] < self.right and self.bottom < point[1] < self.top


def place_labels(
    names: Mapping[str, str],
    points: Mapping[str, Point],
    links: Iterable[tuple[str, str]],
    radius: float,
    panel: tuple[float, float],
) -> dict[str, Point]:
    """The centre of each label, in points from the panel's corner. The most crowded labels choose first."""
    circles = [Box(x - radius, y - radius, x + radius, y + radius) for x, y in points.values()]
    dots = [dot for one, other in links for dot in _along(points[one], points[other])]
    placed: list[Box] = []
    middle: dict[str, Point] = {}

    def crowd(id: str) -> float:
        x, y = points[id]
        return sum(1 / (25 + (x - a) ** 2 + (y - b) ** 2) for a, b in points.values())

    for id in sorted(names, key=crowd, reverse=True):
        best = min(
            _around(points[id], len(names[id]), radius),
            key=lambda box: _cost(box, placed, circles, dots, panel),
        )
        placed.append(best)
        middle[id] = ((best.left + best.right) / 2, (best.bottom + best.top) / 2)
    return middle


def _around(point: Point, letters: int, radius: float) -> list[Box]:
    """Possible boxes, the preferred ones first: above, below, right, left, then the corners."""
    wide, high = letters * WIDE * SIZE, HIGH * SIZE
    gap = radius + 0.8
    sides = [(0, 1), (0, -1), (1, 0), (-1, 0), (0.8, 0.8), (-0.8, 0.8), (0.8, -0.8), (-0.8, -0.8)]
    boxes = []
    for across, up in sides:
        x, y = point[0] + across * (gap + wide / 2), point[1] + up * (gap + high / 2)
        boxes.append(Box(x - wide / 2, y - high / 2, x + wide / 2, y + high / 2))
    return boxes


def _cost(
    box: Box, placed: list[Box], circles: list[Box], dots: list[Point], panel: tuple[float, float]
) -> float:
    """The area that a label covers: names weigh most, then brokers, links; outside the panel is worst."""
    inside = box.overlap(Box(2, 2, panel[0] - 2, panel[1] - 2))
    outside = (box.right - box.left) * (box.top - box.bottom) - inside
    covered = 4 * sum(map(box.overlap, placed)) + 3 * sum(map(box.overlap, circles))
    return 50 * outside + covered + 2.5 * sum(map(box.holds, dots))


def _along(one: Point, other: Point) -> list[Point]:
    """Points on a link, about four apart."""
    count = int(max(abs(one[0] - other[0]), abs(one[1] - other[1])) // 4) + 1
    return [
        (one[0] + (other[0] - one[0]) * at / count, one[1] + (other[1] - one[1]) * at / count)
        for at in range(1, count)
    ]
