"""Records read many at once are those read one by one, and slots as messages are what JSON makes of them."""

from __future__ import annotations

import datetime as dt
import decimal
import json
import random
from typing import Any

import pyarrow as pa
import pytest

from timeveil.domain.roles import REST, Roles
from timeveil.errors import InputError, TimeveilError
from timeveil.service import records
from timeveil.service.ports import rows_as_json
from timeveil.service.records import Columns, cell, forms_of, sifted

GOOD = [
    b'{"at": "2024-01-01", "age": %d, "ill": "flu", "site": "n"}',
    b'{"site":"n","ill":"a\\u00e9 \\ud83d\\ude00","age":%d,"at":"2024-01-01"}',
    '{"at": "2024-01-01", "age": %d, "ill": "grippé", "site": "n"}'.encode(),
]
ODD = [
    b'{"at": "2024-01-01", "age": -0, "ill": "flu", "site": "n"}',
    b'{"at": "2024-01-01", "age": -0 , "ill": "flu", "site": "n"}',
    b'{"at": "2024-01-01", "ill": "flu", "site": "n", "age": -0\t}',
    b'{"at": "2024-01-01", "age": 1.50, "ill": "flu", "site": "n"}',
    b'{"at": "2024-01-01", "age": 1e3, "ill": "flu", "site": "n"}',
    b'{"at": "2024-01-01", "age": 99999999999999999999, "ill": "flu", "site": "n"}',
    b'{"at": "2024-01-01", "age": NaN, "ill": "flu", "site": "n"}',
    b'{"at": "2024-01-01", "age": "7", "ill": "flu", "site": "n"}',
    b'{"at": "2024-01-01", "age": true, "ill": false, "site": "n"}',
    b'{"at": "2024-01-01", "age": null, "ill": "flu", "site": "n"}',
    b'{"at": "2024-01-01", "age": 7, "ill": "flu", "site": null}',
    b'{"at": "2024-01-01", "age": 7, "ill": "flu", "site": "n", "more": 1}',
    b'{"at": "2024-01-01", "age": 7, "ill": "flu", "site": "n", "more": [1]}',
    b'{"at": "2024-01-01", "age": 7, "ill": "flu", "site": {"x": 1}}',
    b'{"at": "2024-01-01", "age": 7, "ill": "flu"}',
    b'{"at": "2024-01-01", "age": 7}',
    b'{"at": "2024-01-01"}',
    b'{"at": "2024-01-01", "age": 7, "age": 8, "ill": "flu", "site": "n"}',
    b' {"at": "2024-01-01", "age": 7, "ill": "flu", "site": "n"}\r',
    b'{"at": "2024-01-01", "age": 7, "ill": "fl\xff", "site": "n"}',
    b'{"at": "2024-01-01", "age": 7, "ill": "\\ud800", "site": "n"}',
    b'{"at": "2024-01-01", "age": 7, "ill": "a\\u0000b", "site": "n"}',
    b'{"at": "2024-01-01", "age": 7, "ill": "a\x00b", "site": "n"}',
    b'{"at": "2024-01-01", "age": 07, "ill": "flu", "site": "n"}',
    b'{"at": "2024-01-01", "age": 7, "ill": "flu", "site": "n",}',
    b'{"at": "2024-01-01", "age": 7, "ill": "flu", "site": "n"} {}',
    b'{"at": "2024-01-01", "age": 7, "ill": "flu", "site": "n"}{"at": "2024-01-02"}',
    b'{"at": "2024-01-01", "age": 7, "ill": {',
    b'{"at": "2024-01-01", "age": 7, "ill": "flu',
    b'", "site": "n"}',
    b'}, "site": "n"}',
    b'"x": 1}, "site": "n"}',
    b"{}",
    b"[]",
    b"",
    b"null",
    b'\xef\xbb\xbf{"at": "2024-01-01", "age": 7, "ill": "flu", "site": "n"}',
    b'{"at": "2024-01-01", "age": 7, "ill": "flu", "site": "n"} // no',
    b'{"at": 1704067200, "age": 7, "ill": "flu", "site": "n"}',
    b"[" * 5_000,
]
DROPS: tuple[Any, ...] = (REST, ["site"], ["site", "more"], [])


def read(columns: Columns, lines: list[bytes]) -> tuple[dict[str, list[Any]], list[tuple[int, str, str]]]:
    bad = list[tuple[int, str, str]]()
    rows = columns.read(lines, lambda number, error: bad.append((number, error.code, error.message)))
    names = ["line", "beat", *map(cell, columns.columns)]
    return rows.select(names).to_pydict(), sorted(bad)


@pytest.mark.parametrize("drop", DROPS, ids=str)
def test_many_at_once_as_one_by_one(drop: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    columns = Columns(Roles(time="at", quasi=["age"], sensitive=["ill"], drop=drop), None)
    rng = random.Random(3)  # noqa: S311
    for size in (1, 2, 3, 9, 60, 200) * 8:
        share = rng.choice((0, 0.02, 0.3, 1))
        good = rng.sample(GOOD, rng.randint(1, 3))
        lines = [
            rng.choice(ODD) if rng.random() < share else rng.choice(good) % rng.randint(0, 99)
            for _ in range(size)
        ]
        monkeypatch.setattr(records, "FEW", 10_000)
        one_by_one = read(columns, lines)
        monkeypatch.setattr(records, "FEW", 1)
        assert read(columns, lines) == one_by_one
        assert len(one_by_one[0]["line"]) + len(one_by_one[1]) == size


def test_each_odd_line_between_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever comes before and after it: what is read of a line does not depend on its neighbours."""
    monkeypatch.setattr(records, "FEW", 1)
    for drop in DROPS:
        columns = Columns(Roles(time="at", quasi=["age"], sensitive=["ill"], drop=drop), None)
        alone = {line: read(columns, [line]) for line in ODD}
        for first in ODD:
            for second in ODD:
                rows, bad = read(columns, [first, second])
                expected = alone[first], alone[second]
                assert [line for line, *_ in bad] == [n for n, (_, errors) in enumerate(expected) if errors]
                for name in map(cell, columns.columns):
                    assert rows[name] == expected[0][0][name] + expected[1][0][name]


def test_most_lines_are_read_many_at_once() -> None:
    columns = Columns(Roles(time="at", quasi=["age"], sensitive=["ill"], drop="rest"), None)
    for good in GOOD:
        assert columns._together([good % number for number in range(50)]) is not None


def test_rows_as_json() -> None:
    texts = ["a", 'quo"te', "back\\slash", "é\u2028\x07", "", None]
    table = pa.table(
        {
            "ä": texts,
            "numbers": [1, -2, 2**40, 0, None, 7],
            "zeros": [0.0, -0.0, 1.5, float("nan"), None, 1e300],
            "flags": [True, False, None, True, False, None],
            "days": pa.array([0, 1, None, 3, 4, 5], pa.date32()),
            "times": [dt.datetime(2024, 1, 1, 2, 3, 4, 5)] * 5 + [None],
            "sums": pa.array([decimal.Decimal("1.10")] * 6),
            "nothing": pa.nulls(6),
        }
    )
    for rows in (table, table.slice(2, 3), table.slice(0, 0), table.select(["numbers"])):
        for pieces in (rows, pa.concat_tables([rows, rows])):
            for counts in (
                [len(pieces)],
                [1] * len(pieces),
                [0, len(pieces) // 2, 0, -(-len(pieces) // 2), 0],
            ):
                ends = [sum(counts[: number + 1]) for number in range(len(counts))]
                parts = [
                    pieces.to_pylist()[end - count : end] for count, end in zip(counts, ends, strict=True)
                ]
                dumped = [json.dumps(part, default=str, ensure_ascii=False, sort_keys=True) for part in parts]
                assert rows_as_json(pieces, counts) == [text.encode() for text in dumped]


@pytest.mark.parametrize("alone", [False, True])
def test_items_to_blame_are_found_by_halves(alone: bool) -> None:
    def check(numbers: list[int]) -> None:
        if {3, 6} & {*numbers}:
            raise InputError("three or six", hint="")

    rejected = list[tuple[list[int], str]]()

    def reject(items: list[int], error: TimeveilError) -> None:
        rejected.append((items, error.message))

    assert sifted([1, 2, 3, 4, 5, 6], check, reject, alone=alone) == [1, 2, 4, 5]
    assert rejected == [([3], "three or six"), ([6], "three or six")]


def test_times_are_told_apart_by_their_form() -> None:
    assert forms_of(pa.array(["2024-03-31", "7", None, "2024-04-01"])).tolist() == [0, 1, 2, 0]
