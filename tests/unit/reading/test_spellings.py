"""One person spelt in two ways would count as two: refused on reading, whatever the model and the store."""

from __future__ import annotations

import unicodedata
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import timeveil as tv
from timeveil.errors import InputError
from timeveil.reading import read
from timeveil.reading.columns import Spellings, plain_spelling

TWINS = {
    "blank after": ("canary", "canary "),
    "blanks within": ("canary bird", "canary  bird"),
    "no-break space": ("canary bird", "canary\u00a0bird"),
    "composed": ("canary José", "canary Jose\u0301"),
    "wide": ("canary1", "canary\uff11"),
    "unseen": ("canary", "can\u200bary"),
    "turned": ("canary", "\u202ecanary"),
    "both odd": ("canary ", " canary"),
    "tab": ("canary", "canary\t"),
}
OTHERS = {
    "case": ("Canary", "canary"),
    "zeros": ("007", "7"),
    "accent": ("José", "Jose"),
    "blank or none": ("can ary", "canary"),
    "padded": ("a ", "b "),
    "scripts": ("李明", "이명"),
}
ROLES = tv.Roles(respondent="who", time="day")


def visits(names: Any) -> pa.Table:
    days = np.datetime64("2024-01-01") + np.arange(len(names))
    return pa.table({"who": names, "day": days.astype("datetime64[D]")})


@pytest.mark.parametrize("stored", [False, True])
@pytest.mark.parametrize("pair", TWINS.values(), ids=TWINS)
def test_two_spellings_of_one_person_are_refused(pair: tuple[str, str], stored: bool) -> None:
    for names in ([*pair, "other"], [*pair[::-1], pair[0]], pa.array(pair).dictionary_encode()):
        with pytest.raises(
            InputError, match="column `who` spells people in more than one way, 1 time:"
        ) as it:
            read(visits(names), ROLES, stored=stored)
        assert (it.value.code, it.value.facts) == ("person-twice", {"column": "who", "count": 1})
        assert "canary" not in str(it.value)


@pytest.mark.parametrize("pair", OTHERS.values(), ids=OTHERS)
def test_what_may_be_two_people_comes_in(pair: tuple[str, str]) -> None:
    assert read(visits([*pair]), ROLES).table.num_rows == 2


def test_spellings_are_found_across_batches() -> None:
    """The plain one came and went long before the odd one."""
    first, second = pa.chunked_array([["a", "b", None]]), pa.chunked_array([["c", "a "], ["c", "b\u200b"]])
    spellings = Spellings()
    spellings.push(first)
    spellings.push(second)
    with pytest.raises(InputError) as caught:
        spellings.refuse("who", [first, second])
    assert caught.value.facts["count"] == 2


def test_only_the_rows_of_a_slice_are_looked_at() -> None:
    whole = pa.chunked_array([pa.array(["a ", "a", "bo", "c d", " c"])])
    spellings = Spellings()
    spellings.push(whole.slice(1, 3))
    spellings.refuse("who", [whole.slice(1, 3)])
    spellings.push(whole.slice(3))
    spellings.push(whole.slice(0, 1))
    with pytest.raises(InputError):
        spellings.refuse("who", [whole])


def test_plain_is_plain_already() -> None:
    """Every letter that is let through unseen is as it would be written."""
    plain = [chr(n) for n in (*range(0x21, 0x7F), *range(0xC0, 0x250), *range(0x400, 0x500), 0x4E00, 0xAC01)]
    told = plain_spelling(pa.array([f"a{letter}" for letter in plain], pa.large_string())).to_pylist()

    assert told == [unicodedata.normalize("NFKC", f"a{letter}") for letter in plain]


def test_every_model_refuses(tmp_path: Any) -> None:
    names = ["a", "a ", "b", "c"]
    pq.write_table(visits(names), tmp_path / "visits.parquet")
    wide = pa.table({"who": names, "x": [1.0, 2, 3, 4], "y": [1.0, 2, 3, 5]})
    baskets = pa.table({"who": names, "what": ["tea"] * 4})
    stream = visits(names).append_column("what", pa.array(["x", "y", "x", "y"]))
    calls = [
        lambda: tv.generalize_time(tmp_path / "visits.parquet", ROLES, k=2),
        lambda: tv.generalize_time(tmp_path / "visits.parquet", ROLES, k=2, engine="duckdb"),
        lambda: tv.anonymize_series(wide, tv.Roles(respondent="who", series=["x", "y"]), k=2, p=2),
        lambda: tv.sanitize_patterns(baskets, tv.Roles(respondent="who", item="what"), k=2, min_support=2),
        lambda: tv.publish_stream(
            stream, tv.Roles(respondent="who", time="day", sensitive=["what"]), l=2, window=2
        ),
    ]
    for call in calls:
        with pytest.raises(InputError, match="spells people"):
            call()
