"""A loop that a test drives by hand: it gives events and looks at the commands."""

from typing import TypeVar

from regraft.loop import commands as c
from regraft.loop import events as e
from regraft.loop.judging import beyond_chance
from regraft.loop.policy import Mode, Policy
from regraft.loop.state import first_state
from regraft.loop.step import step
from regraft.loop.values import Candidate, Ended, Planned, Window
from regraft.testing.loop_world import check_state, compared

C = TypeVar("C", bound=c.Command)


class Driven:
    def __init__(self, mode: Mode = "propose", **policy: object) -> None:
        self.policy = Policy(**{"confirm": 1, "window_seconds": 10.0, "settle_seconds": 0.0, **policy})  # type: ignore[arg-type]
        self.now = 1000.0
        self.state = first_state(self.policy, mode, self.now)
        self.said: list[tuple[str, str]] = []
        self.last: tuple[c.Command, ...] = ()
        self.plans = 0
        self.to_plan: c.MakePlan | c.Repair | None = None
        self.give(e.TopologyChanged(at=self.now, epoch=1, sha256="t1"))

    def give(self, event: e.Event) -> tuple[c.Command, ...]:
        self.state, self.last = step(self.state, event)
        self.said += [
            (each.decision.kind, each.decision.text) for each in self.last if isinstance(each, c.Log)
        ]
        for each in self.last:
            if isinstance(each, c.MakePlan | c.Repair):
                self.to_plan = each
        assert check_state(self.state) is None
        return self.last

    def asked(self, type: type[C]) -> C:
        found = [each for each in self.last if isinstance(each, type)]
        assert found, f"no {type.__name__} among {self.last}"
        return found[0]

    def kinds(self) -> list[str]:
        return [kind for kind, _ in self.said]

    def wait(self, seconds: float) -> tuple[c.Command, ...]:
        self.now += seconds
        return self.give(e.Tick(at=self.now))

    def window(self, publications: int = 1000, **judged: object) -> tuple[c.Command, ...]:
        """Go to the end of the next window, and answer its measurement and judgement."""
        self.now = max(self.now, self.state.due)
        self.give(e.Tick(at=self.now))
        command = self.asked(c.Measure)
        window = Window(
            id=f"w{command.start:.0f}", start=command.start, end=command.end, publications=publications
        )
        self.give(e.Measured(at=self.now, ticket=command.ticket, window=window))
        if publications < self.policy.least_publications:
            return self.last
        assess = self.asked(c.Assess)
        return self.give(
            e.Judged(
                at=self.now,
                ticket=assess.ticket,
                window=window,
                current=compared(0.0),
                **{"cost": 5000.0, **judged},  # type: ignore[arg-type]
            )
        )

    def design(
        self,
        gain: float,
        added: tuple[str, str] = ("x", "y"),
        removed: tuple[str, str] = ("y", "z"),
        error: float = 0.0,
    ) -> tuple[c.Command, ...]:
        """`error`: the standard error of the gain, because one publication in 100 was recorded."""
        command = self.asked(c.Design)
        candidate = Candidate(
            goal="g",
            initial="t1",
            epoch=self.state.epoch or 0,
            method="test",
            added=(added,),
            removed=(removed,),
            window=command.window.id,
            comparison=beyond_chance(compared(gain), error, self.policy.gain_errors, 100.0),
            saved=5000.0 * gain,
        )
        return self.give(e.Designed(at=self.now, ticket=command.ticket, candidate=candidate))

    def plan(self, actions: int = 3) -> str:
        """Answer the last command that asked for a plan."""
        assert self.to_plan is not None
        command, self.to_plan = self.to_plan, None
        self.plans += 1
        plan = f"plan{self.plans}"
        planned = Planned(
            plan=plan,
            initial=self.state.topology or "",
            goal="g",
            epoch=self.state.epoch or 0,
            planner="test",
            steps=2,
            actions=actions,
            buffered=0.0,
        )
        self.give(e.PlanMade(at=self.now, ticket=command.ticket, planned=planned))
        return plan

    def proposal(self, gain: float = 0.3, actions: int = 3) -> str:
        """A window in which something better is found, and planned."""
        self.window()
        self.design(gain)
        return self.plan(actions)

    def deployed(self, state: str = "done", **ended: object) -> tuple[c.Command, ...]:
        epoch = (self.state.epoch or 0) + 1
        fields: dict[str, object] = {
            "run": "1-a",
            "state": state,
            "reason": "" if state == "done" else "it broke",
            "back": False,
            "reached": state == "done",
            "epoch": epoch,
            "topology": f"t{epoch}",
            "actions": 3,
            "added": (("x", "y"),),
            "removed": (("y", "z"),),
        }
        end = Ended(**{**fields, **ended})  # type: ignore[arg-type]
        return self.give(e.Deployed(at=self.now, ticket=self.state.ticket, ended=end))
