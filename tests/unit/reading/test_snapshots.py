"""Snapshots that are recognised at a glance are read as `read` reads them, and all others by `read`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import timeveil as tv
from timeveil.domain.roles import Roles
from timeveil.errors import TimeveilError
from timeveil.models.stream.method.arrivals import reader_of
from timeveil.models.stream.parameters import StreamParameters
from timeveil.reading.encoding import encode

ROLES = Roles(respondent="who", time="day", quasi=["age"], sensitive=["disease"])
PLAIN = {"who": ["Ann", "Bob", "Cem"], "day": [1, 1, 1], "age": [3, 4, 5], "disease": ["flu", "cold", "flu"]}
NOT_UTF8 = pa.StringArray.from_buffers(3, *pa.array([b"a", b"\xff", b"b"], pa.binary()).buffers()[1:3])
ODD: dict[str, dict[str, Any]] = {
    "a missing person": {"who": ["Ann", None, "Cem"]},
    "a person without a name": {"who": ["Ann", "", "Cem"]},
    "a person whom nobody sees": {"who": ["Ann", "\u200b", "Cem"]},
    "one person in two spellings": {"who": ["Ann", "Ann ", "Cem"]},
    "one value in two spellings": {"disease": ["flu", "flu\u00a0", "cold"]},
    "a missing value": {"disease": ["flu", None, "flu"]},
    "an empty value": {"disease": ["flu", "", "flu"]},
    "dates as values": {"disease": ["2024-01-01", "2024-01-02", "flu"]},
    "bytes that are no text": {"disease": NOT_UTF8},
    "a missing time": {"day": [1, None, 1]},
    "dates in digits": {"day": [20240101, 20240101, 20240102]},
    "a time out of bounds": {"day": [1, 1, 2**62]},
    "an age out of a float": {"age": [3.0, float("nan"), -0.0]},
    "times of another kind": {"day": pa.array([0, 0, 1], pa.date32())},
    "a new value": {"disease": ["flu", "mumps", "gout"]},
    "letters beyond ASCII": {"who": ["Ann", "Jos\u00e9", "Zo\u00eb"]},
}


def outcome(reader: Any, table: pa.Table) -> Any:
    """What reading leads to: the rows and what is known of them, or the error."""
    try:
        relation, coded = reader.read(table)
    except TimeveilError as error:
        return str(error), error.code
    if coded is not None:
        column = encode(relation.table["disease"])
        assert coded.values.equals(column.values)
        assert np.array_equal(coded.codes, column.codes)
    rows = relation.table
    return rows.to_pylist(), rows.schema.to_string(), relation.axis, relation.normal, relation.exceptions


def reader(**options: Any) -> Any:
    return reader_of(ROLES, StreamParameters(l=2, window=2, **options))


@pytest.mark.parametrize("nulls", ["error", "withhold"])
@pytest.mark.parametrize("columns", ODD.values(), ids=ODD)
def test_odd_snapshots_are_read_alike_after_a_plain_one(columns: dict[str, Any], nulls: str) -> None:
    after_plain = reader(nulls=nulls)
    assert after_plain.read(pa.table(PLAIN))[1] is None
    assert after_plain.read(pa.table(PLAIN))[1] is not None
    for _ in range(2):  # what was refused once is refused again
        odd = pa.table({**PLAIN, **columns})
        assert outcome(after_plain, odd) == outcome(reader(nulls=nulls), odd)
    assert outcome(after_plain, pa.table(PLAIN)) == outcome(reader(), pa.table(PLAIN))


def test_plain_snapshots_are_recognised_whatever_their_times() -> None:
    for kind in (pa.int64(), pa.date32(), pa.timestamp("ms")):
        table = pa.table(
            {
                **PLAIN,
                "day": pa.array([1, 1, 2], pa.int32() if kind == pa.date32() else pa.int64()).cast(kind),
            }
        )
        again = reader()
        assert outcome(again, table) == outcome(again, table)
        assert again.read(table)[1] is not None


def test_a_table_of_other_columns_or_with_a_decimal_comma_is_read_anew() -> None:
    again = reader()
    again.read(pa.table(PLAIN))
    assert again.read(pa.table(PLAIN).select(["age", "who", "disease", "day"]))[1] is None
    with_commas = reader(decimal="comma")
    with_commas.read(pa.table(PLAIN))
    assert with_commas.read(pa.table(PLAIN))[1] is None


def test_metadata_does_not_pass_on() -> None:
    again = reader()
    again.read(pa.table(PLAIN))
    relation, coded = again.read(pa.table(PLAIN).replace_schema_metadata({"secret": "x"}))
    assert coded is not None
    assert not relation.table.schema.metadata


def test_a_snapshot_with_a_second_spelling_of_an_earlier_value_is_refused() -> None:
    publisher = tv.StreamPublisher(Roles(time="day", sensitive=["disease"]), l=2, window=2, seed=1)
    for day, values in enumerate((["flu", "cold"], ["flu", "gout"])):
        publisher.push(pa.table({"day": [day] * 2, "disease": values}))
    with pytest.raises(tv.InputError, match="spells values in more than one way"):
        publisher.push(pa.table({"day": [2, 2], "disease": ["flu ", "cold"]}))
