"""Structured logs: one JSON object on a line, with the ids that a record was given.

    logging.getLogger("regraft.loop").info("deployed", extra={"plan": sha256, "run": id, "operation": id})

Every field of `extra` stands in the line, so that a transformation can be followed through all parts by its
run, and a plan by its sha256.
"""

import json
import logging
import sys
import traceback
from datetime import UTC, datetime
from typing import Any, TextIO

_OWN = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName", "color_message"}


class JsonLines(logging.Formatter):
    """Times are UTC, in microseconds; what JSON does not know becomes text."""

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, Any] = {
            "at": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="microseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        line |= {key: value for key, value in vars(record).items() if key not in _OWN}
        if record.exc_info:
            line["traceback"] = "".join(traceback.format_exception(*record.exc_info)).rstrip()
        return json.dumps(line, ensure_ascii=False, default=str)


def install(level: str = "INFO", stream: TextIO | None = None) -> logging.Handler:
    """All loggers of the process write such lines, to standard error unless told otherwise."""
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(JsonLines())
    root = logging.getLogger()
    root.addHandler(handler)
    root.setLevel(level)
    for noisy in ("uvicorn.access", "kazoo", "py4j"):
        logging.getLogger(noisy).setLevel(logging.WARNING)
    return handler
