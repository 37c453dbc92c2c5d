"""Ponder obligation rules (Mimosa Pudica §4.3): text, checks, conflicts. `reaction` evaluates them. Pure."""

from regraft.heal.rules.check import Checked, check
from regraft.heal.rules.conflicts import Conflict, conflicts
from regraft.heal.rules.parser import PAPER_RULES, parse
from regraft.heal.rules.syntax import Rule

__all__ = ["PAPER_RULES", "Checked", "Conflict", "Rule", "check", "conflicts", "parse"]
