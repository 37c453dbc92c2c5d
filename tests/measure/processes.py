"""Other processes for tests: the command, a standalone cluster, a Connect server. All end with the test."""

import os
import re
import socket
import subprocess
import sys
import sysconfig
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pyspark

from regraft.measure.session import ARCHIVE, STORE

HOME = Path(pyspark.__file__).parent
QUICK = f"-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:SharedArchiveFile={ARCHIVE} -Xlog:disable"
"""For short runs: optimising code does not pay, loading classes from an archive does."""
SETTINGS = {
    "spark.sql.shuffle.partitions": "2",
    "spark.executor.memory": "512m",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.adaptive.enabled": "false",
}
"""What the operator of a cluster has set: a shuffle of a few rows needs few tasks. A file of settings would
change Java's class path, and the archive would not hold."""
CONFS = [each for key, value in SETTINGS.items() for each in ("--conf", f"{key}={value}")]
"""For `spark-submit`, and for our command: both take settings in this form."""
_WAIT = 900.0


def environment() -> dict[str, str]:
    """The command as users have it."""
    return os.environ | {"SPARK_LOCAL_IP": "127.0.0.1"}


def clustered() -> dict[str, str]:
    return environment() | {"SPARK_HOME": str(HOME), "JAVA_TOOL_OPTIONS": QUICK}


def elsewhere() -> dict[str, str]:
    """Processes of the cluster are told neither where our source is nor how to reach an object store."""
    ours = ("PYTHONPATH", *STORE)
    return {name: value for name, value in clustered().items() if name not in ours}


def bare_python(folder: Path, first: str = "", without: str | None = None) -> Path:
    """Python as on a machine where the packages that we need are installed, but ours is not: `-S` leaves out
    what points to our source. `first`: a line of the shell before it; `without`: a package that it lacks.

    The installed PySpark comes before Spark's zip file of it, which every process would compile anew."""
    hidden = folder / f"without-{without}"
    hidden.mkdir(parents=True)
    if without:
        (hidden / f"{without}.py").write_text(f"raise ModuleNotFoundError(\"No module named '{without}'\")\n")
    path = hidden / "python"
    path.write_text(
        f"""#!/bin/sh
{first}
export PYTHONPATH="{hidden}:{sysconfig.get_path("purelib")}:$PYTHONPATH"
exec '{sys.executable}' -S "$@"
"""
    )
    path.chmod(0o755)
    return path


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-c", "from regraft.cli import main; main()", "measure", *arguments]


def measure(
    *arguments: str, python: Path | None = None, folder: Path | None = None
) -> subprocess.CompletedProcess[str]:
    """`python`: that of the workers, if they are on a cluster; `folder`: where the command is typed."""
    around = clustered() if any(each.startswith("spark://") for each in arguments) else environment()
    return subprocess.run(
        command(*arguments),
        env=around | ({"PYSPARK_PYTHON": str(python)} if python else {}),
        cwd=folder,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=_WAIT,
        check=False,
    )


@contextmanager
def cluster(folder: Path, workers: int = 2) -> Iterator[str]:
    """A master and its workers; the address of the master."""
    spark_class = str(HOME / "bin" / "spark-class")
    package = "org.apache.spark.deploy"
    with ExitStack() as stack:
        here = ["--host", "127.0.0.1", "--webui-port", "0"]
        master = folder / "master.log"
        stack.enter_context(running([spark_class, f"{package}.master.Master", *here, "--port", "0"], master))
        address = logged(master, r"Starting Spark master at (spark://\S+)")
        for number in range(workers):
            log = folder / f"worker{number}.log"
            size = ["--cores", "1", "--memory", "1g", "--work-dir", str(folder / f"worker{number}")]
            worker = [spark_class, f"{package}.worker.Worker", *here, *size, address]
            stack.enter_context(running(worker, log))
        for number in range(workers):
            logged(folder / f"worker{number}.log", r"(Successfully registered with master)")
        yield address


def slow_python(folder: Path) -> Path:
    """A bare Python that has not started when Spark no longer waits, the first time that a stream asks."""
    slow = f"if mkdir '{folder}/slow' 2>/dev/null; then exec sleep 12; fi"
    return bare_python(folder, f'case "$*" in *streaming*) {slow} ;; esac')


@contextmanager
def connect_server(folder: Path) -> Iterator[str]:
    """Its address. The first process of a stream starts slowly, as on a machine with much else to do."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    binding = ["--conf", f"spark.connect.grpc.binding.port={port}"]
    binding += ["--conf", "spark.connect.grpc.binding.address=127.0.0.1", "--conf", "spark.ui.enabled=false"]
    server = ["--class", "org.apache.spark.sql.connect.service.SparkConnectServer", "spark-internal"]
    submit = [str(HOME / "bin" / "spark-submit"), "--master", "local[2]", *CONFS, *binding, *server]
    log = folder / "connect.log"
    # What reaches the store is up to whoever starts the server.
    reaching = {name: os.environ[name] for name in STORE if name in os.environ}
    with running(submit, log, PYSPARK_PYTHON=str(slow_python(folder)), **reaching):
        logged(log, r"(Spark Connect server started)")
        yield f"sc://127.0.0.1:{port}"


@contextmanager
def running(command: list[str], log: Path, **variables: str) -> Iterator[subprocess.Popen[bytes]]:
    around = elsewhere() | variables
    with log.open("wb") as file:
        process = subprocess.Popen(
            command, env=around, stdin=subprocess.DEVNULL, stdout=file, stderr=subprocess.STDOUT
        )
    try:
        yield process
    finally:
        process.terminate()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def logged(log: Path, pattern: str) -> str:
    until = time.monotonic() + _WAIT
    while time.monotonic() < until:
        if found := re.search(pattern, log.read_text(errors="replace")):
            return found[1]
        time.sleep(0.1)
    raise AssertionError(f"{log.name} does not say {pattern}: {log.read_text(errors='replace')[-2000:]}")
