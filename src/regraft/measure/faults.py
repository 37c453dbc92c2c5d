"""Spark's exceptions as faults of one line, because a stack trace does not help a user."""

import re
from collections.abc import Iterator
from contextlib import contextmanager

from pyspark.errors import PySparkException
from pyspark.errors.exceptions.base import PySparkRuntimeError

from regraft.measure.session import LOG, SparkFault
from regraft.measure.shipping import HINT

_CAUSE = re.compile(
    r"^(?:Caused by: )?(?:[\w$]+\.)*[\w$]*(?:Exception|Error|Input|Fault|Superseded): (.+)$", re.MULTILINE
)
_CONDITION = re.compile(r"^\[([A-Z0-9_.]+)\]\s*")
_NO_MODULE = re.compile(r"^No module named '([^']+)'$")
_EXECUTOR = re.compile(r"\((\S+) executor \S+\)")
"""As Spark names the task that has failed; the first group is its host."""
_MOST = 300


@contextmanager
def one_line(place: str) -> Iterator[None]:
    """An exception of Spark, or of the bridge to it, becomes a `SparkFault` that names the place."""
    try:
        yield
    except PySparkException as fault:
        raise SparkFault(f"{place}: {fault_text(fault)}") from fault
    except (ConnectionError, EOFError) as fault:
        raise SparkFault(f"{place}: Spark has ended ({type(fault).__name__})") from fault
    except Exception as fault:
        # py4j and grpc are no dependencies of ours, so their exceptions are recognised by their modules.
        if type(fault).__module__.partition(".")[0] in ("py4j", "grpc", "pyspark"):
            raise SparkFault(f"{place}: {fault_text(fault)}") from fault
        raise


def fault_text(fault: BaseException) -> str:
    """The innermost cause, or else the first line with text, without Spark's error condition."""
    if isinstance(fault, PySparkRuntimeError) and "JAVA_GATEWAY_EXITED" in str(fault):
        needs = "it needs Java 17 or newer, and valid settings"
        return f"Java ended before Spark had started: {needs}; {LOG}=file keeps its log"
    text = str(fault)
    causes = _CAUSE.findall(text)
    line = (
        causes[-1]
        if causes
        else next((line for line in text.splitlines() if line.strip()), type(fault).__name__)
    )
    line = " ".join(_CONDITION.sub("", line).split())
    if missing := _NO_MODULE.match(line):
        host = _EXECUTOR.search(text)
        line = f"worker{f' {host[1]}' if host else ''}: Python has no module {missing[1]!r}: {HINT}"
    return line if len(line) <= _MOST else line[:_MOST] + "…"
