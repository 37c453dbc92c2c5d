"""Leading eigenvectors of symmetric matrices, for spectral clustering and for cutting fragments."""

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh
from scipy.sparse.linalg import ArpackError, eigsh

SMALL = 16
"""Up to this size computing all eigenvectors is fastest; beyond, Lanczos is about ten times faster."""


def leading_vectors(matrix: NDArray[np.float64], count: int) -> NDArray[np.float64]:
    """The eigenvectors of the `count` largest eigenvalues as columns, the largest last.

    Lanczos always starts at the same vector, so that equal matrices give equal results.
    """
    size = len(matrix)
    vectors: NDArray[np.float64]
    if size > max(SMALL, 2 * count):
        try:
            _, vectors = eigsh(matrix, count, which="LA", v0=np.linspace(1.0, 2.0, size), tol=1e-4)
            return vectors
        except ArpackError:  # it did not converge; the slower way always does
            pass
    _, vectors = eigh(matrix, subset_by_index=(size - count, size - 1))
    return vectors
