import pytest

from regraft.model import BadInput
from regraft.web.users import Role, Users, digest, parse_users


def test_a_line_with_the_digest_of_a_token_recognises_it_and_no_other() -> None:
    token = "a-long-random-token"
    users = parse_users(["# people", "", f"alice admin sha256:{digest(token)}"])
    alice = users.by_token(token)
    assert alice is not None
    assert (alice.name, alice.role, alice.how) == ("alice", Role.ADMIN, "token")
    assert users.by_token(token + "x") is None
    assert users.by_token("") is None


def test_a_certificate_is_recognised_by_its_common_name() -> None:
    users = parse_users(["ops-1 operator certificate"])
    ops = users.by_certificate("ops-1")
    assert ops is not None
    assert (ops.role, ops.how) == (Role.OPERATOR, "certificate")
    assert users.by_certificate("ops-2") is None
    assert users.by_token("ops-1") is None


@pytest.mark.parametrize(
    ("line", "rule"),
    [
        ("alice admin", "2 words"),
        ("alice chief certificate", "unknown role 'chief'"),
        ("al/ice admin certificate", "A-Z"),
        ("alice admin secret", "64 hex digits"),
        (f"alice admin sha256:{digest('x').upper()}", "64 hex digits"),
    ],
)
def test_a_bad_line_is_named_with_its_rule(line: str, rule: str) -> None:
    with pytest.raises(BadInput, match=r"^line 2: ") as fault:
        parse_users(["bob viewer certificate", line])
    assert rule in str(fault.value)


def test_a_name_stands_once() -> None:
    with pytest.raises(BadInput, match="'bob' stands twice"):
        parse_users(["bob viewer certificate", "bob admin certificate"])


def test_a_token_that_could_be_guessed_is_refused_without_being_shown() -> None:
    with pytest.raises(BadInput, match="at least 16 characters") as fault:
        Users().with_token("x", Role.ADMIN, "swordfish")
    assert "swordfish" not in str(fault.value)
