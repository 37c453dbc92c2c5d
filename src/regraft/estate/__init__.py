"""Estates: running networks that the loop can measure and change.

`protocol` says what the loop needs of an estate, `windows` what an estate measures, `settings` how it is
configured; `opening` builds the estate that the settings describe. `regraft` is our own network on ZooKeeper
and Spark, `memory` a whole network in memory. `serve` and `web` import the first three only.
"""
