"""What the API takes and gives beyond the service's own views, and how all of it is described in OpenAPI.

msgspec encodes the answers and makes their JSON schemas for the OpenAPI document, so that each value has one
definition. Every refusal is a status and `{"code", "reason"}`.
"""

from collections.abc import Iterable
from http import HTTPStatus
from typing import Annotated, Any, Generic, Literal, TypeVar

import msgspec
from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import Response

from regraft.serve import views as v

T = TypeVar("T")
Reason = Annotated[str, Field(min_length=1, max_length=500, pattern=r"\S")]
Number = Annotated[float, Field(allow_inf_nan=False)]


class Problem(msgspec.Struct, frozen=True, kw_only=True):
    """Why a request was not fulfilled: a word for programs, a sentence for people."""

    code: str
    reason: str


class Items(msgspec.Struct, Generic[T], frozen=True):
    """A list inside an object, which leaves room for more fields."""

    items: tuple[T, ...]


class Who(msgspec.Struct, frozen=True, kw_only=True):
    """Whom the server takes the caller for."""

    name: str
    role: Literal["viewer", "operator", "admin"]
    how: Literal["token", "certificate", "session", "local"]


class AuditEntry(msgspec.Struct, frozen=True, kw_only=True):
    """A line of the audit log; `status` and `seconds` when it was answered."""

    at: float
    what: Literal["asked", "answered"]
    request: str
    who: str
    role: str
    client: str
    method: str
    path: str
    status: int | None = None
    seconds: float | None = None
    detail: dict[str, Any] = {}


class Alive(msgspec.Struct, frozen=True, kw_only=True):
    """`status` is ok or failing; only callers that are recognised see the single checks."""

    status: Literal["ok", "failing"]
    checks: dict[str, str] = {}


class Body(BaseModel):
    model_config = ConfigDict(extra="forbid")


class LogIn(Body):
    """The token of a user, for a session in a browser."""

    token: Annotated[str, Field(min_length=1, max_length=1000)]


class Rejection(Body):
    reason: Reason


class Pause(Body):
    reason: Reason


class ModeChange(Body):
    mode: v.Mode


class RulesChange(Body):
    """Rules by name, and the values of the names that they use."""

    rules: Annotated[dict[str, Annotated[str, Field(max_length=20_000)]], Field(max_length=1000)]
    definitions: Annotated[dict[str, bool | Number | str], Field(max_length=1000)] = {}


ANSWERS: tuple[Any, ...] = (
    *(v.StateView, v.TopologyView, v.BrokerView, v.SnapshotView, v.SeriesView, v.ProposalView, v.PlanView),
    *(v.OperationView, v.RulesView, Who, Alive, Problem, v.EventView),
    *(Items[v.BrokerView], Items[v.SnapshotView], Items[v.ProposalView], Items[v.OperationView]),
    *(Items[v.DecisionView], Items[v.AdaptationView], Items[AuditEntry]),
)
_REF = "#/components/schemas/{name}"
_ANYTHING = {"description": "Any JSON value."}
_SCHEMAS, _COMPONENTS = msgspec.json.schema_components(
    ANSWERS, ref_template=_REF, schema_hook=lambda kind: _ANYTHING
)
SCHEMA_OF = dict(zip(ANSWERS, _SCHEMAS, strict=True))
STATUS = {"unknown": 404, "stale": 409, "again": 409, "busy": 409, "mode": 409, "bad": 422, "away": 503}
"""The HTTP status for each code of a `Refused`."""
Responses = dict[int | str, dict[str, Any]]
REFUSALS = {
    400: "The body cannot be read.",
    401: "Not recognised.",
    403: "The role does not allow it, or a page of another origin asked.",
    404: "There is no such thing.",
    409: "The time for it has passed, or something else is under way.",
    413: "The body is too large.",
    421: "Asked by a name that is not the server's.",
    422: "The request breaks a rule.",
    429: "Too often, or too many event streams of one user; `Retry-After` says when.",
    500: "A fault of ours; the log has the request id.",
    503: "Something that it needs does not answer.",
}


def components() -> dict[str, Any]:
    """All schemas of answers, for the OpenAPI document."""
    return dict(_COMPONENTS)


def documented(answer: Any, status: int = 200, description: str = "As asked.") -> Responses:
    """The `responses` of a route: its answer, and every refusal."""
    refusals: Responses = {code: _described(Problem, text) for code, text in REFUSALS.items()}
    return {status: _described(answer, description), **refusals}


def problem(status: int, code: str, reason: str, headers: dict[str, str] | None = None) -> Response:
    content = msgspec.json.encode(Problem(code=code, reason=reason))
    return Response(content, status, headers, "application/json")


def refusal(refused: v.Refused) -> Response:
    return problem(STATUS[refused.code], refused.code, refused.reason)


def plain_reason(status: int, detail: Any) -> tuple[str, str]:
    """Code and reason for what the framework itself refuses, such as an unknown path."""
    phrase = HTTPStatus(status).phrase
    return phrase.lower(), detail if isinstance(detail, str) else phrase


def reply(view: Any, status: int = 200) -> Response:
    """The view as JSON; a `Refused` with its own status."""
    if isinstance(view, v.Refused):
        return refusal(view)
    return Response(msgspec.json.encode(view), status, media_type="application/json")


def reply_items(views: Iterable[Any] | v.Refused) -> Response:
    """Several views as JSON; a `Refused` with its own status."""
    return refusal(views) if isinstance(views, v.Refused) else reply(Items(tuple(views)))


def _described(answer: Any, text: str) -> dict[str, Any]:
    return {"description": text, "content": {"application/json": {"schema": SCHEMA_OF[answer]}}}
