"""The lab: starts the router, keeps the rules, and ends everything."""

import contextlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import astuple, replace
from functools import cache
from pathlib import Path
from subprocess import PIPE
from types import TracebackType
from typing import Any, NamedTuple

from regraft.testing import netns
from regraft.testing.hosts.host import LabHost
from regraft.testing.hosts.rules import Pair, PairRule, healed, partitioned, uniform

MOST_HOSTS = 254
END_SECONDS = 30.0


class PacketCounts(NamedTuple):
    """How many packets of one ordered pair have passed and were dropped since the lab began."""

    passed: int
    dropped: int


@cache
def unavailable() -> str | None:
    """Why there can be no lab of hosts here, or None. The only certain way is to make one."""
    if not shutil.which("ip", path=_path()):
        return "`ip` is missing; as root: apt-get install iproute2"
    if reason := netns.unavailable():
        return reason
    try:
        with Lab(1):
            return None
    except (OSError, RuntimeError) as fault:
        return f"a host cannot be made here: {fault}"


def _path() -> str:
    return f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"


class Lab:
    """`with Lab(8, latency_ms=20) as lab`: hosts that reach each other with these conditions.

    All conditions are of one direction: a round trip takes twice the latency. Each method that changes them
    returns when the router obeys.
    """

    def __init__(
        self,
        count: int,
        *,
        latency_ms: float = 0.0,
        jitter_ms: float = 0.0,
        loss: float = 0.0,
        skews: Sequence[float] = (),
        seed: int = 0,
        mtu: int = 1500,
        folder: Path | None = None,
    ) -> None:
        """`skews`: the seconds by which each host's wall clock is ahead (`LabHost.skew`). `seed` chooses the
        packets that are lost. `folder` is for the files of all hosts and stays; without it, the lab makes one
        and removes it at the end."""
        if not 1 <= count <= MOST_HOSTS:
            raise ValueError(f"a lab has 1 to {MOST_HOSTS} hosts, not {count}")
        self.hosts: list[LabHost] = []
        self._rules = uniform(count, PairRule(latency_ms, jitter_ms, loss))
        self._count, self._seed, self._mtu, self._skews = count, seed, mtu, skews
        self._given = folder
        self._router: subprocess.Popen[str] | None = None

    def __enter__(self) -> "Lab":
        self._folder = self._given or Path(tempfile.mkdtemp(prefix="lab-of-hosts-"))
        folders = [self._folder / "hosts" / f"h{number}" for number in range(1, self._count + 1)]
        for each in folders:
            each.mkdir(parents=True, exist_ok=True)
        try:
            self._start(folders)
            self._set(self._rules)
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def latency(self, a: LabHost, b: LabHost, ms: float, jitter_ms: float = 0.0) -> None:
        """How long packets from `a` to `b` take from now on."""
        self._change(a, b, latency_ms=ms, jitter_ms=jitter_ms)

    def loss(self, a: LabHost, b: LabHost, probability: float) -> None:
        """How likely packets from `a` to `b` are lost from now on."""
        self._change(a, b, loss=probability)

    def cut(self, a: LabHost, b: LabHost) -> None:
        """Nothing from `a` arrives at `b` any more; from `b` to `a` nothing changes."""
        self._change(a, b, cut=True)

    def partition(self, *groups: Iterable[LabHost]) -> None:
        """No host reaches a host of another group. Hosts that are in no group are not affected."""
        self._set(partitioned(self._rules, [[host.number for host in group] for group in groups]))

    def heal(self) -> None:
        """All cuts and partitions end; latency and loss stay."""
        self._set(healed(self._rules))

    def packets(self, a: LabHost, b: LabHost) -> PacketCounts:
        """What has become of the packets from `a` to `b`."""
        answer = self._set(self._rules)
        counts = [{(x, y): count for x, y, count in answer[each]} for each in PacketCounts._fields]
        return PacketCounts(*(each.get((a.number, b.number), 0) for each in counts))

    def close(self) -> None:
        """All programs of all hosts are killed; a lab that is closed stays closed."""
        if self._router is not None:
            assert self._router.stdin is not None
            assert self._router.stdout is not None
            with contextlib.suppress(BrokenPipeError):
                self._router.stdin.close()
            # Before the router: that waits until the programs which were started here have been waited for.
            for host in self.hosts:
                host.close()
            self.hosts.clear()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._router.wait(END_SECONDS)
            self._router.kill()  # if it hangs; the hosts end with it
            self._router.wait()
            self._router.stdout.close()
            self._router = None
        if self._given is None:
            shutil.rmtree(self._folder, ignore_errors=True)

    def _start(self, folders: list[Path]) -> None:
        # Without the environment of the test, by which a guard may find and kill what a killed run has left:
        # the router ends by itself, after it has removed the files.
        source = str(Path(__file__).parents[3])
        remove = "" if self._given else str(self._folder)
        options = [str(self._mtu), str(self._seed), remove, *map(str, folders)]
        with (self._folder / "router.log").open("w", encoding="utf-8") as log:
            self._router = subprocess.Popen(
                [sys.executable, "-S", "-m", "regraft.testing.hosts.router", *options],
                stdin=PIPE,
                stdout=PIPE,
                stderr=log,
                text=True,
                env={"PYTHONPATH": source, "PATH": _path()},
                start_new_session=True,
            )
        library = self._folder / "clock.so"
        for number, (folder, process) in enumerate(zip(folders, self._answer(), strict=True), 1):
            self.hosts.append(LabHost(number, folder, process, library))
        for host, skew in zip(self.hosts, self._skews, strict=False):
            host.skew = skew

    def _change(self, a: LabHost, b: LabHost, **changes: Any) -> None:
        pair = (a.number, b.number)
        self._set({**self._rules, pair: replace(self._rules[pair], **changes)})

    def _set(self, rules: dict[Pair, PairRule]) -> Any:
        if self._router is None:
            raise RuntimeError("the lab has ended")
        assert self._router.stdin is not None
        listed = [(*pair, *astuple(rule)) for pair, rule in rules.items()]
        with contextlib.suppress(BrokenPipeError):  # then there is no answer, and the log says why
            print(json.dumps(listed), file=self._router.stdin, flush=True)
        answer = self._answer()
        self._rules = rules
        return answer

    def _answer(self) -> Any:
        assert self._router is not None
        assert self._router.stdout is not None
        if line := self._router.stdout.readline():
            return json.loads(line)
        said = (self._folder / "router.log").read_text(encoding="utf-8") if self._folder.exists() else ""
        raise RuntimeError(f"the router has ended: {said.strip()[-500:] or 'it said nothing'}")
