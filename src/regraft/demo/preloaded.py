"""Loaded by the fork server after `children`: the last of what the demo's processes share."""

import gc

import pyarrow as pa

import regraft.broker.io.telemetry  # noqa: F401 — loaded when a broker starts
from regraft.filters.index import load_compiled

load_compiled()
pa.array([0])  # loads pandas, in case that a list is a series
gc.collect()
gc.freeze()  # a child that looks for garbage in what is loaded here would copy all of that memory
