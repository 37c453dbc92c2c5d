"""The configuration as one value, read from a TOML file that is checked key by key.

A wrong key or value is `BadInput` with the line, what was expected and what was found. Secrets are never in
the file: they come from the environment.
"""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from regraft.app.configuration_keys import SECTIONS, Key, byte_count, seconds
from regraft.deploy.begin import Settings
from regraft.loop.goals import Limits
from regraft.loop.maintenance import slot
from regraft.loop.policy import Mode, Policy
from regraft.model import BadInput
from regraft.model import Limits as PlanLimits
from regraft.model.fields import meant
from regraft.model.files import as_text, read_bytes

DEFAULT = Path("regraft.toml")
ZOOKEEPER_AUTH = "REGRAFT_ZOOKEEPER_AUTH"
TOKEN = "REGRAFT_TOKEN"
WEB_TOKENS = "REGRAFT_WEB_TOKENS"


@dataclass(frozen=True)
class Overlay:
    name: str
    directory: Path
    network: Path | None


@dataclass(frozen=True)
class Zookeeper:
    hosts: str
    root: str
    ca: Path | None
    certificate: Path | None
    key: Path | None
    auth: str
    """From the environment; empty: none."""


@dataclass(frozen=True)
class Telemetry:
    folder: Path
    top: int | None
    keep: float | None = None
    """Seconds; None: for ever."""


@dataclass(frozen=True)
class Spark:
    master: str
    memory: str
    small: bool
    time_limit: float


@dataclass(frozen=True)
class Design:
    tree: str
    mesh: str
    alpha: float
    beta: float
    time_limit: float


@dataclass(frozen=True)
class Web:
    enabled: bool
    host: str
    port: int
    certificate: Path | None
    key: Path | None
    ca: Path | None
    tokens_file: Path | None
    requests_per_minute: float
    audit_log: Path | None
    plain_http: bool
    hosts: tuple[str, ...]
    tokens_variable: str = WEB_TOKENS


@dataclass(frozen=True)
class Configuration:
    """Everything that `regraft serve` needs."""

    overlay: Overlay
    zookeeper: Zookeeper
    telemetry: Telemetry
    spark: Spark
    mode: Mode
    policy: Policy
    goals: Limits
    design: Design
    planner: str
    plan: PlanLimits
    deploy: Settings
    state: Path
    least_free: int
    keep: float
    windows: int
    web: Web


def read_configuration(path: Path, environment: Mapping[str, str]) -> Configuration:
    """Of a file; `BadInput` names the line, what was expected and what was found."""
    content = as_text(read_bytes(path))
    try:
        document = tomllib.loads(content)
    except (ValueError, RecursionError) as fault:  # also: a number with thousands of digits
        raise BadInput(str(path), f"is not TOML: {fault}") from None
    try:
        values = checked(document, _Lines(content))
    except BadInput as fault:
        raise fault.within(str(path)) from None
    return configured(values, path.absolute().parent, environment)


Values = Mapping[str, Mapping[str, Any]]


def checked(document: Mapping[str, Any], lines: "_Lines | None" = None) -> Values:
    """Every section and key is known and has a value of its kind; what is missing has its default."""
    lines = lines or _Lines("")
    for name, content in document.items():
        if name not in SECTIONS:
            place, hint = lines.of(name), meant(name, SECTIONS)
            raise BadInput(f"{place}[{name}]", f"expected one of the sections {', '.join(SECTIONS)}{hint}")
        if not isinstance(content, dict):
            raise BadInput(f"{lines.of(name)}{name}", f"expected a section [{name}], found {_shown(content)}")
        for key, value in content.items():
            if key not in SECTIONS[name].keys:
                hint = meant(key, SECTIONS[name].keys)
                known = ", ".join(SECTIONS[name].keys)
                raise BadInput(f"{lines.of(name, key)}{name}.{key}", f"expected one of {known}{hint}")
            _check(value, SECTIONS[name].keys[key], f"{lines.of(name, key)}{name}.{key}")
    given = {name: document.get(name, {}) for name in SECTIONS}
    return {
        name: {key: given[name].get(key, known.default) for key, known in section.keys.items()}
        for name, section in SECTIONS.items()
    }


def _check(value: Any, key: Key, place: str) -> None:
    kind = key.kind
    wrong = not isinstance(value, kind.types) or (isinstance(value, bool) and bool not in kind.types)
    if not wrong and isinstance(value, list):
        wrong = not all(isinstance(each, str) for each in value)
    if wrong or not kind.accepts(value):
        raise BadInput(place, f"expected {kind.expected}, found {_shown(value)}")


def _shown(value: Any) -> str:
    if isinstance(value, str):
        return f'"{value}"'
    return str(value).lower() if isinstance(value, bool) else str(value)[:80]


class _Lines:
    """Where keys stand: TOML's reader does not say."""

    def __init__(self, content: str) -> None:
        self._found: dict[tuple[str, str], int] = {}
        section = ""
        for number, line in enumerate(content.splitlines(), 1):
            stripped = line.strip()
            if stripped.startswith("["):
                section = stripped.strip("[]").split("]")[0].strip()
                self._found.setdefault((section, ""), number)
            elif "=" in stripped and not stripped.startswith("#"):
                name = stripped.partition("=")[0].strip().strip("\"'")
                self._found.setdefault((section, name) if section else (name, ""), number)

    def of(self, section: str, key: str = "") -> str:
        number = self._found.get((section, key)) or self._found.get((f"{section}.{key}", ""))
        return f"line {number}, " if number else ""


def configured(values: Values, folder: Path, environment: Mapping[str, str]) -> Configuration:
    """The values of the keys as one value; paths are seen from the folder of the file."""

    def path(text: str) -> Path | None:
        return folder / text if text else None

    overlay, zookeeper = values["overlay"], values["zookeeper"]
    spark, design, state = values["spark"], values["design"], folder / values["state"]["folder"]
    return Configuration(
        Overlay(overlay["name"], folder / overlay["directory"], path(overlay["network"])),
        Zookeeper(
            zookeeper["hosts"],
            zookeeper["root"],
            path(zookeeper["ca"]),
            path(zookeeper["certificate"]),
            path(zookeeper["key"]),
            environment.get(ZOOKEEPER_AUTH, ""),
        ),
        Telemetry(
            folder / values["telemetry"]["folder"],
            values["telemetry"]["top"] or None,
            seconds(values["telemetry"]["keep"]) or None,
        ),
        Spark(spark["master"], spark["memory"], spark["small"], seconds(spark["time_limit"])),
        values["loop"]["mode"],
        _policy(values),
        _limits(values["goals"]),
        Design(
            design["tree"],
            design["mesh"],
            float(design["alpha"]),
            float(design["beta"]),
            seconds(design["time_limit"]),
        ),
        values["plan"]["planner"],
        _plan_limits(values),
        Settings(**values["deploy"], token=environment.get(TOKEN, "")),
        state,
        byte_count(values["state"]["least_free"]),
        seconds(values["state"]["keep"]),
        values["state"]["windows"],
        _web(values["web"], folder, state),
    )


def _web(web: Mapping[str, Any], folder: Path, state: Path) -> Web:
    def path(text: str) -> Path | None:
        return folder / text if text else None

    return Web(
        web["enabled"],
        web["host"],
        web["port"],
        path(web["certificate"]),
        path(web["key"]),
        path(web["ca"]),
        path(web["tokens_file"]),
        float(web["requests_per_minute"]),
        path(web["audit_log"]) or state / "audit.ndjson",
        web["plain_http"],
        tuple(web["hosts"]),
    )


def _policy(values: Values) -> Policy:
    loop, automatic = values["loop"], values["automatic"]
    return Policy(
        window_seconds=seconds(loop["window"]),
        settle_seconds=seconds(loop["settle"]),
        least_publications=loop["least_publications"],
        confirm=loop["confirm"],
        least_gain=float(loop["least_gain"]),
        tolerance=float(loop["tolerance"]),
        payback_windows=float(loop["payback_windows"]),
        action_price=float(loop["action_price"]),
        buffered_price=float(loop["buffered_price"]),
        cool_down_seconds=seconds(loop["cool_down"]),
        memory_seconds=seconds(loop["memory"]),
        max_actions=automatic["max_actions"] or None,
        actions_per_hour=automatic["actions_per_hour"] or None,
        transformations_per_hour=automatic["transformations_per_hour"] or None,
        maintenance=tuple(slot(each) for each in automatic["maintenance"]),
        heal=loop["heal"],
        back_off_seconds=seconds(loop["back_off"]),
        longest_back_off_seconds=seconds(loop["longest_back_off"]),
    )


def _limits(goals: Mapping[str, Any]) -> Limits:
    return Limits(
        max_degree=goals["max_degree"] or None,
        broker_capacity=float(goals["broker_capacity"]) or None,
        link_capacity=float(goals["link_capacity"]) or None,
        latency_ms=float(goals["latency_ms"]) or None,
        k=goals["k"] or None,
    )


def _plan_limits(values: Values) -> PlanLimits:
    minimise: Literal["steps", "actions"] = values["plan"]["minimise"]
    return PlanLimits(
        minimise=minimise,
        max_degree=values["goals"]["max_degree"] or None,
        time_limit=seconds(values["plan"]["time_limit"]),
    )
