"""`regraft lab` lists the experiments and runs one by its name, with the options it declares."""

from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import Run, answered, refused

import regraft.lab
from regraft.lab import Experiment, Option


@pytest.fixture(autouse=True)
def experiments(monkeypatch: pytest.MonkeyPatch) -> None:
    def run(out: Path, **options: Any) -> dict[str, int]:
        (out / "table.csv").write_text("a,b\n")
        return {"options": len(options), "size": options.get("large_size", 0)}

    tiny = Experiment("a tiny experiment", run, (Option("large_size", int, "how large (3)"),))
    monkeypatch.setattr(regraft.lab, "EXPERIMENTS", {"tiny": tiny})


def test_without_a_name_the_experiments_are_listed(regraft: Run) -> None:
    assert regraft("lab").stdout == "tiny  a tiny experiment\n"
    assert answered(regraft("lab", "--json")) == {"experiments": {"tiny": "a tiny experiment"}}


def test_an_experiment_writes_into_its_own_folder(regraft: Run, folder: Path) -> None:
    answer = answered(regraft("lab", "tiny", "--out", "results", "--json"))
    assert answer["experiment"] == "tiny"
    assert answer["result"] == {"options": 0, "size": 0}, "what is not said is left to the experiment"
    assert (folder / "results" / "tiny" / "table.csv").is_file()
    assert "results/tiny" in regraft("lab", "tiny", "--out", "results").stdout


def test_an_experiments_own_options_are_parsed_and_passed_on(regraft: Run) -> None:
    answer = answered(regraft("lab", "tiny", "--large-size", "7", "--json"))
    assert answer["result"] == {"options": 1, "size": 7}
    assert "--large-size" in refused(regraft("lab", "tiny", "--large-size", "much"))
    assert "how large (3)" in regraft("lab", "tiny", "--help").stdout


def test_an_unknown_experiment_is_wrong_use(regraft: Run) -> None:
    assert "huge" in refused(regraft("lab", "huge"))
