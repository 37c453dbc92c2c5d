"""How good an overlay is for its workload: one objective per file, pure functions over values.

Knows no cluster, clock or network; what is too large for one machine is `measure`'s, with the same numbers.
"""

from regraft.evaluate.assess import OBJECTIVES, assess, compare

__all__ = ["OBJECTIVES", "assess", "compare"]
