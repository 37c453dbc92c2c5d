"""What a ZooKeeper server needs to start: Java, the jars inside pyspark, and its configuration files.

The jars are chosen by name: with all of Spark's jars on the class path a server takes three times as long to
start.
"""

import importlib.util
import os
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

from regraft.model import RegraftError

JARS = (
    *("zookeeper-*", "metrics-core-*", "snappy-java-*", "slf4j-api-*", "log4j-api-*", "log4j-core-*"),
    *("log4j-slf4j2-impl-*", "netty-*"),
)
MAIN = "org.apache.zookeeper.server.quorum.QuorumPeerMain"
ARCHIVE = Path(sys.prefix) / "share" / "regraft" / "zookeeper.jsa"
"""An archive of ZooKeeper's loaded classes, written by `warm`: with it a server starts in half the time. Java
ignores an archive from another version of Java or of the jars."""
TICK_MS = 500
"""Sessions may be as short as two ticks; followers and leader give each other up after ten."""
LOG4J = """status = off
rootLogger.level = warn
rootLogger.appenderRef.only.ref = file
appender.only.type = Console
appender.only.name = file
appender.only.target = SYSTEM_ERR
appender.only.layout.type = PatternLayout
appender.only.layout.pattern = %d %p %c{1}: %m%n%ex{short}
"""


@dataclass(frozen=True)
class ServerTls:
    """PEM files, the key as PKCS #8. With `clients_too`, clients must show a certificate of the authority."""

    certificate: Path
    key: Path
    authority: Path
    clients_too: bool = False


@dataclass(frozen=True)
class Ports:
    client: int
    quorum: int
    election: int

    @property
    def numbers(self) -> tuple[int, int, int]:
        return self.client, self.quorum, self.election


@dataclass(frozen=True)
class ServerOptions:
    """The options that all servers of an ensemble share."""

    tls: ServerTls | None = None
    sasl_users: tuple[tuple[str, str], ...] = ()
    """Names and passwords of SASL DIGEST-MD5."""
    synced: bool = True
    """Acknowledge a write only when it is on the disk, so that it survives a loss of power. Without it,
    writes survive only the death of the process."""


def java() -> str:
    home = os.environ.get("JAVA_HOME")
    in_home = shutil.which("java", path=os.path.join(home, "bin")) if home else None
    found = in_home or shutil.which("java")
    if found is None:
        raise RegraftError(
            "ZooKeeper needs Java, which is not installed: apt-get install default-jre-headless"
        )
    return found


def class_path() -> str:
    spark = importlib.util.find_spec("pyspark")
    places = spark.submodule_search_locations if spark is not None else None
    folder = Path(places[0]) / "jars" if places else Path()
    jars = sorted(jar for pattern in JARS for jar in folder.glob(f"{pattern}.jar"))
    if not any(jar.name.startswith("zookeeper-") for jar in jars):
        raise RegraftError(
            "ZooKeeper's jars come with pyspark, which is not installed: pip install 'regraft[spark]'"
        )
    return os.pathsep.join(map(str, jars))


def write_files(
    place: Path, id: int, ports: list[Ports], options: ServerOptions, writing: Path | None = None
) -> list[str]:
    """Writes the files of server `id` (from 1) into its folder and returns the command that starts it.

    `writing`: an archive of classes that Java writes when it ends.
    """
    data = place / "data"
    data.mkdir(parents=True, exist_ok=True)
    (data / "myid").write_text(f"{id}\n")
    (place / "zoo.cfg").write_text(_zoo_cfg(place, id, ports, options))
    (place / "log4j2.properties").write_text(LOG4J)
    _write_secret(place / "jaas.conf", _jaas(options))
    if options.tls is not None:
        _write_secret(place / "server.pem", options.tls.key.read_text() + options.tls.certificate.read_text())
    properties = {
        "log4j2.configurationFile": place / "log4j2.properties",
        "zookeeper.preAllocSize": "1024",  # KiB; by default each log begins with 64 MiB
        "zookeeper.forceSync": "yes" if options.synced else "no",
    }
    if options.sasl_users:
        properties["java.security.auth.login.config"] = place / "jaas.conf"
    return [
        *(java(), "-Xmx128m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:-UsePerfData"),
        "-XX:CompileThresholdScaling=5",  # compiling sooner takes a sixth of the start's processor time
        *_archive(writing),
        *(f"-D{name}={value}" for name, value in properties.items()),
        *("-cp", class_path(), MAIN, str(place / "zoo.cfg")),
    ]


def _archive(writing: Path | None) -> list[str]:
    if writing is not None:
        return [f"-XX:ArchiveClassesAtExit={writing}"]
    return [f"-XX:SharedArchiveFile={ARCHIVE}"] if ARCHIVE.exists() else []


def _zoo_cfg(place: Path, id: int, ports: list[Ports], options: ServerOptions) -> str:
    """A properties file, in which a path must not have backslashes or line ends."""
    if any(letter in str(place) for letter in "\\\n\r"):
        raise RegraftError(
            f"ZooKeeper cannot keep its data in {str(place)!r}: the path has a backslash or a line end"
        )
    port = ports[id - 1].client
    lines = [
        f"dataDir={place / 'data'}",
        f"tickTime={TICK_MS}",
        "initLimit=20",
        "syncLimit=10",
        "maxSessionTimeout=60000",
        "maxClientCnxns=0",
        "admin.enableServer=false",
        "4lw.commands.whitelist=srvr",
        "autopurge.snapRetainCount=3",
        "autopurge.purgeInterval=1",
        *(_tls_lines(options.tls, place, port) if options.tls is not None else _plain_lines(port)),
    ]
    if options.sasl_users:
        lines.append("authProvider.1=org.apache.zookeeper.server.auth.SASLAuthenticationProvider")
    if len(ports) > 1:
        lines += [
            f"server.{n}=127.0.0.1:{each.quorum}:{each.election}" for n, each in enumerate(ports, start=1)
        ]
    return "\n".join(lines) + "\n"


def _plain_lines(port: int) -> list[str]:
    return ["clientPortAddress=127.0.0.1", f"clientPort={port}"]


def _tls_lines(tls: ServerTls, place: Path, port: int) -> list[str]:
    return [
        "secureClientPortAddress=127.0.0.1",
        f"secureClientPort={port}",
        "serverCnxnFactory=org.apache.zookeeper.server.NettyServerCnxnFactory",
        f"ssl.keyStore.location={place / 'server.pem'}",
        "ssl.keyStore.type=PEM",
        f"ssl.trustStore.location={tls.authority}",
        "ssl.trustStore.type=PEM",
        f"ssl.clientAuth={'need' if tls.clients_too else 'none'}",
        "ssl.hostnameVerification=false",  # clients have no fixed host
    ]


def _jaas(options: ServerOptions) -> str:
    users = " ".join(f'user_{name}="{password}"' for name, password in options.sasl_users)
    return f"Server {{ org.apache.zookeeper.server.auth.DigestLoginModule required {users}; }};\n"


def _write_secret(file: Path, text: str) -> None:
    file.touch(mode=0o600)
    file.chmod(0o600)
    file.write_text(text)
