"""The base of all values that are stored as nodes in ZooKeeper."""

import msgspec


class Record(msgspec.Struct, frozen=True, kw_only=True):
    """What a node holds. A subclass whose meaning changes gives `v` a higher default."""

    v: int = 1
