"""The broker's shell: asyncio, sockets, the journal, telemetry, metrics. It acts and decides nothing.

Start with `configuration` (what a broker is told) and `server` (one broker); `overlay` runs many in one
process, `__main__` one in a process of its own. Nothing is loaded here: clients share `framing`.
"""
