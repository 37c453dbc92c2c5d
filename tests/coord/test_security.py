"""Only Regraft writes: digest, SASL and certificates against real servers."""

import asyncio
from pathlib import Path

import pytest
import trustme
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)
from tests.coord.wires import Wire, expire, finish, until

from regraft.coord import ConnectionState, Coord, CoordUnreachable, Denied, Digest, Ensemble, Sasl, Tls
from regraft.coord.server_files import ServerTls
from regraft.model import BadInput

REGRAFT = Digest("regraft", "secret")


def test_without_the_credentials_a_node_is_read_and_not_written(hosts: str, root: str) -> None:
    async def scenario() -> None:
        async with await Coord.connect(hosts, auth=REGRAFT) as ours:
            await ours.create(f"{root}/plan", b"ours")
            for stranger in (None, Digest("regraft", "guessed")):
                async with await Coord.connect(hosts, auth=stranger) as theirs:
                    node = await theirs.get(f"{root}/plan")
                    assert node is not None
                    assert node.data == b"ours"
                    with pytest.raises(Denied, match=f"{root}/plan: this client's identity is not allowed"):
                        await theirs.set(f"{root}/plan", b"theirs", 0)
                    with pytest.raises(Denied):
                        await theirs.delete(f"{root}/plan")
                    with pytest.raises(Denied):
                        await theirs.create(f"{root}/plan/steps", b"")
            async with await Coord.connect(hosts, auth=REGRAFT) as later:
                await later.set(f"{root}/plan", b"ours again", 0)

    finish(scenario())


def test_the_world_can_be_kept_from_reading_too(hosts: str, root: str) -> None:
    async def scenario() -> None:
        async with await Coord.connect(hosts, auth=REGRAFT, world="nothing") as ours:
            await ours.create(f"{root}/plan", b"ours")
            async with await Coord.connect(hosts) as theirs:
                with pytest.raises(Denied):
                    await theirs.get(f"{root}/plan")
                with pytest.raises(Denied):
                    await theirs.children(root)
                with pytest.raises(Denied):
                    await anext(theirs.watch(f"{root}/plan"))

    finish(scenario())


def test_nodes_of_an_open_run_are_closed(hosts: str, root: str) -> None:
    async def scenario() -> None:
        async with await Coord.connect(hosts) as before, await Coord.connect(hosts, auth=REGRAFT) as ours:
            await before.create(f"{root}/plan/steps", b"")
            await ours.create(f"{root}/plan/ours", b"")
            assert await before.secure(root) == 0
            assert await ours.secure(root) == 3
            assert await ours.secure(root) == 0
            with pytest.raises(Denied):
                await before.set(f"{root}/plan/steps", b"", 0)
            await ours.set(f"{root}/plan/steps", b"", 0)

    finish(scenario())


def test_nodes_of_another_user_are_reported(hosts: str, root: str) -> None:
    async def scenario() -> None:
        async with (
            await Coord.connect(hosts, auth=Digest("somebody", "else")) as theirs,
            await Coord.connect(hosts, auth=REGRAFT, world="nothing") as ours,
        ):
            await theirs.create(root, b"")
            with pytest.raises(Denied, match=root):
                await ours.secure(root)

    finish(scenario())


def test_the_credentials_are_shown_again_after_a_new_session(hosts: str, root: str) -> None:
    async def scenario() -> None:
        async with await Coord.connect(hosts, auth=REGRAFT) as ours:
            await ours.create(root, b"")
            await expire(ours)
            await ours.set(root, b"again", 0)

    finish(scenario())


def test_passwords_are_not_printed() -> None:
    assert "secret" not in repr(REGRAFT) + repr(Sasl("regraft", "secret"))


@pytest.mark.parametrize("user", ["", "a:b"])
def test_an_invalid_user_is_refused(user: str) -> None:
    with pytest.raises(BadInput, match="ZooKeeper user"):
        Digest(user, "x")


def test_sasl_admits_a_client_that_knows_the_password(root: str) -> None:
    async def scenario() -> None:
        async with (
            Ensemble(sasl_users=(("regraft", "secret"),)) as servers,
            await Coord.connect(servers.hosts, auth=Sasl("regraft", "secret")) as ours,
        ):
            await ours.create(root, b"ours")
            async with await Coord.connect(servers.hosts) as theirs:
                with pytest.raises(Denied):
                    await theirs.set(root, b"", 0)
            with pytest.raises(Denied, match="the credentials were refused"):
                await Coord.connect(servers.hosts, auth=Sasl("regraft", "guessed"))
            servers.nodes[0].kill()
            await servers.restart(0)
            await ours.set(root, b"again", 0)
            await _handshake_breaks_off(servers.hosts, root)

    finish(scenario())


async def _handshake_breaks_off(hosts: str, path: str) -> None:
    """kazoo takes it for a refusal; credentials that worked before are sent again."""
    async with Wire(hosts) as wire, await Coord.connect(wire.hosts, auth=Sasl("regraft", "secret")) as ours:
        wire.breaks_after = 2  # the session, the challenge
        wire.cut()
        await until(ours, ConnectionState.LOST)
        await ours.set(path, b"after all", 1)


class Papers:
    """Certificates of one authority, as PEM files."""

    def __init__(self, place: Path) -> None:
        authority = trustme.CA()
        self.authority = place / "authority.pem"
        authority.cert_pem.write_to_path(self.authority)
        self._authority = authority
        self._place = place

    def issue(self, name: str) -> tuple[Path, Path]:
        issued = self._authority.issue_cert(name)
        certificate, key = self._place / f"{name}.pem", self._place / f"{name}.key"
        certificate.write_bytes(b"".join(blob.bytes() for blob in issued.cert_chain_pems))
        private = load_pem_private_key(issued.private_key_pem.bytes(), None)
        key.write_bytes(private.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
        return certificate, key


def test_certificates_are_checked_on_both_sides(tmp_path: Path, root: str) -> None:
    papers = Papers(tmp_path)
    certificate, key = papers.issue("127.0.0.1")
    server = ServerTls(certificate, key, papers.authority, clients_too=True)
    mine = Tls(papers.authority, *papers.issue("regraft.example"))
    (tmp_path / "other").mkdir()
    foreign = Papers(tmp_path / "other")

    async def scenario() -> None:
        async with Ensemble(tls=server) as servers:
            async with await Coord.connect(servers.hosts, tls=mine) as coord:
                await coord.create(root, b"x" * 100_000)
                answers = await asyncio.gather(*[coord.get(root) for _ in range(100)])
                assert {node and len(node.data) for node in answers} == {100_000}
                changes = coord.watch(root)
                await anext(changes)
                await coord.set(root, b"y", 0)
                assert (await anext(changes)) == await coord.get(root)
            other_name = servers.hosts.replace("127.0.0.1", "localhost")
            faults = await asyncio.gather(
                _refused(servers.hosts, Tls(foreign.authority, mine.certificate, mine.key)),
                _refused(other_name, mine),
                _refused(servers.hosts, Tls(papers.authority)),
                _refused(servers.hosts, None),
            )
            assert "certificate verify failed" in faults[0]
            assert "Hostname mismatch" in faults[1]
            (certificate_acl,) = await _writers(servers.hosts, mine, root)
            assert certificate_acl == "x509"

    finish(scenario())


async def _refused(hosts: str, tls: Tls | None) -> str:
    with pytest.raises(CoordUnreachable) as fault:
        await Coord.connect(hosts, tls=tls, timeout=1)
    return str(fault.value)


async def _writers(hosts: str, tls: Tls, path: str) -> list[str]:
    """The schemes of those who may write the node."""
    async with await Coord.connect(hosts, tls=tls) as coord:
        entries, _ = await coord._requests.answer(lambda client: client.get_acls_async(path), path)
        return [entry.id.scheme for entry in entries if entry.perms & 2]


def test_files_that_hold_no_certificate_are_named(tmp_path: Path, hosts: str) -> None:
    (tmp_path / "garbage.pem").write_text("garbage")
    with pytest.raises(BadInput, match=r"garbage\.pem: no usable certificate or key"):
        finish(Coord.connect(hosts, tls=Tls(tmp_path / "garbage.pem")))
    with pytest.raises(BadInput, match=r"missing\.pem: cannot be read"):
        Tls(tmp_path / "missing.pem")
    with pytest.raises(BadInput, match="must be given together"):
        Tls(certificate=tmp_path / "garbage.pem")
