"""The content language: CloudEvents SQL expressions that match events, cover and overlap each other."""

from regraft.filters.errors import BadFilter
from regraft.filters.expression import Filter, parse, prepare_in_steps
from regraft.filters.functions import Fault
from regraft.filters.intervals import Interval
from regraft.filters.normal import Condition, Conjunction, Constraint, Strings
from regraft.filters.parser import nameable
from regraft.filters.relations import covers, overlaps

__all__ = [
    "BadFilter",
    "Condition",
    "Conjunction",
    "Constraint",
    "Fault",
    "Filter",
    "Interval",
    "Strings",
    "covers",
    "nameable",
    "overlaps",
    "parse",
    "prepare_in_steps",
]
