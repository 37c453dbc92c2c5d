"""What routes share (FastAPI dependencies): the service, the caller, parameters with their limits."""

from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import Depends, HTTPException, Path, Query, Request

from regraft.serve.interface import ServiceInterface
from regraft.web.guard import Visit
from regraft.web.users import Principal, Role

LARGEST = 2**53 - 1
"""The largest whole number in JSON that every reader understands."""


def service_of(request: Request) -> ServiceInterface:
    service: ServiceInterface = request.app.state.service
    return service


def visit_of(request: Request) -> Visit:
    visit: Visit = request.state.visit
    return visit


@dataclass(frozen=True)
class Needs:
    """A dependency: the caller, who must have at least this role."""

    role: Role

    def __call__(self, request: Request) -> Principal:
        principal = visit_of(request).principal
        if principal is None:
            raise HTTPException(401, "a token, a session or a client certificate is needed")
        if not principal.may(self.role):
            own = principal.role.label
            raise HTTPException(403, f"this needs the role {self.role.label}, {principal.name} is {own}")
        return principal


Service = Annotated[ServiceInterface, Depends(service_of)]
Viewer = Annotated[Principal, Depends(Needs(Role.VIEWER))]
Operator = Annotated[Principal, Depends(Needs(Role.OPERATOR))]
Admin = Annotated[Principal, Depends(Needs(Role.ADMIN))]
Sha256 = Annotated[str, Path(pattern="^[0-9a-f]{64}$", description="Of the plan, all 64 digits.")]
Name = Annotated[str, Path(min_length=1, max_length=200)]
Limit = Annotated[int, Query(ge=1, le=1000, description="How many at most, the newest.")]
Time = Annotated[
    float | None, Query(ge=0, le=LARGEST, allow_inf_nan=False, description="Seconds since 1970.")
]
Before = Annotated[int | None, Query(ge=0, le=LARGEST, description="Only those before this id.")]


def add_to_audit(request: Request, **detail: Any) -> None:
    """Add fields to what the audit log and the log say of this request."""
    visit_of(request).detail.update(detail)
