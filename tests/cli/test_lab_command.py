"""`regraft lab` lists the experiments and runs one by its name."""

from pathlib import Path
from types import SimpleNamespace

import pytest
from tests.cli.conftest import Run, answered

import regraft.lab


@pytest.fixture(autouse=True)
def experiments(monkeypatch: pytest.MonkeyPatch) -> None:
    def run(out: Path) -> dict[str, int]:
        (out / "table.csv").write_text("a,b\n")
        return {"rows": 3}

    tiny = SimpleNamespace(summary="A tiny experiment.", run=run)
    monkeypatch.setattr(regraft.lab, "EXPERIMENTS", {"tiny": tiny}, raising=False)


def test_without_a_name_the_experiments_are_listed(regraft: Run) -> None:
    assert regraft("lab").stdout == "tiny  A tiny experiment.\n"
    assert answered(regraft("lab", "--json")) == {"experiments": {"tiny": "A tiny experiment."}}


def test_an_experiment_writes_into_its_own_folder(regraft: Run, folder: Path) -> None:
    answer = answered(regraft("lab", "tiny", "--out", "results", "--json"))
    assert answer["experiment"] == "tiny"
    assert answer["result"] == {"rows": 3}
    assert (folder / "results" / "tiny" / "table.csv").is_file()
    assert "results" in regraft("lab", "tiny", "--out", "results").stdout
