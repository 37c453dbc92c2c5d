"""A client for each role, and their tokens."""

from collections.abc import Callable

from fastapi.testclient import TestClient

from regraft.web.users import Role

TOKENS = {role: f"the-token-of-the-{role.label}" for role in Role}
Asking = Callable[..., TestClient]
"""asking(settings, role): a client of a server with these settings, with the token of that role."""
