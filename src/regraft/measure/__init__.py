"""The data pipeline on Spark: raw telemetry -> tables of a snapshot."""
