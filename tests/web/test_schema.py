"""Schemathesis asks everything that the OpenAPI document allows, and what it forbids."""

from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, settings
from schemathesis.specs.openapi.checks import positive_data_acceptance

from regraft.testing import web_overlay as made
from regraft.testing.web_service import MemoryService
from regraft.web.application import application
from regraft.web.rate import Rate
from regraft.web.settings import WebSettings

OFTEN = Rate(1e9, 10**9)
CURRENT = made.overlay(5)
SERVICE = MemoryService(CURRENT, made.changed(CURRENT), step_seconds=0.0)
APPLICATION = application(SERVICE, WebSettings(reads=OFTEN, changes=OFTEN, failures=OFTEN))
schema = schemathesis.openapi.from_dict(APPLICATION.openapi())
schema.config.update(base_url="http://localhost")
schema.app = APPLICATION


@schema.exclude(path="/api/v1/events").parametrize()
@settings(max_examples=12, derandomize=True, suppress_health_check=list(HealthCheck))
def test_every_answer_is_as_the_document_says(case: "schemathesis.Case[Any]") -> None:
    # Whether a text is a rule is beyond what a schema can say.
    unchecked: list[Any] = [positive_data_acceptance] if case.path == "/api/v1/rules" else []
    case.call_and_validate(excluded_checks=unchecked)


def test_the_document_describes_all_that_the_issue_names() -> None:
    paths = set(APPLICATION.openapi()["paths"])
    named = {
        "state",
        "topology",
        "snapshots",
        "proposals",
        "brokers",
        "rules",
        "adaptations",
        "decisions",
        "events",
    }
    assert {f"/api/v1/{name}" for name in named} <= paths
    plan = "/api/v1/plans/{sha256}"
    assert {plan, f"{plan}/approve", f"{plan}/reject", "/api/v1/run/pause", "/api/v1/run/roll-back"} <= paths


@pytest.mark.parametrize("path", sorted(APPLICATION.openapi()["paths"]))
def test_every_route_says_how_it_refuses(path: str) -> None:
    for operation in APPLICATION.openapi()["paths"][path].values():
        assert {"401", "403", "429"} <= set(operation["responses"]), path
