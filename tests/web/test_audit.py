import json
import os
from pathlib import Path

import pytest

from regraft.web.audit import KEPT, Audit, AuditUnavailable


def test_what_was_written_is_read_back_the_newest_first(tmp_path: Path) -> None:
    audit = Audit(tmp_path / "deep" / "audit.ndjson")
    for n in range(3):
        audit.write({"n": n, "text": "ä\n"})
    assert [entry["n"] for entry in audit.last(2)] == [2, 1]
    audit.close()
    again = Audit(tmp_path / "deep" / "audit.ndjson")
    again.write({"n": 3})
    assert [entry["n"] for entry in again.last(9)] == [3, 2, 1, 0]


def test_nobody_else_may_read_the_file(tmp_path: Path) -> None:
    Audit(tmp_path / "audit.ndjson").write({})
    assert os.stat(tmp_path / "audit.ndjson").st_mode & 0o077 == 0


def test_a_line_that_a_crash_cut_off_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "audit.ndjson"
    path.write_text(json.dumps({"n": 1}) + "\n" + '{"n": 2, "who')
    assert Audit(path).last(5) == [{"n": 1}]


def test_a_full_file_makes_way_and_few_old_ones_are_kept(tmp_path: Path) -> None:
    audit = Audit(tmp_path / "audit.ndjson", largest=100)
    for n in range(40):
        audit.write({"n": n, "text": "x" * 60})
    assert len(list(tmp_path.iterdir())) == KEPT + 1
    assert audit.last(1)[0]["n"] == 39
    assert json.loads((tmp_path / "audit.ndjson.1").read_text().splitlines()[-1])["n"] in (37, 38)


def test_a_disk_that_is_full_is_a_fault_with_the_path() -> None:
    audit = Audit(Path("/dev/full"))
    with pytest.raises(AuditUnavailable, match="/dev/full: the audit log cannot be written: No space left"):
        audit.write({"n": 1})


def test_a_line_that_a_full_disk_takes_in_part_is_taken_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    audit, write = Audit(tmp_path / "audit.ndjson"), os.write
    audit.write({"n": 1})
    with monkeypatch.context() as full:
        full.setattr(os, "write", lambda file, line: write(file, line[:5]))
        with pytest.raises(AuditUnavailable, match="No space left"):
            audit.write({"n": 2})
    audit.write({"n": 3})
    assert [entry["n"] for entry in audit.last(9)] == [3, 1]
