"""Proposals and their plans: read, approve by hash, reject; and the run that carries one out."""

from fastapi import APIRouter, Request, Response

from regraft.serve import views as v
from regraft.web.api.dependencies import Limit, Operator, Service, Sha256, Viewer, add_to_audit
from regraft.web.documents import Items, Rejection, documented, reply, reply_items

router = APIRouter(tags=["plans"])
ACCEPTED = documented(v.OperationView, 202, "Begun; `/operations/{id}` says how far it is.")


@router.get("/proposals", responses=documented(Items[v.ProposalView]))
async def proposals(service: Service, who: Viewer, limit: Limit = 50) -> Response:
    """What the loop wants or wanted to change, and why; the newest first."""
    return reply_items(service.proposals(limit))


@router.get("/proposals/{sha256}", responses=documented(v.ProposalView))
async def proposal(sha256: Sha256, service: Service, who: Viewer) -> Response:
    """One proposal, by the sha256 of its plan."""
    return reply(service.proposal(sha256))


@router.get("/plans/{sha256}", responses=documented(v.PlanView))
async def plan(sha256: Sha256, service: Service, who: Viewer) -> Response:
    """The plan step by step: the overlay after each, what it costs, and which classes gain in the end."""
    return reply(await service.plan(sha256))


@router.post("/plans/{sha256}/approve", status_code=202, responses=ACCEPTED)
async def approve(sha256: Sha256, request: Request, service: Service, who: Operator) -> Response:
    """Carry out exactly the plan with this hash, if the topology is still the one that it starts from."""
    add_to_audit(request, plan=sha256)
    return _accepted(request, await service.approve(sha256, who.name))


@router.post("/plans/{sha256}/reject", responses=documented(v.ProposalView))
async def reject(
    sha256: Sha256, rejection: Rejection, request: Request, service: Service, who: Operator
) -> Response:
    """Reject this plan; the reason goes into the decision log."""
    add_to_audit(request, plan=sha256, reason=rejection.reason)
    return reply(service.reject(sha256, rejection.reason, who.name))


@router.post("/run/pause", status_code=202, responses=ACCEPTED)
async def pause_run(request: Request, service: Service, who: Operator) -> Response:
    """The run under way pauses after the actions that have begun, until it is continued."""
    return _accepted(request, await service.pause_run(who.name))


@router.post("/run/continue", status_code=202, responses=ACCEPTED)
async def continue_run(request: Request, service: Service, who: Operator) -> Response:
    """The run that was paused continues."""
    return _accepted(request, await service.continue_run(who.name))


@router.post("/run/stop", status_code=202, responses=ACCEPTED)
async def stop_run(request: Request, service: Service, who: Operator) -> Response:
    """The run under way ends after the actions that have begun."""
    return _accepted(request, await service.stop_run(who.name))


@router.post("/run/roll-back", status_code=202, responses=ACCEPTED)
async def roll_back(request: Request, service: Service, who: Operator) -> Response:
    """Take back what the last run has done; if it is under way, from where it is."""
    return _accepted(request, await service.roll_back(who.name))


@router.get("/operations", responses=documented(Items[v.OperationView]))
async def operations(service: Service, who: Viewer, limit: Limit = 50) -> Response:
    """Operations that take a while, the newest first. Ids stay valid across a restart."""
    return reply_items(service.operations(limit))


@router.get("/operations/{id}", responses=documented(v.OperationView))
async def operation(id: str, service: Service, who: Viewer) -> Response:
    """How far an operation is, and how it ended."""
    return reply(service.operation(id))


def _accepted(request: Request, operation: v.OperationView | v.Refused) -> Response:
    answer = reply(operation, 202)
    if isinstance(operation, v.OperationView):
        add_to_audit(request, operation=operation.id, run=operation.run)
        answer.headers["Location"] = str(request.app.url_path_for("operation", id=operation.id))
    return answer
