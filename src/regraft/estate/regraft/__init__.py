"""Our own network: topology, leases and runs in ZooKeeper, telemetry measured on Spark.

`estate` is the estate as the loop sees it; `overlay` reads and follows ZooKeeper and holds the loop's lease,
`runs` carries plans out, `measuring` keeps a Spark session, `healing` asks the destination databases.
"""
