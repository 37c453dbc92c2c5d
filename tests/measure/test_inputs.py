"""Which bytes of which files are read, without Spark."""

import random
from pathlib import Path

from regraft.measure.inputs import Input, Span, at_most, parquet_files, spool_files, unfinished, unread


def test_files_are_read_in_the_order_in_which_they_were_begun_each_to_its_last_whole_line(
    tmp_path: Path,
) -> None:
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "b0-20.ndjson").write_bytes(b"a\nbc")
    (tmp_path / "b1-10.ndjson.open").write_bytes(b"a\nbc\nd")
    (tmp_path / "b9-5.ndjson.open").write_bytes(b"no line yet")
    (tmp_path / "_own.ndjson").write_bytes(b"a\n")
    (tmp_path / "c.parquet").write_bytes(b"1234")
    files = spool_files(tmp_path)
    assert files == [Input("b9-5.ndjson", 0), Input("b1-10.ndjson", 5), Input("deep/b0-20.ndjson", 2)]
    assert unfinished(tmp_path) == ["deep/b0-20.ndjson"]
    assert parquet_files(tmp_path) == [Input("c.parquet", 4)]
    assert unread(files, {"b1-10.ndjson": 2}) == [Span("b1-10.ndjson", 2, 5), Span("deep/b0-20.ndjson", 0, 2)]


def test_a_micro_batch_is_cut_at_the_end_of_a_line(tmp_path: Path) -> None:
    (tmp_path / "a-1.ndjson").write_bytes(b"12345\n" * 4)
    (tmp_path / "a-2.ndjson").write_bytes(b"12345\n")
    spans = [Span("a-1.ndjson", 0, 24), Span("a-2.ndjson", 0, 6)]
    assert at_most(spans, 15, tmp_path) == [Span("a-1.ndjson", 0, 12)]
    assert at_most(spans, 3, tmp_path) == [Span("a-1.ndjson", 0, 24)]  # a line is never cut
    assert at_most(spans, 24, tmp_path) == at_most(spans, 28, tmp_path) == [Span("a-1.ndjson", 0, 24)]
    assert at_most(spans, 30, tmp_path) == spans


def test_however_spans_are_cut_into_pieces_every_line_is_read_once_with_its_number(tmp_path: Path) -> None:
    from regraft.measure.spool_source import pieces, read_lines

    chance = random.Random(3)
    for case in range(40):
        lines = ["x" * chance.randrange(12) for _ in range(chance.randrange(1, 30))]
        text = "\n".join(lines) + chance.choice(["", "\n"])
        (tmp_path / "a.ndjson").write_text(text)
        size = len(text)
        if not size:
            continue
        cut = text.rfind("\n", 0, chance.randrange(size) + 1) + 1
        both = (Span("a.ndjson", 0, cut), Span("a.ndjson", cut, size))
        spans = [span for span in both if span.end > span.start]
        found = [
            (row["line"], row["text"].rstrip("\n"))
            for piece in pieces(spans, chance.randrange(1, 20))
            for batch in read_lines(tmp_path, piece.value)
            for row in batch.to_pylist()
        ]
        expected = text.removesuffix("\n").split("\n")
        assert sorted(found) == list(enumerate(expected, 1)), case


def test_a_little_is_read_by_as_many_tasks_as_run_at_once_and_much_by_more() -> None:
    from regraft.measure.spool_source import LEAST_PIECE, PIECE, pieces, size_of_pieces

    def tasks(there: int, at_once: int) -> int:
        spans = [Span("a", 0, there)]
        return len(pieces(spans, size_of_pieces(spans, at_once)))

    assert [tasks(8 * LEAST_PIECE, at_once) for at_once in (1, 2, 8, 100)] == [1, 2, 8, 8]
    assert tasks(100 * PIECE, 2) == 100
