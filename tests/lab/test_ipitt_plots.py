"""A figure of IPITT says which one it is, and shows what was printed beside what was measured."""

from pathlib import Path
from typing import Any

import pytest
from matplotlib.axes import Axes

from regraft.lab.ipitt_plots import draw
from regraft.lab.ipitt_printed import PLOTTED


def test_the_printed_points_and_the_title_are_those_of_the_figure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    titles: list[str] = []
    labels: list[str] = []
    plot, set_title = Axes.plot, Axes.set_title

    def plotted(self: Axes, *points: Any, **how: Any) -> Any:
        labels.append(how["label"])
        return plot(self, *points, **how)

    def titled(self: Axes, text: str, **how: Any) -> Any:
        titles.append(text)
        return set_title(self, text, **how)

    monkeypatch.setattr(Axes, "plot", plotted)
    monkeypatch.setattr(Axes, "set_title", titled)
    draw("5a", "size", "seconds", {}, [*PLOTTED["5a"]], tmp_path / "a.png")
    assert titles == ["IPITT Figure 5a"]
    assert len(labels) == len(PLOTTED["5a"]) > 0
    assert all(label.endswith("printed in IPITT") for label in labels)
