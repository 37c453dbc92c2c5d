"""Estates: running networks that the loop can measure and change.

`protocol` says what the loop needs of one; `windows` is what it measures, `settings` what it is told,
`opening` builds the one that the settings mean. `regraft` is our own network on ZooKeeper and Spark, `memory`
a whole network in memory. Whoever serves or shows the loop imports the first three only.
"""
