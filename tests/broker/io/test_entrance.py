"""Who may come in: tokens, TLS, mutual TLS, on real sockets with certificates made here."""

import asyncio
import ssl
from dataclasses import dataclass
from pathlib import Path

import pytest
import trustme
from tests.broker.io.peers import HASTY, at, broker, chain, finish, overlay, raw_peer

from regraft.broker.io.configuration import Configuration, Tokens
from regraft.broker.io.entrance import refusal
from regraft.broker.io.overlay import Overlay
from regraft.client import Event, Refused, Unreachable, connect
from regraft.model import BadInput
from regraft.protocol.messages import ClientHello, LinkHello
from regraft.wire.identity import Tls, accepting

ASK = Configuration("b0", tokens=Tokens("overlay", {"desk": "d", "*": "any"}))


@pytest.mark.parametrize(
    ("name", "token", "allowed"),
    [
        ("desk", "d", True),
        ("desk", "any", False),
        ("other", "any", True),
        ("other", "d", False),
        ("desk", "", False),
    ],
)
def test_a_client_needs_the_token_of_its_name(name: str, token: str, allowed: bool) -> None:
    reason = refusal(ClientHello(name, [], [], token=token), None, ASK)
    assert (reason == "") == allowed
    assert "desk" in reason or "other" in reason or allowed


def test_a_name_without_a_token_is_refused_if_there_is_none_for_everybody() -> None:
    config = Configuration("b0", tokens=Tokens(clients={"desk": "d"}))
    assert refusal(ClientHello("other", [], []), None, config)
    assert not refusal(ClientHello("other", [], []), None, Configuration("b0"))


def test_a_broker_needs_the_token_of_the_overlay() -> None:
    assert not refusal(LinkHello("b1", 1, token="overlay"), None, ASK)
    assert refusal(LinkHello("b1", 1), None, ASK) == "the token is not that of this overlay's brokers"


def test_tokens_work_on_the_wire() -> None:
    async def scenario() -> None:
        async with overlay(chain(2), ASK) as running:
            async with (
                connect(at(running), token="any") as publisher,
                connect(at(running, "b1"), name="desk", token="d") as subscriber,
            ):
                subscription = await subscriber.subscribe("TRUE")
                await publisher.send({"n": 1})
                assert (await anext(subscription)).attributes == {"n": 1}
                subscription.confirm()
                await publisher.flush()
            with pytest.raises(Refused, match="the token is not that of client 'desk'"):
                async with connect(at(running), name="desk", token="wrong"):
                    pass

    finish(scenario())


@dataclass
class Authority:
    """Makes certificates in a folder."""

    folder: Path
    ca: trustme.CA

    @property
    def file(self) -> Path:
        path = self.folder / "ca.pem"
        self.ca.cert_pem.write_to_path(str(path))
        return path

    def issue(self, *names: str) -> tuple[Path, Path]:
        issued = self.ca.issue_cert(*names)
        certificate, key = self.folder / f"{names[0]}.pem", self.folder / f"{names[0]}.key"
        certificate.write_bytes(b"".join(each.bytes() for each in issued.cert_chain_pems))
        issued.private_key_pem.write_to_path(str(key))
        return certificate, key

    def tls(self, *names: str, mutual: bool = True, clients_too: bool = False) -> Tls:
        certificate, key = self.issue(*names, "localhost", "127.0.0.1")
        return Tls(certificate, key, self.file if mutual else None, clients_too)

    def client(self, *names: str) -> ssl.SSLContext:
        context = ssl.create_default_context(cafile=self.file)
        if names:
            context.load_cert_chain(*self.issue(*names))
        return context


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path, trustme.CA())


@pytest.mark.parametrize("clients_too", [False, True])
def test_brokers_and_clients_talk_over_mutual_tls(authority: Authority, clients_too: bool) -> None:
    async def scenario() -> None:
        configurations = {id: authority.tls(id, clients_too=clients_too) for id in ("b0", "b1")}
        context = authority.client(*(["me"] if clients_too else []))
        running = Overlay(chain(2), lambda id, near: Configuration(id, near, tls=configurations[id]))
        async with (
            running,
            connect(at(running), tls=context) as publisher,
            connect(at(running, "b1"), tls=context) as subscriber,
        ):
            subscription = await subscriber.subscribe("TRUE")
            for n in range(3):
                await publisher.send(Event({"n": n}, bytes(100_000)))
            assert [(await anext(subscription)).attributes["n"] for _ in range(3)] == [0, 1, 2]
            subscription.confirm()

    finish(scenario())


def test_a_broker_whose_certificate_names_another_is_refused(authority: Authority) -> None:
    config = Configuration("b0", tls=authority.tls("b0"))
    named = {"subjectAltName": (("DNS", "b1"), ("IP Address", "127.0.0.1"))}
    assert not refusal(LinkHello("b1", 1), named, config)
    assert refusal(LinkHello("b2", 1), named, config) == "the certificate does not name 'b2'"
    assert refusal(LinkHello("b1", 1), None, config) == "a broker must show a certificate"


def test_a_client_that_does_not_speak_tls_is_not_let_in(authority: Authority) -> None:
    async def scenario() -> None:
        async with broker(tls=authority.tls("b0", mutual=False)) as server:
            async with connect(at(server), tls=authority.client()):
                pass
            with pytest.raises(Unreachable):
                async with connect(at(server), timeout=0.5):
                    pass
            with pytest.raises(Unreachable, match="certificate"):
                async with connect(at(server), tls=ssl.create_default_context(), timeout=0.5):
                    pass

    finish(scenario())


def test_a_wrong_certificate_file_is_bad_input(tmp_path: Path) -> None:
    file = tmp_path / "no.pem"
    file.write_text("nothing")
    with pytest.raises(BadInput, match=r"no\.pem.*no usable certificate"):
        accepting(Tls(file, file))


def test_a_link_comes_back_after_its_certificate_could_not_be_read_for_a_while(authority: Authority) -> None:
    async def scenario() -> None:
        tls = {id: authority.tls(id) for id in ("b0", "b1")}
        async with Overlay(chain(2), lambda id, near: Configuration(id, near, tls=tls[id])) as running:
            caller = running.servers["b0"]

            async def until_up(up: bool) -> None:
                while any(each.hello for each in caller.connections.values()) != up:
                    await asyncio.sleep(0.01)

            await until_up(True)
            away = tls["b0"].certificate.rename(tls["b0"].certificate.with_suffix(".away"))
            for connection in caller.connections.values():
                connection.abort()
            await until_up(False)
            await asyncio.sleep(0.3)  # a few calls fail
            away.rename(tls["b0"].certificate)
            await until_up(True)

    finish(scenario())


def test_a_peer_that_never_finishes_the_tls_handshake_is_closed(authority: Authority) -> None:
    async def scenario() -> None:
        async with (
            broker(tls=authority.tls("b0", mutual=False), allowed=HASTY) as server,
            raw_peer(server) as silent,
        ):
            assert await silent.heard() == []  # it ends

    finish(scenario())
