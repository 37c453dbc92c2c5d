"""The command line as a user meets it: a folder of files, and `regraft` on them."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from regraft.cli.entry import main

Run = Callable[..., Result]

CURRENT: dict[str, Any] = {
    "brokers": ["a", "b", "c", "d", "e"],
    "links": [["a", "b"], ["b", "c"], ["c", "d"], ["d", "e"]],
}
GOAL = {"brokers": ["a", "b", "c", "d", "e"], "links": [["a", "c"], ["b", "c"], ["c", "d"], ["c", "e"]]}
RING = {
    "brokers": ["a", "b", "c", "d"],
    "links": [["a", "b"], ["b", "c"], ["c", "d"], ["a", "d"]],
    "kind": "mesh",
}
CROSSED = {
    "brokers": ["a", "b", "c", "d"],
    "links": [["a", "c"], ["b", "c"], ["b", "d"], ["a", "d"]],
    "kind": "mesh",
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two trees and two meshes in a folder that is the current one."""
    monkeypatch.chdir(tmp_path)
    for name, document in (("now", CURRENT), ("goal", GOAL), ("ring", RING), ("crossed", CROSSED)):
        (tmp_path / f"{name}.json").write_text(json.dumps(document))
    return tmp_path


@pytest.fixture
def regraft(folder: Path) -> Run:
    """Run the real entry with these arguments."""

    def run(*arguments: str) -> Result:
        return CliRunner().invoke(main, [str(argument) for argument in arguments])

    return run


def refused(result: Result) -> str:
    """The one line of an exit with code 2."""
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    lines = result.stderr.splitlines()
    assert len(lines) == 1, result.stderr
    assert "Traceback" not in result.stderr
    assert lines[0].startswith("regraft: ")
    return lines[0].removeprefix("regraft: ")


def answered(result: Result) -> dict[str, Any]:
    """The one JSON object on standard output."""
    assert result.exit_code == 0, result.stderr
    document = json.loads(result.stdout)
    assert isinstance(document, dict)
    return document
