from pathlib import Path
from typing import Any

import pytest

from regraft.model import BadInput
from regraft.serve.configuration import WebSection
from regraft.web.settings import WebSettings, is_loopback, settings_of
from regraft.web.users import Role, Users, parse_users

TOKEN = "0123456789abcdef"
SOMEBODY = Users().with_token("alice", Role.ADMIN, TOKEN)
CERTIFICATE: dict[str, Any] = {"certificate": Path("server.pem"), "key": Path("server.key")}


@pytest.mark.parametrize(
    "host", ["0.0.0.0", "::", "192.0.2.1", "broker.example.org", "127.0.0.1.example.org"]
)
def test_no_other_interface_is_served_without_users(host: str) -> None:
    with pytest.raises(BadInput, match="only the loopback interface is served without users"):
        WebSettings(host=host)


@pytest.mark.parametrize("host", ["127.0.0.1", "127.8.8.8", "::1", "localhost"])
def test_the_loopback_interface_is_served_without_users(host: str) -> None:
    assert WebSettings(host=host).users == Users()
    assert is_loopback(host)


def test_tokens_do_not_cross_a_network_in_the_clear_unless_that_is_said() -> None:
    with pytest.raises(BadInput, match="in the clear"):
        WebSettings(host="0.0.0.0", users=SOMEBODY)
    assert WebSettings(host="0.0.0.0", users=SOMEBODY, plain_http=True).host == "0.0.0.0"
    assert WebSettings(host="0.0.0.0", users=SOMEBODY, **CERTIFICATE).secure


def test_a_user_with_a_certificate_needs_an_authority_and_the_authority_needs_tls() -> None:
    users = parse_users(["ops operator certificate"])
    with pytest.raises(BadInput, match="no authority"):
        WebSettings(users=users, **CERTIFICATE)
    with pytest.raises(BadInput, match="need a server certificate"):
        WebSettings(users=users, authority=Path("ca.pem"))
    with pytest.raises(BadInput, match="a certificate needs its key"):
        WebSettings(certificate=Path("server.pem"))


def test_users_come_from_the_file_and_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "users"
    file.write_text("ops viewer certificate\n")
    monkeypatch.setenv("REGRAFT_WEB_TOKENS", f"alice:admin:{TOKEN},bob:viewer:{TOKEN[::-1]}")
    settings = settings_of(
        WebSection(tokens_file=file, requests_per_minute=120, ca=Path("ca.pem"), **CERTIFICATE)
    )
    assert settings.users.by_certificate("ops") is not None
    assert [user.name for user in settings.users.digests.values()] == ["alice", "bob"]
    assert (settings.reads.per_second, settings.changes.per_second) == (2.0, 0.2)


def test_a_bad_variable_is_named_by_its_place_without_its_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REGRAFT_WEB_TOKENS", f"alice:admin:{TOKEN},bob:{TOKEN}")
    with pytest.raises(BadInput, match="REGRAFT_WEB_TOKENS, entry 2: expected name:role:token") as fault:
        settings_of(WebSection())
    assert TOKEN not in str(fault.value)


def test_a_bad_file_is_named_with_its_line(tmp_path: Path) -> None:
    file = tmp_path / "users"
    file.write_text("alice\n")
    with pytest.raises(BadInput, match=r"users: line 1: a user is"):
        settings_of(WebSection(tokens_file=file))


@pytest.mark.parametrize(
    ("second", "reason"),
    [
        (f"bob:viewer:{TOKEN}", "entry 2: this token stands twice"),
        (f"alice:viewer:{TOKEN[::-1]}", "entry 2: this name has another role already"),
    ],
)
def test_nobody_has_two_roles_or_the_token_of_another(
    second: str, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REGRAFT_WEB_TOKENS", f"alice:admin:{TOKEN},{second}")
    with pytest.raises(BadInput, match=reason):
        settings_of(WebSection())


def test_a_name_may_have_two_tokens_while_one_is_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REGRAFT_WEB_TOKENS", f"alice:admin:{TOKEN},alice:admin:{TOKEN[::-1]}")
    assert len(settings_of(WebSection()).users.digests) == 2
