"""The most frequent records (hops, deliveries), counted file by file with Arrow and NumPy.

Spark's built-in functions do the same for any table of records (`transforms`), but take several times as
long: they look at one row at a time, and have to be compiled first. Here a task reads the columns that it
needs of some row groups and returns their sums, which Spark then combines.
"""
