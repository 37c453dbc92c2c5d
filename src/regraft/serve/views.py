"""What the service tells the outside world: values that are JSON as they are (`msgspec.json.encode`).

Times are seconds since 1970, durations seconds, latencies milliseconds, rates per second. None: not known,
never zero. Fields are only ever added.
"""

from typing import Literal

import msgspec

from regraft.model.intents import Intent

Mode = Literal["observe", "propose", "automatic"]
Phase = Literal["waiting", "measuring", "judging", "designing", "planning", "deploying"]
Standing = Literal[
    "paused",
    "degraded",
    "healing",
    "deploying",
    "proposed",
    "would-propose",
    "verifying",
    "cooling",
    "watching",
]


class View(msgspec.Struct, frozen=True, kw_only=True):
    """Base of all views."""


class Refused(View, frozen=True, kw_only=True):
    """An expected no: the request was understood, and is not carried out.

    | code | means | REST |
    |---|---|---|
    | unknown | there is no such thing | 404 |
    | stale | the topology has changed since | 409 |
    | again | that has been decided already | 409 |
    | busy | something else is under way | 409 |
    | mode | the loop's mode does not allow it | 409 |
    | bad | the request breaks a rule | 422 |
    | away | ZooKeeper, Spark or a database does not answer | 503 |
    """

    code: Literal["unknown", "stale", "again", "busy", "mode", "bad", "away"]
    reason: str


class Trouble(View, frozen=True, kw_only=True):
    """A part that does not work; the loop only observes until it does."""

    part: str
    """measure, coordination, design, plan, deploy or disk."""
    reason: str
    since: float
    failures: int
    retry_at: float


class StateView(View, frozen=True, kw_only=True):
    """Where the loop is. `standing` is one word for the top of a page, `sentence` says it to a person."""

    overlay: str
    standing: Standing
    sentence: str
    mode: Mode
    effective_mode: Mode
    """Observe while something fails or the loop is paused."""
    phase: Phase
    since: float
    """When the phase began."""
    paused: str | None
    """Why it is paused; None if it is not."""
    troubles: tuple[Trouble, ...]
    window_seconds: float
    next_window_at: float
    """When the next window is measured."""
    cooling_until: float | None
    proposal: str | None
    """sha256 of the plan that waits for approval."""
    would_propose: str | None = None
    """sha256 of the plan that is only shown, because the loop only observes."""
    candidate: "CandidateView | None" = None
    run: str | None
    """Id of the run under way."""
    operation: str | None
    epoch: int | None
    topology: str | None
    """sha256 of the topology."""
    budget: "BudgetView"
    maintenance: bool
    """Whether automatic changes may happen now."""
    started_at: float
    at: float


class CandidateView(View, frozen=True, kw_only=True):
    """Something better that has to prove itself in more windows before it is planned."""

    gain: float
    gain_error: float = 0.0
    """The standard error of the gain; 0 if the traffic is not estimated from a sample."""
    improves: str | None
    """The goal that gets better: one of `regraft.loop.goals`."""
    windows: int
    """In how many windows in a row it was better."""
    windows_needed: int


class BudgetView(View, frozen=True, kw_only=True):
    """What was used in the last hour, and the limits; None: no limit."""

    actions_used: int
    actions_limit: int | None
    transformations_used: int
    transformations_limit: int | None


class BrokerView(View, frozen=True, kw_only=True):
    """A broker: where it is, whether it is alive, what its agent reports and what the last window showed."""

    id: str
    host: str | None = None
    port: int | None = None
    region: str | None = None
    label: str | None = None
    latitude: float | None = None
    longitude: float | None = None
    alive: bool = False
    """Its agent has a session in ZooKeeper."""
    in_overlay: bool = True
    """False: it waits to be appended."""
    degree: int = 0
    neighbours: tuple[str, ...] = ()
    life: int | None = None
    clients: int | None = None
    sessions: int | None = None
    queue_bytes: int | None = None
    publications_per_second: float | None = None
    bytes_in_per_second: float | None = None
    bytes_out_per_second: float | None = None
    messages_per_second: float | None = None
    """Messages that crossed it in the last window."""
    cpu: float | None = None
    memory: int | None = None
    links: dict[str, str] = {}
    """Neighbour → up or down, as the broker sees it."""


class LinkView(View, frozen=True, kw_only=True):
    one: str
    other: str
    latency_ms: float | None = None
    cost: float = 1.0
    up: bool | None = None
    messages_per_second: float | None = None
    """Both ways, in the last window."""
    share: float | None = None
    """Of the load of the most loaded link: 0 to 1, for the width of a line."""


class TopologyView(View, frozen=True, kw_only=True):
    kind: Literal["tree", "mesh"]
    epoch: int
    sha256: str
    brokers: tuple[BrokerView, ...]
    links: tuple[LinkView, ...]
    located: bool
    """Every broker has coordinates: a map can be drawn."""
    at: float


class VerdictView(View, frozen=True, kw_only=True):
    """The verdict of a goal, in order of priority. `kept` is None if it is not known."""

    goal: str
    hard: bool
    kept: bool | None
    reason: str
    number: float | None = None
    """The number of the topology that is judged; `before` is that of the current topology."""
    before: float | None = None
    limit: float | None = None


class SnapshotView(View, frozen=True, kw_only=True):
    """One measured window and what the topology of that time cost."""

    id: str
    """Its start, e.g. 2026-11-16T06:40:00Z."""
    start: float
    end: float
    measured_at: float
    seconds: float
    """How long the measurement took."""
    publications: int
    deliveries: int
    records: int
    """Kept; those that were rejected, late or duplicated are in no table."""
    rejected: int
    late: int
    classes: int
    topics: int
    duplicated: int = 0
    p50_ms: float | None = None
    p99_ms: float | None = None
    p999_ms: float | None = None
    queue: int | None = None
    """Bytes of publications that the broker with the longest queue keeps until they are confirmed."""
    typical_ms: float | None = None
    """The round trip of a link that costs 1, if links cost what was measured."""
    epoch: int | None = None
    topology: str | None = None
    numbers: dict[str, float | None] = {}
    """As `regraft evaluate` prints them: routing_cost, link_cost, broker_cost, max_degree, …"""
    verdicts: tuple[VerdictView, ...] = ()


class Point(View, frozen=True, kw_only=True):
    """One window in a plot."""

    at: float
    """Its end."""
    routing_cost: float | None = None
    cost_per_publication: float | None = None
    publications_per_second: float | None = None
    deliveries_per_second: float | None = None
    p50_ms: float | None = None
    p99_ms: float | None = None
    p999_ms: float | None = None
    queue: int | None = None
    """Bytes, as in the window."""
    rejected: int = 0
    late: int = 0
    epoch: int | None = None


class RunMark(View, frozen=True, kw_only=True):
    """A transformation in a plot, with what its canaries counted."""

    run: str
    plan: str
    began: float
    ended: float | None
    state: str
    cause: str
    """loop, person, healing or elsewhere."""
    back: bool
    actions: int
    published: int | None = None
    delivered: int | None = None
    lost: int | None = None
    duplicated: int | None = None
    reordered: int | None = None


class SeriesView(View, frozen=True, kw_only=True):
    points: tuple[Point, ...]
    runs: tuple[RunMark, ...]


ProposalState = Literal[
    "would-propose",
    "waiting",
    "approved",
    "deploying",
    "done",
    "rejected",
    "withdrawn",
    "stale",
    "failed",
    "stopped",
]
"""would-propose: the loop only observes. The plan is shown, and nobody can approve it."""


class ProposalView(View, frozen=True, kw_only=True):
    """A plan that the loop wants carried out (or wanted), and why. `sha256` of the plan names it."""

    sha256: str
    state: ProposalState
    reason: str
    """Why it is in this state: who approved it, why it was rejected or withdrawn."""
    cause: Literal["traffic", "healing", "person"]
    made_at: float
    changed_at: float
    window: str | None
    """The snapshot that it was made from."""
    windows: int
    """In how many windows in a row the gain was seen."""
    windows_needed: int = 1
    """How many windows are required."""
    initial: str
    goal: str
    epoch: int
    """The epoch of the topology that it starts from."""
    planner: str
    method: str
    expects: str = ""
    """Which forecast of the traffic it was designed for; empty: the traffic that was measured."""
    steps: int
    actions: int
    gain: float
    """The share that it saves of what it improves: 0.31 is 31 %."""
    gain_error: float = 0.0
    """The standard error of the gain; 0 if the traffic is not estimated from a sample."""
    improves: str | None = None
    """The goal for whose sake it is made, as in `verdicts`; None: a repair."""
    needed_gain: float = 0.0
    """The least gain that was required: more if it undoes recent changes."""
    saved_per_hour: float
    """In units of routing cost."""
    price: float
    """The price of the change in the same units: its actions, and the messages buffered meanwhile."""
    pays_back_after: float | None
    """In how many seconds it saves its price."""
    needs_approval: str | None
    """Why a person is asked; None: the loop carries it out by itself."""
    outside_limits: str | None = None
    """Why automatic mode would not carry it out by itself; None: it would."""
    numbers_before: dict[str, float | None]
    numbers_after: dict[str, float | None]
    verdicts: tuple[VerdictView, ...]
    operation: str | None = None
    measured_gain: float | None = None
    """The gain measured in the first window on the new topology."""


class ActionView(View, frozen=True, kw_only=True):
    operation: str
    brokers: tuple[str, ...]
    text: str
    """`shift(b4, b2, b1)`"""
    added: tuple[tuple[str, str], ...]
    removed: tuple[tuple[str, str], ...]
    messages_per_second: float | None = None
    """Messages over the links that it removes, which are buffered while it lasts."""


class ClassView(View, frozen=True, kw_only=True):
    """Who gains or loses: a traffic class and what it costs before and after."""

    members: tuple[str, ...]
    demand: float
    before: float
    after: float


class StepView(View, frozen=True, kw_only=True):
    """The overlay after a step, with all links, so that a step can be shown by itself."""

    step: int
    """Counted from 1; 0 is the topology before the plan."""
    actions: tuple[ActionView, ...]
    links: tuple[tuple[str, str], ...]
    brokers: tuple[str, ...]
    numbers: dict[str, float | None]
    cost_change: float | None
    """The change of the routing cost against the step before; negative is better."""
    buffered: float | None
    """Messages that are expected to wait in this step."""
    state: Literal["planned", "running", "done", "failed"] = "planned"


class PlanView(View, frozen=True, kw_only=True):
    """A plan, step by step."""

    sha256: str
    kind: Literal["tree", "mesh"]
    initial: str
    goal: str
    planner: str
    optimal: bool
    bound_steps: int
    bound_actions: int
    steps: tuple[StepView, ...]
    """The first one is step 0."""
    gains: tuple[ClassView, ...]
    losses: tuple[ClassView, ...]
    better: int
    worse: int
    same: int
    document: dict[str, object]
    """As `regraft plan -o` writes it: `regraft apply` takes it."""


OperationState = Literal["waiting", "running", "paused", "done", "failed", "stopped"]


class OperationView(View, frozen=True, kw_only=True):
    """Something that takes a while. Its id holds across a restart of the service."""

    id: str
    kind: Literal["deploy", "roll back", "heal"]
    state: OperationState
    by: str
    plan: str | None
    run: str | None
    began: float
    changed_at: float
    ended: float | None
    step: int = 0
    steps: int = 0
    actions_done: int = 0
    actions: int = 0
    reason: str = ""
    outcome: dict[str, object] | None = None
    """As `regraft apply --json` prints it, when it has ended."""


class DecisionView(View, frozen=True, kw_only=True):
    """One line of the decision log: done or not done, why, and the numbers."""

    id: int
    at: float
    kind: str
    """One of `regraft.loop.decisions.KINDS`."""
    text: str
    by: str
    """loop, or who asked for it."""
    acted: bool
    """Whether something was done, or it was decided not to."""
    window: str | None = None
    plan: str | None = None
    operation: str | None = None
    numbers: dict[str, float | None] = {}


class RuleView(View, frozen=True, kw_only=True):
    name: str
    text: str
    version: int


class RulesView(View, frozen=True, kw_only=True):
    """`note` says why there are none, if the overlay has no destination database."""

    version: int
    rules: tuple[RuleView, ...]
    definitions: dict[str, float | str | bool]
    note: str = ""


class AdaptationView(View, frozen=True, kw_only=True):
    id: str
    kind: str
    cause: str
    at: float
    rules: tuple[str, ...]
    leader: str
    intents: tuple[Intent, ...]
    said: tuple[str, ...]
    """The intents in words."""
    timeout_ms: float
    vote_ms: float
    election_ms: float
    adaptation_ms: float
    outcome: str
    reason: str


class EventView(View, frozen=True, kw_only=True):
    """An event of the stream: what has changed. `data` is its new value.

    | kind | data |
    |---|---|
    | state | StateView |
    | topology | {"epoch", "sha256"} |
    | snapshot | SnapshotView |
    | proposal | ProposalView |
    | operation | OperationView |
    | decision | DecisionView |
    | adaptation | AdaptationView |
    | reset | {}: events were missed; ask for everything again |
    """

    id: int
    """Grows, also across restarts: what a browser sends as Last-Event-ID."""
    at: float
    kind: Literal["state", "topology", "snapshot", "proposal", "operation", "decision", "adaptation", "reset"]
    data: dict[str, object]


class HealthView(View, frozen=True, kw_only=True):
    """`ok`: the process works; `ready`: it knows a topology, and no part fails."""

    ok: bool
    ready: bool
    checks: dict[str, str]
    """Part → "ok", or what is wrong."""
