"""Distributed OCBR on a running network (OCBR §3): brokers rearrange their own neighbourhoods by shifts.

`masters` runs one `design.ocbr.Master` for each broker, `turns` gives it the right to change links,
`spool_views` reads from the broker's telemetry what its master knows of the traffic.
"""
