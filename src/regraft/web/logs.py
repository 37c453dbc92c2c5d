"""Structured logs: one JSON object on a line, with the fields that a record was given.

    logging.getLogger("regraft.loop").info("deployed", extra={"plan": sha256, "run": id, "operation": id})

Every field of `extra` is in the line, so that a run can be followed through all loggers by its id, and a plan
by its sha256. A person at a terminal sees the same as plain text.
"""

import json
import logging
import sys
import traceback
from datetime import UTC, datetime
from typing import Any, TextIO

_OWN = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName", "color_message"}
_NOISY = ("uvicorn.access", "kazoo", "py4j")


class JsonLines(logging.Formatter):
    """Times are UTC, in microseconds; values that JSON does not know become text."""

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, Any] = {
            "at": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="microseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **_fields(record),
        }
        if record.exc_info:
            line["traceback"] = "".join(traceback.format_exception(*record.exc_info)).rstrip()
        return json.dumps(line, ensure_ascii=False, default=str)


class PlainLines(logging.Formatter):
    """For a terminal: time, logger and message, then the fields."""

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(name)s %(message)s", "%H:%M:%S")

    def formatMessage(self, record: logging.LogRecord) -> str:
        ids = " ".join(f"{name}={value}" for name, value in _fields(record).items() if value)
        return super().formatMessage(record) + (f" [{ids}]" if ids else "")


def install(level: str = "INFO", stream: TextIO | None = None) -> logging.Handler:
    """Let all loggers of the process write to standard error, or to this stream."""
    target = stream or sys.stderr
    handler = logging.StreamHandler(target)
    handler.setFormatter(PlainLines() if target.isatty() else JsonLines())
    root = logging.getLogger()
    root.addHandler(handler)
    root.setLevel(logging.WARNING)
    logging.getLogger("regraft").setLevel(level)
    for noisy in _NOISY:
        logging.getLogger(noisy).setLevel(logging.WARNING)
    return handler


def _fields(record: logging.LogRecord) -> dict[str, Any]:
    return {key: value for key, value in vars(record).items() if key not in _OWN}
