"""`regraft rearrange`: what it refuses. What it does on a live overlay: tests/rearrange/test_masters.py."""

import pytest
from tests.cli.conftest import Run, refused


@pytest.mark.parametrize(
    ("options", "rule"),
    [
        (["--telemetry", "nowhere"], "is no folder"),
        (["--telemetry", ".", "--alpha", "-1"], "--alpha: must be a number of at least 0"),
        (["--telemetry", ".", "--beta", "nan"], "--beta: must be a number of at least 0"),
        (["--telemetry", ".", "--network", "missing.json"], "missing.json"),
        (["--telemetry", "."], "--zookeeper: is missing"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(regraft: Run, options: list[str], rule: str) -> None:
    assert rule in refused(regraft("rearrange", *options))
