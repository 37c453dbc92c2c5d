"""How good an overlay is for its workload: one objective per file, pure functions over values.

Knows no cluster, clock or network. `measure` computes the same numbers for what is too large for one machine.
"""

from regraft.evaluate.assess import OBJECTIVES, assess, compare
from regraft.evaluate.saving_error import saving_error

__all__ = ["OBJECTIVES", "assess", "compare", "saving_error"]
