"""The paper's integer program: IPITT Appendix A, constraint by constraint, and the options of §V.

Columns, for actions a, propositions f and steps t: x[a, t] (action a runs in step t, t = 1..T) and
five state changes y[f, t] (t = 0..T). Every function below is one numbered constraint family; all
of them hold for every f and for t = 1..T unless their formula says otherwise. It is the reference:
kept readable, not small. Solving it is the business of `solvers`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from regraft.plan.linear import Expression, Ints, Rows, each, stack, total
from regraft.plan.planning_task import PlanningTask, Relation


class Program(NamedTuple):
    """min objective @ z, rows.lower <= rows @ z <= rows.upper, 0 <= z <= upper, z whole numbers.

    The rows' entries are sorted, as `stack` leaves them.
    """

    objective: Ints
    upper: Ints
    rows: Rows


@dataclass(frozen=True)
class Model:
    """The columns of the program for one task and plan length, as blocks to write formulas with."""

    task: PlanningTask
    T: int
    max_degree: int | None = None

    @cached_property
    def x(self) -> Ints:
        """x[a, t - 1]"""
        return np.arange(self.actions * self.T).reshape(self.T, self.actions).T

    def y(self, change: int) -> Ints:
        size = self.propositions * (self.T + 1)
        return self.x.size + change * size + np.arange(size).reshape(self.propositions, self.T + 1)

    @cached_property
    def maintain(self) -> Ints:
        return self.y(0)

    @cached_property
    def preadd(self) -> Ints:
        return self.y(1)

    @cached_property
    def predel(self) -> Ints:
        return self.y(2)

    @cached_property
    def add(self) -> Ints:
        return self.y(3)

    @cached_property
    def delete(self) -> Ints:
        return self.y(4)

    @cached_property
    def degree(self) -> Ints:
        """D[b, t], only if the degree is limited."""
        first = self.x.size + 5 * self.propositions * (self.T + 1)
        brokers = 0 if self.max_degree is None else self.task.brokers
        return first + np.arange(brokers * (self.T + 1)).reshape(brokers, self.T + 1)

    @property
    def actions(self) -> int:
        return len(self.task.actions)

    @property
    def propositions(self) -> int:
        return len(self.task.propositions)

    @property
    def columns(self) -> int:
        return self.x.size + 5 * self.propositions * (self.T + 1) + self.degree.size


def objective(model: Model, costs: Ints) -> Ints:
    """(1)  min Σ_a Σ_t C_a x[a, t]; C_a = 1 in Appendix A, chosen by the user in §V."""
    weights = np.zeros(model.columns, dtype=np.int64)
    weights[model.x] = costs[:, None]
    return weights


def initially_true(m: Model) -> Rows:
    """(2)  y_add[f, 0] = 1  ∀ f ∈ I"""
    return each(m.add[m.task.initially_true, 0]).equals(1)


def initially_false(m: Model) -> Rows:
    """(3)  y_add[f, 0] + y_maintain[f, 0] + y_preadd[f, 0] = 0  ∀ f ∉ I"""
    f = ~m.task.initially_true
    return (each(m.add[f, 0]) + each(m.maintain[f, 0]) + each(m.preadd[f, 0])).equals(0)


def finally_true(m: Model) -> Rows:
    """(4)  y_add[f, T] + y_maintain[f, T] + y_preadd[f, T] ≥ 1  ∀ f ∈ G"""
    f = m.task.finally_true
    return each(m.add[f, m.T]) + each(m.maintain[f, m.T]) + each(m.preadd[f, m.T]) >= 1


def add_needs_action(m: Model) -> Rows:
    """(5)  Σ_{a ∈ add_f \\ pre_f} x[a, t] ≥ y_add[f, t]"""
    return sum_of_actions(m, m.task.add_not_pre) >= each(m.add[:, 1:])


def action_adds(m: Model) -> Rows:
    """(6)  x[a, t] ≤ y_add[f, t]  ∀ a ∈ add_f \\ pre_f"""
    return action_implies(m, m.task.add_not_pre, m.add)


def delete_needs_action(m: Model) -> Rows:
    """(7)  Σ_{a ∈ del_f \\ pre_f} x[a, t] ≥ y_del[f, t]"""
    return sum_of_actions(m, m.task.del_not_pre) >= each(m.delete[:, 1:])


def action_deletes(m: Model) -> Rows:
    """(8)  x[a, t] ≤ y_del[f, t]  ∀ a ∈ del_f \\ pre_f"""
    return action_implies(m, m.task.del_not_pre, m.delete)


def preadd_needs_action(m: Model) -> Rows:
    """(9)  Σ_{a ∈ pre_f \\ del_f} x[a, t] ≥ y_preadd[f, t]"""
    return sum_of_actions(m, m.task.pre_not_del) >= each(m.preadd[:, 1:])


def action_preadds(m: Model) -> Rows:
    """(10)  x[a, t] ≤ y_preadd[f, t]  ∀ a ∈ pre_f \\ del_f"""
    return action_implies(m, m.task.pre_not_del, m.preadd)


def predel_is_action(m: Model) -> Rows:
    """(11)  Σ_{a ∈ pre_f ∧ del_f} x[a, t] = y_predel[f, t]"""
    return sum_of_actions(m, m.task.pre_and_del).equals(each(m.predel[:, 1:]))


def mutex_of_add(m: Model) -> Rows:
    """(12)  y_add[f, t] + y_maintain[f, t] + y_del[f, t] + y_predel[f, t] ≤ 1"""
    t = np.s_[:, 1:]
    return each(m.add[t]) + each(m.maintain[t]) + each(m.delete[t]) + each(m.predel[t]) <= 1


def mutex_of_preadd(m: Model) -> Rows:
    """(13)  y_preadd[f, t] + y_maintain[f, t] + y_del[f, t] + y_predel[f, t] ≤ 1"""
    t = np.s_[:, 1:]
    return each(m.preadd[t]) + each(m.maintain[t]) + each(m.delete[t]) + each(m.predel[t]) <= 1


def backward_chaining(m: Model) -> Rows:
    """(14)  y_preadd[f, t] + y_maintain[f, t] + y_predel[f, t]
    ≤ y_preadd[f, t-1] + y_add[f, t-1] + y_maintain[f, t-1]"""
    now, before = np.s_[:, 1:], np.s_[:, :-1]
    needs = each(m.preadd[now]) + each(m.maintain[now]) + each(m.predel[now])
    return needs <= each(m.preadd[before]) + each(m.add[before]) + each(m.maintain[before])


def upper_bounds(m: Model) -> Ints:
    """(15)  x, y ∈ {0, 1}; D[b, t] ≤ D_max of §V"""
    upper = np.ones(m.columns, dtype=np.int64)
    upper[m.degree] = m.max_degree or 0
    return upper


FAMILIES: dict[int, Callable[[Model], Rows]] = {
    2: initially_true,
    3: initially_false,
    4: finally_true,
    5: add_needs_action,
    6: action_adds,
    7: delete_needs_action,
    8: action_deletes,
    9: preadd_needs_action,
    10: action_preadds,
    11: predel_is_action,
    12: mutex_of_add,
    13: mutex_of_preadd,
    14: backward_chaining,
}


def initial_degree(m: Model) -> Rows:
    """§V  D[b, 0] = the degree of b in the initial topology"""
    return each(m.degree[:, 0]).equals(m.task.degrees)


def degree_follows_actions(m: Model) -> Rows:
    """§V  D[b, t] = D[b, t-1] + Σ_{a links b} x[a, t] - Σ_{a unlinks b} x[a, t]"""
    change = sum_of_actions(m, m.task.links) - sum_of_actions(m, m.task.unlinks)
    return (each(m.degree[:, 1:]) - each(m.degree[:, :-1]) - change).equals(0)


def limited_degree(m: Model, max_degree: int) -> Rows:
    """§V  D[b, t-1] + Σ_{a links b} x[a, t] ≤ D_max: also while a step runs, in whatever order"""
    return each(m.degree[:, :-1]) + sum_of_actions(m, m.task.links) <= max_degree


def exclusive_brokers(m: Model) -> Rows:
    """Σ_{a has b} x[a, t] ≤ 1 for each broker b: no broker takes part in two actions of a step"""
    return sum_of_actions(m, m.task.involved) <= 1


def sum_of_actions(m: Model, relation: Relation) -> Expression:
    """Σ x[a, t] over the actions related to each proposition (or broker)."""
    return total(m.x[relation.action], relation.to, relation.size)


def action_implies(m: Model, relation: Relation, change: Ints) -> Rows:
    """x[a, t] ≤ change[f, t] for each related a and f."""
    return each(m.x[relation.action]) <= each(change[relation.to, 1:])


def build(
    task: PlanningTask,
    T: int,
    costs: Ints | None = None,
    max_degree: int | None = None,
    exclusive: bool = False,
) -> Program:
    """The whole program for plans of T steps, some of which may be empty."""
    m = Model(task, T, max_degree)
    families = [family(m) for family in FAMILIES.values()]
    if max_degree is not None:
        families += [initial_degree(m), degree_follows_actions(m), limited_degree(m, max_degree)]
    if exclusive:
        families.append(exclusive_brokers(m))
    weights = np.ones(m.actions, dtype=np.int64) if costs is None else costs
    return Program(objective(m, weights), upper_bounds(m), stack(families))


def chosen(task: PlanningTask, T: int, solution: Ints) -> list[list[int]]:
    """For each step the numbers of the actions whose x is 1."""
    x = solution[Model(task, T).x]
    return [np.flatnonzero(x[:, t]).tolist() for t in range(T)]


class Size(NamedTuple):
    """The columns of IPITT's Table I."""

    actions: int
    variables: int
    constraints: int


def size(task: PlanningTask, T: int) -> Size:
    """How large `build(task, T)` would be, without building it.

    Table I prints exactly |F| constraints more than Appendix A has; which ones, IPITT does not say.
    """
    A, F = len(task.actions), len(task.propositions)
    one_per_action = len(task.add_not_pre.to) + len(task.del_not_pre.to) + len(task.pre_not_del.to)
    seven_per_proposition = 7 * F
    return Size(
        actions=A,
        variables=A * T + 5 * F * (T + 1),
        constraints=F + int(task.finally_true.sum()) + T * (seven_per_proposition + one_per_action),
    )
