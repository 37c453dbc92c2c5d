"""Links per broker: their average and maximum (kTCO §VIII, d̄; MinAvg-kTCO minimises the average)."""

from regraft.evaluate.case import Case
from regraft.model.assessment import Finding


def degree(case: Case) -> Finding:
    degrees = [len(near) for near in case.topology.neighbours.values()]
    if not degrees:
        return Finding()
    return Finding({"average_degree": sum(degrees) / len(degrees), "max_degree": float(max(degrees))})
