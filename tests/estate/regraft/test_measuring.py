"""Windows from Spark to the loop: tables are read back, and a past period is replayed."""

import itertools
import json
import subprocess
import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner
from tests.cli.running import PROGRAM
from tests.measure.telemetry import START, Brokers, Record, delivery, health, hop, interest, publication

from regraft.cli.what_if_command import what_if
from regraft.estate.protocol import DiskFull
from regraft.estate.regraft.measuring import Measurer
from regraft.estate.regraft.past_windows import measured_past, parse_time, topology_then
from regraft.estate.regraft.tables import TABLES
from regraft.estate.settings import SparkSection, TelemetrySection
from regraft.loop.goals import Limits
from regraft.loop.policy import Policy
from regraft.model import BadInput, RegraftError, Topology
from regraft.model import Limits as PlanLimits
from regraft.model.topology_files import write_topology
from regraft.serve.designing import TopologyDesigner
from regraft.serve.network_facts import NetworkFacts
from regraft.serve.replaying import replay

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

CHAIN = Topology.of(itertools.pairwise("abcde"))
BEGIN = START.timestamp()
MINUTE = 60.0


def talk(minutes: range, each: int = 30) -> list[Record]:
    """Traffic from a to e over the whole chain, this many times a minute."""
    records = []
    for minute, number in itertools.product(minutes, range(each)):
        seq, when = minute * each + number + 1, minute * MINUTE + number * MINUTE / each
        records.append(publication("a", "p#1", seq, when, topic="t"))
        for place, (one, two) in enumerate(itertools.pairwise("abcde")):
            records.append(hop(one, "p#1", seq, two, when + 0.001 * (place + 1)))
        records.append(delivery("e", "p#1", seq, "s", when + 0.01, latency=10_000))
    return records


def measurer(folder: Path, spark: "SparkSession", keep: float | None = None, **more: Any) -> Measurer:
    telemetry = TelemetrySection(str(folder / "telemetry"), keep=keep)
    own = SparkSection("local[2]", "1g", True, 60.0)
    return Measurer(telemetry, own, folder / "tables", MINUTE, session=spark, **more)


def test_a_window_is_measured_and_a_quiet_one_needs_no_spark(tmp_path: Path, spark: "SparkSession") -> None:
    brokers = Brokers(tmp_path / "telemetry")
    held = [interest("e", "s", "topic = 't'", "added", 0.0), health("b", 1.0, "ac", queue=7)]
    brokers.put_all([*held, *talk(range(1))])
    measure = measurer(tmp_path, spark, tables=TABLES)
    first, counts, newest = measure.measure(BEGIN, BEGIN + MINUTE)
    assert {each.members: each.demand for each in first.workload.traffic} == {frozenset("ae"): 30.0}
    assert first.workload.interest == {"t": frozenset("e")}
    assert (first.publications, first.deliveries, first.topics) == (30, 30, 1)
    assert first.p50_ms == pytest.approx(10.0, rel=0.01)
    assert first.queue == 7
    assert counts.kept == counts.read > 0
    assert newest is not None
    assert BEGIN < newest < BEGIN + MINUTE
    brokers.put([health("b", 61.0, "ac")])
    quiet = measure.measure(BEGIN + MINUTE, BEGIN + 2 * MINUTE)
    assert (quiet.window.publications, quiet.counts.read, quiet.newest) == (0, 0, None)
    assert measure.read(BEGIN, BEGIN + MINUTE) == first


def test_the_next_window_waits_for_its_end_and_old_segments_go(tmp_path: Path, spark: "SparkSession") -> None:
    """Records of the next window come with those of this one. Without a new publication, it is measured."""
    brokers, measure = Brokers(tmp_path / "telemetry"), measurer(tmp_path, spark, keep=1.0)
    brokers.put_all(talk(range(2)))
    measured = measure.measure(BEGIN, BEGIN + MINUTE)
    assert measured.window.publications == 30
    there = sorted(path.name for path in (tmp_path / "telemetry" / "a").rglob("*.parquet"))
    assert 0 < len(there) < 12, "segments of the window that was measured are old, and gone"
    later = measure.measure(BEGIN + MINUTE, BEGIN + 2 * MINUTE)
    assert (later.window.publications, later.counts.read) == (30, 0)
    assert measure.read(BEGIN, BEGIN + MINUTE) == measured.window
    brokers.put([health("b", 2 * MINUTE + second, "ac") for second in range(0, 100, 10)])
    for number in (2, 3):  # no Spark, although there are records of the fourth window
        quiet = measure.measure(BEGIN + number * MINUTE, BEGIN + (number + 1) * MINUTE)
        assert (quiet.window.publications, quiet.newest) == (0, None)


def test_health_of_the_next_window_is_no_reason_to_measure_it(tmp_path: Path, spark: "SparkSession") -> None:
    """There always is some, as a measurement begins a while after the end of its window."""
    brokers, measure = Brokers(tmp_path / "telemetry"), measurer(tmp_path, spark)
    brokers.put_all([*talk(range(1)), *(health("b", 55.0 + second, "ac") for second in range(10))])
    newest = [
        measure.measure(BEGIN + number * MINUTE, BEGIN + (number + 1) * MINUTE).newest for number in (0, 1)
    ]
    assert None not in newest, "what came with the first window may have been published in the second"
    brokers.put([health("b", 2 * MINUTE + 1.0, "ac")])
    assert measure.measure(BEGIN + 2 * MINUTE, BEGIN + 3 * MINUTE).newest is None


def test_a_full_disk_is_noticed_before_anything_is_written(tmp_path: Path, spark: "SparkSession") -> None:
    with pytest.raises(DiskFull, match="are needed"):
        measurer(tmp_path, spark, least_free=10**18).measure(BEGIN, BEGIN + MINUTE)


def test_a_past_period_is_played_through_the_loop(
    tmp_path: Path, spark: "SparkSession", monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "telemetry"
    Brokers(folder).put_all(talk(range(4)))
    past = measured_past(
        spark, str(folder), str(tmp_path / "tables"), MINUTE, BEGIN + MINUTE, float("inf"), (20, 1)
    )
    assert past.starts == tuple(BEGIN + MINUTE * number for number in (1, 2, 3))
    assert topology_then(past).sha256 == CHAIN.sha256
    policy = Policy(confirm=1, least_publications=10, action_price=1.0)
    designer = TopologyDesigner(NetworkFacts(), Limits(), policy, PlanLimits(time_limit=0.05), time_limit=0.2)
    (found,) = replay(past.windows(), topology_then(past), [designer], "automatic")
    assert [each.publications for each in found.windows] == [30, 30, 30]
    assert len(found.changes) == 1
    assert found.windows[1].cost_with == pytest.approx(30 * 3), "one link and two brokers"
    assert found.windows[1].cost == pytest.approx(30 * 9), "four links and five brokers"
    with pytest.raises(BadInput, match="nothing was recorded between"):
        measured_past(spark, str(folder), str(tmp_path / "tables"), MINUTE, 0.0, 60.0, (20, 1))
    # The command says the same; it would start a session of its own, and end it.
    monkeypatch.setattr("regraft.measure.session.start", lambda *_, **__: spark)
    monkeypatch.setattr(type(spark), "stop", lambda session: None)
    (tmp_path / "regraft.toml").write_text('[loop]\nwindow = "60s"\nconfirm = 1\n')
    options = ["--telemetry", folder, "--out", tmp_path / "tables", "-c", tmp_path / "regraft.toml"]
    begin = datetime.fromtimestamp(BEGIN + MINUTE, UTC).isoformat()
    done = CliRunner().invoke(what_if, [*map(str, options), "--from", begin, "--json"])
    assert done.exit_code == 0, done.output
    told = json.loads(done.stdout)
    assert [each["publications"] for each in told["windows"]] == [30, 30, 30]
    assert told["windows"][0]["cost"] == pytest.approx(30 * 9)
    assert told["routing_cost"] == pytest.approx(3 * 30 * 9)
    assert [each["kind"] for each in told["decisions"]]


def test_times_are_utc_unless_they_say_another_zone() -> None:
    assert parse_time("1970-01-01T01:00:00", "--from") == 3600.0
    assert parse_time("1970-01-01T01:00:00Z", "--from") == 3600.0
    assert parse_time("1970-01-01T01:00:00+01:00", "--from") == 0.0


def test_stopped_while_spark_starts_it_is_ended_and_not_started_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, go = threading.Event(), threading.Event()

    def start(*_: Any, **__: Any) -> object:
        begun.set()
        assert go.wait(20)
        return object()

    ended: list[str] = []
    monkeypatch.setattr("regraft.measure.session.start", start)
    monkeypatch.setattr("regraft.estate.regraft.measuring._end_java", lambda: ended.append("java"))
    telemetry, local = TelemetrySection(str(tmp_path), keep=None), SparkSection("local[2]", "1g", True, 60.0)
    own = Measurer(telemetry, local, tmp_path, MINUTE)
    with ThreadPoolExecutor(1) as pool:
        warming = pool.submit(own.warm)
        assert begun.wait(20)
        own.stop()
        go.set()
        with pytest.raises(RegraftError, match="stopped while Spark started"):
            warming.result(20)
    own.wait()
    assert ended == ["java", "java"]  # the one that may run already, and the one that has started since
    with pytest.raises(RegraftError, match="has been stopped"):
        own.warm()


def test_what_if_starts_spark_with_the_settings_of_the_configuration(tmp_path: Path) -> None:
    folder = tmp_path / "telemetry"
    Brokers(folder).put_all(talk(range(1)))
    (tmp_path / "regraft.toml").write_text('[spark]\nconf = ["spark.driver.memory=much"]\n')
    command = [*PROGRAM, "what-if", "--telemetry", "telemetry", "-c", "regraft.toml", "--json"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == (
        "regraft: --spark local[2]: Java ended before Spark had started: it needs Java 17 or newer, and "
        "valid settings; REGRAFT_SPARK_LOG=file keeps its log\n"
    )


def test_what_if_compares_designing_for_the_forecast_with_designing_for_what_was_measured(
    tmp_path: Path, spark: "SparkSession", monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every third hour a talks to b and to c; otherwise b to c. No tree has all three links, so it matters
    which hour comes next."""
    folder = tmp_path / "telemetry"
    records: list[Record] = []
    for hour, number in itertools.product(range(44), range(12)):
        home, to = ("a", "bc"[number % 2]) if hour % 3 == 0 else ("b", "c")
        when, seq = hour * 3600.0 + number * 200.0, hour * 12 + number + 1
        records.append(publication(home, f"p-{home}{to}", seq, when, topic="t"))
        records.append(delivery(to, f"p-{home}{to}", seq, "s", when + 0.01, latency=10_000))
    Brokers(folder).put_all(records, 3600.0)
    monkeypatch.setattr("regraft.measure.session.start", lambda *_, **__: spark)
    monkeypatch.setattr(type(spark), "stop", lambda session: None)
    settings = '[loop]\nwindow = "1h"\nconfirm = 1\npayback_windows = 1\nleast_publications = 5\n'
    (tmp_path / "regraft.toml").write_text(f'{settings}action_price = 0\nbuffered_price = 0\nmemory = "1s"\n')
    write_topology(CHAIN, tmp_path / "then.json")
    options = ["--telemetry", folder, "-c", tmp_path / "regraft.toml", "--topology", tmp_path / "then.json"]
    options += ["--out", tmp_path / "tables"]  # the second call finds them
    done = CliRunner().invoke(what_if, [*map(str, options), "--json"])
    assert done.exit_code == 0, done.output
    told = json.loads(done.stdout)
    shares = told["saved_share_if_designed_for"]
    assert told["saved_share"] == shares["forecast"]
    assert shares["forecast"] > shares["measured"]
    assert any("the forecast for 1 window" in each["text"] for each in told["decisions"])
    said = CliRunner().invoke(what_if, [*map(str, options)])
    assert "By the traffic that changes are designed for:" in said.stdout
