"""`regraft measure` and the rest of the command line, as far as no Spark is needed to say no."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from regraft.cli.entry import main

PLANS = """
import sys
from regraft.cli import main
assert "pyspark" not in sys.modules and "pyarrow" not in sys.modules
main()
"""
Done = tuple[int, str, str]
Regraft = Callable[..., Done]


@pytest.fixture
def regraft(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Regraft:
    """The command in this process, as on a machine without Java."""
    monkeypatch.setenv("PATH", "/nonexistent")
    monkeypatch.delenv("JAVA_HOME", raising=False)

    def call(*arguments: str) -> Done:
        with pytest.raises(SystemExit) as end:
            main.main(list(arguments))
        said = capsys.readouterr()
        return int(end.value.code or 0), said.out, said.err

    return call


def refused(done: Done, *words: str) -> None:
    code, out, err = done
    assert (code, out) == (2, "")
    assert err.count("\n") == 1
    assert err.startswith("regraft: ")
    for word in words:
        assert word in err


@pytest.fixture
def telemetry(tmp_path: Path) -> Path:
    (tmp_path / "in").mkdir()
    return tmp_path / "in"


def test_without_java_measuring_is_refused_in_one_line_and_leaves_no_snapshot(
    regraft: Regraft, telemetry: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = telemetry.parent / "out"
    refused(regraft("measure", str(telemetry), "--out", str(out)), "Java 17")
    monkeypatch.setenv("JAVA_HOME", "/nowhere")
    refused(regraft("measure", str(telemetry), "--out", str(out)), "Java 17")
    assert not list(out.iterdir())


def test_without_java_planning_works(tmp_path: Path) -> None:
    for name, links in (("a", [["x", "y"], ["y", "z"]]), ("b", [["x", "z"], ["y", "z"]])):
        (tmp_path / f"{name}.json").write_text(json.dumps({"brokers": ["x", "y", "z"], "links": links}))
    files = [str(tmp_path / name) for name in ("a.json", "b.json")]
    arguments = ["plan", *files, "--json", "--time-limit", "1"]
    done = subprocess.run(
        [sys.executable, "-c", PLANS, *arguments],
        env={key: value for key, value in os.environ.items() if key != "JAVA_HOME"}
        | {"PATH": "/nonexistent"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["actions"] == 1


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--window", "soon"], ["--window soon", "60s"]),
        (["--window", "0s"], ["--window 0s"]),
        (["--window", "9" * 400 + "s"], ["--window 999"]),
        (["--lateness", "-1s"], ["--lateness"]),
        (["--spark", "http://x"], ["--spark http://x", "spark://"]),
        (["--conf", "spark.executor.memory"], ["--conf spark.executor.memory", "KEY=VALUE"]),
        (["--conf", "executor.memory=1g"], ["--conf executor.memory=1g", "begin with spark."]),
        (["--tables", "traffic_classes,weather"], ["--tables weather", "local_views"]),
        (["--stop-when-idle", "3"], ["--follow"]),
        (["--top", "0"], ["--top"]),
        (["--topology", "/nonexistent.json"], ["/nonexistent.json"]),
    ],
)
def test_a_wrong_option_is_refused_in_one_line(
    regraft: Regraft, telemetry: Path, options: list[str], words: list[str]
) -> None:
    refused(regraft("measure", str(telemetry), "--out", str(telemetry.parent / "out"), *options), *words)


def test_a_wrong_source_or_output_is_refused_in_one_line(regraft: Regraft, telemetry: Path) -> None:
    out = telemetry.parent / "out"
    refused(regraft("measure", str(telemetry / "none"), "--out", str(out)), "no such file or folder")
    (telemetry / "x.txt").write_text("")
    refused(regraft("measure", str(telemetry / "x.txt"), "--out", str(out)), ".parquet")
    (telemetry.parent / "file").write_text("")
    refused(regraft("measure", str(telemetry), "--out", str(telemetry.parent / "file")), "cannot be written")
    refused(regraft("measure", str(telemetry), "--out", "/proc/none"), "/proc/none", "cannot be written")


@pytest.mark.parametrize("name", ["interest/a.csv", "history/mine.txt", "_state"])
def test_what_others_have_in_the_output_folder_stays(regraft: Regraft, telemetry: Path, name: str) -> None:
    out = telemetry.parent / "out"
    (out / name).parent.mkdir(parents=True, exist_ok=True)
    (out / name).write_text("of somebody else")
    refused(
        regraft("measure", str(telemetry), "--out", str(out)),
        name.split("/", maxsplit=1)[0],
        "is not of a run",
    )
    assert (out / name).read_text() == "of somebody else"


def test_an_output_of_another_version_is_refused_in_one_line(regraft: Regraft, telemetry: Path) -> None:
    out = telemetry.parent / "out"
    state = pa.table({"epoch": [1], "state": ['{"version": 99, "width": 60000000}']})
    write_deltalake(out / "_state", state)
    refused(regraft("measure", str(telemetry), "--out", str(out)), "schema version 99")
