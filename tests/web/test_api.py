"""The routes, with a service in memory behind the real guard."""

import json
import re
import time
from pathlib import Path

import pytest
from tests.web.asking import TOKENS, Asking

from regraft.model import BadInput, RegraftError
from regraft.serve import views as v
from regraft.testing.web_service import MemoryService
from regraft.web.audit import AuditUnavailable
from regraft.web.rate import Rate
from regraft.web.settings import WebSettings
from regraft.web.users import Role, Users

READS = (
    *("state", "topology", "brokers", "brokers/b3", "snapshots", "series", "proposals", "operations"),
    *("decisions", "adaptations", "rules", "session"),
)
CHANGES: tuple[tuple[str, str, dict[str, object] | None, Role], ...] = (
    ("POST", "run/pause", None, Role.OPERATOR),
    ("POST", "run/continue", None, Role.OPERATOR),
    ("POST", "run/stop", None, Role.OPERATOR),
    ("POST", "run/roll-back", None, Role.OPERATOR),
    ("POST", f"plans/{'0' * 64}/approve", None, Role.OPERATOR),
    ("POST", f"plans/{'0' * 64}/reject", {"reason": "no"}, Role.OPERATOR),
    ("POST", "loop/pause", {"reason": "holiday"}, Role.OPERATOR),
    ("POST", "loop/resume", None, Role.OPERATOR),
    ("PUT", "loop/mode", {"mode": "observe"}, Role.ADMIN),
    ("PUT", "rules", {"rules": {}}, Role.ADMIN),
)


@pytest.mark.parametrize("path", READS)
def test_what_can_be_read_is_read_by_a_viewer(asking: Asking, users: Users, path: str) -> None:
    answer = asking(WebSettings(users=users), Role.VIEWER).get(f"/api/v1/{path}")
    assert answer.status_code == 200, answer.text
    assert answer.json()


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change[1].partition("/")[2] or change[1])
def test_a_change_needs_its_role(
    asking: Asking, users: Users, change: tuple[str, str, dict[str, object] | None, Role]
) -> None:
    method, path, body, needed = change
    for role in Role:
        client = asking(WebSettings(users=users), role)
        answer = client.request(method, f"/api/v1/{path}", json=body)
        assert (answer.status_code == 403) == (role < needed), (role, answer.text)
        if role < needed:
            assert (
                answer.json()["reason"]
                == f"this needs the role {needed.label}, the-{role.label} is {role.label}"
            )


def test_the_document_says_which_role_each_request_needs(asking: Asking, users: Users) -> None:
    client = asking(WebSettings(users=users), Role.VIEWER)
    document = client.get("/openapi.json").json()
    assert document == client.get("/api/v1/openapi.json").json()
    for method, path, _, needed in CHANGES:
        template = f"/api/v1/{path}".replace("0" * 64, "{sha256}")
        assert document["paths"][template][method.lower()]["x-role"] == needed.label
    assert document["paths"]["/api/v1/audit"]["get"]["x-role"] == "admin"
    assert document["paths"]["/api/v1/brokers/{id}"]["get"]["x-role"] == "viewer"


def test_the_reference_is_a_page_of_our_own_files(asking: Asking, users: Users) -> None:
    answer = asking(WebSettings(users=users)).get("/docs")
    assert answer.status_code == 200
    assert answer.headers["Content-Type"].startswith("text/html")
    assert not re.findall(r"(?:src|href)=.(?:https?:)?//", answer.text)
    assert "/api/v1/" not in answer.text, "strangers get the page, not what it shows"


def test_what_is_only_shown_can_not_be_approved(asking: Asking, service: MemoryService) -> None:
    client = asking()
    client.put("/api/v1/loop/mode", json={"mode": "observe"})
    shown = client.get("/api/v1/proposals").json()["items"][0]
    assert shown["state"] == "would-propose"
    assert client.get("/api/v1/state").json()["would_propose"] == shown["sha256"]
    for request, body in (("approve", None), ("reject", {"reason": "no"})):
        no = client.post(f"/api/v1/plans/{shown['sha256']}/{request}", json=body)
        assert (no.status_code, no.json()["code"]) == (409, "mode")
        assert "the loop only observes" in no.json()["reason"]


def test_only_an_admin_reads_the_audit_log(asking: Asking, users: Users) -> None:
    answers = [asking(WebSettings(users=users), role).get("/api/v1/audit").status_code for role in Role]
    assert answers == [403, 403, 200]


def test_a_plan_is_looked_at_approved_by_its_hash_and_followed_to_its_end(
    asking: Asking, service: MemoryService
) -> None:
    client = asking()
    waiting = client.get("/api/v1/proposals").json()["items"][0]
    plan = client.get(f"/api/v1/plans/{waiting['sha256']}").json()
    assert [step["step"] for step in plan["steps"]] == list(range(waiting["steps"] + 1))
    begun = client.post(f"/api/v1/plans/{waiting['sha256']}/approve")
    assert begun.status_code == 202
    assert begun.headers["Location"] == f"/api/v1/operations/{begun.json()['id']}"
    for _ in range(500):
        operation = client.get(begun.headers["Location"]).json()
        if operation["state"] == "done":
            break
        time.sleep(0.01)
    assert operation["state"] == "done"
    assert client.get("/api/v1/topology").json()["sha256"] == waiting["goal"]
    again = client.post(f"/api/v1/plans/{waiting['sha256']}/approve")
    assert (again.status_code, again.json()["code"]) == (409, "again")


def test_a_plan_is_not_approved_after_the_topology_moved_on(asking: Asking, service: MemoryService) -> None:
    service.kill("b3")
    service.heal()
    answer = asking().post(f"/api/v1/plans/{service.made_plan.sha256}/approve")
    assert (answer.status_code, answer.json()) == (
        409,
        {"code": "stale", "reason": "the topology has moved on"},
    )


@pytest.mark.parametrize("sha256", ["0" * 63, "0" * 65, "F" * 64, "g" * 64])
def test_only_a_whole_hash_approves(asking: Asking, sha256: str) -> None:
    assert asking().post(f"/api/v1/plans/{sha256}/approve").status_code in (404, 422)


def test_a_rejection_has_a_reason_which_is_logged_with_who_gave_it(asking: Asking, users: Users) -> None:
    client = asking(WebSettings(users=users), Role.OPERATOR)
    sha256 = client.get("/api/v1/proposals").json()["items"][0]["sha256"]
    for body in ({}, {"reason": ""}, {"reason": "  "}, {"reason": "x" * 501}, {"reason": "no", "more": 1}):
        assert client.post(f"/api/v1/plans/{sha256}/reject", json=body).status_code == 422
    answer = client.post(f"/api/v1/plans/{sha256}/reject", json={"reason": "not before Monday"})
    assert (answer.status_code, answer.json()["state"]) == (200, "rejected")
    last = client.get("/api/v1/decisions?kind=rejected").json()["items"][0]
    assert (last["text"], last["by"]) == ("not before Monday", "the-operator")


def test_pages_of_the_decision_log_join(asking: Asking) -> None:
    client = asking()
    first = client.get("/api/v1/decisions?limit=2").json()["items"]
    rest = client.get(f"/api/v1/decisions?before={first[-1]['id']}").json()["items"]
    assert [each["id"] for each in (*first, *rest)] == [4, 3, 2, 1]


@pytest.mark.parametrize(
    ("code", "status"),
    [
        ("unknown", 404),
        ("stale", 409),
        ("again", 409),
        ("busy", 409),
        ("mode", 409),
        ("bad", 422),
        ("away", 503),
    ],
)
def test_an_expected_no_has_its_status(
    asking: Asking, service: MemoryService, monkeypatch: pytest.MonkeyPatch, code: str, status: int
) -> None:
    async def no() -> v.Refused:
        return v.Refused(code=code, reason="because")  # type: ignore[arg-type]

    monkeypatch.setattr(service, "topology", no)
    answer = asking().get("/api/v1/topology")
    assert (answer.status_code, answer.json()) == (status, {"code": code, "reason": "because"})


@pytest.mark.parametrize(
    ("fault", "status", "reason"),
    [
        (BadInput("rule 3", "no such broker"), 422, "rule 3: no such broker"),
        (RegraftError("ZooKeeper does not answer"), 503, "ZooKeeper does not answer"),
        (ValueError("secret detail"), 500, "a fault of the server; its log has the request id"),
    ],
)
def test_a_fault_is_one_line_and_ours_tell_nothing(
    asking: Asking,
    service: MemoryService,
    monkeypatch: pytest.MonkeyPatch,
    fault: Exception,
    status: int,
    reason: str,
) -> None:
    async def broken() -> v.TopologyView:
        raise fault

    monkeypatch.setattr(service, "topology", broken)
    answer = asking().get("/api/v1/topology")
    assert (answer.status_code, answer.json()["reason"]) == (status, reason)
    assert answer.headers["x-request-id"]


def test_what_was_asked_and_what_became_of_it_is_audited(
    asking: Asking, users: Users, tmp_path: Path
) -> None:
    settings = WebSettings(users=users, audit_log=tmp_path / "audit.ndjson")
    client = asking(settings, Role.ADMIN)
    client.get("/api/v1/state")
    done = client.put("/api/v1/loop/mode", json={"mode": "observe"})
    client.put("/api/v1/loop/mode", json={"mode": "observe"}, headers={"Authorization": "Bearer wrong"})
    lines = [json.loads(line) for line in (tmp_path / "audit.ndjson").read_text().splitlines()]
    asked, answered, stranger = lines
    assert (asked["what"], asked["who"], asked["role"], asked["path"]) == (
        *("asked", "the-admin", "admin"),
        "/api/v1/loop/mode",
    )
    assert (answered["what"], answered["status"], answered["detail"]) == (
        "answered",
        200,
        {"mode": "observe"},
    )
    assert asked["request"] == answered["request"] == done.headers["x-request-id"]
    assert (stranger["what"], stranger["who"]) == ("asked", "")
    assert client.get("/api/v1/audit").json()["items"][0]["who"] == ""


def test_nothing_is_changed_that_can_not_be_audited(asking: Asking, service: MemoryService) -> None:
    client = asking(WebSettings(audit_log=Path("/dev/full")))
    answer = client.put("/api/v1/loop/mode", json={"mode": "automatic"})
    assert answer.status_code == 503
    assert "audit log cannot be written" in answer.json()["reason"]
    assert service.mode == "propose"
    assert client.get("/api/v1/state").status_code == 200


def test_an_audit_log_that_can_not_be_opened_is_said_at_the_start(tmp_path: Path, asking: Asking) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(AuditUnavailable, match="cannot be opened"):
        asking(WebSettings(audit_log=tmp_path / "file" / "audit"))


def test_a_browser_logs_in_with_a_token_and_gets_a_cookie_no_script_sees(
    asking: Asking, users: Users
) -> None:
    client = asking(WebSettings(users=users))
    assert client.get("/api/v1/state").status_code == 401
    assert client.post("/api/v1/session", json={"token": "wrong"}).status_code == 401
    answer = client.post("/api/v1/session", json={"token": TOKENS[Role.OPERATOR]})
    assert answer.json() == {"name": "the-operator", "role": "operator", "how": "token"}
    assert "HttpOnly" in answer.headers["set-cookie"]
    assert "SameSite=strict" in answer.headers["set-cookie"]
    assert client.get("/api/v1/session").json()["how"] == "session"
    assert client.delete("/api/v1/session").status_code == 204
    assert client.get("/api/v1/state").status_code == 401


def test_who_asks_too_often_is_told_when_to_come_back(asking: Asking) -> None:
    client = asking(WebSettings(reads=Rate(0.1, 2)))
    answers = [client.get("/api/v1/state") for _ in range(3)]
    assert [answer.status_code for answer in answers] == [200, 200, 429]
    assert 1 <= int(answers[2].headers["Retry-After"]) <= 11


def test_a_body_that_is_too_large_is_refused_before_it_is_read(asking: Asking) -> None:
    answer = asking().put("/api/v1/rules", json={"rules": {"a": "x" * 2**21}})
    assert answer.status_code == 413

    def pieces() -> object:
        for _ in range(40):
            yield b" " * 2**16

    assert asking().put("/api/v1/rules", content=pieces()).status_code in (400, 413, 422)  # type: ignore[arg-type]


def test_health_says_parts_only_to_those_who_are_recognised(
    asking: Asking, users: Users, service: MemoryService
) -> None:
    service.troubles = (
        v.Trouble(part="measure", reason="Spark is away", since=0.0, failures=2, retry_at=9.0),
    )
    settings = WebSettings(users=users)
    stranger, viewer = asking(settings), asking(settings, Role.VIEWER)
    assert stranger.get("/healthz").json() == {"status": "ok", "checks": {}}
    ready = stranger.get("/readyz")
    assert (ready.status_code, ready.json()) == (503, {"status": "failing", "checks": {}})
    assert viewer.get("/readyz").json()["checks"]["measure"] == "Spark is away"


def test_metrics_of_the_loop_and_of_the_server(asking: Asking) -> None:
    client = asking()
    client.get("/api/v1/brokers/b1")
    client.get("/api/v1/brokers/b2")
    client.get("/api/v1/unheard-of/1")
    client.get("/metrics")
    lines = client.get("/metrics").text.splitlines()
    assert "regraft_loop_windows_total 60.0" in lines
    assert 'regraft_http_requests_total{method="GET",route="/brokers/{id:path}",status="200"} 2.0' in lines
    assert 'regraft_http_requests_total{method="GET",route="/api/{rest:path}",status="404"} 1.0' in lines
    assert not any("unheard-of" in line or "_created" in line for line in lines)


def test_every_answer_keeps_the_page_to_itself(asking: Asking) -> None:
    for path in ("/", "/api/v1/state", "/unheard-of"):
        headers = asking().get(path).headers
        assert "frame-ancestors 'none'" in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"
