"""Distributed OCBR on a running network (OCBR §3): brokers rearrange their own neighbourhoods by shifts.

`masters` runs one `design.ocbr.Master` for each broker, `deploying` carries its shifts out, one master after
the other, and `segment_views` reads from the brokers' telemetry what a master knows of the traffic.
"""
