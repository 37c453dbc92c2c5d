"""Windows that are made up: the traffic is what a test says it is."""

from regraft.estate.windows import Measured, MeasuredWindow
from regraft.model import RegraftError
from regraft.model.snapshot import Counts
from regraft.model.workload import Workload


class MadeUpWindows:
    """Every window has the current `workload`; while `fails` is not empty, that is what measuring says."""

    def __init__(self, workload: Workload) -> None:
        self.workload = workload
        self.fails = ""
        self.measured = 0

    def warm(self) -> None:
        return

    def measure(self, start: float, end: float) -> MeasuredWindow:
        if self.fails:
            raise RegraftError(self.fails)
        self.measured += 1
        return MeasuredWindow(self.read(start, end), Counts(read=10, kept=10))

    def read(self, start: float, end: float) -> Measured:
        total = round(sum(demand for _, demand in self.workload.traffic))
        return Measured(start, end, self.workload, total, total, 2, 1.0, 2.0, 3.0, 0, {})

    def check_disk(self) -> None:
        return

    def abandon(self) -> None:
        return

    def stop(self) -> None:
        return
