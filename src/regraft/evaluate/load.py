"""How much each link and broker of a tree carries, and how evenly.

The load of a link (or broker) is the demand of all classes whose subtree ST_t has it. `balance` is the
average load over the largest: 1 if all carry the same, near 0 if one carries nearly everything.
"""

from regraft.evaluate.case import Case
from regraft.model.assessment import Finding, Number
from regraft.model.tree_index import Floats


def load(case: Case) -> Finding:
    if not case.has_traffic:
        return Finding()
    ids, parents = case.index.ids, case.index.parent.tolist()
    link_loads = case.spans.link_loads()[1:]
    broker_loads = case.spans.broker_loads()
    names = ("-".join(sorted((ids[place], ids[parents[place]]))) for place in range(1, len(ids)))
    return Finding(
        _summary("link_load", link_loads) | _summary("broker_load", broker_loads),
        {
            "link_load": dict(zip(names, link_loads.tolist(), strict=True)),
            "broker_load": dict(zip(ids, broker_loads.tolist(), strict=True)),
        },
    )


def _summary(name: str, loads: Floats) -> dict[str, Number]:
    if not len(loads):
        return {}
    average, most = float(loads.mean()), float(loads.max())
    return {
        f"average_{name}": average,
        f"max_{name}": most,
        f"{name}_balance": average / most if most > 0 else 1.0,
    }
