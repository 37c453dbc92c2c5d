"""Warming compiles what the first design would wait for."""

from regraft.design import check_kernel, gm, gm2, kernel_cut, kernel_exchange
from regraft.design.warm import warm


def test_the_kernels_that_python_calls_are_compiled_afterwards() -> None:
    warm()
    for function in (gm._gm, gm2._gm2, kernel_cut.mend, kernel_exchange.exchange, check_kernel.weakest):
        assert function.signatures, function
