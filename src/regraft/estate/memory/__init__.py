"""A complete network in memory, for tests and for trying things out: no process, no socket, no file.

`network` is what exists whether or not a loop runs: the topology, the last run, outages on demand. `estate`
is how one loop uses it, with windows that are made up.
"""
