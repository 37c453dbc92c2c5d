import pytest

from regraft.web.gate import COOKIE, SESSION_SECONDS, Denial, Gate, RequestHead
from regraft.web.rate import Rate
from regraft.web.settings import WebSettings
from regraft.web.users import LOCAL, Principal, Role, Users

TOKEN = "the-token-of-the-operator"
USERS = Users().with_token("olga", Role.OPERATOR, TOKEN)
WITH_USERS = WebSettings(users=USERS)
READ = "/api/v1/state"


def asked(path: str = READ, method: str = "GET", **headers: str) -> RequestHead:
    names = {name.replace("_", "-"): value for name, value in headers.items()}
    return RequestHead(method, path, {"host": "localhost:8000", **names}, "192.0.2.7")


def bearer(token: str) -> dict[str, str]:
    return {"authorization": f"Bearer {token}"}


def status(admitted: object) -> int:
    assert isinstance(admitted, Denial), admitted
    return admitted.status


def test_without_users_everybody_on_this_machine_is_trusted() -> None:
    assert Gate(WebSettings()).admit(asked(), 0.0) == LOCAL


@pytest.mark.parametrize(
    "host", ["evil.example.org", "evil.example.org:8000", "", "[::1", "localhost.evil.org"]
)
def test_a_foreign_name_for_this_machine_is_refused(host: str) -> None:
    assert status(Gate(WebSettings()).admit(asked(host=host), 0.0)) == 421


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:80", "127.0.0.1:9", "[::1]:80", "page.example.org"])
def test_own_names_are_answered(host: str) -> None:
    settings = WebSettings(hosts=("page.example.org",))
    assert Gate(settings).admit(asked(host=host), 0.0) == LOCAL


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "https://evil.example.org"},
        {"origin": "null"},
        {"origin": "http://[::1"},
        {"origin": "http://localhost:9999"},
        {"sec_fetch_site": "cross-site"},
        {"sec_fetch_site": "same-site"},
    ],
)
def test_a_page_of_another_origin_can_not_change_anything(headers: dict[str, str]) -> None:
    gate = Gate(WebSettings())
    assert status(gate.admit(asked("/api/v1/run/stop", "POST", **headers), 0.0)) == 403


@pytest.mark.parametrize(
    "headers", [{}, {"origin": "http://localhost:8000", "sec_fetch_site": "same-origin"}]
)
def test_the_own_page_and_programs_can(headers: dict[str, str]) -> None:
    assert Gate(WebSettings()).admit(asked("/api/v1/run/stop", "POST", **headers), 0.0) == LOCAL


@pytest.mark.parametrize(
    "path", [READ, "/metrics", "/api/v1/openapi.json", "/openapi.json", "/api/v1/unheard-of"]
)
def test_with_users_nothing_is_told_to_strangers(path: str) -> None:
    assert status(Gate(WITH_USERS).admit(asked(path), 0.0)) == 401


@pytest.mark.parametrize("path", ["/", "/app.js", "/docs", "/healthz", "/readyz"])
def test_the_pages_files_and_whether_we_live_are_open(path: str) -> None:
    assert Gate(WITH_USERS).admit(asked(path), 0.0) is None


def test_a_token_is_recognised() -> None:
    assert Gate(WITH_USERS).admit(asked(**bearer(TOKEN)), 0.0) == Principal("olga", Role.OPERATOR, "token")
    assert status(Gate(WITH_USERS).admit(asked(**bearer("another")), 0.0)) == 401


def test_a_wrong_token_is_not_saved_by_a_good_cookie() -> None:
    gate = Gate(WITH_USERS)
    begun = gate.log_in(TOKEN, "192.0.2.7", 0.0)
    assert begun is not None
    cookie = f"x=1; {COOKIE}={begun[1]}"
    assert gate.admit(asked(cookie=cookie), 1.0) == Principal("olga", Role.OPERATOR, "session")
    assert status(gate.admit(asked(cookie=cookie, **bearer("another")), 1.0)) == 401


def test_a_session_ends_by_itself_and_by_logging_out() -> None:
    for end in ("time", "out"):
        gate = Gate(WITH_USERS)
        begun = gate.log_in(TOKEN, "192.0.2.7", 0.0)
        assert begun is not None
        cookie = asked(cookie=f"{COOKIE}={begun[1]}")
        assert isinstance(gate.admit(cookie, 1.0), Principal)
        if end == "out":
            gate.log_out(begun[1])
        assert status(gate.admit(cookie, 2.0 if end == "out" else SESSION_SECONDS)) == 401


def test_a_certificate_counts_only_if_its_name_is_a_users() -> None:
    users = Users({}, {"ops": Principal("ops", Role.VIEWER, "certificate")})
    gate = Gate(WebSettings())
    gate.settings = WebSettings(users=USERS)
    named = RequestHead("GET", READ, {"host": "localhost"}, "192.0.2.7", "ops")
    assert status(gate.admit(named, 0.0)) == 401
    object.__setattr__(gate.settings, "users", users)
    assert gate.admit(named, 0.0) == Principal("ops", Role.VIEWER, "certificate")


def test_wrong_tokens_run_out_and_then_even_the_right_one_waits() -> None:
    gate = Gate(WebSettings(users=USERS, failures=Rate(0.1, 3)))
    assert [status(gate.admit(asked(**bearer("wrong")), 0.0)) for _ in range(4)] == [401, 401, 401, 429]
    late = gate.admit(asked(**bearer(TOKEN)), 0.0)
    assert isinstance(late, Denial)
    assert late.status == 429
    assert late.retry_after == pytest.approx(10.0)
    other = RequestHead("GET", READ, {"host": "localhost", **bearer(TOKEN)}, "192.0.2.8")
    assert isinstance(gate.admit(other, 0.0), Principal)
    assert isinstance(gate.admit(asked(**bearer(TOKEN)), 10.0), Principal)


def test_changes_are_limited_more_than_reading() -> None:
    gate = Gate(WebSettings(reads=Rate(1.0, 5), changes=Rate(1.0, 2)))
    change = asked("/api/v1/run/stop", "POST")
    assert [isinstance(gate.admit(change, 0.0), Denial) for _ in range(3)] == [False, False, True]
    assert gate.admit(asked(), 0.0) == LOCAL
    assert gate.admit(asked(), 0.0) == LOCAL
    assert status(gate.admit(asked(), 0.0)) == 429


def test_strangers_are_limited_too() -> None:
    gate = Gate(WebSettings(users=USERS, reads=Rate(1.0, 2)))
    assert [status(gate.admit(asked(), 0.0)) for _ in range(3)] == [401, 401, 429]
    assert isinstance(gate.admit(asked(**bearer(TOKEN)), 0.0), Principal)
