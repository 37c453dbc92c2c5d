"""What the documentation shows is true: links lead somewhere, examples and commands give what they say."""

import doctest
import hashlib
import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.client.brokers import distant
from tests.shown_sessions import differences, files, play, typed

from regraft.cli.entry import COMMANDS
from regraft.filters import BadFilter, covers, overlaps, parse

ROOT = Path(__file__).parent.parent
PAGES = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("benchmarks/*.md")]
DECISIONS = ROOT / "docs" / "decisions" / "index.md"
PLAYED = ["README.md", "docs/tutorial.md"]
"""Their commands are run, and what they say is compared."""
NOT_SHOWN = ROOT / "examples" / "tour"
"""Files that the README names without showing them."""
FILTERS = ROOT / "docs" / "filters.md"
WORD = {"yes": True, "no": False}


def rows(*header: str) -> Iterator[list[str]]:
    """The rows of all tables that begin with these columns, without the code marks."""
    inside = False
    for line in FILTERS.read_text(encoding="utf-8").splitlines():
        cells = [cell.strip().removeprefix("`").removesuffix("`") for cell in line.split("|")[1:-1]]
        inside = bool(cells) and (inside or cells[: len(header)] == list(header))
        if inside and cells[: len(header)] != list(header) and not cells[0].startswith("---"):
            yield cells[: len(header)]


def anchors(page: Path) -> set[str]:
    """As a forge makes them of headings."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_to_a_file_leads_there(page: Path) -> None:
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if "://" in target:
            continue
        path, _, anchor = target.partition("#")
        leads_to = page.parent / path if path else page
        assert leads_to.exists(), target
        assert not anchor or anchor in anchors(leads_to), target


def test_the_events_of_the_tables_match_or_not_as_they_say() -> None:
    found = list(rows("filter", "event", "matches"))
    assert len(found) > 30
    wrong = [each for each in found if parse(each[0]).matches(json.loads(each[1])) is not WORD[each[2]]]
    assert wrong == []


def test_filters_cover_and_overlap_each_other_as_the_table_says() -> None:
    found = list(rows("f", "g", "f covers g", "overlap"))
    assert len(found) > 10
    for first, second, covering, overlapping in found:
        f, g = parse(first), parse(second)
        assert (covers(f, g), overlaps(f, g)) == (WORD[covering], WORD[overlapping]), (first, second)


def test_what_is_refused_is_refused_with_these_words() -> None:
    for text, words in rows("filter", "refused with"):
        with pytest.raises(BadFilter, match=f"^{re.escape(words)}$"):
            parse(text)


def test_the_python_examples_give_what_they_show() -> None:
    assert doctest.testfile(str(FILTERS), module_relative=False, encoding="utf-8").failed == 0


CLIENT = (ROOT / "docs" / "reference" / "client.md").read_text(encoding="utf-8")
PROGRAMS = re.findall(r"```python\n(.*?)```\n\n```text\n(.*?)```", CLIENT, re.DOTALL)


def test_the_clients_page_shows_what_each_of_its_programs_says() -> None:
    assert len(PROGRAMS) == CLIENT.count("```python") > 2


@pytest.mark.parametrize(("program", "said"), PROGRAMS)
def test_a_program_of_the_clients_page_says_what_is_shown(
    program: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with distant() as broker:
        exec(program.replace("127.0.0.1:7000", broker.address), {})
    assert capsys.readouterr().out == said


@pytest.mark.slow
@pytest.mark.parametrize("page", PLAYED)
def test_what_a_page_shows_in_the_terminal_is_what_happens(page: str, tmp_path: Path) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    shutil.copytree(NOT_SHOWN, tmp_path, dirs_exist_ok=True)
    for name, content in files(text).items():
        (tmp_path / name).write_text(content, encoding="utf-8")
    assert len(list(typed(text))) > 8
    assert play(text, tmp_path) == []


@pytest.mark.parametrize(
    ("shown", "said"),
    [
        (["3 steps; 0.7 s"], "4 steps; 0.7 s"),
        (["one", "two"], "one"),
        (["one"], "one\ntwo"),
        (["one", "…", "four"], "one\ntwo\nthree"),
        (["at 127.0.0.1:7000"], "at 127.0.0.2:7000"),
        (["│ 1 │ shift(a, b, c) │"], "│ 1 │ shift(a, b, c) │\n│   │ shift(d, b, c) │"),
        (["canaries: 3 from a, 9 delivered, 0 lost"], "canaries: 4 from a, 9 delivered, 1 lost"),
    ],
)
def test_a_session_that_went_otherwise_is_noticed(shown: list[str], said: str) -> None:
    assert differences(shown, said) != ""


def test_a_session_may_differ_in_times_ports_and_equal_plans() -> None:
    shown = ["b0  127.0.0.1:7000  12  b4", "┏━━┓", "│ 1 │ shift(a, b, c) │", "…", "run 8-0a1b2c3d in 0.63 s"]
    said = "b0 127.0.0.1:65001 7 b4\n┏━━━━━┓\n│ 2 │ shift(d, b, c) │\nmore\nrun 12-ffffffff in 1,003 ms\n"
    assert differences(shown, said) == ""


def test_every_page_is_in_the_menu_of_the_site() -> None:
    listed = re.findall(r"^([\w/-]+)$", (ROOT / "docs" / "index.md").read_text(), re.MULTILINE)
    listed += [
        f"decisions/{name}" for name in re.findall(r"^(\d{4}-[\w-]+)$", DECISIONS.read_text(), re.MULTILINE)
    ]
    pages = {str(page.relative_to(ROOT / "docs").with_suffix("")) for page in ROOT.glob("docs/**/*.md")}
    assert pages - set(listed) == {"index"}


VARIABLE = r"\b(?:REGRAFT_[A-Z_]*[A-Z]|JAVA_HOME|PYSPARK_PYTHON)\b"


def test_every_variable_that_the_program_reads_is_on_the_page_of_the_environment() -> None:
    page = (ROOT / "docs" / "reference" / "environment.md").read_text(encoding="utf-8")
    listed = {
        name for row in re.findall(r"^\| (`.*?) \|", page, re.MULTILINE) for name in re.findall(VARIABLE, row)
    }
    sources = [*ROOT.glob("src/**/*.py"), *ROOT.glob("examples/systemd/*")]
    read = {name for file in sources for name in re.findall(VARIABLE, file.read_text(encoding="utf-8"))}
    read |= {
        f"REGRAFT_COMPONENTS_{name}" for name in ("CERTIFICATE", "KEY", "AUTHORITY")
    }  # put together there
    assert listed == read


def test_every_diagram_has_its_picture() -> None:
    fence = re.compile(r"^```mermaid\n(.*?)^```$", re.MULTILINE | re.DOTALL)
    texts = [
        text for page in ROOT.glob("docs/**/*.md") for text in fence.findall(page.read_text(encoding="utf-8"))
    ]
    names = {hashlib.sha256(text.strip().encode()).hexdigest()[:16] for text in texts}
    assert {file.stem for file in ROOT.glob("docs/diagrams/*.svg")} == names


def test_the_commands_that_pages_name_exist() -> None:
    text = "\n".join(page.read_text(encoding="utf-8") for page in PAGES if page.name != "CHANGELOG.md")
    named = set(re.findall(r"(?:^\$ |`|^ *)regraft ([a-z][a-z-]*)(?=[ `\n])", text, re.MULTILINE))
    assert named - set(COMMANDS) == set()
    scripts = set(re.findall(r"\bscripts/([a-z]+)", text))
    assert {name for name in scripts if not (ROOT / "scripts" / name).exists()} == set()
