"""A linear or integer program that grows: variables and rows first, lazy rows between solves (HiGHS)."""

from collections.abc import Sequence

import highspy
import numpy as np
from numpy.typing import NDArray

INFINITY = highspy.kHighsInf


class Program:
    """A minimisation; rows and columns are numbered in the order in which they were added."""

    def __init__(self, time_limit: float = INFINITY) -> None:
        self._highs = highspy.Highs()
        self._highs.setOptionValue("output_flag", False)
        self._highs.setOptionValue("parallel", "off")
        self._highs.setOptionValue("mip_rel_gap", 0.0)
        self._highs.setOptionValue("time_limit", time_limit)

    def variables(self, costs: Sequence[float], whole: bool = False) -> range:
        """Add variables between 0 and 1 with these costs, and return their numbers."""
        first, count = self._highs.getNumCol(), len(costs)
        self._highs.addCols(
            count,
            np.array(costs, dtype=np.float64),
            np.zeros(count),
            np.ones(count),
            0,
            np.zeros(count, dtype=np.int32),
            np.empty(0, dtype=np.int32),
            np.empty(0),
        )
        if whole:
            self.whole(range(first, first + count))
        return range(first, first + count)

    def whole(self, columns: Sequence[int]) -> None:
        """From now on these variables must be integers."""
        kinds = np.full(len(columns), highspy.HighsVarType.kInteger.value, dtype=np.uint8)
        self._highs.changeColsIntegrality(len(columns), np.array(columns, dtype=np.int32), kinds)

    def row(self, low: float, high: float, columns: Sequence[int], values: Sequence[float]) -> None:
        numbers = np.array(columns, dtype=np.int32)
        self._highs.addRow(low, high, len(columns), numbers, np.array(values, dtype=np.float64))

    def solve(self) -> NDArray[np.float64] | None:
        """The best values, or the best that were found in time; None if there are none."""
        self._highs.run()
        if self._highs.getInfo().primal_solution_status != highspy.SolutionStatus.kSolutionStatusFeasible:
            return None
        return np.array(self._highs.getSolution().col_value)

    @property
    def proven(self) -> bool:
        """Whether the last solution is the best there is."""
        return bool(self._highs.getModelStatus() == highspy.HighsModelStatus.kOptimal)

    @property
    def infeasible(self) -> bool:
        """Whether it is proven that there is no solution; with bounded variables no program is unbounded."""
        status = highspy.HighsModelStatus
        return self._highs.getModelStatus() in (status.kInfeasible, status.kUnboundedOrInfeasible)
