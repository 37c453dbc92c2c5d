"""A service in memory behind the real application."""

from collections.abc import Iterator
from contextlib import ExitStack

import pytest
from fastapi.testclient import TestClient
from tests.web.asking import TOKENS, Asking

from regraft.testing import web_overlay as made
from regraft.testing.web_service import MemoryService
from regraft.web.application import application
from regraft.web.settings import WebSettings
from regraft.web.users import Role, Users


@pytest.fixture
def service() -> MemoryService:
    current = made.overlay(12)
    return MemoryService(current, made.changed(current), step_seconds=0.001)


@pytest.fixture
def users() -> Users:
    found = Users()
    for role, token in TOKENS.items():
        found = found.with_token(f"the-{role.label}", role, token)
    return found


@pytest.fixture
def asking(service: MemoryService) -> Iterator[Asking]:
    with ExitStack() as stack:

        def begin(settings: WebSettings | None = None, role: Role | None = None) -> TestClient:
            headers = {"Authorization": f"Bearer {TOKENS[role]}"} if role is not None else {}
            client = TestClient(
                application(service, settings or WebSettings()),
                base_url="http://localhost",
                headers=headers,
                raise_server_exceptions=False,
            )
            return stack.enter_context(client)

        yield begin
