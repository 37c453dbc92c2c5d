"""Brokers, an object store and a Spark cluster on the lab of hosts, which share nothing but the network.

    with host_cluster() as cluster:
        cluster.brokers.put_until(30.0)
        driver = cluster.drive(cluster.drivers[0], "--follow")

Each host has a user of its own, whose folder no other user may enter, and the folders that all users of a
machine share are read-only: whatever one host knows of another came through the network. What is installed
(Java, Python, its packages, and for drivers our source) all hosts have under the same path, as they would.
"""

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from subprocess import PIPE
from typing import Any, NamedTuple

from tests.measure.processes import HOME, QUICK, bare_python, command, logged

from regraft.measure.session import LOG, STORE
from regraft.testing.hosts import Lab, LabHost

ROOT = Path(__file__).parents[2]
BROKERS, WORKERS, DRIVERS = 8, 2, 2
FIRST_USER = 20_000
SHARED = ("/tmp", "/var/tmp", "/dev/shm")
STORE_PORT, MASTER_PORT = 9000, 7077
BUCKET = "lab"
SETTINGS = {
    # Few as the records are, the executors read and write.
    "spark.regraft.driver.rows": "0",
    "spark.ui.enabled": "false",
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.adaptive.enabled": "false",
    "spark.driver.memory": "512m",
    # One executor on each worker, and room for those of a second driver.
    "spark.executor.memory": "512m",
    "spark.executor.cores": "1",
    "spark.cores.max": "2",
    # A task is run again elsewhere as soon as it is a little slower than another one.
    "spark.speculation": "true",
    "spark.speculation.interval": "50ms",
    "spark.speculation.multiplier": "1.1",
    "spark.speculation.quantile": "0.25",
    "spark.speculation.minTaskRuntime": "50ms",
    "spark.speculation.task.duration.threshold": "1s",
}


class Ended(NamedTuple):
    """How a driver has ended."""

    code: int
    said: str


class Driver:
    """The command on one host; what it prints is in a file there."""

    def __init__(self, host: LabHost, process: "subprocess.Popen[Any]", log: Path) -> None:
        self.host, self.process, self.log = host, process, log

    @property
    def is_alive(self) -> bool:
        return self.process.poll() is None

    @property
    def commits(self) -> int:
        """How many it has reported."""
        return self.log.read_text().count(" records, ")

    def kill(self) -> None:
        """The command alone: its Java has to notice."""
        self.process.kill()
        self.process.wait()

    def crash(self) -> None:
        """All of its host at once."""
        self.host.crash()
        self.process.wait()

    def ended(self) -> Ended:
        stages = (" records, ", "starting Spark")
        lines = [
            line for line in self.log.read_text().splitlines() if not any(map(line.__contains__, stages))
        ]
        return Ended(self.process.wait(), " | ".join(lines))


class HostBrokers:
    """The brokers' telemetry on eight hosts: `host_brokers` is told up to which time they put records."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self._process = process

    def put_until(self, seconds: float) -> None:
        assert self._process.stdin is not None
        print(seconds, file=self._process.stdin, flush=True)

    def finish(self) -> list[dict[str, Any]]:
        """What each says at the end: when all that it was told is in the store."""
        said, _ = self._process.communicate()
        assert self._process.returncode == 0, said
        return [json.loads(line) for line in said.splitlines()]


class HostCluster:
    def __init__(self, lab: Lab, folder: Path) -> None:
        self.lab = lab
        self.folder = folder
        hosts = iter(lab.hosts)
        self.brokers_on = [next(hosts) for _ in range(BROKERS)]
        self.store, self.master = next(hosts), next(hosts)
        self.workers = [next(hosts) for _ in range(WORKERS)]
        self.drivers = [next(hosts) for _ in range(DRIVERS)]
        self.python = bare_python(folder)
        self._number = 0

    @property
    def endpoint(self) -> str:
        return f"http://{self.store.address}:{STORE_PORT}"

    @property
    def reaching(self) -> dict[str, str]:
        """The variables that say how to reach the store."""
        values = (self.endpoint, "us-east-1", "us-east-1", "test", "test")
        return dict(zip(STORE, values, strict=False))

    def start(
        self, host: LabHost, command: Sequence[str | Path], log: Path | None, **options: Any
    ) -> "subprocess.Popen[Any]":
        """A program of the host's user, who knows neither our source nor the store unless told so."""
        user = str(FIRST_USER + host.number)
        become = ["setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups"]
        forget = ["env", *(word for name in (*STORE, "PYTHONPATH") for word in ("-u", name))]
        told = [f"{key}={value}" for key, value in options.pop("told", {}).items()]
        return host.start([*become, *forget, *told, *command], log, **options)

    def serve(self) -> None:
        program = [sys.executable, str(Path(__file__).with_name("host_store.py")), str(STORE_PORT), BUCKET]
        self.server = self.start(self.store, program, self.store.folder / "store.log", stdin=PIPE)
        logged(self.store.folder / "store.log", "(serving)")

    def form(self) -> None:
        """Start the master and the workers."""
        package, run = "org.apache.spark.deploy", str(HOME / "bin" / "spark-class")
        log = self.master.folder / "master.log"
        here = ["--host", self.master.address, "--port", str(MASTER_PORT), "--webui-port", "0"]
        self.start(self.master, [run, f"{package}.master.Master", *here], log, told=self._java(self.master))
        logged(log, r"(Starting Spark master at)")
        for host in self.workers:
            size = ["--cores", "2", "--memory", "2g", "--work-dir", str(host.folder / "work")]
            here = ["--host", host.address, "--webui-port", "0", *size, self.address]
            worker = [run, f"{package}.worker.Worker", *here]
            self.start(host, worker, host.folder / "worker.log", told=self._java(host))
        for host in self.workers:
            logged(host.folder / "worker.log", "(Successfully registered with master)")

    @property
    def address(self) -> str:
        return f"spark://{self.master.address}:{MASTER_PORT}"

    def put_by(self, *told: object) -> HostBrokers:
        """Start the brokers, which put what `host_brokers` makes of these numbers."""
        hosts = [(host.first_process, str(host.folder), FIRST_USER + host.number) for host in self.brokers_on]
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.measure.host_brokers"],
            cwd=ROOT,
            env=os.environ | self.reaching,
            stdin=PIPE,
            stdout=PIPE,
            text=True,
        )
        assert process.stdin is not None
        print(json.dumps([hosts, f"s3://{BUCKET}/telemetry", *told]), file=process.stdin, flush=True)
        return HostBrokers(process)

    def drive(self, host: LabHost, *options: str, tables: Iterable[str]) -> Driver:
        """The command on this host, as the guide has it."""
        self._number += 1
        log = host.folder / f"driver{self._number}.log"
        here = {"spark.driver.host": host.address, "spark.driver.bindAddress": host.address}
        confs = [word for key, value in (SETTINGS | here).items() for word in ("--conf", f"{key}={value}")]
        places = [f"s3://{BUCKET}/telemetry", "--out", f"s3://{BUCKET}/tables", "--spark", self.address]
        told = self._java(host) | self.reaching | {"PYSPARK_PYTHON": str(self.python)}
        told[LOG] = str(log.with_suffix(".spark"))
        whole = command(*places, "--tables", ",".join(tables), *confs, *options)
        return Driver(host, self.start(host, whole, log, told=told), log)

    def executors(self) -> list[tuple[LabHost, int]]:
        """Those that run now: the host and the id of the process there."""
        find = "pgrep -f '[C]oarseGrainedExecutorBackend' || true"
        return [(host, int(each)) for host in self.workers for each in host.run(["sh", "-c", find]).split()]

    def kill_executor(self, host: LabHost, process: int) -> bool:
        """Whether it was still there."""
        return host.run(["sh", "-c", f"kill -9 {process} 2>/dev/null && echo yes || true"]).strip() == "yes"

    def cut_off(self) -> None:
        """No packet reaches the store or comes from it."""
        self.lab.partition({self.store}, set(self.lab.hosts) - {self.store})

    def pause_store(self) -> None:
        self.server.send_signal(signal.SIGSTOP)

    def return_store(self) -> None:
        self.lab.heal()
        self.server.send_signal(signal.SIGCONT)

    def copy(self) -> Path:
        """All that is in the store now, as a folder of the test."""
        self._number += 1
        place = self.store.folder / f"copy{self._number}"
        program = f"""
from pyarrow import fs
there = fs.S3FileSystem(endpoint_override={self.endpoint!r})
fs.copy_files({BUCKET!r}, {str(place)!r}, there, fs.LocalFileSystem())
"""
        copy = [sys.executable, "-c", program]
        process = self.start(self.store, copy, self.store.folder / "copy.log", told=self.reaching)
        assert process.wait() == 0, (self.store.folder / "copy.log").read_text()
        return place

    @staticmethod
    def _java(host: LabHost) -> dict[str, str]:
        options = f"{QUICK} -Djava.io.tmpdir={host.folder} -XX:-UsePerfData"
        return {"SPARK_HOME": str(HOME), "SPARK_LOCAL_IP": host.address, "JAVA_TOOL_OPTIONS": options}


@contextmanager
def host_cluster() -> Iterator[HostCluster]:
    """The store and the cluster are started, the brokers are not yet."""
    with tempfile.TemporaryDirectory(prefix="cluster-on-hosts-") as place:
        folder = Path(place)
        folder.chmod(0o755)
        with Lab(BROKERS + 2 + WORKERS + DRIVERS, mtu=60_000, folder=folder) as lab:
            for host in lab.hosts:
                _separate(host)
            cluster = HostCluster(lab, folder)
            cluster.serve()
            cluster.form()
            yield cluster


def _separate(host: LabHost) -> None:
    """Give the host to a user of its own. Only the host sees what is mounted here."""
    user, folder = FIRST_USER + host.number, host.folder
    lines = [
        f"chown {user}:{user} {folder} && chmod 700 {folder}",
        f"cp /etc/passwd {folder}",
        f"echo '{host.name}:x:{user}:{user}::{folder}:/bin/sh' >> {folder}/passwd",
        f"mount --bind {folder}/passwd /etc/passwd",
        # Java looks up the name of its own host.
        f"printf '127.0.0.1 localhost\\n{host.address} {host.name}\\n' > {folder}/names",
        f"mount --bind {folder}/names /etc/hosts",
        *(f"mount --rbind {each} {each} && mount -o remount,ro,bind {each}" for each in SHARED),
    ]
    # What is installed may be in the home of the user who runs the tests, which no other user may enter.
    places = {place: closed for place in (Path(sys.base_prefix), ROOT) if (closed := _closed(place))}
    for number, place in enumerate(places):
        lines += [f"mkdir {folder}/{number}", f"mount --bind {place} {folder}/{number}"]
    lines += [f"mount -t tmpfs -o mode=755 none {closed}" for closed in set(places.values())]
    for number, place in enumerate(places):
        lines += [f"mkdir -p {place}", f"mount --move {folder}/{number} {place}", f"rmdir {folder}/{number}"]
    host.run(["sh", "-ec", "\n".join(lines)])


def _closed(place: Path) -> Path | None:
    """The first folder on the way there that only its user may enter."""
    return next((each for each in reversed(place.parents) if not each.stat().st_mode & 0o001), None)
