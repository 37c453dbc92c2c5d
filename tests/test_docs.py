"""What the documentation shows is true: links lead somewhere, examples of filters give what they say."""

import doctest
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from regraft.filters import BadFilter, covers, overlaps, parse

ROOT = Path(__file__).parent.parent
PAGES = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("benchmarks/*.md")]
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
