"""Real sockets: the address, TLS with client certificates, the event stream, an orderly end."""

import asyncio
import json
import socket
import ssl
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import httpx2 as httpx
import pytest
import trustme
from tests.web.asking import TOKENS

from regraft.model import BadInput
from regraft.testing.web_service import MemoryService
from regraft.web.serving import Serving, serving
from regraft.web.settings import WebSettings
from regraft.web.users import Role, Users, parse_users

Steps = Callable[[Serving], Awaitable[Any]]


def served(service: MemoryService, settings: WebSettings, steps: Steps) -> Any:
    async def whole() -> Any:
        async with serving(service, settings) as here:
            return await asyncio.wait_for(steps(here), 20)

    return asyncio.run(whole())


def test_a_free_port_is_taken_and_given_back(service: MemoryService) -> None:
    async def steps(here: Serving) -> Serving:
        async with httpx.AsyncClient(base_url=here.url) as client:
            assert (await client.get("/healthz")).json()["status"] == "ok"
        return here

    here = served(service, WebSettings(), steps)
    assert here.url == f"http://127.0.0.1:{here.port}/"
    with socket.socket() as again:
        again.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        again.bind(("127.0.0.1", here.port))


def test_an_address_that_is_taken_is_one_line(service: MemoryService) -> None:
    async def steps(here: Serving) -> None:
        with pytest.raises(
            BadInput, match=rf"127.0.0.1:{here.port}: cannot listen there: Address already in use"
        ):
            async with serving(service, WebSettings(port=here.port)):
                pass

    served(service, WebSettings(), steps)


async def following(client: httpx.AsyncClient, most: int, **headers: str) -> list[dict[str, Any]]:
    """The first events of the stream."""
    found = []
    async with client.stream("GET", "/api/v1/events", headers=headers) as answer:
        assert answer.headers["content-type"].startswith("text/event-stream")
        async for line in answer.aiter_lines():
            if line.startswith("data: "):
                found.append(json.loads(line.removeprefix("data: ")))
            if len(found) == most:
                break
    return found


def test_events_arrive_and_are_taken_up_again_after_a_break(service: MemoryService) -> None:
    async def steps(here: Serving) -> None:
        async with httpx.AsyncClient(base_url=here.url) as client:
            missed = await following(client, 2, **{"Last-Event-ID": "1"})
            assert [event["id"] for event in missed] == [2, 3]
            coming = asyncio.create_task(following(client, 1))
            while not coming.done():  # whoever follows without an id sees only what comes
                service.set_mode("observe", "me")
                await asyncio.sleep(0.02)
            assert coming.result()[0]["id"] > 4

    served(service, WebSettings(), steps)


def test_followers_are_limited_and_an_end_ends_their_streams(service: MemoryService) -> None:
    async def steps(here: Serving) -> asyncio.Task[list[dict[str, Any]]]:
        client = httpx.AsyncClient(base_url=here.url)
        following_on = asyncio.create_task(following(client, 10**6))
        for _ in range(200):
            if "regraft_http_event_streams 1.0" in (await client.get("/metrics")).text:
                break
            await asyncio.sleep(0.02)
        assert (await client.get("/api/v1/events")).status_code == 503
        return following_on

    async def whole() -> list[dict[str, Any]]:
        async with serving(service, WebSettings(streams=1)) as here:
            following_on = await steps(here)
        return await asyncio.wait_for(following_on, 5)

    assert asyncio.run(whole()) == []


async def held(client: httpx.AsyncClient, count: int, streams: AsyncExitStack) -> list[httpx.Response]:
    """The answers to this many streams, which stay open."""
    return [await streams.enter_async_context(client.stream("GET", "/api/v1/events")) for _ in range(count)]


def test_one_user_can_not_take_the_places_of_the_others(service: MemoryService, users: Users) -> None:
    def of(here: Serving, role: Role) -> httpx.AsyncClient:
        return httpx.AsyncClient(base_url=here.url, headers={"Authorization": f"Bearer {TOKENS[role]}"})

    async def steps(here: Serving) -> None:
        viewer, admin = of(here, Role.VIEWER), of(here, Role.ADMIN)
        async with viewer, admin, AsyncExitStack() as streams:
            assert {each.status_code for each in await held(viewer, 2, streams)} == {200}
            refused = await viewer.get("/api/v1/events")
            assert (refused.status_code, refused.json()["code"]) == (429, "too many")
            assert refused.json()["reason"].startswith("the-viewer follows the events 2 times already")
            assert "Retry-After" in refused.headers
            async with AsyncExitStack() as others:
                assert [each.status_code for each in await held(admin, 1, others)] == [200]
                assert (await admin.get("/api/v1/events")).status_code == 503
            await streams.aclose()
            for _ in range(500):  # the server notices the end of a stream a moment later
                async with viewer.stream("GET", "/api/v1/events") as again:
                    if again.status_code == 200:
                        return
                await asyncio.sleep(0.02)
            raise AssertionError("places are not given back")

    served(service, WebSettings(users=users, streams=3, streams_each=2), steps)


def test_without_users_an_address_has_its_share(service: MemoryService) -> None:
    async def steps(here: Serving) -> None:
        async with httpx.AsyncClient(base_url=here.url) as client, AsyncExitStack() as streams:
            answers = await held(client, 17, streams)
            assert [each.status_code for each in answers] == [200] * 16 + [429]
            reason = json.loads(await answers[-1].aread())["reason"]
            assert reason.startswith("127.0.0.1 follows the events 16 times already")

    served(service, WebSettings(), steps)


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    return trustme.CA()


def tls_settings(place: Path, authority: trustme.CA, users: Users) -> WebSettings:
    server = authority.issue_cert("localhost")
    server.cert_chain_pems[0].write_to_path(place / "server.pem")
    server.private_key_pem.write_to_path(place / "server.key")
    authority.cert_pem.write_to_path(place / "ca.pem")
    return WebSettings(
        host="localhost",
        certificate=place / "server.pem",
        key=place / "server.key",
        authority=place / "ca.pem",
        users=users,
    )


def shown(place: Path, authority: trustme.CA, name: str | None) -> ssl.SSLContext:
    """A client that trusts the authority and, with a name, shows a certificate of its own."""
    context = ssl.create_default_context(cafile=str(place / "ca.pem"))
    if name is not None:
        issued = authority.issue_cert("client.example.org", common_name=name)
        issued.configure_cert(context)
    return context


def test_a_client_certificate_is_as_good_as_a_token(
    service: MemoryService, tmp_path: Path, authority: trustme.CA, users: Users
) -> None:
    both = Users(users.digests, parse_users(["ops-1 operator certificate"]).certificates)

    async def steps(here: Serving) -> list[tuple[int, str]]:
        found = []
        for name, token in (("ops-1", ""), ("stranger", ""), (None, ""), (None, TOKENS[min(TOKENS)])):
            headers = {"Authorization": f"Bearer {token}"} if token else {}
            context = shown(tmp_path, authority, name)
            async with httpx.AsyncClient(base_url=here.url, verify=context, headers=headers) as client:
                answer = await client.get("/api/v1/session")
                found.append((answer.status_code, answer.json().get("name", "")))
        return found

    found = served(service, tls_settings(tmp_path, authority, both), steps)
    assert found == [(200, "ops-1"), (401, ""), (401, ""), (200, "the-viewer")]


def test_a_certificate_of_another_authority_does_not_get_in(
    service: MemoryService, tmp_path: Path, authority: trustme.CA
) -> None:
    users = parse_users(["ops-1 operator certificate"])

    async def steps(here: Serving) -> None:
        for name in ("ops-1", None):
            context = shown(tmp_path, trustme.CA(), name)
            with pytest.raises(httpx.TransportError):
                async with httpx.AsyncClient(base_url=here.url, verify=context) as client:
                    await client.get("/healthz")

    served(service, tls_settings(tmp_path, authority, users), steps)


def test_a_certificate_that_can_not_be_read_is_one_line(service: MemoryService, tmp_path: Path) -> None:
    (tmp_path / "server.pem").write_text("nothing")
    settings = WebSettings(certificate=tmp_path / "server.pem", key=tmp_path / "server.pem")
    with pytest.raises(BadInput, match="no usable certificate and key"):
        served(service, settings, lambda here: asyncio.sleep(0))


def test_who_asks_nothing_or_not_to_the_end_is_cut_off_and_who_listens_is_not(
    service: MemoryService, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("regraft.web.serving.IDLE_SECONDS", 0.3)

    async def cut_off(here: Serving, said: bytes) -> bool:
        reader, writer = await asyncio.open_connection("127.0.0.1", here.port)
        writer.write(said)
        try:
            return await asyncio.wait_for(reader.read(), 10) == b""
        finally:
            writer.close()

    async def steps(here: Serving) -> list[bool]:
        listening = asyncio.create_task(follow(here))
        cut = await asyncio.gather(cut_off(here, b""), cut_off(here, b"GET /healthz HTTP/1.1\r\nHost: loc"))
        await asyncio.sleep(1.0)
        listened = not listening.done()
        listening.cancel()
        return [*cut, listened]

    async def follow(here: Serving) -> None:
        async with (
            httpx.AsyncClient(base_url=here.url) as client,
            client.stream("GET", "/api/v1/events", timeout=None) as events,
        ):
            async for _ in events.aiter_bytes():
                pass

    assert served(service, WebSettings(), steps) == [True, True, True]


def test_there_is_a_limit_on_connections(service: MemoryService, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("regraft.web.serving.MOST_CONNECTIONS", 3)

    async def steps(here: Serving) -> int:
        held = [await asyncio.open_connection("127.0.0.1", here.port) for _ in range(5)]
        await asyncio.sleep(0.3)
        open_ones = 0
        for reader, writer in held:
            try:
                await asyncio.wait_for(reader.read(1), 0.2)
            except TimeoutError:
                open_ones += 1
            except OSError:
                pass
            writer.close()
        return open_ones

    assert served(service, WebSettings(), steps) == 3
