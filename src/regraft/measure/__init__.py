"""The data pipeline on Spark: raw telemetry -> tables of a snapshot."""

from regraft.measure.entry import measure

__all__ = ["measure"]
