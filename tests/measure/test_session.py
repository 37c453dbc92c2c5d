"""How Java is started: beside brokers, it gives way to them, and who starts it does not."""

import os
import subprocess
from typing import Any

import pytest
from pyspark import SparkContext

from regraft.measure import session


@pytest.mark.parametrize(("humble", "least"), [(True, session.HUMBLE), (False, -20)])
def test_a_humble_spark_gives_way_and_who_starts_it_does_not(
    humble: bool, least: int, monkeypatch: pytest.MonkeyPatch
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
    session._launch({}, humble)
    assert started == [max(before, least)]
    assert os.nice(0) == before
    assert int(subprocess.check_output(["nice"])) == before
