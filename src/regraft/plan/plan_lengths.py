"""The table of IPITT §IV-B: at which plan length T to start looking, from plans made before.

An entry is the fewest steps that any of IPITT's twelve trees of that size and change ratio
needed with the each-path action set. It is a hint: another task of the same size may need fewer
steps, so whoever claims the fewest must still show that one step less is too few.
"""

STARTING_T: dict[int, dict[int, int]] = {
    20: {10: 3, 20: 3, 30: 3},
    30: {10: 3, 20: 4, 30: 5},
    40: {5: 3, 10: 4, 20: 6},
}
"""Brokers -> percent of the links changed -> T. What is not listed starts at 1."""


def starting_length(brokers: int, changed: int) -> int:
    """The T of the largest listed task that is not larger than this one in brokers or change ratio."""
    percent = 100 * changed / max(1, brokers - 1)
    known = (
        T
        for size, by_ratio in STARTING_T.items()
        for ratio, T in by_ratio.items()
        if size <= brokers and ratio <= percent
    )
    return max(known, default=1)
