"""Designs and evaluations that are too large for one machine's memory: the same numbers, on Spark."""
