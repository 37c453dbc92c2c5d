"""What can go wrong with a real switch: one line each, with the switch's name and address in front."""

from regraft.model import RegraftError


class SwitchFault(RegraftError):
    """A switch is not reachable, does not speak OpenFlow 1.3, refuses a rule, or has lost its rules."""

    def __init__(self, switch: str, address: str, reason: str) -> None:
        super().__init__(f"switch {switch!r} at {address}: {reason}")
        self.switch = switch
        self.reason = reason


class Refused(SwitchFault):
    """The switch is well, but does not take a rule."""


class Unreachable(SwitchFault):
    """No connection, or it was lost too often."""
