"""Loaded by the fork server after `children`: the last of what the demo's processes share."""

import gc

from regraft.filters.index import load_compiled

load_compiled()
gc.collect()
gc.freeze()  # a child that looks for garbage in what is loaded here would copy all of that memory
