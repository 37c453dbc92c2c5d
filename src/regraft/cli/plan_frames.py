"""A plan as a film: the overlay before each step, and what the step changes."""

from collections.abc import Iterator
from typing import NamedTuple

from regraft.model import Action, Ends, Plan, Step, Topology, ends


class Frame(NamedTuple):
    """One step: brokers and links at its start, and what it changes."""

    step: Step
    brokers: frozenset[str]
    links: frozenset[Ends]
    added: frozenset[Ends]
    removed: frozenset[Ends]
    guards: frozenset[Ends]
    joining: frozenset[str]
    leaving: frozenset[str]

    @property
    def links_after(self) -> frozenset[Ends]:
        return (self.links | self.added) - self.removed

    @property
    def brokers_after(self) -> frozenset[str]:
        return (self.brokers | self.joining) - self.leaving


def frames(plan: Plan, current: Topology) -> Iterator[Frame]:
    """One frame for each step of the plan, which starts at `current`."""
    brokers, links = frozenset(current.ids), frozenset(current.by_ends)
    for step in plan.steps:
        frame = Frame(
            step,
            brokers,
            links,
            added=frozenset(link for action in step if (link := added(action))),
            removed=frozenset(link for action in step if (link := removed(action))),
            guards=frozenset(ends(*action.brokers[1:]) for action in step if action.operation == "shift"),
            joining=frozenset(action.brokers[0] for action in step if action.operation == "append"),
            leaving=frozenset(action.brokers[0] for action in step if action.operation == "detach"),
        )
        yield frame
        brokers, links = frame.brokers_after, frame.links_after


def added(action: Action) -> Ends | None:
    match action:
        case ("shift", (i, _, k)):
            return ends(i, k)
        case ("append" | "link", (i, j)):
            return ends(i, j)
    return None


def removed(action: Action) -> Ends | None:
    return ends(*action.brokers[:2]) if action.operation in ("shift", "detach", "unlink") else None
