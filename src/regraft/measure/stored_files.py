"""Parquet files of any store as a table of Spark, with the columns of a schema.

Files in folders are read by Spark itself. Spark as it comes from PyPI reaches no object store: there, workers
read files by Arrow (`StoredFiles`), the same rows more slowly. A few rows are read by the driver, also by
Arrow: for hundreds of small segments, Spark would take seconds.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from regraft.measure.schemas import LINES
from regraft.model import BadInput
from regraft.model.delta import TableFile
from regraft.model.store import Store, StoreFault, open_store

NAME = "regraft_files"
TOGETHER = 16
"""How many files one task reads."""
ROWS = 1 << 16
FEW = 50_000
FEW_ROWS = "spark.regraft.driver.rows"
"""A setting: up to this many rows the driver reads, and writes the tables of; `FEW` by default."""
MOST_FILES, MOST_BYTES = 5_000, 64 << 20
"""The driver reads no more files, and no more bytes of rows, however few the rows are."""
AT_ONCE = 4
SOURCE, LINE = LINES.fieldNames()[:2]


def stored(
    spark: SparkSession, store: Store, names: Sequence[str], schema: StructType, rows: int | None = None
) -> DataFrame:
    """The rows of these files (`rows`: how many, if that is known). Columns that a file lacks are null,
    others are left out."""
    if not names:
        return spark.createDataFrame([], schema)
    if rows is not None and are_few(spark, rows) and (found := _read_few(store, names, schema)) is not None:
        return spark.createDataFrame(found, schema)
    if store.is_local:
        paths = [_literal(str(Path(store.at(name)).absolute())) for name in names]
        return spark.read.schema(schema).parquet(*paths).select(*(f"`{name}`" for name in schema.names))
    return _by_arrow(spark, store, names, schema)


def placed(
    spark: SparkSession,
    store: Store,
    names: Sequence[str],
    schema: StructType,
    rows: int | None = None,
    *,
    cast: bool = False,
) -> DataFrame:
    """As `stored`, with the columns `source` and `line` (from 1). `cast`: columns of another type are
    converted; what cannot be is null."""
    places = [field for field in LINES.fields if field.name in (SOURCE, LINE)]
    whole = StructType([*schema.fields, *places])
    if rows is not None and are_few(spark, rows) and (found := _read_few(store, names, whole)) is not None:
        return spark.createDataFrame(found, whole)
    if cast or not store.is_local:
        return _by_arrow(spark, store, names, whole)
    paths = [_literal(str(Path(store.at(name)).absolute())) for name in names]
    # The name of the file is an address, `file:///…`, in which a plus sign stands for itself.
    path = f.url_decode(f.regexp_replace(f.col("_metadata.file_path"), r"\+", "%2B"))
    folder = len(str(Path(store.place).absolute())) + len("file:///")
    where = f.substr(f.regexp_replace(path, "^file:/*", "file:///"), f.lit(folder + 1))
    line = f.col("_metadata.row_index") + 1
    table = spark.read.schema(schema).parquet(*paths)
    return table.select(*(f"`{name}`" for name in schema.names), where.alias(SOURCE), line.alias(LINE))


def rows_in(files: Iterable[TableFile]) -> int | None:
    """How many rows these files of a table have, if that is known of all."""
    counts = [file.rows for file in files]
    return None if None in counts else sum(count for count in counts if count is not None)


def are_few(spark: SparkSession, rows: int) -> bool:
    return rows <= int(spark.conf.get(FEW_ROWS, str(FEW)) or 0)


def _literal(path: str) -> str:
    """A path as Hadoop's patterns have it, which Spark takes all paths for."""
    return "".join(f"\\{c}" if c in "*?[]{}\\" else c for c in path)


def _by_arrow(spark: SparkSession, store: Store, names: Sequence[str], schema: StructType) -> DataFrame:
    spark.dataSource.register(StoredFiles)
    reader = spark.read.format(NAME).schema(schema)
    return reader.option("place", store.place).option("names", json.dumps(list(names))).load()


def _read_few(store: Store, names: Sequence[str], schema: StructType) -> pa.Table | None:
    """The rows of these files; None if it is too much for the driver: rows may be of any size."""
    if len(names) > MOST_FILES:
        return None
    arrow, batches, size = to_arrow_schema(schema, timezone="UTC"), [], 0
    with ThreadPoolExecutor(1 if store.is_local else AT_ONCE) as pool:
        for start in range(0, len(names), TOGETHER):
            some = names[start : start + TOGETHER]
            for part in pool.map(lambda name: list(_read(store, name, arrow)), some):
                batches += part
                size += sum(batch.nbytes for batch in part)
            if size > MOST_BYTES:
                return None
    return pa.Table.from_batches(batches, arrow).combine_chunks()


class _Part(InputPartition):
    def __init__(self, names: list[str]) -> None:
        super().__init__(names)


class StoredFiles(DataSource):
    """Options: `place`, the store; `names`, the files as JSON."""

    @classmethod
    def name(cls) -> str:
        return NAME

    def schema(self) -> str:
        raise ValueError("the schema has to be given")

    def reader(self, schema: StructType) -> DataSourceReader:
        return _Reader(self.options["place"], json.loads(self.options["names"]), schema)


class _Reader(DataSourceReader):
    def __init__(self, place: str, names: list[str], schema: StructType) -> None:
        self._place, self._names = place, names
        self._schema = to_arrow_schema(schema, timezone="UTC")

    def partitions(self) -> Sequence[InputPartition]:
        names = self._names
        return [_Part(names[start : start + TOGETHER]) for start in range(0, len(names), TOGETHER)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        store = open_store(self._place)
        for name in partition.value:
            yield from _read(store, name, self._schema)


def _read(store: Store, name: str, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    try:
        with store.open(name) as content:
            file, line = pq.ParquetFile(content), 1
            there = set(schema.names) & set(file.schema_arrow.names)
            for batch in file.iter_batches(ROWS, columns=list(there), use_threads=False):
                yield _conformed(batch, schema, name, line)
                line += batch.num_rows
    except FileNotFoundError:
        raise StoreFault(f"{store.at(name)}: No such file: it was there when it was taken in") from None
    except OSError as fault:
        raise StoreFault(f"{store.at(name)}: cannot be read: {_first_line(fault)}") from None
    except (pa.ArrowException, UnicodeDecodeError) as fault:
        raise BadInput(store.at(name), f"damaged: {_first_line(fault)}") from None


def _first_line(fault: Exception) -> str:
    return str(fault).partition("\n")[0]


def _conformed(batch: pa.RecordBatch, schema: pa.Schema, name: str, line: int) -> pa.RecordBatch:
    count = batch.num_rows
    held = dict(zip(batch.schema.names, batch.columns, strict=True))
    columns = []
    for field in schema:
        if (column := held.get(field.name)) is not None:
            columns.append(_cast(column, field.type))
        elif field.name == SOURCE:
            columns.append(pa.repeat(name, count))
        elif field.name == LINE:
            columns.append(pa.array(range(line, line + count), pa.int64()))
        else:
            columns.append(pa.nulls(count, field.type))
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def _cast(column: pa.Array, kind: pa.DataType) -> pa.Array:
    """What is not of this type, and cannot be converted, is null, as Spark has it."""
    if column.type == kind:
        return column
    try:
        return column.cast(kind, safe=False)
    except pa.ArrowException:
        pass
    if pa.types.is_string(column.type) and not pa.types.is_nested(kind):
        return pa.array((_number(text, kind) for text in column.to_pylist()), kind)
    return pa.nulls(len(column), kind)


def _number(text: str | None, kind: pa.DataType) -> object:
    try:
        return None if text is None else pa.scalar(text).cast(kind).as_py()
    except pa.ArrowException:
        return None
