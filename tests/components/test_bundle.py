"""Bundles: what is signed and fits runs; everything else is refused in one line."""

import io
import json
import stat
import struct
import warnings
import zipfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regraft.components import bundle as bundles
from regraft.components.bundle import COMMENT, folder_files, pack, parts, read_bundle, sealed
from regraft.components.bundles import Bundles
from regraft.components.manifest import StateShape, read_manifest, state_problem
from regraft.components.signing import Trust, make_key, private_key, signed_bundle
from regraft.model import BadInput

MANIFEST = {"name": "small", "version": "1", "entry": "small:Small"}
FILES = {
    "manifest.json": json.dumps(MANIFEST).encode(),
    "small.py": b"class Small: ...\n",
    "data/a.txt": b"a",
}


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("keys")
    for name in ("mine", "other"):
        make_key(folder / name)
    (folder / "trusted").mkdir()
    (folder / "mine.pub").rename(folder / "trusted" / "mine.pub")
    return folder


@pytest.fixture(scope="module")
def trust(keys: Path) -> Trust:
    return Trust(keys / "trusted")


@pytest.fixture(scope="module")
def signed(keys: Path) -> bytes:
    return signed_bundle(FILES, private_key(keys / "mine"), "small")


def zipped(**files: bytes) -> bytes:
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in {**FILES, **files}.items():
            archive.writestr(name, content)
    return held.getvalue()


def refused(data: bytes) -> str:
    with pytest.raises(BadInput) as fault:
        read_bundle(data, "b.zip")
    assert "\n" not in str(fault.value)
    return str(fault.value)


def test_a_signed_bundle_opens_and_is_an_ordinary_zip_file(trust: Trust, signed: bytes) -> None:
    bundle = trust.opened(signed, "small")
    assert bundle.manifest.entry == "small:Small"
    assert bundle.files == FILES
    with zipfile.ZipFile(io.BytesIO(signed)) as archive:
        assert archive.testzip() is None


def test_the_same_files_give_the_same_bytes(keys: Path, signed: bytes) -> None:
    backwards = dict(reversed(FILES.items()))
    assert signed_bundle(backwards, private_key(keys / "mine"), "small") == signed


def test_an_unsigned_bundle_is_refused(trust: Trust) -> None:
    with pytest.raises(BadInput, match="is not signed"):
        trust.opened(zipped(), "b.zip")


def test_a_bundle_of_a_stranger_is_refused(trust: Trust, keys: Path) -> None:
    theirs = signed_bundle(FILES, private_key(keys / "other"), "small")
    with pytest.raises(BadInput, match="a key that is not in trusted/"):
        trust.opened(theirs, "b.zip")


@given(at=st.integers(0, 10_000), bit=st.integers(0, 7))
def test_a_bundle_with_one_bit_changed_anywhere_is_refused(
    trust: Trust, signed: bytes, at: int, bit: int
) -> None:
    changed = bytearray(signed)
    changed[at % len(signed)] ^= 1 << bit
    with pytest.raises(BadInput):
        trust.opened(bytes(changed), "b.zip")


def test_a_signature_of_other_content_is_refused(trust: Trust, signed: bytes) -> None:
    _, key, signature = parts(signed)
    with pytest.raises(BadInput, match="has changed since it was signed"):
        trust.opened(sealed(pack({**FILES, "small.py": b"import os\n"}), key, signature), "b.zip")


def test_bytes_after_the_signature_are_refused(trust: Trust, signed: bytes) -> None:
    with pytest.raises(BadInput):
        trust.opened(signed + b"x", "b.zip")


def test_a_key_that_is_withdrawn_is_no_longer_trusted(tmp_path: Path, signed: bytes, keys: Path) -> None:
    trusted = tmp_path / "trusted"
    trusted.mkdir()
    (trusted / "mine.pub").write_bytes((keys / "trusted" / "mine.pub").read_bytes())
    held = Bundles(tmp_path / "bundles", Trust(trusted))
    sha256 = held.take(signed, "b.zip").sha256
    assert held.problem(sha256) == ""
    (trusted / "mine.pub").unlink()
    assert "a key that is not in trusted/" in held.problem(sha256)


def test_a_file_that_was_changed_on_the_disk_is_not_used(tmp_path: Path, signed: bytes, trust: Trust) -> None:
    held = Bundles(tmp_path, trust)
    sha256 = held.take(signed, "b.zip").sha256
    held.path(sha256).write_bytes(signed[:-1])
    assert held.problem(sha256) != ""
    assert "cannot be read" in held.problem("0" * 64)
    assert "sha256" in held.problem("../../etc/passwd")


def test_a_zip_bomb_is_refused_before_it_is_unpacked() -> None:
    assert "unpacks to" in refused(zipped(**{"zeros": bytes(bundles.MOST_CONTENT)}))


def test_a_bomb_that_lies_about_its_size_is_refused() -> None:
    """The sizes in both headers say 10 bytes, and the content is a mebibyte."""
    data = bytearray(zipped(**{"zeros": bytes(1 << 20)}))
    size = struct.pack("<I", 1 << 20)
    assert data.count(size) == 2
    assert "is not a readable zip file" in refused(bytes(data.replace(size, struct.pack("<I", 10))))


def test_too_many_files_are_refused() -> None:
    many = {f"f{number}": b"" for number in range(bundles.MOST_FILES)}
    assert "files, where 2000 are allowed" in refused(zipped(**many))


@pytest.mark.parametrize("name", ["../out.py", "/etc/passwd", "a/../../b", "a\\..\\b", "C:x.py"])
def test_a_path_that_leads_out_of_the_bundle_is_refused(name: str) -> None:
    assert "leads out of the bundle" in refused(zipped(**{name: b""}))


def test_a_symbolic_link_is_refused() -> None:
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w") as archive:
        link = zipfile.ZipInfo("link")
        link.external_attr = (stat.S_IFLNK | 0o777) << 16
        archive.writestr(link, "/etc/passwd")
    assert "is a link or a device" in refused(held.getvalue())


def test_a_file_that_is_there_twice_is_refused() -> None:
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w") as archive, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        archive.writestr("small.py", "one")
        archive.writestr("small.py", "two")
    assert "occurs twice" in refused(held.getvalue())


@pytest.mark.parametrize("data", [b"", b"PK", b"x" * 1000, bytes(COMMENT + 1)])
def test_a_file_that_is_not_a_zip_is_refused(data: bytes) -> None:
    assert "is not a readable zip file" in refused(data)


@given(at=st.integers(0, 10_000), with_=st.binary(min_size=1, max_size=8))
def test_a_damaged_zip_file_is_always_refused_in_one_line(at: int, with_: bytes) -> None:
    data = bytearray(zipped())
    at %= len(data)
    data[at : at + len(with_)] = with_
    said = ""
    try:
        read_bundle(bytes(data), "b.zip")
    except BadInput as fault:
        said = str(fault)
    assert "\n" not in said


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"name": "a/b"}, "name: 'a/b' is not 1 to 100"),
        ({"name": ""}, "name: '' is not 1 to 100"),
        ({"version": ""}, "version: has 1 to 100"),
        ({"entry": "os.system"}, "entry: 'os.system' is not module:Class"),
        ({"entry": "absent:X"}, "entry: there is no module absent.py"),
        ({"state": {"fields": {"x": "set"}}}, "state.fields.x: 'set' is not one of int"),
        ({"limits": {"call_seconds": -1}}, "limits.call_seconds: -1 is not between"),
        ({"limits": {"memory_bytes": 1 << 60}}, "limits.memory_bytes"),
        ({"limits": {"cpus": 2}}, "unknown field `cpus`"),
        ({"surprise": 1}, "unknown field `surprise`"),
        ({"version": 3}, "Expected `str`, got `int`"),
    ],
)
def test_a_fault_in_the_manifest_is_named(change: dict[str, Any], reason: str) -> None:
    assert reason in refused(zipped(**{"manifest.json": json.dumps({**MANIFEST, **change}).encode()}))


def test_a_manifest_that_is_not_json_or_not_there_is_refused() -> None:
    assert "is not a manifest" in refused(zipped(**{"manifest.json": b"\xff{"}))
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w") as archive:
        archive.writestr("small.py", "")
    assert "has no manifest.json" in refused(held.getvalue())


@pytest.mark.parametrize(
    ("state", "reason"),
    [
        ({"n": 1, "s": "x"}, ""),
        ({"n": 1}, "the state has no 's'"),
        ({"n": True, "s": ""}, "'n' of the state is bool, not int"),
        ({"n": 1, "s": 2}, "'s' of the state is int, not str"),
        ({"n": 1, "s": "", "t": 0}, "the state has a 't'"),
    ],
)
def test_a_state_is_compared_with_the_manifest(state: dict[str, Any], reason: str) -> None:
    said = state_problem(state, StateShape(fields={"n": "int", "s": "str"}))
    assert said.startswith(reason)
    assert bool(said) == bool(reason)


def test_limits_that_are_not_numbers_are_refused() -> None:
    with pytest.raises(BadInput):
        read_manifest(json.dumps({**MANIFEST, "limits": {"call_seconds": float("nan")}}).encode(), "m")


def test_keys_are_for_their_owner_alone_and_never_written_over(keys: Path, tmp_path: Path) -> None:
    assert stat.S_IMODE((keys / "mine").stat().st_mode) == 0o600
    with pytest.raises(BadInput, match="File exists"):
        make_key(keys / "mine")
    (tmp_path / "no.pem").write_text("not a key")
    with pytest.raises(BadInput, match="not an Ed25519 key"):
        private_key(tmp_path / "no.pem")
    (tmp_path / "no.pub").write_text("not a key")
    with pytest.raises(BadInput, match="not an Ed25519 key"):
        Trust(tmp_path).keys()


def test_a_folder_is_packed_without_caches_and_refused_with_links(tmp_path: Path) -> None:
    for path in ("a.py", "__pycache__/a.pyc", ".git/x", "sub/b.txt"):
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text("x")
    assert sorted(folder_files(tmp_path)) == ["a.py", "sub/b.txt"]
    (tmp_path / "link").symlink_to("a.py")
    with pytest.raises(BadInput, match="symbolic link"):
        folder_files(tmp_path)
