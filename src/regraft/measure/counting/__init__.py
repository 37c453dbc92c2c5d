"""The most frequent records (hops, deliveries), counted file by file with Arrow and NumPy.

Spark's built-in functions do the same for any table of records (`transforms`), and need several times as
long: they look at one row at a time, and compile before they are quick. Here a task reads the columns that
it needs of one row group and hands on what they add up to, which Spark then puts together.
"""
