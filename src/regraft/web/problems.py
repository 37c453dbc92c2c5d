"""The form of every 'no' over HTTP: a status, and `{"code", "reason"}`."""

from http import HTTPStatus
from typing import Any

import msgspec
from starlette.responses import Response

from regraft.serve.views import Refused

STATUS = {"unknown": 404, "stale": 409, "again": 409, "busy": 409, "mode": 409, "bad": 422, "away": 503}
"""Of a `Refused`, by its code."""


class Problem(msgspec.Struct, frozen=True, kw_only=True):
    """Why a request was not fulfilled: a word for programs, a sentence for people."""

    code: str
    reason: str


def problem(status: int, code: str, reason: str, headers: dict[str, str] | None = None) -> Response:
    content = msgspec.json.encode(Problem(code=code, reason=reason))
    return Response(content, status, headers, "application/json")


def refusal(refused: Refused) -> Response:
    return problem(STATUS[refused.code], refused.code, refused.reason)


def plain_reason(status: int, detail: Any) -> tuple[str, str]:
    """Code and reason for what the framework refuses by itself, such as an unknown path."""
    phrase = HTTPStatus(status).phrase
    return phrase.lower(), detail if isinstance(detail, str) else phrase
