"""Interest tables from real data: social graphs, listeners and streamers as nodes and topics.

The file's name tells the format. In `.txt`, lines `u v` are friends, each a topic that the other is
interested in; `.jsonl` has lines {"node", "topics"}; `.tsv` is a table with the columns userID and artistID.
All may be gzip.
"""

from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from regraft.measure.faults import one_line
from regraft.model import BadInput
from regraft.model.files import shown


def real_interest(session: SparkSession, place: str | Path) -> DataFrame:
    """Distinct (node, topic) of one file."""
    path = Path(place)
    if not path.is_file():
        raise BadInput(shown(path), "there is no such file")
    suffix = Path(path.name.removesuffix(".gz")).suffix
    with one_line(shown(path)):
        if suffix == ".jsonl":
            rows = _lists(session, path)
        elif suffix == ".tsv":
            rows = _table(session, path)
        elif suffix == ".txt":
            rows = _friends(session, path)
        else:
            raise BadInput(shown(path), "interest is read from .jsonl, .tsv and .txt files (also .gz)")
    return rows.dropna().distinct()


def _lists(session: SparkSession, path: Path) -> DataFrame:
    lines = session.read.schema("node string, topics array<string>").json(str(path))
    return lines.select("node", f.explode("topics").alias("topic"))


def _table(session: SparkSession, path: Path) -> DataFrame:
    rows = session.read.option("header", True).option("sep", "\t").csv(str(path))
    if not {"userID", "artistID"} <= set(rows.columns):
        raise BadInput(shown(path), "the columns userID and artistID are needed")
    return rows.select(f.col("userID").alias("node"), f.col("artistID").alias("topic"))


def _friends(session: SparkSession, path: Path) -> DataFrame:
    pairs = session.read.option("sep", " ").schema("one string, other string").csv(str(path))
    there, back = (
        pairs.select(f.col(a).alias("node"), f.col(b).alias("topic"))
        for a, b in (("one", "other"), ("other", "one"))
    )
    return there.union(back)
