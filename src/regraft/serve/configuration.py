"""The configuration of `regraft serve`: one struct for each section of the file, one field for each key.

A field has the type that the program works with: paths are `Path` (a place that may also be an address is
text), times are seconds, sizes are bytes, and None means that there is no limit. Its declaration has
everything else that is known about the key: what the file may say, the default, and the documentation. The
docstring of a struct is the documentation of its section. The checks, the starter file of `regraft init` and
the reference in docs/configuration.md are made from these declarations (`configuration_file`). The sections
that an estate is told are in `estate.settings`.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

from regraft.estate.settings import (
    COUNT,
    LIMIT,
    NO_LIMIT,
    DeploySection,
    EstateSettings,
    OverlaySection,
    SparkSection,
    StateSection,
    TelemetrySection,
    ZookeeperSection,
)
from regraft.loop.maintenance import RULE, Slot, slot
from regraft.loop.policy import Mode, Policy
from regraft.model.setting_kinds import (
    NAMES,
    OPTIONAL_PATH,
    SWITCH,
    TEXT,
    ValueKind,
    choice,
    duration,
    number,
    setting,
    texts,
    whole,
    zero_is_none,
)

DesignFor = Literal["forecast", "measured"]
WEB_TOKENS = "REGRAFT_WEB_TOKENS"
AMOUNT = zero_is_none(number(0))
SLOTS = ValueKind(
    f"a list of times, each of which {RULE}", (list,), lambda written: tuple(map(slot, texts(written)))
)


@dataclass(frozen=True)
class LoopSection:
    """How bold the loop is. A price of 1 is that of one message over one link or broker."""

    mode: Mode = setting(
        choice(*get_args(Mode)),
        "propose",
        "observe: only show what it would propose. propose: a person approves. automatic: by itself, "
        "within [automatic].",
    )
    window: float = setting(duration("100ms"), "60s", "Δt: how long traffic is watched before it is judged.")
    settle: float = setting(
        duration(),
        "4s",
        "How long to wait after a window until the brokers have written it: they close a segment every 2 s.",
    )
    least_publications: int = setting(
        COUNT, 100, "A window with fewer publications says too little about the traffic."
    )
    confirm: int = setting(whole(1, 100), 3, "In how many windows in a row a new topology has to be better.")
    design_for: DesignFor = setting(
        choice(*get_args(DesignFor)),
        "forecast",
        "measured: topologies are designed for the traffic of the last windows. forecast: for what the hours "
        "of past weeks let expect in the next payback_windows, where that was nearer to what came.",
    )
    least_gain: float = setting(number(0, 1), 0.05, "Share of the cost that a change has to save.")
    gain_errors: float = setting(
        number(0),
        1.96,
        "A gain has to be more than this many of its standard errors, where telemetry is sampled: chance "
        "alone is above 1.96 of them once in forty times.",
    )
    tolerance: float = setting(number(0, 1), 0.005, "A goal that is worse by less than this share is kept.")
    payback_windows: float = setting(number(0), 20.0, "In how many windows a change has to earn its price.")
    action_price: float = setting(number(0), 50.0, "The price of one link change.")
    buffered_price: float = setting(number(0), 1.0, "The price of a message that waits for a link change.")
    cool_down: float = setting(duration(), "3m", "How long after a change the next one may be designed.")
    memory: float = setting(
        duration(),
        "1h",
        "How long a change is remembered: undoing it needs twice the gain, undoing two of them four times.",
    )
    heal: bool = setting(SWITCH, True, "Carry out repairs without asking, except in mode observe.")
    back_off: float = setting(
        duration("100ms"), "5s", "How long to wait after a failure; doubled with each further one."
    )
    longest_back_off: float = setting(duration("1s"), "5m", "The longest time between two attempts.")


@dataclass(frozen=True)
class AutomaticSection:
    """The limits within which mode automatic acts without asking."""

    max_actions: int | None = setting(LIMIT, 0, f"How many link changes a plan may have. {NO_LIMIT}")
    actions_per_hour: int | None = setting(
        LIMIT, 200, f"How many link changes are made in an hour. {NO_LIMIT}"
    )
    transformations_per_hour: int | None = setting(
        LIMIT, 6, f"How many plans are carried out in an hour. {NO_LIMIT}"
    )
    maintenance: tuple[Slot, ...] = setting(
        SLOTS,
        [],
        'When it may act, in UTC, such as ["Mon-Fri 01:00-05:00", "Sat,Sun 00:00-24:00"]. []: always.',
    )


@dataclass(frozen=True)
class GoalsSection:
    """What no change may break, in this order; then cost, diameter and balance are improved."""

    max_degree: int | None = setting(LIMIT, 0, f"How many links a broker may have. {NO_LIMIT}")
    broker_capacity: float | None = setting(AMOUNT, 0.0, f"Messages a second through a broker. {NO_LIMIT}")
    link_capacity: float | None = setting(AMOUNT, 0.0, f"Messages a second over a link. {NO_LIMIT}")
    latency_ms: float | None = setting(AMOUNT, 0.0, f"Expected delivery latency. {NO_LIMIT}")
    k: int | None = setting(
        zero_is_none(whole(0, 100)), 2, f"In a mesh, fewer failures than this never cut a topic. {NO_LIMIT}"
    )


@dataclass(frozen=True)
class DesignSection:
    """How the loop looks for a better topology."""

    tree: str = setting(
        choice("auto", "global", "neighbourhoods", "exact"), "auto", "As `regraft design ocbr`."
    )
    mesh: str = setting(
        choice("greedy-k", "gm", "gm2", "harary", "cycle"), "greedy-k", "As `regraft design METHOD`."
    )
    alpha: float = setting(number(0), 1.0, "Weight of links in the routing cost (OCBR).")
    beta: float = setting(number(0), 1.0, "Weight of brokers in the routing cost.")
    costs: Literal["measured", "equal"] = setting(
        choice("measured", "equal"),
        "measured",
        "Without overlay.network: links cost their measured round trips, relative to a typical one; "
        "equal: everything costs 1.",
    )
    time_limit: float = setting(duration("10ms"), "3s", "How long it searches.")


@dataclass(frozen=True)
class PlanSection:
    """How the loop plans the way to a better topology."""

    planner: str = setting(choice("fast", "exact"), "fast", "As `regraft plan --planner`.")
    minimise: Literal["steps", "actions"] = setting(
        choice("steps", "actions"), "steps", "What is minimised first."
    )
    time_limit: float = setting(duration("10ms"), "1s", "How long it searches.")


@dataclass(frozen=True)
class WebSection:
    """REST and dashboard. Tokens are in the environment: REGRAFT_WEB_TOKENS=NAME:ROLE:SECRET,… with the roles
    viewer, operator, admin"""

    enabled: bool = setting(SWITCH, True, "false: the loop alone.")
    host: str = setting(TEXT, "127.0.0.1", "Anything but loopback needs tokens or client certificates.")
    port: int = setting(whole(0, 65_535), 0, "0: a free one, which is printed.")
    certificate: Path | None = setting(OPTIONAL_PATH, "", "Use TLS with this certificate (PEM).")
    key: Path | None = setting(OPTIONAL_PATH, "", "Its key (PEM).")
    ca: Path | None = setting(OPTIONAL_PATH, "", "Clients show certificates of this authority (PEM).")
    tokens_file: Path | None = setting(
        OPTIONAL_PATH,
        "",
        "Users beside those of the environment, in lines `NAME ROLE sha256:HEX` (of a token) or `NAME ROLE "
        "certificate` (with that common name).",
    )
    requests_per_minute: int = setting(
        whole(1), 600, "How often one client may ask; a tenth of its requests may change something."
    )
    audit_log: Path | None = setting(OPTIONAL_PATH, "", '"": audit.ndjson in state.folder.')
    plain_http: bool = setting(
        SWITCH, False, "Allow tokens without TLS, because a proxy in front of it speaks TLS."
    )
    hosts: tuple[str, ...] = setting(NAMES, [], "Host names under which clients reach it through a proxy.")


@dataclass(frozen=True)
class ServeConfiguration:
    """The whole configuration of `regraft serve`, section by section in the order of the file."""

    overlay: OverlaySection
    zookeeper: ZookeeperSection
    telemetry: TelemetrySection
    spark: SparkSection
    loop: LoopSection
    automatic: AutomaticSection
    goals: GoalsSection
    design: DesignSection
    plan: PlanSection
    deploy: DeploySection
    state: StateSection
    web: WebSection

    @property
    def estate(self) -> EstateSettings:
        """The settings of the estate that the loop runs on."""
        return EstateSettings(
            self.overlay,
            self.zookeeper,
            self.telemetry,
            self.spark,
            self.deploy,
            self.state,
            self.loop.window,
            (round(self.loop.payback_windows), self.loop.confirm)
            if self.loop.design_for == "forecast"
            else None,
        )

    @property
    def policy(self) -> Policy:
        loop, automatic = self.loop, self.automatic
        return Policy(
            window_seconds=loop.window,
            settle_seconds=loop.settle,
            least_publications=loop.least_publications,
            confirm=loop.confirm,
            least_gain=loop.least_gain,
            gain_errors=loop.gain_errors,
            tolerance=loop.tolerance,
            payback_windows=loop.payback_windows,
            action_price=loop.action_price,
            buffered_price=loop.buffered_price,
            cool_down_seconds=loop.cool_down,
            memory_seconds=loop.memory,
            max_actions=automatic.max_actions,
            actions_per_hour=automatic.actions_per_hour,
            transformations_per_hour=automatic.transformations_per_hour,
            maintenance=automatic.maintenance,
            heal=loop.heal,
            back_off_seconds=loop.back_off,
            longest_back_off_seconds=loop.longest_back_off,
        )
