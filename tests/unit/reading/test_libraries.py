"""Tables from the real libraries come in with the same rows, and unchanged."""

from __future__ import annotations

import datetime as dt
import gzip

import duckdb
import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv as pcsv
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

from timeveil.domain.roles import Roles
from timeveil.errors import InputError, RolesError
from timeveil.reading import read

ROLES = Roles(respondent="who", time="at", quasi=["zip"], keep=["n"])
ROWS = pa.table(
    {
        "who": ["a", "b", "a"],
        "at": pa.array(
            [dt.datetime(2024, 2, 29, 12), dt.datetime(2024, 3, 1), dt.datetime(1969, 1, 1)],
            pa.timestamp("us"),
        ),
        "zip": ["01234", None, "99999"],
        "n": [1, 2, None],
    }
)
EXPECTED = ROWS.to_pylist()


class Stream:
    """The Arrow capsule and nothing else."""

    def __init__(self, table):
        self._table = table

    def __arrow_c_stream__(self, requested_schema=None):
        return self._table.__arrow_c_stream__(requested_schema)


class OneBatch:
    def __init__(self, table):
        self._batch = table.combine_chunks().to_batches()[0]

    def __arrow_c_array__(self, requested_schema=None):
        return self._batch.__arrow_c_array__(requested_schema)


def duck(table):
    return duckdb.connect().from_arrow(table)


GIVEN = {
    "table": lambda t: t,
    "chunked": lambda t: pa.concat_tables([t.slice(0, 1), t.slice(1, 0), t.slice(1)]),
    "sliced": lambda t: pa.concat_tables([t, t, t]).combine_chunks().slice(3, 3),
    "batch": lambda t: t.combine_chunks().to_batches()[0],
    "reader": lambda t: t.to_reader(max_chunksize=2),
    "dataset": ds.dataset,
    "capsule": Stream,
    "array capsule": OneBatch,
    "encoded": lambda t: t.set_column(2, "zip", t["zip"].dictionary_encode()).set_column(
        0, "who", t["who"].dictionary_encode()
    ),
    "views": lambda t: t.set_column(2, "zip", t["zip"].cast(pa.string_view())),
    "pandas": lambda t: t.to_pandas(),
    "pandas with index": lambda t: t.to_pandas().set_index(pd.Index([7, 8, 9], name="secret")),
    "pandas categories": lambda t: t.to_pandas().astype({"zip": "category", "n": "Int64"}),
    "pandas arrow": lambda t: t.to_pandas(types_mapper=pd.ArrowDtype),
    "polars": pl.from_arrow,
    "polars lazy": lambda t: pl.from_arrow(t).lazy(),
    "polars categories": lambda t: pl.from_arrow(t).with_columns(pl.col("zip").cast(pl.Categorical)),
    "polars text": lambda t: pl.from_arrow(t).with_columns(pl.col("at").cast(pl.String)),
    "polars time categories": lambda t: pl.from_arrow(t).with_columns(
        pl.col("at").cast(pl.String).cast(pl.Categorical)
    ),
    "duckdb": duck,
    "narwhals": lambda t: nw.from_native(pl.from_arrow(t)),
    "narwhals lazy": lambda t: nw.from_native(pl.from_arrow(t).lazy()),
    "narwhals duckdb": lambda t: nw.from_native(duck(t)),
}


def rows_of(relation):
    """Plain values; a pandas column of whole numbers with a gap comes as floats."""
    return [
        {**row, "n": None if row["n"] is None or row["n"] != row["n"] else int(row["n"])}
        for row in relation.table.to_pylist()
    ]


@pytest.mark.parametrize("stored", [False, True])
@pytest.mark.parametrize("kind", GIVEN)
def test_every_library_gives_the_same_rows(kind, stored):
    """In memory and stored, whatever the table came as."""
    relation = read(GIVEN[kind](ROWS), ROLES, stored=stored)
    assert rows_of(relation) == EXPECTED
    assert relation.table.column_names == ["who", "at", "zip", "n"]
    assert relation.table.schema.field("at").type == pa.timestamp("ms")
    assert relation.data.schema.names == ["who", "at", "zip", "n"]


@pytest.mark.parametrize(
    "kind", ["table", "pandas", "pandas with index", "pandas categories", "polars", "encoded"]
)
def test_the_caller_s_object_stays_as_it_was(kind):
    """Its values, types, index and metadata."""
    given, twin = GIVEN[kind](ROWS), GIVEN[kind](ROWS)
    read(given, ROLES)
    if hasattr(given, "index"):
        pd.testing.assert_frame_equal(given, twin)
    else:
        assert given.equals(twin)


def test_no_index_and_no_metadata_pass_on():
    """Only role columns, and nothing written on them."""
    frame = ROWS.to_pandas().set_index(pd.Index(["canary7391"] * 3, name="secret"))
    noted = ROWS.replace_schema_metadata({"note": "canary7391"})
    for table in (frame, noted, pa.Table.from_pandas(frame).drop(["secret"])):
        relation = read(table, ROLES)
        assert relation.table.schema.metadata is None
        assert all(field.metadata is None for field in relation.table.schema)
        assert relation.dropped == ()


def test_dictionaries_carry_no_value_that_no_row_has():
    """Unused categories are cut; used ones stay encoded."""
    indices = pa.array([2, None, 0, 2], pa.int8())
    code = pa.DictionaryArray.from_arrays(indices, pa.array(["x", "canary7391", "y"]))
    table = pa.table({"who": [1, 2, 3, 4], "at": ["2024-01-01"] * 4, "zip": code, "n": code})
    relation = read(table, ROLES)
    for name in ("zip", "n"):
        column = relation.table[name]
        assert column.to_pylist() == ["y", None, "x", "y"]
        assert pa.types.is_dictionary(column.type)
        assert column.chunk(0).dictionary.to_pylist() == ["x", "y"]


def test_odd_dictionaries_are_decoded():
    """Values twice, a null among the values, or values that are not text."""
    for values in (["x", "x"], ["x", None], [1, 2]):
        code = pa.DictionaryArray.from_arrays(pa.array([0, 1], pa.int8()), pa.array(values))
        table = pa.table({"who": [1, 2], "at": ["2024-01-01"] * 2, "zip": code, "n": [1, 1]})
        column = read(table, ROLES).table["zip"]
        assert not pa.types.is_dictionary(column.type)
        assert column.to_pylist() == values


def test_chunks_with_dictionaries_of_their_own_are_made_one():
    """As a reader gives them."""
    parts = [pa.array([a, b]).dictionary_encode() for a, b in (("x", "y"), ("y", "z"))]
    table = pa.table(
        {"who": [1, 2, 3, 4], "at": ["2024-01-01"] * 4, "zip": pa.chunked_array(parts), "n": [1] * 4}
    )
    assert read(table, ROLES).table["zip"].to_pylist() == ["x", "y", "y", "z"]


def test_dictionaries_that_cannot_be_made_one_are_decoded():
    """Together they have more values than their codes have numbers, or a null among the values."""
    many = [[f"{letter}{number}" for number in range(100)] for letter in "ab"]
    for values in (many, [["x", None], ["y", "z"]]):
        codes = pa.array(range(len(values[0])), pa.int8())
        code = pa.chunked_array([pa.DictionaryArray.from_arrays(codes, pa.array(part)) for part in values])
        rows = len(code)
        columns = {"who": list(range(rows)), "at": ["2024-01-01"] * rows, "zip": code, "n": [1] * rows}
        assert read(pa.table(columns), ROLES).table["zip"].to_pylist() == [*values[0], *values[1]]


def test_pandas_objects_of_dates_are_dates():
    """And whatever mixes dates, clock readings and instants is not silently cut to the first kind."""
    frame = pd.DataFrame({"who": [1, 2], "at": [dt.date(2024, 2, 29), None], "zip": ["a", "b"], "n": [1, 2]})
    frame["at"] = frame["at"].astype(object)
    relation = read(frame, ROLES, nulls="withhold")
    assert relation.axis.type == pa.date32()
    mixed = frame.assign(at=pd.Series([dt.date(2024, 2, 29), dt.datetime(2024, 2, 29, 13)], dtype=object))
    assert read(mixed, ROLES).table["at"].to_pylist()[1] == dt.datetime(2024, 2, 29, 13)
    aware = dt.datetime(2024, 1, 1, tzinfo=dt.UTC)
    for first in (dt.datetime(2024, 1, 1), dt.date(2024, 1, 1)):
        table = frame.assign(at=pd.Series([first, aware], dtype=object))
        with pytest.raises(InputError) as caught:
            read(table, ROLES, zone="UTC")
        assert caught.value.code == "mixed-zones"


def test_pandas_objects_of_many_kinds_are_refused_without_their_values():
    """pyarrow's own message would quote one."""
    frame = pd.DataFrame({"who": [1, 2], "at": ["2024-01-01"] * 2, "zip": [1, "canary7391"], "n": [1, 2]})
    with pytest.raises(InputError) as caught:
        read(frame, ROLES)
    assert caught.value.code == "unsupported-input"
    assert "`zip`" in caught.value.message
    assert "canary7391" not in str(caught.value)
    assert caught.value.__cause__ is None


def test_pandas_columns_need_not_be_named_by_text():
    """Numbers as names are read as text."""
    frame = pd.DataFrame({0: ["a"], 1: ["2024-01-01"]})
    assert read(frame, Roles(respondent="0", time="1")).table.column_names == ["0", "1"]
    with pytest.raises(RolesError):
        read(pd.DataFrame([["a", "b"]], columns=["x", "x"]), Roles(respondent="x", time="t", drop="rest"))


def test_a_failing_stream_does_not_quote_data():
    """Whatever a foreign library says stays unsaid."""

    def batches():
        yield ROWS.slice(0, 1).combine_chunks().to_batches()[0]
        raise ValueError("canary7391")

    for stored in (False, True):
        with pytest.raises(InputError) as caught:
            read(pa.RecordBatchReader.from_batches(ROWS.schema, batches()), ROLES, stored=stored)
        assert "canary7391" not in str(caught.value)
        assert caught.value.__context__ is None


@pytest.mark.parametrize("thing", [3, None, [1, 2], {"who": [1]}, object()])
def test_what_is_no_table_is_refused(thing):
    """With a hint at what is."""
    with pytest.raises(InputError) as caught:
        read(thing, ROLES)
    assert caught.value.code == "unsupported-input"


def test_nan_is_null_where_rows_are_compared():
    """In quasi-identifiers and respondents; in kept columns it stays. Zero has one sign everywhere."""
    nan = float("nan")
    table = pa.table(
        {"who": [1.0, 2.0, -0.0], "at": ["2024-01-01"] * 3, "zip": [nan, -0.0, 1.5], "n": [nan, -0.0, None]}
    )
    relation = read(table, ROLES)
    assert str(relation.table["zip"].to_pylist()) == "[None, 0.0, 1.5]"
    assert str(relation.table["n"].to_pylist()) == "[nan, 0.0, None]"
    assert str(relation.table["who"].to_pylist()) == "[1.0, 2.0, 0.0]"
    half = table.set_column(2, "zip", pa.array([nan, 1.5, 2], pa.float16()))
    assert read(half, ROLES).table["zip"].to_pylist() == [None, 1.5, 2.0]
    with pytest.raises(InputError) as caught:
        read(table.set_column(0, "who", pa.array([1.0, nan, nan])), ROLES)
    assert caught.value.facts == {"column": "who", "count": 2, "row": 2}


@pytest.mark.parametrize(
    "column",
    [
        pa.array([[1]]),
        pa.array([{"a": 1}]),
        pa.array([[("a", 1)]], pa.map_(pa.string(), pa.int64())),
        pa.array([b"x"]),
        pa.array([b"x"]).dictionary_encode(),
        pa.array([b"xy"], pa.binary(2)),
        pa.array([1], pa.duration("s")),
        pa.array(pd.array(pd.period_range("2024-01", periods=1, freq="M"))),
    ],
)
def test_types_that_cannot_be_published_are_refused(column):
    """By the name of the column."""
    table = pa.table({"who": [1], "at": ["2024-01-01"], "zip": column, "n": [1]})
    with pytest.raises(InputError) as caught:
        read(table, ROLES)
    assert caught.value.code == "unsupported-input"
    assert "`zip`" in caught.value.message


@pytest.mark.parametrize(
    "column",
    [
        pa.array([True]),
        pa.array([1], pa.uint8()),
        pa.array([1]).cast(pa.decimal128(30, 2)),
        pa.array([1], pa.time64("us")),
        pa.array([dt.date(2024, 1, 1)]),
        pa.array([0], pa.timestamp("ns", "UTC")),
        pa.array(["x"], pa.large_string()),
        pa.nulls(1),
        pa.RunEndEncodedArray.from_arrays(pa.array([1], pa.int32()), pa.array(["x"])),
    ],
)
def test_plain_types_come_in(column):
    """As they are."""
    table = pa.table({"who": [1], "at": ["2024-01-01"], "zip": column, "n": column})
    for stored in (False, True):
        assert read(table, ROLES, stored=stored).table["zip"].to_pylist() == column.to_pylist()


def test_a_respondent_may_be_bytes():
    """It is never published."""
    table = pa.table({"who": [b"\x00\x01"], "at": ["2024-01-01"], "zip": ["x"], "n": [1]})
    assert read(table, ROLES).table["who"].to_pylist() == [b"\x00\x01"]


def test_columns_of_fitting_types_are_not_copied():
    """The columns that come in share the memory of those given."""
    count = 100_000
    table = pa.table(
        {
            "who": np.arange(count),
            "at": pa.array(np.arange(count), pa.timestamp("ms")),
            "zip": pa.array(np.arange(count, dtype=np.int32)),
            "n": pa.array(["x"] * count),
        }
    )
    taken = read(table, ROLES).table
    for name in table.column_names:
        given, got = table[name].chunk(0).buffers(), taken[name].chunk(0).buffers()
        assert [b and b.address for b in given] == [b and b.address for b in got]


@pytest.mark.parametrize("stored", [False, True])
def test_files_give_the_same_rows(tmp_path, stored):
    """Parquet keeps its types; CSV is text apart from the time, plain or packed."""
    pq.write_table(ROWS, tmp_path / "rows.parquet", row_group_size=2)
    pcsv.write_csv(ROWS, tmp_path / "rows.csv")
    (tmp_path / "ROWS.CSV.GZ").write_bytes(gzip.compress((tmp_path / "rows.csv").read_bytes()))
    parquet = read(tmp_path / "rows.parquet", ROLES, stored=stored)
    assert parquet.table.to_pylist() == EXPECTED
    assert parquet.source == "rows.parquet"
    for name in ("rows.csv", "ROWS.CSV.GZ"):
        csv = read(str(tmp_path / name), ROLES, stored=stored)
        text = [{**row, "n": None if row["n"] is None else str(row["n"])} for row in EXPECTED]
        assert csv.table.to_pylist() == text
