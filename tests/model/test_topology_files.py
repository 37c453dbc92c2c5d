"""Topologies survive a round trip through every format, and Topology Zoo files read as they are."""

import stat
from pathlib import Path

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from regraft.model import BadInput, Broker, Link, Topology, ends
from regraft.model.topology_files import read_topology, write_topology

ZOO = Path(__file__).parents[1] / "data" / "topology_zoo"
FORMATS = ["json", "graphml", "gml"]

names = st.text(
    st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"]) | st.sampled_from("\t\n\r\"'&<>"),
    min_size=1,
)
# U+FFFE and U+FFFF are no characters of XML.
names = names.filter(lambda name: not set(name) & {"\ufffe", "\uffff"})
amounts = st.floats(0, 1e300, allow_nan=False, allow_infinity=False)


@st.composite
def topologies(draw: st.DrawFn) -> Topology:
    """Trees and meshes in which every field may be stated or left out."""
    brokers = draw(
        st.lists(
            st.builds(
                Broker,
                id=names,
                host=st.none() | names,
                port=st.none() | st.integers(0, 65535),
                region=st.none() | names | st.just(""),
                cost=amounts,
                label=st.none() | names,
                latitude=st.none() | st.floats(-90, 90),
                longitude=st.none() | st.floats(-180, 180),
            ),
            min_size=1,
            max_size=7,
            unique_by=lambda broker: broker.id,
        )
    )
    ids = [broker.id for broker in brokers]
    kind = draw(st.sampled_from(["tree", "mesh"]))
    pairs = {ends(ids[i], ids[draw(st.integers(0, i - 1))]) for i in range(1, len(ids))}
    if kind == "mesh" and len(ids) > 1:
        pairs |= {ends(*draw(st.permutations(ids))[:2]) for _ in range(3)}
    links = [Link(pair, draw(st.none() | amounts), draw(amounts)) for pair in sorted(pairs)]
    return Topology(tuple(brokers), tuple(draw(st.permutations(links))), kind)  # type: ignore[arg-type]


@pytest.mark.parametrize("suffix", FORMATS)
@given(topology=topologies())
def test_a_round_trip_preserves_everything(
    suffix: str, topology: Topology, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("round") / f"topology.{suffix}"
    write_topology(topology, path)
    assert read_topology(path) == topology
    unnamed = path.rename(path.with_name("topology"))
    assert read_topology(unnamed) == topology, "the content alone tells the format"


@pytest.mark.parametrize("suffix", FORMATS)
def test_a_single_broker_is_a_tree(suffix: str, tmp_path: Path) -> None:
    alone = Topology.of([], brokers=["b0"])
    write_topology(alone, tmp_path / f"one.{suffix}")
    assert read_topology(tmp_path / f"one.{suffix}") == alone


@pytest.mark.parametrize("suffix", ["graphml", "gml"])
def test_networkx_reads_what_is_written(suffix: str, tmp_path: Path) -> None:
    tree = Topology(
        (Broker("b é\n0", latitude=1e-7, label='say "a & b"'), Broker("b1", port=7000)),
        (Link(ends("b é\n0", "b1"), latency_ms=12.5, cost=3.0),),
    )
    path = tmp_path / f"tree.{suffix}"
    write_topology(tree, path)
    graph = nx.read_graphml(path) if suffix == "graphml" else nx.read_gml(path, label="broker")
    assert set(graph.nodes) == set(tree.ids)
    assert graph.nodes["b é\n0"]["label"] == 'say "a & b"'
    assert graph.nodes["b é\n0"]["latitude"] == 1e-7
    assert graph.edges["b1", "b é\n0"] == {"latency_ms": 12.5, "cost": 3.0}


@pytest.mark.parametrize("file", sorted(ZOO.glob("*.graphml")), ids=lambda file: file.stem)
@pytest.mark.parametrize("suffix", ["graphml", "gml"])
def test_zoo_files_read_as_networkx_reads_them(file: Path, suffix: str, tmp_path: Path) -> None:
    expected = nx.read_graphml(file)
    if suffix == "gml":
        nx.write_gml(
            nx.convert_node_labels_to_integers(expected, label_attribute="was"), tmp_path / "zoo.gml"
        )
        file = tmp_path / "zoo.gml"
    read = read_topology(file)
    simple = nx.Graph(expected)
    simple.remove_edges_from(list(nx.selfloop_edges(simple)))
    assert set(read.ids) == set(expected.nodes)
    assert set(read.by_ends) == {ends(*pair) for pair in simple.edges}
    assert read.kind == ("tree" if nx.is_tree(simple) else "mesh")
    if suffix == "graphml":
        for broker in read.brokers:
            said = expected.nodes[broker.id]
            assert (broker.label, broker.region) == (said["label"], said.get("Country"))
            assert (broker.latitude, broker.longitude) == (said.get("Latitude"), said.get("Longitude"))


def test_the_zoo_has_a_tree_and_parallel_lines() -> None:
    assert read_topology(ZOO / "VisionNet.graphml").kind == "tree"
    belnet = read_topology(ZOO / "Belnet2009.graphml")
    assert nx.read_graphml(ZOO / "Belnet2009.graphml").number_of_edges() > len(belnet.links) == 24


def test_self_loops_of_other_peoples_graphs_are_dropped_and_ours_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "loop.gml"
    body = "node [ id 0 ] node [ id 1 ]\nedge [ source 0 target 1 ]\nedge [ source 1 target 1 ] ]"
    path.write_text("graph [ " + body)
    assert read_topology(path) == Topology.of([("0", "1")])
    path.write_text('graph [ kind "tree" ' + body)
    with pytest.raises(BadInput, match=r"loop\.gml: line 3: a link must join two brokers"):
        read_topology(path)


def test_second_links_of_other_peoples_graphs_are_merged_and_ours_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "double.graphml"
    head, body = (
        '<graphml><key id="k" for="graph" attr.name="kind"/><graph>',
        '\n<node id="a"/><node id="b"/><edge source="a" target="b"/>\n<edge source="b" target="a"/>',
    )
    path.write_text(f"{head}{body}</graph></graphml>")
    assert read_topology(path) == Topology.of([("a", "b")])
    path.write_text(f'{head}<data key="k">mesh</data>{body}</graph></graphml>')
    with pytest.raises(BadInput, match=r"double\.graphml: line 3: the link 'a' - 'b' is given twice"):
        read_topology(path)


def test_json_takes_brokers_and_links_short_or_long(tmp_path: Path) -> None:
    path = tmp_path / "t.json"
    path.write_text(
        '\ufeff{"brokers": ["a", {"id": "b", "port": 7, "region": null}],'
        ' "links": [{"ends": ["b", "a"], "latency_ms": 12, "cost": 3}]}'
    )
    expected = Topology((Broker("a"), Broker("b", port=7)), (Link(("a", "b"), 12.0, 3.0),), "tree")
    assert read_topology(path) == expected


def test_graphml_defaults_and_prefixes_are_understood(tmp_path: Path) -> None:
    path = tmp_path / "t.xml"
    path.write_text(
        '<g:graphml xmlns:g="http://graphml.graphdrawing.org/xmlns">'
        '<g:key id="c" for="edge" attr.name="cost"><g:default>4</g:default></g:key><g:graph>'
        '<g:node id="a"/><g:node id="b"/><g:node id="c"/><g:edge source="a" target="b"/>'
        '<g:edge source="a" target="c"><g:data key="c">5</g:data></g:edge></g:graph></g:graphml>'
    )
    assert [link.cost for link in read_topology(path).links] == [4.0, 5.0]


def test_writing_replaces_the_file_at_once_and_leaves_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "t.json"
    path.write_text("old")
    path.chmod(0o640)
    write_topology(Topology.of([("a", "b")]), path)
    assert list(tmp_path.iterdir()) == [path]
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def test_a_failed_write_keeps_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "t.graphml"
    path.write_text("old")
    with pytest.raises(BadInput, match="GraphML cannot hold the character U\\+0001"):
        write_topology(Topology.of([("a\x01", "b")]), path)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_writing_through_a_symbolic_link_keeps_the_link(tmp_path: Path) -> None:
    (tmp_path / "real.json").write_text("old")
    (tmp_path / "link.json").symlink_to("real.json")
    write_topology(Topology.of([("a", "b")]), tmp_path / "link.json")
    assert (tmp_path / "link.json").is_symlink()
    assert read_topology(tmp_path / "real.json") == Topology.of([("a", "b")])


def test_writing_into_a_missing_folder_names_it(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"there is no folder .*nowhere"):
        write_topology(Topology.of([("a", "b")]), tmp_path / "nowhere" / "t.json")
    with pytest.raises(BadInput, match="this is a folder"):
        write_topology(Topology.of([("a", "b")]), tmp_path)
