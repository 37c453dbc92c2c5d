"""The decision log: everything that was done or not done, with the reason and the numbers."""

import msgspec

KINDS = {
    "started": "the service runs",
    "judged": "a window was measured, and the topology judged in it",
    "quiet": "a window says too little about the traffic",
    "kept": "nothing better is worth it: the topology stays",
    "unconfirmed": "something better was found, and has to prove itself in more windows",
    "would-propose": "a plan that is only shown, because the loop only observes",
    "proposed": "a plan waits for approval, or is about to be carried out",
    "withdrawn": "a proposal no longer gains enough, or no longer fits the topology",
    "approved": "somebody approved a plan, or the loop did within its limits",
    "rejected": "somebody rejected a plan",
    "refused": "somebody asked for something that cannot be done",
    "waiting": "the loop may not act by itself now: budget, maintenance, size",
    "deploying": "a plan is being carried out",
    "deployed": "a plan was carried out",
    "failed": "a run did not reach its goal",
    "verified": "the first window on the new topology shows what it gained",
    "disappointed": "the first window on the new topology shows that nothing was gained",
    "cooling": "a change is too recent for the next one",
    "healing": "an Intent of healing was taken up or done",
    "degraded": "a part fails: the loop only observes",
    "recovered": "a part works again",
    "topology": "somebody else has changed the topology",
    "paused": "somebody paused the loop",
    "resumed": "somebody resumed the loop",
    "mode": "somebody set the mode of the loop",
}


class Decision(msgspec.Struct, frozen=True, kw_only=True):
    """`acted`: something was done; otherwise it was decided not to."""

    at: float
    kind: str
    text: str
    by: str = "loop"
    acted: bool = False
    window: str | None = None
    plan: str | None = None
    numbers: dict[str, float | None] = {}

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise ValueError(f"there is no decision of the kind {self.kind!r}")
