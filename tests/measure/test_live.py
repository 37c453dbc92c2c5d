"""What real brokers write, through `regraft apply`, to the tables, and from the tables to the next design."""

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import pytest
from tests.broker.io.peers import finish
from tests.cli.running import PROGRAM, running
from tests.deploy.plans import plan
from tests.measure.snapshots import table

from regraft.client import Event, connect
from regraft.model import Topology
from regraft.model.plan_files import write_plan
from regraft.model.store import open_store
from regraft.protocol.sampling import sample
from regraft.protocol.telemetry import Counted, Delivery, Hop, Interest, Publication
from regraft.segments.reading import records_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

YEAR = 366 * 86_400_000_000
"""One window for everything."""
SECONDS = 240.0
TREE, TREE_GOAL = Topology.of([("a", "b"), ("b", "c")]), Topology.of([("a", "c"), ("b", "c")])
PAIRS = [["a", "b"], ["a", "c"], ["a", "d"], ["b", "c"], ["b", "d"], ["c", "d"]]
IDLE = ["d", "e"]
"""e has no clients: it wants nothing, and stays linked."""
MESH = {"kind": "mesh", "brokers": ["a", "b", "c", "d", "e"], "links": [*PAIRS, IDLE]}
ONE_IN, MANY = 4, 2000
Row = tuple[Any, ...]
R = TypeVar("R", Hop, Delivery, Interest, Publication, Counted)


async def regraft(folder: Path, *arguments: str) -> Any:
    """A command of the user's, to its end; what it printed as JSON."""
    process = await asyncio.create_subprocess_exec(
        *PROGRAM, *arguments, "--json", cwd=folder, stdout=asyncio.subprocess.PIPE
    )
    said, _ = await process.communicate()
    assert process.returncode == 0, said
    return json.loads(said)


def recorded(folder: Path, kind: type[R]) -> list[R]:
    """The records of that kind in all segments."""
    store = open_store(folder / "telemetry")
    names = [str(path.relative_to(store.place)) for path in Path(store.place).glob("*/*/*.parquet")]
    return [record for name in names for record in records_of(store, name) if isinstance(record, kind)]


async def until(condition: Callable[[], bool]) -> None:
    while not condition():
        await asyncio.sleep(0.1)


def address(up: dict[str, Any], broker: str) -> str:
    return str(up["brokers"][broker]["address"])


def measured(spark: "SparkSession", folder: Path, *tables: str) -> Path:
    from regraft.measure.run import Job, run

    run(Job(folder / "telemetry", folder / "tables", YEAR, tables=frozenset(tables)), spark)
    return folder / "tables"


def sent_under_a_change(folder: Path) -> bool:
    """Whether a broker has recorded a hop that belongs to a change of links."""
    return any(hop.transformation is not None for hop in recorded(folder, Hop))


@pytest.fixture(scope="module")
def changed_tree(
    spark: "SparkSession", tmp_path_factory: pytest.TempPathFactory
) -> tuple[str, Callable[..., list[Row]]]:
    """The run that `regraft apply` made under traffic, and the tables of it.

    The subscriber takes 50 events, none while a leaves b for c, then all.
    """
    folder = tmp_path_factory.mktemp("tree")
    write_plan(plan(TREE, TREE_GOAL, [("shift", "a", "b", "c")]), folder / "plan.json")

    async def scenario(up: dict[str, Any]) -> str:
        async with (
            connect(address(up, "c"), name="pub") as publisher,
            connect(address(up, "a"), name="sub") as subscriber,
        ):
            subscription = await subscriber.subscribe("n > 0")
            await publisher.advertise("n > 0")
            for n in range(1, 51):
                await publisher.send({"n": n})
                await anext(subscription)
            subscription.confirm()
            await publisher.flush()
            sent, over = 50, asyncio.Event()

            async def publish() -> None:
                nonlocal sent
                while not over.is_set():
                    sent += 1
                    await publisher.send({"n": sent})
                    await asyncio.sleep(0.01)  # the window is not full before a busy machine has begun

            publishing = asyncio.create_task(publish())
            outcome = await regraft(folder, "apply", "plan.json", "--canaries", "0")
            over.set()
            await publishing
            while not sent_under_a_change(folder):  # what is consumed before counts as `before`
                await asyncio.sleep(0.05)
            taken = [(await anext(subscription)).attributes["n"] for _ in range(sent - 50)]
            subscription.confirm()
            assert taken == list(range(51, sent + 1))
            assert outcome["goal"]
            return str(outcome["run"])

    with running(folder, "--agents", "--telemetry", "telemetry") as up:
        run = finish(scenario(up), SECONDS)
    wanted = ("transformations", "queue_growth", "latency", "link_load", "topic_popularity")
    out = measured(spark, folder, *wanted)
    return run, lambda name, *columns: table(out, name, *columns)


Changed = tuple[str, Callable[..., list[Row]]]


@pytest.mark.slow
def test_a_change_of_links_is_a_transformation_with_its_hops(changed_tree: Changed) -> None:
    run, rows = changed_tree
    ((id, started, ended, hops, publications),) = rows(
        "transformations", "transformation", "started", "ended", "hops", "publications"
    )
    assert id == run
    assert started < ended
    assert hops >= publications > 0
    transformed = {row[:2]: row[2] for row in rows("link_load", "from", "to", "transformed")}
    assert transformed["c", "a"] > 0
    assert sum(transformed.values()) == hops


@pytest.mark.slow
def test_the_queue_of_every_participant_is_known_before_and_after_its_part(changed_tree: Changed) -> None:
    run, rows = changed_tree
    growth = rows("queue_growth", "broker", "change", "before", "after", "growth")
    assert [row[:2] for row in growth] == [(broker, f"{run}:1.1:1:1") for broker in "abc"]
    assert all(after - before == grown for _, _, before, after, grown in growth)
    assert growth[2][4] > 0, "c still accepts publications of its publisher, and holds them"


@pytest.mark.slow
def test_deliveries_are_before_or_during_a_change_or_neither(changed_tree: Changed) -> None:
    _, rows = changed_tree
    phases: dict[str, int] = dict(rows("latency", "phase", "deliveries"))
    assert phases["before"] == 50
    assert phases["during"] > 0
    ((publications, deliveries),) = rows("topic_popularity", "publications", "deliveries")
    # What was confirmed while it was being sent again is sent, and confirmed, once more.
    assert sum(phases.values()) == deliveries >= publications


async def _mesh_traffic(up: dict[str, Any], folder: Path, spark: "SparkSession") -> dict[str, Any]:
    """All brokers want topic t; u is published at a and wanted at c. Measured, designed, planned, applied."""
    async with (
        connect(address(up, "a"), name="pub") as publisher,
        connect(address(up, "b"), name="b") as b,
        connect(address(up, "c"), name="c") as c,
        connect(address(up, "d"), name="d") as d,
    ):
        wanting = [await each.subscribe("topic = 't'") for each in (b, c, d)]
        only = await c.subscribe("topic = 'u'")
        await publisher.advertise("topic IN ('t', 'u')")
        await publisher.publish({"topic": "t"})
        sending = asyncio.create_task(publisher.publish_many([Event({"topic": "u"})] * MANY))
        for _ in range(MANY):
            await anext(only)
        only.confirm()
        await sending
        await until(lambda: bool(recorded(folder, Publication)))
        publisher_id, seqs = recorded(folder, Publication)[0].publisher, range(2, MANY + 2)
        sampled = [seqs[place] for place in sample(ONE_IN)(publisher_id, seqs)]
        await until(
            lambda: (
                sorted(each.seq for each in recorded(folder, Delivery) if each.seq > 1) == sampled
                and sum(each.count for each in recorded(folder, Counted) if each.of == "delivery") >= MANY
                and len(recorded(folder, Interest)) >= 5
            )
        )
        wanted = ("interest", "traffic_classes", "topic_popularity", "link_load")
        out = await asyncio.to_thread(measured, spark, folder, *wanted)
        interest = str(out / "interest")
        designing = ("--interest", interest, "--topology", "now.json", "-o", "goal.json")
        await regraft(folder, "design", "gm2", *designing)
        await regraft(folder, "plan", "now.json", "goal.json", "--interest", interest, "-o", "plan.json")
        outcome = await regraft(folder, "apply", "plan.json")
        await publisher.publish_many([Event({"topic": "t"}), Event({"topic": "u"})])
        for each in wanting:
            assert [(await anext(each)).attributes["topic"] for _ in range(2)] == ["t", "t"]
        assert (await anext(only)).attributes["topic"] == "u"
        return {"outcome": outcome, "sampled": len(sampled)}


@pytest.mark.slow
def test_a_mesh_is_designed_from_what_was_measured_of_it_and_a_sample_is_scaled_back(
    spark: "SparkSession", tmp_path: Path
) -> None:
    with running(
        tmp_path, "--agents", "--telemetry", "telemetry", "--sample", str(ONE_IN), topology=MESH
    ) as up:
        seen = finish(_mesh_traffic(up, tmp_path, spark), SECONDS)
    out = tmp_path / "tables"
    held = set(table(out, "interest", "broker", "role", "topic"))
    assert held == {
        *(("a", "publisher", topic) for topic in "tu"),
        *((broker, "subscriber", "t") for broker in "bcd"),
        ("c", "subscriber", "u"),
    }
    outcome = seen["outcome"]
    assert outcome["goal"]
    goal = {tuple(sorted(link)) for link in json.loads((tmp_path / "goal.json").read_text())["links"]}
    assert ("a", "c") in goal, "u has to travel from its publisher to its subscriber"
    assert tuple(IDLE) in goal
    assert len(goal) < len(PAIRS) + 1

    demand = dict(table(out, "traffic_classes", "members", "demand"))
    assert demand["a", "c"] == ONE_IN * seen["sampled"] == pytest.approx(MANY, rel=0.25)
    errors = dict(table(out, "traffic_classes", "members", "error"))
    assert errors["a", "c"] == pytest.approx(((ONE_IN - 1) * demand["a", "c"]) ** 0.5)
    popularity = {
        row[0]: row[1:] for row in table(out, "topic_popularity", "topic", "publications", "deliveries")
    }
    assert popularity["u"] == (MANY, demand["a", "c"])
    load = {row[:2]: row[2:] for row in table(out, "link_load", "from", "to", "messages", "rate")}
    messages, rate = load["a", "c"]
    assert messages == MANY + 1
    assert rate == pytest.approx(messages * 1e6 / YEAR)
