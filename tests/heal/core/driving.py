"""A shell of a few lines around parts of the core: time is virtual, the test gives the answers."""

from collections.abc import Callable, Mapping
from heapq import heappop, heappush
from itertools import pairwise
from random import Random
from typing import Any, TypeVar

from regraft.heal.core import HealingSettings, LocalBroker
from regraft.heal.core.effects import Broken, Do, Effect, Forget, Note, Tell
from regraft.heal.core.knowledge import Knowledge
from regraft.heal.core.tasks import Request, Task, Work
from regraft.heal.grant import Grant, Member
from regraft.heal.limits import RemovalLimits
from regraft.heal.owner import Owner
from regraft.heal.rules import PAPER_RULES, check, parse
from regraft.heal.wire.messages import Cause, Message
from regraft.model import RegraftError, Topology
from regraft.model.facts import Event

T = TypeVar("T")
R = TypeVar("R", bound=Request[Any])
LINE = Topology.of(pairwise(["b0", "b1", "b2", "b3", "b4"]))
RULES = check(parse(PAPER_RULES), {"User Defined": 3.0})
GRANT = Grant(
    id="1-delete-b2",
    kind="delete",
    asker="b1",
    target="b2",
    members=tuple(map(Member, LINE.ids)),
    suspects=("b2",),
)
CRASH = Event(name="deleteBrokerRequest", broker="b2", arguments={"suspected": True})
CAUSE = Cause(election=GRANT.id, cause="b2 does not answer", event=CRASH, timeout_ms=30.0, vote_ms=5.0)
ANSWER_SECONDS = 0.01
"""Until a request is answered."""


def owner(life: int = 1, by: str = "") -> Owner:
    return Owner(life=life, host="127.0.0.1", port=7000, by=by)


def b1(limits: RemovalLimits | None = None, **owners: Owner) -> Knowledge:
    """What the node of b1 knows, on a line of five brokers with the rules of Mimosa Pudica."""
    return Knowledge(
        HealingSettings(id="b1", life=0, removals=limits or RemovalLimits()),
        Random(1),
        {"b1": LocalBroker(owner(0), LINE.neighbours["b1"])},
        topology=LINE,
        rules=RULES,
        owners=owners,
    )


class Driven:
    """`answers`: by the type of a request its answer, a fault, or a function of the request. `said` is called
    with each message to another node."""

    def __init__(
        self,
        known: Knowledge,
        answers: Mapping[type[Request[Any]], Any] | None = None,
        said: Callable[[str, Message], None] = lambda node, message: None,
    ) -> None:
        self.known = known
        self.answers = dict(answers or {})
        self.requests: list[Request[Any]] = []
        self.notes: list[str] = []
        self.warnings: list[str] = []
        """Those of the notes that are."""
        self.others: list[Effect] = []
        """The other effects."""
        self._said = said
        self._due: list[tuple[float, int, Request[Any]]] = []
        self._forgotten: set[int] = set()

    def asked(self, kind: type[R]) -> list[R]:
        return [each for each in self.requests if isinstance(each, kind)]

    def result(self, work: Work[T]) -> T:
        """The result of a step that ends within a minute."""
        task = self.known.begin(work)
        self.pass_time(60.0, task)
        assert task.done
        return task.over.value  # type: ignore[return-value]

    def pass_time(self, seconds: float, until: Task[Any] | None = None) -> None:
        tasks = self.known.tasks
        end = tasks.now + seconds
        while True:
            tasks.run(tasks.now)
            self._carry_out()
            if until is not None and until.done:
                return
            if not tasks.ready:
                dues = [tasks.next_due(), self._due[0][0] if self._due else None]
                due = min((each for each in dues if each is not None), default=end)
                if due >= end:
                    tasks.now = end
                    return
                tasks.now = max(tasks.now, due)
                self._answer()

    def _carry_out(self) -> None:
        effects, self.known.effects = self.known.effects, []
        for effect in effects:
            match effect:
                case Do():
                    self.requests.append(effect.request)
                    heappush(self._due, (self.known.now + ANSWER_SECONDS, effect.number, effect.request))
                case Forget():
                    self._forgotten.add(effect.number)
                case Tell():
                    self._said(effect.node, effect.message)
                case Note():
                    self.notes.append(effect.text)
                    self.warnings += [effect.text] if effect.warning else []
                case Broken():
                    raise effect.fault
                case _:
                    self.others.append(effect)

    def _answer(self) -> None:
        while self._due and self._due[0][0] <= self.known.now:
            _, number, request = heappop(self._due)
            if number in self._forgotten:
                continue
            answer = self.answers[type(request)]
            if callable(answer):
                answer = answer(request)
            fault = answer if isinstance(answer, RegraftError) else None
            self.known.tasks.answered(number, None if fault is not None else answer, fault)
