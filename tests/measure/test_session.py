"""How Java is started: with a low priority beside brokers, which the process that starts it does not get."""

import os
import shlex
import subprocess
from pathlib import Path
from typing import Any

import pytest
from pyspark import SparkContext

from regraft.measure import session


@pytest.mark.parametrize(("low_priority", "least"), [(True, session.LOW_PRIORITY), (False, -20)])
def test_spark_has_a_low_priority_and_the_process_that_starts_it_keeps_its_own(
    low_priority: bool, least: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[int] = []

    def launch(*_: Any) -> object:
        # A process is as nice as the thread that starts it, which is what Java is, too.
        started.append(int(subprocess.check_output(["nice"])))
        return object()

    monkeypatch.setattr(SparkContext, "_gateway", None)
    monkeypatch.setattr(SparkContext, "_ensure_initialized", lambda **_: None)
    monkeypatch.setattr("pyspark.java_gateway.launch_gateway", launch)
    before = os.nice(0)
    session._launch({}, low_priority)
    assert started == [max(before, least)]
    assert os.nice(0) == before
    assert int(subprocess.check_output(["nice"])) == before


@pytest.mark.parametrize("content", [b"", b"no archive" * 1000])
def test_an_invalid_archive_of_classes_is_ignored(
    content: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    archive = tmp_path / "with a space" / "spark.jsa"
    archive.parent.mkdir()
    archive.write_bytes(content)
    monkeypatch.setattr(session, "ARCHIVE", archive)
    options = shlex.split(session._java_options("-XX:+UseSerialGC", None))
    assert f"-XX:SharedArchiveFile={archive}" in options
    ran = subprocess.run(["java", *options, "-version"], capture_output=True, check=True)
    assert ran.stdout == b""


def test_without_an_archive_java_is_not_told_of_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session, "ARCHIVE", tmp_path / "spark.jsa")
    assert "SharedArchiveFile" not in session._java_options("", None)
    assert "SharedArchiveFile" not in session._java_options("", tmp_path / "new")
    assert f"-XX:ArchiveClassesAtExit={tmp_path / 'new'}" in session._java_options("", tmp_path / "new")


def test_the_more_there_is_to_read_the_better_java_compiles() -> None:
    assert session.settings_for(session.SMALL_BYTES) is session.SMALL
    assert session.settings_for(session.SMALL_BYTES + 1) is session.QUICK
    assert session.settings_for(session.QUICK_BYTES + 1) == {}


@pytest.mark.parametrize(
    ("master", "said"), [("local[2]", "false"), ("spark://m:7077", None), ("yarn", None)]
)
def test_sparks_pages_are_there_on_a_cluster_and_not_on_this_machine(master: str, said: str | None) -> None:
    """Spark's default is to serve them; `--conf` counts before what is said here."""
    assert session.settings_of(master).get("spark.ui.enabled") == said
