import io
import json
import logging

from regraft.web.logs import JsonLines, PlainLines, install


def record(**extra: object) -> logging.LogRecord:
    return logging.getLogger("regraft.loop").makeRecord(
        "regraft.loop", logging.INFO, "x.py", 1, "deployed %s", ("b1",), None, extra=extra
    )


def test_a_record_is_one_line_with_the_ids_it_was_given() -> None:
    line = JsonLines().format(record(plan="4f2a", run="7-1", operation="op-1"))
    found = json.loads(line)
    assert "\n" not in line
    assert (found["message"], found["level"], found["logger"]) == ("deployed b1", "info", "regraft.loop")
    assert (found["plan"], found["run"], found["operation"]) == ("4f2a", "7-1", "op-1")
    assert found["at"].endswith("+00:00")
    assert set(found) == {"at", "level", "logger", "message", "plan", "run", "operation"}


def test_a_person_sees_the_same_as_plain_text() -> None:
    assert PlainLines().format(record(plan="4f2a", run=None)).endswith("regraft.loop deployed b1 [plan=4f2a]")


def test_what_json_does_not_know_becomes_text() -> None:
    assert json.loads(JsonLines().format(record(brokers={"b1"})))["brokers"] == "{'b1'}"


def test_a_fault_is_written_with_its_traceback_in_the_same_line() -> None:
    stream = io.StringIO()
    root = logging.getLogger()
    level = root.level
    handler = install("INFO", stream)
    try:
        try:
            raise ValueError("broken")
        except ValueError:
            logging.getLogger("regraft.web").exception("a fault", extra={"request": "r1"})
    finally:
        root.removeHandler(handler)
        root.setLevel(level)
    (line,) = stream.getvalue().splitlines()
    assert "ValueError: broken" in json.loads(line)["traceback"]
    assert json.loads(line)["request"] == "r1"
