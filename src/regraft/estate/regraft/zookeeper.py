"""Finds the ZooKeeper ensemble that the configuration describes."""

from regraft.coord import Configuration, Digest, Layout, Sasl, Tls
from regraft.coord.configuration import Auth
from regraft.estate.settings import ZOOKEEPER_AUTH, OverlaySection, ZookeeperSection
from regraft.model import BadInput
from regraft.model.fields import an_object
from regraft.model.files import as_text, parse_json, read_bytes


def ensemble(zookeeper: ZookeeperSection, overlay: OverlaySection) -> tuple[Configuration, Layout]:
    """The ensemble that `zookeeper.hosts` names, or else that of the overlay that `regraft up` started."""
    hosts, root = zookeeper.hosts, zookeeper.root
    if not hosts:
        hosts, root = _of_directory(overlay, root)
    return Configuration(hosts, _auth(zookeeper.auth), _tls(zookeeper)), Layout(root)


def _of_directory(overlay: OverlaySection, root: str) -> tuple[str, str]:
    path = overlay.directory
    if not path.exists():
        raise BadInput("zookeeper.hosts", f"is empty, and `regraft up` has not written {path}")
    try:
        document = an_object(parse_json(as_text(read_bytes(path))), "")
    except BadInput as fault:
        raise fault.within(str(path)) from None
    hosts = document.get("zookeeper")
    if not isinstance(hosts, str):
        raise BadInput(str(path), "names no ZooKeeper: was `regraft up` started with --no-agents?")
    return hosts, str(document.get("zookeeper_root", root))


def _auth(text: str) -> Auth | None:
    if not text:
        return None
    scheme, _, rest = text.partition(":")
    user, colon, password = rest.partition(":")
    if scheme not in ("digest", "sasl") or not (user and colon):
        raise BadInput(ZOOKEEPER_AUTH, "must be digest:USER:PASSWORD or sasl:USER:PASSWORD")
    return Digest(user, password) if scheme == "digest" else Sasl(user, password)


def _tls(zookeeper: ZookeeperSection) -> Tls | None:
    if not (zookeeper.ca or zookeeper.certificate):
        return None
    return Tls(zookeeper.ca, zookeeper.certificate, zookeeper.key or zookeeper.certificate)
