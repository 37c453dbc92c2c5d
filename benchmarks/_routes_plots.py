"""Figures 7.1–7.24 of the seed: time per component, its distribution, reduction of flows and data rate."""

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from matplotlib.figure import Figure


class Setting(NamedTuple):
    """One setting of the seed, and the numbers of its figures for time and distribution."""

    switches: int
    publishers: int
    fragments: bool
    time_figure: int
    share_figure: int


SETTINGS = (
    Setting(10, 5, False, 1, 2),
    Setting(10, 10, False, 3, 4),
    Setting(10, 20, False, 5, 6),
    Setting(25, 10, False, 9, 10),
    Setting(25, 25, False, 11, 12),
    Setting(25, 50, False, 13, 14),
    Setting(10, 5, True, 17, 18),
    Setting(10, 10, True, 19, 20),
    Setting(10, 20, True, 21, 22),
)
REDUCTIONS = {(10, False): (7, 8), (25, False): (15, 16), (10, True): (23, 24)}
"""Switches and whether fragments are small -> figures for flows and data rate."""


class Outcome(NamedTuple):
    """One run: seconds of every call of each component, and figures before and after."""

    setting: Setting
    seed: int
    calls: dict[str, tuple[float, ...]]
    flows: tuple[int, int]
    data_rate: tuple[float, float]


def write_times(outcomes: Sequence[Outcome], folder: Path) -> None:
    """time.csv: average, most and least seconds of a call, and the share of the whole."""
    with (folder / "time.csv").open("w", newline="") as file:
        out = csv.writer(file)
        out.writerow(
            [
                "figure",
                "switches",
                "publishers",
                "fragments",
                "component",
                "average",
                "most",
                "least",
                "share",
            ]
        )
        for setting in SETTINGS:
            spent = _spent(outcomes, setting)
            whole = sum(map(sum, spent.values())) or 1.0
            for name, calls in spent.items():
                figures = f"7.{setting.time_figure}, 7.{setting.share_figure}"
                numbers = [sum(calls) / len(calls), max(calls), min(calls), sum(calls) / whole]
                out.writerow([figures, *setting[:3], name, *(f"{number:.6g}" for number in numbers)])


def write_reductions(outcomes: Sequence[Outcome], folder: Path) -> None:
    """reduction.csv: flows and data rate of shortest-path trees and after the optimisation, run by run."""
    with (folder / "reduction.csv").open("w", newline="") as file:
        out = csv.writer(file)
        out.writerow(
            [
                *("figure", "switches", "publishers", "fragments", "seed"),
                *("flows before", "flows after", "data rate before", "data rate after"),
            ]
        )
        for one in outcomes:
            figures = "7.{}, 7.{}".format(*REDUCTIONS[one.setting.switches, one.setting.fragments])
            out.writerow([figures, *one.setting[:3], one.seed, *one.flows, *one.data_rate])


def draw(outcomes: Sequence[Outcome], folder: Path) -> None:
    """One picture per figure."""
    for setting in SETTINGS:
        spent = _spent(outcomes, setting)
        if spent:
            _draw_times(setting, spent, folder)
    for (switches, fragments), figures in REDUCTIONS.items():
        chosen = [o for o in outcomes if (o.setting.switches, o.setting.fragments) == (switches, fragments)]
        for figure, what in zip(figures, ("flows", "data_rate"), strict=True):
            if chosen:
                _draw_reduction(chosen, what, folder / f"figure_7_{figure:02d}.png")


def _spent(outcomes: Sequence[Outcome], setting: Setting) -> dict[str, list[float]]:
    spent: dict[str, list[float]] = {}
    for one in outcomes:
        if one.setting == setting:
            for name, calls in one.calls.items():
                spent.setdefault(name, []).extend(calls)
    return spent


def _draw_times(setting: Setting, spent: dict[str, list[float]], folder: Path) -> None:
    names = list(spent)
    averages = [sum(calls) / len(calls) for calls in spent.values()]
    title = f"{setting.switches} switches, {setting.publishers} publishers"
    title += ", smaller fragments" if setting.fragments else ""
    figure = Figure(figsize=(7, 4), layout="constrained")
    axis = figure.add_subplot()
    axis.bar(names, averages, color="#4a7fa5")
    least = [average - min(spent[name]) for name, average in zip(names, averages, strict=True)]
    most = [max(spent[name]) - average for name, average in zip(names, averages, strict=True)]
    axis.errorbar(names, averages, yerr=[least, most], fmt="none", ecolor="#27323f", capsize=3)
    axis.set(title=f"Time of a call: {title}", ylabel="seconds", yscale="symlog")
    axis.set_yscale("symlog", linthresh=1e-4)
    axis.tick_params(axis="x", rotation=40)
    figure.savefig(folder / f"figure_7_{setting.time_figure:02d}.png", dpi=110)
    figure = Figure(figsize=(6, 4), layout="constrained")
    axis = figure.add_subplot()
    totals = {name: sum(calls) for name, calls in spent.items()}
    whole = sum(totals.values()) or 1.0
    axis.barh(list(totals), [total / whole for total in totals.values()], color="#4a7fa5")
    axis.set(title=f"Share of the time: {title}", xlim=(0, 1))
    figure.savefig(folder / f"figure_7_{setting.share_figure:02d}.png", dpi=110)


def _draw_reduction(outcomes: Sequence[Outcome], what: str, path: Path) -> None:
    figure = Figure(figsize=(6, 4), layout="constrained")
    axis = figure.add_subplot()
    counts = sorted({one.setting.publishers for one in outcomes})
    for place, publishers in enumerate(counts):
        pairs = [getattr(one, what) for one in outcomes if one.setting.publishers == publishers]
        before, after = (sum(values) / len(pairs) for values in zip(*pairs, strict=True))
        axis.plot([0, 1], [before, after], marker="o", label=f"{publishers} publishers", color=f"C{place}")
    axis.set(xticks=[0, 1], xticklabels=["shortest-path trees", "content routes"], ylim=(0, None))
    axis.set_title(f"{what.replace('_', ' ')}, {outcomes[0].setting.switches} switches")
    axis.legend()
    figure.savefig(path, dpi=110)
