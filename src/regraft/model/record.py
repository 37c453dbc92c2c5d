"""The base of all values that are stored as nodes in ZooKeeper."""

import msgspec


class Record(msgspec.Struct, frozen=True, kw_only=True):
    """The content of a node. `v` is a version: a subclass whose meaning changes gives it a higher default."""

    v: int = 1
