"""Workloads and telemetry of any size, generated on Spark: inputs for the pipeline, designs and benchmarks.

Every row follows from the seed and its own number, so the same arguments give the same rows on any
number of cores and partitions.
"""
