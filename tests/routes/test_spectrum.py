"""Leading eigenvectors against numpy's full decomposition."""

import numpy as np
import pytest

from regraft.routes.spectrum import leading_vectors


@pytest.mark.parametrize(("size", "count"), [(5, 2), (16, 3), (17, 3), (60, 4), (60, 40)])
def test_the_vectors_span_what_all_of_numpys_leading_ones_span(size: int, count: int) -> None:
    draw = np.random.default_rng(size).random((size, size))
    matrix = draw + draw.T
    values, vectors = np.linalg.eigh(matrix)
    found = leading_vectors(matrix, count)
    assert found.shape == (size, count)
    overlaps = np.abs(found.T @ vectors[:, -count:])
    np.testing.assert_allclose(overlaps, np.eye(count), atol=2e-2)
    np.testing.assert_allclose(np.diag(found.T @ matrix @ found), values[-count:], rtol=1e-3, atol=1e-3)


def test_equal_matrices_give_equal_vectors() -> None:
    draw = np.random.default_rng(1).random((40, 40))
    np.testing.assert_array_equal(leading_vectors(draw + draw.T, 3), leading_vectors(draw + draw.T, 3))
