"""The tree of IPITT §IV-C, Figure 4: where everything is under one root. Paths only; no requests.

    /regraft
      topology                        the current topology and its epoch
      demand                          the measured traffic, for repairs
      plan                            the journal: the plan and how far it is
        steps/0001                    a step and its status
          actions/0003                an action and its status
      brokers/ID
        command                       written by the deployer, watched by the broker's agent
        status                        written by the agent, watched by the deployer
        statistics                    written by the agent, read by the deployer and the loop
        alive                         ephemeral: exists while the agent's session lives
      locks/NAME                      a queue; the first in it holds the lease

Ids are percent-encoded, so that any id is one name: `/` is %2F. Steps and actions count from 1.
"""

import re
from dataclasses import dataclass
from functools import lru_cache
from urllib.parse import quote, unquote

from regraft.coord.errors import Corrupt
from regraft.model import BadInput

DEFAULT_ROOT = "/regraft"
DIGITS = 4


@dataclass(frozen=True)
class Layout:
    """Paths under `root`; two overlays on one ensemble have two roots."""

    root: str = DEFAULT_ROOT

    def __post_init__(self) -> None:
        names = self.root.split("/")[1:]
        if not self.root.startswith("/") or any(name in ("", ".", "..") for name in names):
            raise BadInput("ZooKeeper root", f"{self.root!r} is not a path such as {DEFAULT_ROOT}")
        if names[0] == "zookeeper":
            raise BadInput("ZooKeeper root", "/zookeeper belongs to ZooKeeper itself")

    @property
    def topology(self) -> str:
        return f"{self.root}/topology"

    @property
    def demand(self) -> str:
        return f"{self.root}/demand"

    @property
    def plan(self) -> str:
        return f"{self.root}/plan"

    @property
    def steps(self) -> str:
        return f"{self.plan}/steps"

    def step(self, step: int) -> str:
        return f"{self.steps}/{numbered(step)}"

    def actions(self, step: int) -> str:
        return f"{self.step(step)}/actions"

    def action(self, step: int, action: int) -> str:
        return f"{self.actions(step)}/{numbered(action)}"

    @property
    def brokers(self) -> str:
        return f"{self.root}/brokers"

    def broker(self, id: str) -> str:
        return f"{self.brokers}/{encoded(id)}"

    def command(self, id: str) -> str:
        return f"{self.broker(id)}/command"

    def status(self, id: str) -> str:
        return f"{self.broker(id)}/status"

    def statistics(self, id: str) -> str:
        return f"{self.broker(id)}/statistics"

    def alive(self, id: str) -> str:
        return f"{self.broker(id)}/alive"

    @property
    def locks(self) -> str:
        return f"{self.root}/locks"

    def lock(self, *names: str) -> str:
        """`lock("deployer")`, `lock("broker", id)`"""
        return "/".join([self.locks, *map(encoded, names)])


def numbered(number: int) -> str:
    if number < 1:
        raise ValueError(f"steps and actions count from 1, not {number}")
    return f"{number:0{DIGITS}d}"


@lru_cache(maxsize=65_536)
def encoded(id: str) -> str:
    """An id as the name of one node; `decoded` is the inverse."""
    if not id:
        raise BadInput("id", "must not be empty")
    if id in (".", ".."):
        return id.replace(".", "%2E")
    try:
        return quote(id, safe="")
    except UnicodeEncodeError:
        raise BadInput("id", f"{id!r} is not text that can be encoded") from None


def decoded(name: str, parent: str) -> str:
    """The id whose node under `parent` has this name."""
    try:
        id = unquote(name, errors="strict")
        if encoded(id) == name:
            return id
    except (UnicodeDecodeError, BadInput):
        pass
    raise corrupt(f"{parent}/{name}", "is not named by a percent-encoded id")


def corrupt(path: str, reason: str) -> Corrupt:
    """The fault, with the command that deletes the node (and keeps a copy of its data)."""
    return Corrupt(path, reason, f"regraft znode delete {_for_a_shell(path)}")


def _for_a_shell(path: str) -> str:
    return path if re.fullmatch(r"[\w/%.,:@+=-]+", path, re.ASCII) else "'" + path.replace("'", "'\\''") + "'"
