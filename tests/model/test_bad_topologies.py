"""Every broken rule in a topology file is one line with the file, the place and the rule."""

import contextlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regraft.model import BadInput, files
from regraft.model.topology_files import read_topology

TREE = '{"brokers": ["a", "b", "c"], "links": [["a", "b"], ["b", "c"]]}'

JSON_FAULTS = [
    (
        '{"brokers": ["a", "b", "c"], "links": [["a","b"],["b","c"],["c","a"]]}',
        "links[2]: the link 'a' - 'c' closes a cycle",
    ),
    ('{"brokers": ["a", "b", "c"], "links": [["a","b"]]}', "links: not a tree: no path joins 'a' and 'c'"),
    ('{"brokers": [], "links": []}', "brokers: a tree needs at least one broker"),
    ('{"brokers": ["a", "b"], "links": [["a","z"]]}', "links[0]: unknown broker id 'z'"),
    (
        '{"brokers": ["a", "b"], "links": [["a","b"],["b","a"]]}',
        "links[1]: the link 'a' - 'b' is given twice",
    ),
    ('{"brokers": ["a", "b"], "links": [["a","a"]]}', "links[0]: a link must join two brokers"),
    ('{"brokers": ["a", "a"], "links": []}', "brokers[1]: broker id 'a' is given twice"),
    ('{"brokers": ["a", 1], "links": []}', "brokers[1]: a broker id must be a string, not a number (1)"),
    ('{"brokers": [{"id": 1}], "links": []}', "brokers[0].id: a broker id must be a string"),
    ('{"brokers": ["a", ""], "links": []}', "brokers[1]: a broker id must not be empty"),
    ('{"brokers": ["a", null], "links": []}', "brokers[1]: a broker id must be a string, not null"),
    ('{"brokers": ["\\ud800"], "links": []}', "brokers[0]: half a surrogate pair is not a character"),
    (
        '{"brokers": ["a", "b"], "links": [["a", 1]]}',
        "links[0][1]: a broker id must be a string, not a number (1)",
    ),
    ('{"brokers": ["a", "b"], "links": [["a"]]}', "links[0]: a link has two ends, not 1"),
    ('{"brokers": ["a", "b"], "links": ["ab"]}', "links[0]: must be a pair of broker ids or an object"),
    ('{"brokers": ["a", "b"], "links": [{"from": "a"}]}', "links[0]: the field 'ends' is missing"),
    ("[]", "must be an object, not a list"),
    ('"tree"', "must be an object, not text ('tree')"),
    ('{"links": []}', "the field 'brokers' is missing"),
    ('{"brokers": ["a"]}', "the field 'links' is missing"),
    ('{"brokers": "a", "links": []}', "brokers: must be a list, not text ('a')"),
    ('{"brokers": ["a"], "links": {}}', "links: must be a list, not an object"),
    ('{"brokers": ["a"], "links": [], "kind": "ring"}', "kind: must be 'tree' or 'mesh', not 'ring'"),
    ('{"brokers": ["a"], "links": [], "kind": null}', "kind: must be 'tree' or 'mesh', not None"),
    ('{"brokers": [{"id": "a", "port": "x"}], "links": []}', "brokers[0].port: must be a whole number"),
    ('{"brokers": [{"id": "a", "port": true}], "links": []}', "brokers[0].port: must be a whole number"),
    (
        '{"brokers": [{"id": "a", "port": 70000}], "links": []}',
        "brokers[0].port: must be a whole number from 0 to 65535",
    ),
    ('{"brokers": [{"id": "a", "host": 3}], "links": []}', "brokers[0].host: must be a string"),
    (
        '{"brokers": [{"id": "a", "latitude": 91}], "links": []}',
        "brokers[0].latitude: must be a finite number from -90 to 90",
    ),
    (
        '{"brokers": [{"id": "a", "cost": -1}], "links": []}',
        "brokers[0].cost: must be a finite number at least 0",
    ),
    ('{"brokers": [{"id": "a", "cost": 1e999}], "links": []}', "brokers[0].cost: must be a finite number"),
    (
        f'{{"brokers": [{{"id": "a", "cost": {"9" * 400}}}], "links": []}}',
        "brokers[0].cost: must be a finite number",
    ),
    (f'{{"brokers": [{{"id": "a", "cost": {"9" * 5000}}}], "links": []}}', "not readable: Exceeds the limit"),
    ('{"brokers": ["a"],\n "links": [}', "line 2 column 12: not JSON"),
    ('{"brokers": [{"id": "a", "cost": NaN}], "links": []}', "NaN is not a JSON number"),
    ('{"brokers": [{"id": "a", "cost": -Infinity}], "links": []}', "-Infinity is not a JSON number"),
    ('{"brokers": ["a"], "brokers": ["b"], "links": []}', "the key 'brokers' is given twice in one object"),
    (
        '{"brokers": ["b", {"id": "a", "id": "c"}], "links": []}',
        "brokers[1]: the key 'id' is given twice in one object",
    ),
    ("[" * 200_000, "lists and objects are nested too deeply"),
    ('{"a":' * 200_000, "lists and objects are nested too deeply"),
    (TREE + "x", "line 1 column 64: not JSON: Extra data"),
    ("tree", "line 1 column 1: not JSON"),
]

GRAPHML_FAULTS = [
    ("<graphml><graph>\n<node id='a'></graph></graphml>", "line 2 column 16: not XML: mismatched tag"),
    ("<graphml><graph>\n<node id='a'/>", "line 2 column 15: not XML"),
    ("<svg/>", "line 1: not GraphML: the outermost element is <svg>"),
    ("<graphml/>", "not GraphML: there is no <graph> in it"),
    ("<graphml><graph><graph/></graph></graphml>", "line 1: one graph is allowed"),
    ("<graphml><graph/>\n<graph/></graphml>", "line 2: one graph is allowed"),
    ("<graphml><graph>\n<node/></graph></graphml>", "line 2: a <node> needs the attribute 'id'"),
    ("<graphml><graph><node id=''/></graph></graphml>", "line 1: a broker id must not be empty"),
    (
        "<graphml><graph><node id='a'/>\n<node id='a'/></graph></graphml>",
        "line 2: broker id 'a' is given twice",
    ),
    (
        "<graphml><graph><node id='a'/>\n<edge source='a' target='z'/></graph></graphml>",
        "line 2: unknown broker id 'z'",
    ),
    (
        "<graphml><graph><node id='a'/>\n<edge source='a'/></graph></graphml>",
        "line 2: a <edge> needs the attribute 'target'",
    ),
    ("<graphml><graph><hyperedge/></graph></graphml>", "line 1: a hyperedge cannot be a link"),
    ("<graphml><node id='a'/></graphml>", "line 1: a <node> must stand inside the <graph>"),
    (
        "<graphml><graph><node id='a'><node id='b'/></node></graph></graphml>",
        "line 1: a <node> must stand inside the <graph>",
    ),
    (
        "<graphml><graph><node id='a'><data key='k'>1</data></node></graph></graphml>",
        "line 1: data of the key 'k'",
    ),
    (
        "<graphml><key id='k' attr.name='Latitude'/><graph>"
        "<node id='a'>\n<data key='k'>north</data></node></graph></graphml>",
        "line 1.Latitude: must be a number, not 'north'",
    ),
    (
        "<graphml><key id='k' attr.name='cost'/><graph>"
        "<node id='a'><data key='k'>nan</data></node></graph></graphml>",
        "line 1.cost: must be a finite number",
    ),
    (
        "<graphml><key id='k' attr.name='kind'/><graph><data key='k'>star</data></graph></graphml>",
        "kind: must be 'tree' or 'mesh', not 'star'",
    ),
    (
        "<graphml><key id='k' for='graph' attr.name='kind'/><graph><data key='k'>tree</data>"
        "<node id='a'/><node id='b'/><node id='c'/>\n<edge source='a' target='b'/>\n"
        "<edge source='b' target='c'/>\n<edge source='c' target='a'/>"
        "</graph></graphml>",
        "line 4: the link 'a' - 'c' closes a cycle",
    ),
    ("<?xml version='1.0' encoding='klingon'?><graphml/>", "line 1"),
    (
        '<!DOCTYPE g [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><graphml>&b;</graphml>',
        "line 1: a document type declaration (DOCTYPE) is not allowed",
    ),
    (
        '<?xml version="1.0"?>\n<!DOCTYPE g SYSTEM "file:///etc/passwd"><graphml/>',
        "line 2: a document type declaration",
    ),
]

GML_FAULTS = [
    ("graph [ node [ id 0 ]", "line 1: not GML: the text ends before"),
    ("graph [ node [ id 0 ] ] ]", "line 1: not GML: a key was expected, not ']'"),
    ("graph [\n node [ id ] ]", "line 2: not GML: a value for the key 'id' was expected, not ']'"),
    ("graph [\n node [ id 0 ] ; ]", "line 2 column 16: not GML: ';' was not expected here"),
    ("graph 5", "not GML: one 'graph [ … ]' is needed, not 0"),
    ("graph [ ] graph [ ]", "not GML: one 'graph [ … ]' is needed, not 2"),
    ("graph [ node 3 ]", "line 1: 'node [ … ]' is needed, not 3"),
    ("graph [\n node [ label 3 ] ]", "line 2: the node needs a whole number as 'id'"),
    ("graph [ node [ id 0 ]\n node [ id 0 ] ]", "line 2: node id 0 is given twice"),
    ('graph [ node [ id 0 broker "a" ]\n node [ id 1 broker "a" ] ]', "line 2: broker id 'a' is given twice"),
    ("graph [ node [ id 0 ]\n edge [ source 0 target 7 ] ]", "line 2: unknown broker id '7'"),
    ("graph [ node [ id 0 ] edge [ source 0 ] ]", "line 1: the edge needs a whole number as 'target'"),
    ('graph [ kind "ring" node [ id 0 ] ]', "kind: must be 'tree' or 'mesh', not 'ring'"),
    ("graph [ node [ id 0 port 1.5 ] ]", "line 1.port: must be a whole number"),
    ('graph [ node [ id 0 label "&#55296;" ] ]', "line 1.label: half a surrogate pair"),
    (f"graph [ node [ id {'9' * 5000} ] ]", "line 1: not GML: a number has too many digits"),
    ("graph [ " * 100_000, "line 1: not GML: the text ends before"),
]


def _fault(path: Path) -> str:
    with pytest.raises(BadInput) as caught:
        read_topology(path)
    text = str(caught.value)
    assert text.startswith(f"{path}: ")
    assert len(text.splitlines()) == 1
    assert len(text) < 250 + len(str(path))
    return text.removeprefix(f"{path}: ")


@pytest.mark.parametrize(
    ("suffix", "text", "expected"),
    [
        pytest.param(suffix, text, expected, id=f"{suffix}: {expected[:60]}")
        for suffix, faults in (("json", JSON_FAULTS), ("graphml", GRAPHML_FAULTS), ("gml", GML_FAULTS))
        for text, expected in faults
    ],
)
def test_a_broken_rule_is_named_with_its_place(suffix: str, text: str, expected: str, tmp_path: Path) -> None:
    path = tmp_path / f"bad.{suffix}"
    path.write_bytes(text.encode())
    assert expected in _fault(path)


@pytest.mark.parametrize("suffix", ["json", "graphml", "gml", "dat"])
def test_files_that_are_no_text_are_refused(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"t.{suffix}"
    assert _fault(path) == "there is no such file"
    path.mkdir()
    assert _fault(path) == "a file is needed, this is a folder"
    path.rmdir()
    for content in (b"", b" \n\t"):
        path.write_bytes(content)
        assert _fault(path) == "the file is empty"
    path.write_bytes(b"\x00\x01\x02")
    assert _fault(path)


def test_a_byte_that_is_not_utf8_is_named_by_line_and_column(tmp_path: Path) -> None:
    path = tmp_path / "t.json"
    path.write_bytes(b'{\n "brokers": ["caf\xe9"]}')
    assert _fault(path) == "line 2 column 18: the text must be UTF-8, this byte is not"


def test_text_of_no_known_format_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "t.txt"
    path.write_text("a -> b")
    assert _fault(path) == "line 1: neither JSON, GraphML nor GML"


def test_a_huge_file_is_refused_before_it_is_parsed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "t.json"
    path.write_text(TREE)
    monkeypatch.setattr(files, "SIZE_LIMIT", len(TREE))
    assert len(read_topology(path).brokers) == 3
    path.write_text(TREE + " ")
    assert "larger than" in _fault(path)


def test_a_file_name_that_would_break_the_line_is_quoted(tmp_path: Path) -> None:
    with pytest.raises(BadInput) as caught:
        read_topology(tmp_path / "two\nlines.json")
    assert "two\\nlines.json" in str(caught.value)


@given(content=st.binary(max_size=60), suffix=st.sampled_from(["json", "graphml", "gml", "x"]))
def test_noise_is_never_more_than_bad_input(
    content: bytes, suffix: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("noise") / f"t.{suffix}"
    path.write_bytes(content)
    with pytest.raises(BadInput):
        read_topology(path)


SCRAPS = [
    "graph",
    "[",
    "]",
    "node",
    "edge",
    "id",
    "source",
    "target",
    "0",
    "1",
    '"a"',
    "label",
    "kind",
    '"tree"',
    "\n",
]
MARKS = [
    "<graphml>",
    "</graphml>",
    "<graph>",
    "</graph>",
    "<node id='a'/>",
    "<node id='b'>",
    "</node>",
    "<key id='k'/>",
]
MARKS += ["<edge source='a' target='b'/>", "<data key='k'>", "</data>", "x", "<default>", "</default>"]


@given(pieces=st.lists(st.sampled_from(SCRAPS)) | st.lists(st.sampled_from(MARKS)))
def test_scraps_of_a_format_are_read_or_refused(
    pieces: list[str], tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("scraps") / ("t.gml" if set(pieces) <= set(SCRAPS) else "t.graphml")
    path.write_text(" ".join(pieces))
    with contextlib.suppress(BadInput):  # and nothing else
        read_topology(path)
