"""The cheapest assignment of rows to columns, compiled.

scipy has it as well, in a package that takes longer to load than most plans take to make.
"""

import numpy as np
from numba import njit

from regraft.plan.kernel_tree import Ints

UNSEEN = 1 << 60


@njit(cache=True, nogil=True)
def least_assignment(cost: Ints) -> int:
    """The least sum of costs when every row of a square matrix gets a column of its own.

    Rows are added one by one, each over the shortest augmenting path in reduced costs (Kuhn 1955, Munkres
    1957, in O(n³) by Jonker and Volgenant 1987). Column n is where the path of the added row starts.
    """
    n = cost.shape[0]
    of_row, of_column = np.zeros(n, np.int64), np.zeros(n + 1, np.int64)
    row_at = np.full(n + 1, -1, np.int64)
    before = np.empty(n, np.int64)
    distance, done = np.empty(n, np.int64), np.empty(n + 1, np.bool_)
    for added in range(n):
        row_at[n] = added
        column = n
        distance[:] = UNSEEN
        done[:] = False
        while row_at[column] >= 0:
            done[column] = True
            row, least, nearest = row_at[column], UNSEEN, -1
            for other in range(n):
                if done[other]:
                    continue
                reduced = cost[row, other] - of_row[row] - of_column[other]
                if reduced < distance[other]:
                    distance[other], before[other] = reduced, column
                if distance[other] < least:
                    least, nearest = distance[other], other
            for other in range(n + 1):
                if done[other]:
                    of_row[row_at[other]] += least
                    of_column[other] -= least
                elif other < n:
                    distance[other] -= least
            column = nearest
        while column != n:
            row_at[column] = row_at[before[column]]
            column = before[column]
    total = 0
    for column in range(n):
        total += cost[row_at[column], column]
    return total
