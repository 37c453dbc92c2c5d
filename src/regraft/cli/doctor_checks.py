"""The checks of `regraft doctor`: what `regraft serve` needs, and advice where something is missing."""

import asyncio
import os
import re
import shlex
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Literal, NamedTuple

from regraft.cli.doctor_telemetry import newest_telemetry
from regraft.coord import Coord
from regraft.coord.typed import read
from regraft.deploy.records import Current
from regraft.estate.regraft.overlay import LOOP
from regraft.estate.regraft.zookeeper import ensemble
from regraft.model import RegraftError
from regraft.model.files import shown
from regraft.model.store import open_store
from regraft.serve.configuration import ServeConfiguration

Verdict = Literal["ok", "warning", "fault"]
LEAST_JAVA = 17
MOST_SKEW = 1.0
"""Seconds by which the brokers' newest records may be ahead of our clock."""


class Check(NamedTuple):
    """`advice` is what to do; empty if all is well."""

    name: str
    verdict: Verdict
    found: str
    advice: str = ""


def examine(configuration: ServeConfiguration) -> Iterator[Check]:
    """Makes the checks one by one, so that each result can be shown at once."""
    yield java()
    yield spark(configuration)
    yield from _zookeeper(configuration)
    yield ports(configuration)
    found, newest = telemetry(configuration)
    yield clock(newest)
    yield found
    yield folder("state", configuration.state.folder)
    yield disk(configuration)


def java() -> Check:
    home = os.environ.get("JAVA_HOME")
    program = str(Path(home) / "bin" / "java") if home else shutil.which("java")
    install = f"install Java {LEAST_JAVA} or newer (Debian: apt-get install default-jre-headless)"
    if program is None or not Path(program).exists():
        return Check("java", "fault", "there is none" if not home else f"JAVA_HOME has no {program}", install)
    try:
        said = subprocess.run([program, "-version"], capture_output=True, text=True, timeout=30, check=False)
    except (OSError, subprocess.TimeoutExpired) as fault:
        return Check("java", "fault", f"{program} cannot be run: {fault}", install)
    found = re.search(r'version "(?:1\.)?(\d+)', said.stderr + said.stdout)
    if found is None:
        return Check("java", "warning", f"{program} does not say its version")
    version = int(found[1])
    if version < LEAST_JAVA:
        return Check("java", "fault", f"{program} is Java {version}", install)
    return Check("java", "ok", f"Java {version} at {program}")


def spark(configuration: ServeConfiguration) -> Check:
    """Checks that Spark is installed or reachable; does not start it, which takes seconds."""
    master = configuration.spark.master
    try:
        from importlib.metadata import version

        found = version("pyspark")
    except ImportError:
        return Check("spark", "fault", "pyspark is not installed", 'pip install "regraft[spark]"')
    place = re.match(r"(?:spark|sc)://([^:/]+):(\d+)", master)
    if place is not None and (fault := _unreachable(place[1], int(place[2]))) is not None:
        return Check("spark", "fault", f"{master}: {fault}", "start it, or change spark.master")
    return Check("spark", "ok", f"pyspark {found}, master {master}")


def _zookeeper(configuration: ServeConfiguration) -> Iterator[Check]:
    try:
        where, layout = ensemble(configuration.zookeeper, configuration.overlay)
    except RegraftError as fault:
        advice = "start the overlay with `regraft up`, or set zookeeper.hosts"
        yield Check("zookeeper", "warning", str(fault), advice)
        return

    async def ask() -> list[Check]:
        async with await Coord.open(where) as coord:
            stored = await read(coord, layout.topology, Current)
            holders = await coord.children(layout.lock(LOOP))
            reached = Check("zookeeper", "ok", f"{where.hosts} answers")
            if stored is None:
                none = Check(
                    "overlay", "fault", f"there is no topology under {layout.root}", "`regraft up` makes one"
                )
                return [reached, none]
            current = stored.value
            what = f"a {current.kind} of {len(current.brokers)} brokers, epoch {current.epoch}"
            agents = [await coord.get(layout.alive(id)) for id in current.brokers]
            silent = sum(agent is None for agent in agents)
            overlay = (
                Check(
                    "overlay", "warning", f"{what}; {silent} have no agent", "their links cannot be changed"
                )
                if silent
                else Check("overlay", "ok", what)
            )
            if holders:
                busy = Check("lease", "warning", "a loop runs on it already", "a second one would be refused")
                return [reached, overlay, busy]
            return [reached, overlay, Check("lease", "ok", "no other loop runs on it")]

    try:
        yield from asyncio.run(ask())
    except RegraftError as fault:
        yield Check("zookeeper", "fault", str(fault), "start it, or change zookeeper.hosts")


def ports(configuration: ServeConfiguration) -> Check:
    web = configuration.web
    if not web.enabled:
        return Check("port", "ok", "no web part is wanted")
    family = socket.AF_INET6 if ":" in web.host else socket.AF_INET
    try:
        with socket.socket(family, socket.SOCK_STREAM) as listening:
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listening.bind((web.host, web.port))
    except OSError as fault:
        advice = "choose another web.port (0: a free one) or web.host"
        return Check("port", "fault", f"{web.host}:{web.port}: {fault.strerror}", advice)
    return Check("port", "ok", f"{web.host}:{web.port or 'a free port'} can be used")


def clock(newest: float | None) -> Check:
    """Records from the future mean that the brokers' clocks are ahead of ours: windows would be wrong.
    `newest`: when the newest record was made."""
    now = time.time()
    if newest is not None and newest > now + MOST_SKEW:
        return Check(
            "clock",
            "fault",
            f"telemetry is from {newest - now:.0f} s in the future",
            "set the clock (NTP) everywhere",
        )
    synchronised = Path("/run/systemd/timesync/synchronized").exists() or shutil.which("chronyc") is not None
    if not synchronised:
        return Check("clock", "ok", "plausible; whether it is synchronised cannot be told here")
    return Check("clock", "ok", "synchronised")


def telemetry(configuration: ServeConfiguration) -> tuple[Check, float | None]:
    """With the time of the newest record, in seconds."""
    place = configuration.telemetry.folder
    start = f"`regraft up … --telemetry {shlex.quote(place)}` writes there"
    try:
        newest = newest_telemetry(open_store(place))
    except RegraftError as fault:
        return Check("telemetry", "fault", str(fault), "change its permissions, or the environment"), None
    if newest is None:
        return Check("telemetry", "warning", f"nothing was recorded in {shown(place)} yet", start), None
    return Check("telemetry", "ok", f"{newest} in {shown(place)}"), newest.at


def folder(name: str, place: Path) -> Check:
    try:
        place.mkdir(parents=True, exist_ok=True)
        probe = place / ".doctor"
        probe.write_bytes(b"x")
        probe.unlink()
    except OSError as fault:
        return Check(name, "fault", f"{place}: {fault.strerror}", "change state.folder or its permissions")
    return Check(name, "ok", f"{place} can be written")


def disk(configuration: ServeConfiguration) -> Check:
    place = configuration.state.folder
    while not place.exists() and place != place.parent:
        place = place.parent
    free, least = shutil.disk_usage(place).free, configuration.state.least_free
    found = f"{free / 1e9:.1f} GB free at {place}"
    if free < least:
        return Check("disk", "fault", found, f"make room: state.least_free is {least / 1e6:g} MB")
    return Check("disk", "ok", found)


def _unreachable(host: str, port: int) -> str | None:
    try:
        with socket.create_connection((host, port), timeout=3):
            return None
    except OSError as fault:
        return fault.strerror or str(fault)
