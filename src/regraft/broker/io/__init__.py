"""The broker's shell: asyncio, sockets, the journal, telemetry, metrics. It acts and decides nothing.

Start with `configuration` (what a broker is told) and `server` (one broker); `overlay` runs many in one
process, `broker_processes` starts processes of one broker each (`__main__`). Nothing is imported here.
"""
