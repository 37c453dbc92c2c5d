"""What coordination can fail with. Each text is one line that names the node, or the ensemble, and why.

CoordError
  CoordUnreachable    no answer within the time limit; nothing was written
    Unknown           a write was sent and its answer was lost: it may have happened, or may still happen
  Conflict            the tree is not as the caller supposed (e.g. another version)
    Exists, Missing   the node exists already / does not exist
  LeaseLost           the lease is no longer ours
  Denied              the identity of this client may not do that
  TooLarge            more bytes than a server accepts
  Corrupt             a node holds what Regraft did not write; the text has the repair
"""

from regraft.model import RegraftError


class CoordError(RegraftError):
    """Root of the faults of this package."""


class CoordUnreachable(CoordError):
    """No answer within the time limit."""

    text = "ZooKeeper at {hosts} is not reachable: {reason}"

    def __init__(self, hosts: str, reason: str) -> None:
        super().__init__(self.text.format(hosts=hosts, reason=reason))
        self.hosts = hosts
        self.reason = reason


class Unknown(CoordUnreachable):
    """A write was sent, the answer was lost, and reading again did not tell whether it has happened.

    While the session lives it may even happen later. Read the node, and decide from what it holds.
    """

    text = "a write to ZooKeeper at {hosts} may or may not have happened: {reason}"


class Conflict(CoordError):
    """The tree is not as the caller supposed; nothing was written."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(f"{path}: {reason}")
        self.path = path
        self.reason = reason


class Exists(Conflict):
    def __init__(self, path: str) -> None:
        super().__init__(path, "exists already")


class Missing(Conflict):
    def __init__(self, path: str) -> None:
        super().__init__(path, "does not exist")


class LeaseLost(CoordError):
    """The lease is no longer ours; nothing was written."""

    def __init__(self, path: str) -> None:
        super().__init__(f"{path}: the lease is lost; another may hold it")
        self.path = path


class Denied(CoordError):
    """Not allowed for this client's identity."""

    def __init__(self, place: str, reason: str) -> None:
        super().__init__(f"{place}: {reason}")
        self.place = place


class TooLarge(CoordError):
    def __init__(self, path: str, size: int, most: int) -> None:
        super().__init__(f"{path}: {size} bytes in one write, and ZooKeeper accepts {most}")


class Corrupt(CoordError):
    """A node holds what Regraft did not write. Regraft never overwrites it; `repair` is what to type."""

    def __init__(self, path: str, reason: str, repair: str) -> None:
        super().__init__(f"{path}: {reason}; to repair: {repair}")
        self.path = path
        self.reason = reason
        self.repair = repair

    def at(self, hosts: str) -> "Corrupt":
        """The same fault; its repair names the ensemble."""
        if not self.repair.startswith("regraft ") or "--zookeeper" in self.repair:
            return self
        return Corrupt(self.path, self.reason, f"{self.repair} --zookeeper {hosts}")
