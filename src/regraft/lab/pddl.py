"""The transformation task in PDDL, for general planners (IPITT §III-C, §III-D).

Only `shift` is needed: both trees have the same brokers. `rem(i, j)` holds for exactly the links
that are not in the goal tree, so a static fact names the goal links. A predicate would have to be
kept up to date by every action. `conn` is symmetric, as in IPITT.

There are two encodings, so that a general planner is not judged by one of them alone. `ONE_ACTION` is
IPITT's, with n^3 ground actions. `THREE_ACTIONS` divides a shift into lifting an end of a link, sliding
it over the guard and dropping it there: n^2 ground actions, and plans three times as long.
"""

import re
from typing import NamedTuple

from regraft.model import Action, Step, Topology, ends


class Encoding(NamedTuple):
    """A domain, the facts of its initial states besides the links, and how a plan of it writes a shift."""

    name: str
    domain: str
    facts: str
    shift: re.Pattern[str]


ONE_ACTION = Encoding(
    "one action",
    """\
(define (domain itt)
  (:requirements :strips :negative-preconditions :equality)
  (:predicates (conn ?i ?j) (goal-link ?i ?j))
  (:action shift :parameters (?i ?j ?k)
    :precondition (and (conn ?i ?j) (conn ?j ?k) (not (goal-link ?i ?j)) (not (= ?i ?k)))
    :effect (and (not (conn ?i ?j)) (not (conn ?j ?i)) (conn ?i ?k) (conn ?k ?i))))
""",
    "",
    re.compile(r"\(shift n(\d+) n(\d+) n(\d+)\)"),
)

THREE_ACTIONS = Encoding(
    "three actions",
    """\
(define (domain itt)
  (:requirements :strips :negative-preconditions :equality)
  (:predicates (conn ?i ?j) (goal-link ?i ?j) (idle) (lifted) (slid) (end ?i) (at ?j))
  (:action lift :parameters (?i ?j)
    :precondition (and (idle) (conn ?i ?j) (not (goal-link ?i ?j)))
    :effect (and (not (idle)) (lifted) (end ?i) (at ?j) (not (conn ?i ?j)) (not (conn ?j ?i))))
  (:action slide :parameters (?j ?k)
    :precondition (and (lifted) (at ?j) (conn ?j ?k))
    :effect (and (not (lifted)) (slid) (not (at ?j)) (at ?k)))
  (:action drop :parameters (?i ?k)
    :precondition (and (slid) (end ?i) (at ?k) (not (= ?i ?k)))
    :effect (and (not (slid)) (idle) (not (end ?i)) (not (at ?k)) (conn ?i ?k) (conn ?k ?i))))
""",
    "(idle)",
    re.compile(r"\(lift n(\d+) n(\d+)\)\s*\(slide n\d+ n\d+\)\s*\(drop n\d+ n(\d+)\)"),
)

ENCODINGS = (ONE_ACTION, THREE_ACTIONS)


def problem_text(initial: Topology, goal: Topology, encoding: Encoding = ONE_ACTION) -> str:
    """The problem file. Brokers are n0, n1, ...: names in PDDL ignore case and allow few characters."""
    number = {id: index for index, id in enumerate(initial.ids)}

    def links(predicate: str, topology: Topology, both_ways: bool) -> str:
        pairs = [(number[one], number[other]) for one, other in topology.by_ends]
        ways = [*pairs, *((other, one) for one, other in pairs)] if both_ways else pairs
        return "\n    ".join(f"({predicate} n{one} n{other})" for one, other in ways)

    return (
        "(define (problem transformation)\n  (:domain itt)\n"
        f"  (:objects {' '.join(f'n{index}' for index in range(len(number)))})\n"
        f"  (:init {encoding.facts}\n    {links('conn', initial, True)}\n"
        f"    {links('goal-link', goal, True)})\n"
        f"  (:goal (and {encoding.facts}\n    {links('conn', goal, False)})))\n"
    )


def read_plan(text: str, topology: Topology, encoding: Encoding = ONE_ACTION) -> tuple[Step, ...]:
    """The planner's shifts as a plan of one-action steps, in its order."""
    return tuple(
        (Action("shift", tuple(topology.ids[int(number)] for number in match.groups())),)
        for match in encoding.shift.finditer(text)
    )


def packed(steps: tuple[Step, ...]) -> tuple[Step, ...]:
    """Each shift as early as the shifts before it allow: the same actions, the fewest steps for their order.

    General planners order actions one after another. Their plans are packed before steps are compared, so
    that their actions run in parallel too. A shift comes after those that touched its links, and a link may
    be removed only after the last shift that it guarded.
    """
    changed: dict[tuple[str, str], int] = {}
    guarded: dict[tuple[str, str], int] = {}
    slots: list[list[Action]] = []
    for (action,) in steps:
        i, j, k = action.brokers
        old, new, guard = ends(i, j), ends(i, k), ends(j, k)
        slot = max(changed.get(old, 0), changed.get(new, 0), changed.get(guard, 0), guarded.get(old, 0))
        if slot == len(slots):
            slots.append([])
        slots[slot].append(action)
        changed[old] = changed[new] = slot + 1
        guarded[guard] = max(guarded.get(guard, 0), slot + 1)
    return tuple(tuple(slot) for slot in slots)
