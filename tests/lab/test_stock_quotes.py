import gzip
from pathlib import Path

import pytest

from regraft.lab.stock_quotes import parse_publication, read_publications
from regraft.model import BadInput

LINE = "[class,'STOCK'],[symbol,'ZZZZ'],[open,18.37],[high,-18.4],[volume,100000],[date,'5-Mar-99']"


def test_a_publication_becomes_attributes() -> None:
    event = parse_publication(LINE)
    assert event == {
        "class": "STOCK",
        "symbol": "ZZZZ",
        "open": 18.37,
        "high": -18.4,
        "volume": 100000,
        "date": "5-Mar-99",
    }
    assert isinstance(event["volume"], int)


def test_blanks_and_commas_in_text_are_kept_apart_from_the_syntax() -> None:
    assert parse_publication(" [ name , 'a, [b]' ],[n, 1e3] \n") == {"name": "a, [b]", "n": 1000.0}


@pytest.mark.parametrize(
    ("line", "place"),
    [
        ("", "column 1"),
        ("[class,STOCK]", "column 1"),
        ("[class,'STOCK'] [n,1]", "column 16"),
        ("[class,'STOCK'],", "column 17"),
        ("[n,1],[n,2]", "column 7"),
        ("[n,'open]", "column 1"),
        ("[n,1", "column 1"),
    ],
)
def test_a_bad_line_is_named_by_its_column(line: str, place: str) -> None:
    with pytest.raises(BadInput) as fault:
        parse_publication(line)
    assert fault.value.place == place


@pytest.mark.parametrize("name", ["quotes.txt", "quotes.txt.gz"])
def test_a_file_is_read_in_its_order(tmp_path: Path, name: str) -> None:
    text = f"{LINE}\n\n[class,'STOCK'],[open,2]\n"
    (tmp_path / name).write_bytes(gzip.compress(text.encode()) if name.endswith("gz") else text.encode())
    assert [event["open"] for event in read_publications(tmp_path / name)] == [18.37, 2]


def test_a_bad_line_in_a_file_is_named_by_file_and_line(tmp_path: Path) -> None:
    (tmp_path / "q.txt").write_text(f"{LINE}\nnonsense\n")
    with pytest.raises(BadInput, match=r"q\.txt: line 2: column 1"):
        list(read_publications(tmp_path / "q.txt"))
