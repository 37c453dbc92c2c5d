"""Warming compiles what the first plan would wait for."""

from regraft.plan import kernel, kernel_reach, kernel_replan
from regraft.plan.warm import warm


def test_all_kernels_that_python_calls_are_compiled_afterwards() -> None:
    warm()
    for function in (
        kernel.greedy_plan,
        kernel_reach.first_steps,
        kernel_reach.shifts_within,
        kernel_reach.refine,
        kernel_reach.happening,
        kernel_replan.replan,
    ):
        assert function.signatures, function
