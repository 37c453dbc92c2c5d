"""`regraft design` for meshes: what it prints, writes and draws, and what it refuses."""

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.cli.conftest import Run, answered, refused
from tests.design.meshes import random_interest

from regraft.design import METHODS, check
from regraft.design.mesh import FIXED_K
from regraft.model.topology_files import read_topology

INTEREST = random_interest(30, 10, 4)


@pytest.fixture(autouse=True)
def interest(folder: Path) -> None:
    rows = [f"{node},{topic}" for topic, nodes in INTEREST.items() for node in sorted(nodes)]
    Path("interest.csv").write_text("node,topic\n" + "\n".join(rows) + "\n")


@pytest.mark.parametrize("method", METHODS)
def test_the_json_answer_has_the_public_fields_and_the_written_mesh_is_valid(
    regraft: Run, method: str
) -> None:
    answer = answered(regraft("design", method, "--interest", "interest.csv", "-o", "mesh.json", "--json"))
    mesh = read_topology("mesh.json")
    assert (answer["method"], answer["valid"], answer["edges"]) == (method, True, len(mesh.links))
    degrees = [len(near) for near in mesh.neighbours.values()]
    assert answer["average_degree"] == pytest.approx(sum(degrees) / len(degrees), abs=1e-3)
    assert answer["max_degree"] == max(degrees)
    assert answer["seconds"] >= 0
    assert mesh.kind == "mesh"
    assert check(mesh, INTEREST, answer["k"]) is None
    assert answer["fewest_possible"] <= answer["edges"]
    assert all(link["needed"] >= 1 for link in answer["links"])


def test_people_read_the_stages_the_numbers_and_what_links_are_worth(regraft: Run) -> None:
    result = regraft("design", "gm2", "--interest", "interest.csv")
    assert result.exit_code == 0
    for words in ("redundant links removed", "worth most", "topic diameters", "checked: True"):
        assert words in result.stdout


def test_faithful_is_the_published_algorithm_alone(regraft: Run) -> None:
    answer = answered(regraft("design", "gm2", "--interest", "interest.csv", "--faithful", "--json"))
    assert [stage["stage"] for stage in answer["stages"]] == ["gm2"]


def test_the_same_seed_gives_the_same_links(regraft: Run) -> None:
    command = ("design", "greedy-k", "--interest", "interest.csv", "-k", "3", "--seed", "7", "--json")
    one, other = answered(regraft(*command)), answered(regraft(*command))
    assert one["links"] == other["links"]


def test_brokers_of_the_mesh_that_runs_keep_their_links_if_they_want_nothing(regraft: Run) -> None:
    nodes = sorted(frozenset().union(*INTEREST.values()))
    now = {"kind": "mesh", "brokers": [*nodes, "idle"], "links": [[nodes[0], "idle"], nodes[:2]]}
    Path("now.json").write_text(json.dumps(now))
    command = ("design", "gm2", "--interest", "interest.csv", "--topology", "now.json")
    answered(regraft(*command, "-o", "mesh.json", "--json"))
    mesh = read_topology("mesh.json")
    assert mesh.neighbours["idle"] == {nodes[0]}
    assert check(mesh, INTEREST, 2) is None
    Path("now.json").write_text(json.dumps(now | {"brokers": ["idle", *nodes[:2]]}))
    assert "unknown broker id" in refused(regraft(*command))


def test_parquet_is_read_too(regraft: Run) -> None:
    pairs = [(node, topic) for topic, nodes in INTEREST.items() for node in nodes]
    pq.write_table(
        pa.table({"node": [n for n, _ in pairs], "topic": [t for _, t in pairs]}), "interest.parquet"
    )
    by_file = [
        answered(regraft("design", "gm", "--interest", name, "--json"))["links"]
        for name in ("interest.csv", "interest.parquet")
    ]
    assert by_file[0] == by_file[1]


def test_it_draws(regraft: Run) -> None:
    assert regraft("design", "gm2", "--interest", "interest.csv", "--draw", "mesh.svg").exit_code == 0
    assert "<svg" in Path("mesh.svg").read_text()


def test_a_degree_limit_is_kept_or_named(regraft: Run) -> None:
    command = ("design", "greedy-k", "--interest", "interest.csv", "--json", "--max-degree")
    assert answered(regraft(*command, "6"))["max_degree"] <= 6
    none = regraft(*command, "1")
    assert none.exit_code == 1
    assert json.loads(none.stdout)["limit"] == "max-degree"
    assert json.loads(none.stdout)["proven"]
    assert "there is no such mesh: node " in none.stderr


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("harary", "-k", "0"), "0 is not in the range x>=1"),
        (("gm2", "-k", "0"), "gm2 designs for k = 2, not 0"),
        (("gm2", "-k", "3"), "gm2 designs for k = 2"),
        (("gm", "--interest", "nothing.csv"), "no row under the header"),
        (("gm", "--interest", "wrong.csv"), "must name the columns 'node' and 'topic'"),
        (("gm", "--interest", "missing.csv"), "no such file"),
        (("gm", "--network", "ring.json"), "has no latency_ms"),
        (("gm", "--draw", "mesh.txt"), "must end in"),
        (("star",), "No such command 'star'"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(regraft: Run, arguments: tuple[str, ...], says: str) -> None:
    Path("nothing.csv").write_text("node,topic\n")
    Path("wrong.csv").write_text("a,b\n1,2\n")
    given = () if "--interest" in arguments or arguments == ("star",) else ("--interest", "interest.csv")
    assert says in refused(regraft("design", *arguments, *given))


def test_topics_of_one_node_and_small_topics_follow_the_convention(regraft: Run) -> None:
    Path("small.csv").write_text("node,topic\na,t\nb,t\nc,t\nd,alone\n")
    answer = answered(regraft("design", "greedy-k", "--interest", "small.csv", "-k", "9", "--json"))
    assert (answer["edges"], answer["valid"], answer["max_degree"]) == (3, True, 2)


def test_latencies_of_a_network_are_counted(regraft: Run) -> None:
    names = sorted(frozenset().union(*INTEREST.values()))
    links = [{"ends": [names[0], name], "latency_ms": 5} for name in names[1:]]
    Path("network.json").write_text(json.dumps({"brokers": names, "links": links}))
    answer = answered(
        regraft("design", "gm", "--interest", "interest.csv", "--network", "network.json", "--json")
    )
    assert 5 * answer["edges"] <= answer["latency_ms"] <= 10 * answer["edges"]


@pytest.mark.parametrize("method", METHODS)
def test_help_offers_each_method_the_k_that_it_takes(regraft: Run, method: str) -> None:
    told = " ".join(regraft("design", method, "--help").stdout.split())
    design = ("design", method, "--interest", "interest.csv", "--effort", "0")
    taken = [k for k in (1, 2, 3) if regraft(*design, "-k", str(k)).exit_code == 0]
    if method in FIXED_K:
        assert taken == [FIXED_K[method]]
        assert f"-k, --k {FIXED_K[method]} {FIXED_K[method]}, and no other" in told
    else:
        assert taken == [1, 2, 3]
        assert "-k, --k K Fewer than K failures cut no topic." in told
