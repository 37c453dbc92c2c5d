"""`regraft init`, `doctor`, `serve`, `what-if` as a user meets them."""

import json
import time
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import Run
from tests.measure.telemetry import START, Brokers, health

from regraft.cli.doctor_telemetry import newest_telemetry
from regraft.model.store import open_store


def test_init_writes_a_file_that_doctor_reads(regraft: Run, folder: Path) -> None:
    made = regraft("init", "--mode", "observe", "--telemetry", "recorded", "--json")
    assert made.exit_code == 0
    assert json.loads(made.stdout) == {"file": "regraft.toml"}
    assert 'mode = "observe"' in (folder / "regraft.toml").read_text()
    again = regraft("init")
    assert again.exit_code == 2
    assert "is there already" in again.stderr
    assert regraft("init", "--force").exit_code == 0


def test_doctor_says_what_is_wrong_and_what_to_do(regraft: Run, folder: Path) -> None:
    found = regraft("doctor", "--json")
    assert found.exit_code == 0
    answer = json.loads(found.stdout)
    checks = {each["name"]: each for each in answer["checks"]}
    assert answer["ok"]
    assert checks["zookeeper"]["verdict"] == "warning"
    assert "`regraft up`" in checks["zookeeper"]["advice"]
    assert checks["telemetry"]["found"] == f"nothing was recorded in {folder / 'out' / 'telemetry'} yet"
    assert checks["java"]["verdict"] == "ok"
    assert checks["disk"]["verdict"] == "ok"
    assert checks["state"]["verdict"] == "ok"


def test_doctor_says_how_much_telemetry_there_is_and_when_it_ends(regraft: Run, folder: Path) -> None:
    brokers = Brokers(folder / "out" / "telemetry")
    brokers.put([health("b0", 5.0), health("b1", 5.0)])
    brokers.put([health("b0", 3605.0), health("b1", 3600.0)])
    brokers.put([health("b0", 3610.0)])
    (folder / "out" / "telemetry" / "b2" / "2026-01-05T13").mkdir(parents=True)
    (check,) = _checks(regraft, "telemetry")
    assert check["verdict"] == "ok"
    assert check["found"].startswith("3 segments of 2 brokers, 0.0 MB, in the newest hour (2026-01-05T13")
    assert "until 2026-01-05T13:00:10Z" in check["found"]
    (check,) = _checks(regraft, "clock")
    assert check["verdict"] == "ok"


def test_doctor_notices_telemetry_from_the_future_and_segments_that_are_broken(
    regraft: Run, folder: Path
) -> None:
    ahead = timedelta(seconds=time.time() + 5000) - timedelta(seconds=START.timestamp())
    (name,) = Brokers(folder / "out" / "telemetry").put([health("b0", ahead.total_seconds())])
    (check,) = _checks(regraft, "clock")
    assert check["verdict"] == "fault"
    assert "s in the future" in check["found"]
    (folder / "out" / "telemetry" / name).write_bytes(b"no table")
    newest = newest_telemetry(open_store(folder / "out" / "telemetry"))
    assert newest is not None
    assert (newest.segments, newest.at) == (1, None)


def test_doctor_looks_into_a_bucket(
    regraft: Run, folder: Path, bucket: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "regraft.toml").write_text(f'[telemetry]\nfolder = "{bucket}/live"\n')
    (check,) = _checks(regraft, "telemetry")
    assert check["found"] == f"nothing was recorded in {bucket}/live yet"
    Brokers(f"{bucket}/live").put([health("b0", 5.0)])
    (check,) = _checks(regraft, "telemetry")
    assert check["found"].startswith("1 segments of 1 brokers")
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1")
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")
    (check,) = _checks(regraft, "telemetry")
    assert check["verdict"] == "fault"


def _checks(regraft: Run, *names: str) -> list[dict[str, Any]]:
    checks = json.loads(regraft("doctor", "--json").stdout)["checks"]
    return [each for each in checks if each["name"] in names]


def test_doctor_for_people_marks_faults(regraft: Run, folder: Path) -> None:
    (folder / "regraft.toml").write_text('[zookeeper]\nhosts = "127.0.0.1:1"\n')
    found = regraft("doctor")
    assert found.exit_code == 1
    assert "FAULT    zookeeper:" in found.stdout
    assert "-> start it" in found.stdout


def test_doctor_finds_a_port_that_is_taken_and_a_folder_that_can_not_be(regraft: Run, folder: Path) -> None:
    import socket

    (folder / "kept").write_text("a file")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        (folder / "regraft.toml").write_text(f'[web]\nport = {port}\n[state]\nfolder = "kept"\n')
        checks = {each["name"]: each for each in json.loads(regraft("doctor", "--json").stdout)["checks"]}
    assert checks["port"]["verdict"] == "fault"
    assert checks["state"]["verdict"] == "fault"


def test_a_wrong_configuration_is_one_line(regraft: Run, folder: Path) -> None:
    (folder / "regraft.toml").write_text("[loop]\nconfirm = 0\n")
    for command in ("serve", "doctor"):
        refused = regraft(command)
        assert refused.exit_code == 2
        assert refused.stderr == (
            "regraft: regraft.toml: line 2, loop.confirm: expected a whole number from 1 to 100, found 0\n"
        )
    assert regraft("serve", "-c", "none.toml").exit_code == 2
    assert regraft("doctor", "-c", "none.toml").exit_code == 2


def test_serve_without_an_overlay_says_how_to_start_one(regraft: Run, folder: Path) -> None:
    (folder / "regraft.toml").write_text("[web]\nenabled = false\n")
    refused = regraft("serve")
    assert refused.exit_code == 2
    assert "`regraft up` has not written" in refused.stderr


def test_what_if_refuses_times_and_folders_that_are_none(regraft: Run, folder: Path) -> None:
    assert "there is no such file or folder" in regraft("what-if", "--telemetry", "none").stderr
    refused = regraft("what-if", "--telemetry", ".", "--from", "yesterday")
    assert refused.exit_code == 2
    assert "'yesterday' is not a time" in refused.stderr
    wrong = regraft("what-if", "--telemetry", ".", "--window", "soon")
    assert wrong.exit_code == 2
    assert "loop.window: expected a length of time" in wrong.stderr


def test_what_if_of_a_time_that_ends_before_it_begins_is_one_line(regraft: Run, folder: Path) -> None:
    (folder / "recorded").mkdir()
    period = ("--from", "2026-01-02T00:00:00Z", "--to", "2026-01-01T00:00:00Z")
    answer = regraft("what-if", "--telemetry", "recorded", *period)
    assert answer.exit_code == 2
    assert answer.stderr == (
        "regraft: --to: 2026-01-01T00:00:00Z is not after --from, 2026-01-02T00:00:00Z\n"
    )
