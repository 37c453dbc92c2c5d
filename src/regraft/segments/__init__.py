"""Telemetry in immutable files: what they are called, their columns, how they are written and looked at.

A broker closes a segment every few seconds and puts it, whole, into a store. It never changes afterwards.
Records are defined in `protocol.telemetry`; this package knows Arrow, and no broker and no Spark.
"""
