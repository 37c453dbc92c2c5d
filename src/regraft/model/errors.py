"""Faults. An expected 'no' is a value (`Infeasible`), a fault is one of these.

`BadInput` is the user's fault: its text is one line that names the place and the rule, and the command line
turns it into exit code 2. `BrokenPlan` is a fault of Regraft: a planner produced something that the
independent replay refused; it must never reach a file. `IllegalTransition` is a fault of Regraft too.
"""


class RegraftError(Exception):
    """Root of every exception that Regraft raises on purpose."""


class BadInput(RegraftError):
    """Input that breaks a rule; `place` says where (file, line, field), `rule` what was expected."""

    def __init__(self, place: str, rule: str) -> None:
        super().__init__(f"{place}: {rule}" if place else rule)
        self.place = place
        self.rule = rule

    def within(self, place: str) -> "BadInput":
        """The same fault, seen from the file (or other container) that holds the place."""
        return BadInput(f"{place}: {self.place}" if self.place else place, self.rule)


class BrokenPlan(RegraftError):
    """A plan that the independent replay refuses."""


class IllegalTransition(RegraftError):
    """A step that the table of a state machine does not have; the text tells the recent history."""
