"""Keys and signatures of bundles: Ed25519. A folder of public keys says whose bundles may run."""

import os
from pathlib import Path

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from regraft.components.bundle import Bundle, pack, parts, read_bundle, sealed
from regraft.model import BadInput

PEM = serialization.Encoding.PEM
RAW = serialization.Encoding.Raw
NO_KEY = "is not an Ed25519 key in PEM"


def make_key(path: Path) -> Path:
    """Writes a private key that only its owner can read, and beside it the public one (`.pub`)."""
    key = Ed25519PrivateKey.generate()
    private = key.private_bytes(PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    public = key.public_key().public_bytes(PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    beside = path.with_name(path.name + ".pub")
    try:
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(private)
        beside.write_bytes(public)
    except OSError as fault:
        raise BadInput(str(fault.filename), f"cannot be written: {fault.strerror}") from None
    return beside


def private_key(path: Path) -> Ed25519PrivateKey:
    try:
        key = serialization.load_pem_private_key(path.read_bytes(), None)
    except OSError as fault:
        raise BadInput(str(path), f"cannot be read: {fault.strerror}") from None
    except (ValueError, TypeError, UnsupportedAlgorithm):
        raise BadInput(str(path), NO_KEY) from None
    if not isinstance(key, Ed25519PrivateKey):
        raise BadInput(str(path), NO_KEY)
    return key


def signed_bundle(files: dict[str, bytes], key: Ed25519PrivateKey, place: str) -> bytes:
    """Packs and signs the files; `BadInput` if they are not a bundle."""
    content = pack(files)
    public = key.public_key().public_bytes(RAW, serialization.PublicFormat.Raw)
    data = sealed(content, public, key.sign(content))
    read_bundle(data, place)
    return data


class Trust:
    """The keys in a folder, by file name; read again each time, so that a key can be withdrawn."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def keys(self) -> dict[bytes, str]:
        found = {}
        for path in sorted(self.folder.glob("*.pub")):
            try:
                key = serialization.load_pem_public_key(path.read_bytes())
            except (OSError, ValueError, UnsupportedAlgorithm):
                raise BadInput(str(path), NO_KEY) from None
            if not isinstance(key, Ed25519PublicKey):
                raise BadInput(str(path), NO_KEY)
            found[key.public_bytes(RAW, serialization.PublicFormat.Raw)] = path.stem
        return found

    def opened(self, data: bytes, place: str) -> Bundle:
        """The bundle, if a trusted key has signed exactly these bytes. That is checked before it is read."""
        signed = parts(data)
        if not signed.signature:
            raise BadInput(place, "is not signed")
        if signed.key not in self.keys():
            raise BadInput(place, f"is signed with a key that is not in {self.folder.name}/")
        try:
            Ed25519PublicKey.from_public_bytes(signed.key).verify(signed.signature, signed.content)
        except InvalidSignature:
            raise BadInput(place, "has changed since it was signed") from None
        return read_bundle(data, place)
