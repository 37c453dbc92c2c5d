"""Figures 7.1–7.24 of Content routes: time per component and its distribution, fewer flows, data rate."""

import csv
from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import NamedTuple

from matplotlib.figure import Figure

from regraft.model.routes import Matching


class Setting(NamedTuple):
    """One setting of Content routes, and the numbers of its figures for time and distribution."""

    switches: int
    publishers: int
    fragments: bool
    time_figure: int
    share_figure: int
    matching: Matching = "publisher"
    """What tables look at: with "filter" publishers share trees, and cycles have to be found."""


OWN_TREES = (
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
SETTINGS = (*OWN_TREES, *(setting._replace(matching="filter") for setting in OWN_TREES))
REDUCTIONS = {(10, False): (7, 8), (25, False): (15, 16), (10, True): (23, 24)}
"""Switches and whether fragments are small -> figures for flows and data rate."""


class Outcome(NamedTuple):
    """One run: seconds of every call of each component, and figures before and after."""

    setting: Setting
    seed: int
    calls: dict[str, tuple[float, ...]]
    flows: tuple[int, int]
    data_rate: tuple[float, float]
    cycles: int = 0
    """Times that a cycle went back into a program."""


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
                "matching",
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
                out.writerow(
                    [figures, *setting[:3], setting.matching, name, *(f"{number:.6g}" for number in numbers)]
                )


def write_reductions(outcomes: Sequence[Outcome], folder: Path) -> None:
    """reduction.csv: flows and data rate of shortest-path trees and after the optimisation, run by run."""
    with (folder / "reduction.csv").open("w", newline="") as file:
        out = csv.writer(file)
        out.writerow(
            [
                *("figure", "switches", "publishers", "fragments", "matching", "seed"),
                *("flows before", "flows after", "data rate before", "data rate after", "cycles"),
            ]
        )
        for one in outcomes:
            figures = "7.{}, 7.{}".format(*REDUCTIONS[one.setting.switches, one.setting.fragments])
            about = [*one.setting[:3], one.setting.matching, one.seed]
            out.writerow([figures, *about, *one.flows, *one.data_rate, one.cycles])


def draw(outcomes: Sequence[Outcome], folder: Path) -> None:
    """One picture per figure."""
    for setting in SETTINGS:
        spent = _spent(outcomes, setting)
        if spent:
            _draw_times(setting, spent, folder)
    for key, matching in product(REDUCTIONS, ("publisher", "filter")):
        chosen = [
            one
            for one in outcomes
            if (one.setting.switches, one.setting.fragments) == key and one.setting.matching == matching
        ]
        for figure, what in zip(REDUCTIONS[key], ("flows", "data_rate"), strict=True):
            if chosen:
                _draw_reduction(chosen, what, _picture(folder, figure, matching))


def _picture(folder: Path, figure: int, matching: str) -> Path:
    return folder / f"figure_7_{figure:02d}{'_shared' if matching == 'filter' else ''}.png"


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
    title += ", shared trees" if setting.matching == "filter" else ""
    figure = Figure(figsize=(7, 4), layout="constrained")
    axis = figure.add_subplot()
    axis.bar(names, averages, color="#4a7fa5")
    least = [average - min(spent[name]) for name, average in zip(names, averages, strict=True)]
    most = [max(spent[name]) - average for name, average in zip(names, averages, strict=True)]
    axis.errorbar(names, averages, yerr=[least, most], fmt="none", ecolor="#27323f", capsize=3)
    axis.set(title=f"Time of a call: {title}", ylabel="seconds", yscale="symlog")
    axis.set_yscale("symlog", linthresh=1e-4)
    axis.tick_params(axis="x", rotation=40)
    figure.savefig(_picture(folder, setting.time_figure, setting.matching), dpi=110)
    figure = Figure(figsize=(6, 4), layout="constrained")
    axis = figure.add_subplot()
    totals = {name: sum(calls) for name, calls in spent.items()}
    whole = sum(totals.values()) or 1.0
    axis.barh(list(totals), [total / whole for total in totals.values()], color="#4a7fa5")
    axis.set(title=f"Share of the time: {title}", xlim=(0, 1))
    figure.savefig(_picture(folder, setting.share_figure, setting.matching), dpi=110)


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
