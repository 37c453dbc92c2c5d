"""The state of the loop: one word, one sentence and numbers for people; metrics for Prometheus."""

from collections.abc import Mapping
from typing import NamedTuple

from regraft.estate.windows import WindowAndCounts
from regraft.loop.budget import used
from regraft.loop.goals import goal_name
from regraft.loop.maintenance import is_open
from regraft.loop.proposing import is_only_shown
from regraft.loop.state import State
from regraft.loop.values import Candidate, Proposal, Trouble
from regraft.model.snapshot import Counts
from regraft.serve import views as v

Metric = tuple[str, str, float]
"""Counter or gauge, help, value."""
RECORDS = {
    "read": "Telemetry records that were read.",
    "kept": "Telemetry records that the tables are made of.",
    "rejected": "Telemetry records that break a rule.",
    "duplicated": "Telemetry records that were there already.",
    "late": "Telemetry records that came too late.",
}
"""What may become of a record, and the help of its counter."""
DOING: dict[str, str] = {
    "waiting": "waits for the end of the window",
    "measuring": "measures the last window on Spark",
    "judging": "judges the topology by the last window",
    "designing": "looks for a better topology",
    "planning": "plans the way to a better topology",
    "deploying": "carries out a plan",
}


class ReadRecords(NamedTuple):
    """What became of the telemetry that was read since the start, and the time of the newest record."""

    counts: Counts = Counts()
    newest: float | None = None

    def plus(self, found: WindowAndCounts) -> "ReadRecords":
        times = [time for time in (self.newest, found.newest) if time is not None]
        return ReadRecords(self.counts.plus(found.counts), max(times, default=None))


def state_view(
    state: State, operation: v.OperationView | None, overlay: str, started_at: float, at: float
) -> v.StateView:
    actions, runs = used(state.spent, at)
    policy = state.policy
    under_way = operation if operation is not None and operation.ended is None else None
    return v.StateView(
        overlay=overlay,
        standing=standing(state, at),
        sentence=sentence(state, at),
        mode=state.mode,
        effective_mode=state.effective_mode,
        phase=state.phase.value,
        since=state.since,
        paused=state.paused,
        troubles=tuple(map(_trouble, state.troubles.values())),
        window_seconds=policy.window_seconds,
        next_window_at=state.due,
        cooling_until=state.cooling_until if state.cooling_until > at else None,
        proposal=None if is_only_shown(state) else _plan(state.proposal),
        would_propose=_plan(state.proposal) if is_only_shown(state) else None,
        candidate=_candidate(state),
        run=under_way.run if under_way else None,
        operation=under_way.id if under_way else None,
        epoch=state.epoch,
        topology=state.topology,
        budget=v.BudgetView(
            actions_used=actions,
            actions_limit=policy.actions_per_hour,
            transformations_used=runs,
            transformations_limit=policy.transformations_per_hour,
        ),
        maintenance=is_open(policy.maintenance, at),
        started_at=started_at,
        at=at,
    )


def _plan(proposal: Proposal | None) -> str | None:
    return proposal.planned.plan if proposal is not None else None


def _candidate(state: State) -> v.CandidateView | None:
    found = state.candidate
    if found is None:
        return None
    return v.CandidateView(
        gain=found.comparison.gain,
        gain_error=found.comparison.error,
        improves=found.comparison.improves,
        windows=found.windows,
        windows_needed=state.policy.confirm,
    )


def _trouble(trouble: Trouble) -> v.Trouble:
    return v.Trouble(
        part=trouble.part,
        reason=trouble.reason,
        since=trouble.since,
        failures=trouble.failures,
        retry_at=trouble.retry_at,
    )


def standing(state: State, at: float) -> v.Standing:
    """The one word that matters most now."""
    matters: list[tuple[bool, v.Standing]] = [
        (bool(state.repairing or state.wanted), "healing"),
        (state.phase == "deploying", "deploying"),
        (bool(state.failing), "degraded"),
        (state.paused is not None, "paused"),
        (is_only_shown(state), "would-propose"),
        (state.proposal is not None, "proposed"),
        (state.expected is not None, "verifying"),
        (at < state.cooling_until, "cooling"),
    ]
    return next((word for holds, word in matters if holds), "watching")


def sentence(state: State, at: float) -> str:
    back = state.running is not None and state.running.back
    parts = "; ".join(f"{each.part}: {each.reason}" for each in state.failing)
    sentences: dict[v.Standing, str] = {
        "healing": "Healing changes the overlay; everything else waits.",
        "deploying": ("The last change is being taken back" if back else "A plan is being carried out")
        + "; the traffic continues.",
        "degraded": f"The loop only observes: {parts}. The traffic is untouched.",
        "paused": f"The loop is paused ({state.paused}) and only observes.",
        "proposed": _proposed(state),
        "would-propose": _would_propose(state),
        "verifying": "A change was made; the next whole window shows what it gained.",
        "cooling": f"A change was made or refused; nothing new for {state.cooling_until - at:.0f} s.",
        "watching": f"The loop {'only observes: it ' * (state.mode == 'observe')}{DOING[state.phase]}.",
    }
    return sentences[standing(state, at)]


def _proposed(state: State) -> str:
    proposal = state.proposal
    if proposal is None:
        return ""
    what = f"A change that saves {_gain(proposal.candidate)}" if proposal.candidate else "A repair"
    return f"{what} waits: {proposal.needs_approval or 'it begins at once'}."


def _would_propose(state: State) -> str:
    if state.proposal is None or state.proposal.candidate is None:
        return ""
    saved = _gain(state.proposal.candidate)
    return f"The loop only observes: a change that would save {saved} is shown, and nothing is carried out."


def _gain(candidate: Candidate) -> str:
    return f"{candidate.comparison.gain:.0%} of the {goal_name(candidate.comparison.improves)}"


def metrics(
    state: State,
    snapshot: v.SnapshotView | None,
    decided: Mapping[str, int],
    read: ReadRecords,
    steps: int,
    now: float,
) -> Mapping[str, Metric]:
    """Metrics by their names without prefix. `decided`: how many decisions of each kind since the start."""
    found: dict[str, Metric] = {
        "steps_total": ("counter", "Events that the loop has taken.", steps),
        "degraded": ("gauge", "1 while a part fails and the loop only observes.", bool(state.failing)),
        "paused": ("gauge", "1 while somebody has paused it.", state.paused is not None),
        "deploying": ("gauge", "1 while a plan is carried out.", state.phase == "deploying"),
        "proposal_waiting": (
            "gauge",
            "1 while a proposal waits.",
            state.proposal is not None and not state.proposal.observed,
        ),
        "windows_judged_total": ("counter", "Windows judged.", decided.get("judged", 0)),
        "proposals_total": ("counter", "Plans proposed.", decided.get("proposed", 0)),
        "deployments_total": ("counter", "Plans carried out.", decided.get("deployed", 0)),
        "deployments_failed_total": (
            "counter",
            "Runs that did not reach their goal.",
            decided.get("failed", 0),
        ),
        "failures_total": ("counter", "Times that a part has failed.", decided.get("degraded", 0)),
    }
    if state.epoch is not None:
        found["topology_epoch"] = ("gauge", "Of the topology.", state.epoch)
    for name, number in read.counts.as_json().items():
        found[f"records_{name}_total"] = ("counter", RECORDS[name], number)
    if read.newest is not None:
        found["newest_record_age_seconds"] = ("gauge", "Since the newest record was made.", now - read.newest)
    if snapshot is not None:
        found |= _of_window(snapshot, now)
    return {name: (kind, help, float(value)) for name, (kind, help, value) in found.items()}


def _of_window(snapshot: v.SnapshotView, now: float) -> dict[str, Metric]:
    found: dict[str, tuple[str, str, float | None]] = {
        "measure_seconds": ("gauge", "That the last measurement took.", snapshot.seconds),
        "window_age_seconds": ("gauge", "Since the last measured window ended.", now - snapshot.end),
        "window_publications": ("gauge", "Publications of the last window.", snapshot.publications),
        "window_deliveries": ("gauge", "Deliveries of the last window.", snapshot.deliveries),
        "routing_cost": ("gauge", "Of the last window.", snapshot.numbers.get("routing_cost")),
        "latency_p99_ms": ("gauge", "Of deliveries in the last window.", snapshot.p99_ms),
    }
    return {name: (kind, help, value) for name, (kind, help, value) in found.items() if value is not None}
