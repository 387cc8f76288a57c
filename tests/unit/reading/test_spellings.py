"""One person, sensitive value or item spelt in two ways would count as two: refused, or folded on request."""

from __future__ import annotations

import unicodedata
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import timeveil as tv
from timeveil.errors import InputError
from timeveil.reading import read
from timeveil.reading.spellings import Spellings, folded_text, normal_form
from timeveil.report import explain

UNSEEN = "\x01\u00ad\u034f\u115f\u180b\u200b\u2060\u2800\u3164\ufe0f\uffa0\U000e0100"
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
    **{f"U+{ord(letter):04X}": ("canary", f"can{letter}ary") for letter in UNSEEN},
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
    spellings = Spellings("who", "respondent")
    spellings.push(first)
    spellings.push(second)
    with pytest.raises(InputError) as caught:
        spellings.refuse([first, second])
    assert caught.value.facts["count"] == 2


def test_only_the_rows_of_a_slice_are_looked_at() -> None:
    whole = pa.chunked_array([pa.array(["a ", "a", "bo", "c d", " c"])])
    spellings = Spellings("who", "respondent")
    spellings.push(whole.slice(1, 3))
    spellings.refuse([whole.slice(1, 3)])
    spellings.push(whole.slice(3))
    spellings.push(whole.slice(0, 1))
    with pytest.raises(InputError):
        spellings.refuse([whole])


def test_plain_letters_are_in_their_normal_form() -> None:
    """Every letter that the bytes or the pattern let through needs no look at its form."""
    plain = [chr(n) for n in (*range(0x21, 0x7F), *range(0xC0, 0x250), *range(0x400, 0x500), 0x4E00, 0xAC01)]
    column = pa.chunked_array([[f"a{letter}" for letter in plain]])
    noted = Spellings("who", "respondent")
    noted.push(column)

    odd = {text for text in column.to_pylist() if unicodedata.normalize("NFKC", text) != text}
    assert set(noted._forms) == odd


PEOPLE = ["a", "a ", "b", "c"]
VALUES = ["HIV", "HIV ", "HI\u034fV", "flu"]


def calls(people: list[str], values: list[str], path: Any, **options: Any) -> dict[str, Any]:
    """Every method on four rows with these people and these sensitive values or items."""
    table = visits(people).append_column("what", pa.array(values))
    pq.write_table(table, path / "visits.parquet")
    timed = tv.Roles(respondent="who", time="day", sensitive=["what"])
    wide = pa.table({"who": people, "x": [1.0, 2, 3, 4], "y": [1.0, 2, 3, 5], "what": values})
    wide_roles = tv.Roles(respondent="who", series=["x", "y"], sensitive=["what"])
    long = pa.table({"who": people, "what": values})
    lists = pa.table({"who": people, "what": [[value] for value in values]})
    items = tv.Roles(respondent="who", item="what")
    support = {"k": 2, "min_support": 2, **options}
    return {
        "memory": lambda: tv.generalize_time(table, timed, k=2, **options),
        "duckdb": lambda: tv.generalize_time(path / "visits.parquet", timed, k=2, engine="duckdb", **options),
        "stream": lambda: tv.publish_stream(table, timed, l=2, window=4, seed=1, allow_loss=True, **options),
        "series": lambda: tv.anonymize_series(wide, wide_roles, k=2, p=2, **options),
        "long": lambda: tv.sanitize_patterns(long, items, **support),
        "lists": lambda: tv.sanitize_patterns(lists, items, **support),
    }


MODELS = ["memory", "duckdb", "stream", "series", "long", "lists"]


@pytest.mark.parametrize("model", MODELS)
def test_every_model_refuses_two_spellings_of_a_person(model: str, tmp_path: Any) -> None:
    with pytest.raises(InputError, match="spells people in more than one way, 1 time:") as caught:
        calls(PEOPLE, ["x", "y", "x", "y"], tmp_path)[model]()
    assert "fold_spellings=True" in caught.value.hint


@pytest.mark.parametrize("model", MODELS)
def test_every_model_refuses_two_spellings_of_a_value(model: str, tmp_path: Any) -> None:
    with pytest.raises(
        InputError, match=r"column `what` spells (values|items) in more than one way, 2 times:"
    ) as it:
        calls(["a", "b", "c", "d"], VALUES, tmp_path)[model]()
    assert it.value.code in ("value-clash", "item-clash")
    assert it.value.facts == {"column": "what", "count": 2}
    assert "HIV" not in str(it.value)


@pytest.mark.parametrize("model", MODELS)
def test_folded_values_are_published_once_and_counted(model: str, tmp_path: Any) -> None:
    release, ledger = calls(["a", "b", "c", "d"], VALUES, tmp_path, fold_spellings=True)[model]()

    column = "pattern" if model in ("long", "lists") else "what"
    shown = release.tables["sensitive" if model == "stream" else "data"][column]
    shown = shown.combine_chunks().flatten() if column == "pattern" else shown
    assert set(shown.to_pylist()) <= {"HIV", "flu"}
    assert len(shown) or model == "stream"  # one value in three of four records is too common for l = 2
    assert ledger.facts["folded"] == {"what": 2}
    assert tv.verify(release, ledger)
    assert (
        "Wrote 2 cells of `what` in another spelling: the normal form." in explain(release, ledger).sentences
    )


def test_one_value_in_two_spellings_is_not_two_values() -> None:
    """Folded, a stream of one value cannot be published as 2-diverse."""
    days = np.repeat(np.datetime64("2024-01-01") + np.arange(3), 2).astype("datetime64[D]")
    cases = pa.table({"day": days, "what": ["HIV", "HIV "] * 3})
    roles = tv.Roles(time="day", sensitive=["what"])
    with pytest.raises(InputError, match="spells values"):
        tv.publish_stream(cases, roles, l=2, window=2)
    with pytest.raises(tv.ParameterError, match="1 different value:"):
        tv.publish_stream(cases, roles, l=2, window=2, fold_spellings=True)


def test_folding_makes_one_person_of_two() -> None:
    folded = read(visits(PEOPLE), ROLES, fold_spellings=True)
    assert folded.table["who"].to_pylist() == ["a", "a", "b", "c"]
    assert folded.folded == {"who": 1}


@pytest.mark.parametrize("pair", TWINS.values(), ids=TWINS)
def test_what_is_refused_can_be_folded(pair: tuple[str, str]) -> None:
    assert folded_text(pair[0]) == folded_text(pair[1])


def test_signs_that_mean_something_else_are_not_folded() -> None:
    """Folding must not publish 10² as 102; spelt both ways, the column is refused still."""
    table = pa.table({"what": ["10²", "10² ", "½", "①"], "when": [1, 2, 3, 4]})
    roles = tv.Roles(time="when", sensitive=["what"])
    folded = read(table, roles, needs=("time",), slot_numbers=True, fold_spellings=True).table["what"]
    assert folded.to_pylist() == ["10²", "10²", "½", "①"]
    more = pa.table({"what": ["10²", "102"], "when": [1, 2]})
    with pytest.raises(InputError, match="raised, lowered or circled") as caught:
        read(more, roles, needs=("time",), slot_numbers=True, fold_spellings=True)
    assert "fold_spellings" not in caught.value.hint


@given(st.text(max_size=8))
def test_folding_keeps_the_normal_form(text: str) -> None:
    assert normal_form(folded_text(text)) == normal_form(text) == normal_form(normal_form(text))
    assert folded_text(folded_text(text)) == folded_text(text)


# Across the snapshots of a stream.

STREAM = tv.Roles(respondent="who", time="day", sensitive=["what"])


def slot(day: int, people: list[str], values: list[str]) -> pa.Table:
    return pa.table({"who": people, "day": [day] * len(people), "what": values})


@pytest.mark.parametrize("resumed", [False, True])
@pytest.mark.parametrize(
    ("people", "values"), [(["c", "d"], ["HIV ", "flu"]), (["a\ufe0f", "d"], ["HIV", "flu"])]
)
def test_spellings_are_found_across_snapshots(people: list[str], values: list[str], resumed: bool) -> None:
    publisher = tv.StreamPublisher(STREAM, l=2, window=3)
    publisher.push(slot(1, ["a", "b"], ["HIV", "flu"]))
    if resumed:
        publisher = tv.StreamPublisher.restore(publisher.state(), STREAM, l=2, window=3)
    before = publisher.facts
    with pytest.raises(InputError, match="in more than one way, 1 time") as caught:
        publisher.push(slot(2, people, values))
    assert caught.value.code in ("person-twice", "value-clash")
    assert publisher.facts == before  # nothing was taken
    publisher.push(slot(2, ["c", "d"], ["HIV", "flu"]))


def test_snapshots_are_folded_like_a_whole_table() -> None:
    snapshots = [slot(1, ["a", "b "], ["HIV ", "flu"]), slot(2, ["a\u200b", "b"], ["HIV", "flu\u3164"])]
    options = {"l": 2, "window": 2, "seed": 5, "fold_spellings": True}
    publisher = tv.StreamPublisher(STREAM, **options)
    slots = [
        published for snapshot in snapshots for published in publisher.push(snapshot)
    ] + publisher.close()
    whole, _ = tv.publish_stream(pa.concat_tables(snapshots), STREAM, **options)
    pushed = pa.concat_tables([part.sensitive for part in slots])
    assert pushed.equals(whole.tables["sensitive"].cast(pushed.schema))
    assert publisher.facts["folded"] == 4


def test_folding_may_begin_with_a_later_snapshot() -> None:
    """A service that met two spellings goes on from its state once folding is asked for."""
    publisher = tv.StreamPublisher(STREAM, l=2, window=3)
    publisher.push(slot(1, ["a", "b"], ["HIV", "flu"]))
    again = tv.StreamPublisher.restore(publisher.state(), STREAM, l=2, window=3, fold_spellings=True)
    again.push(slot(2, ["c", "d"], ["HIV ", "flu"]))
    assert again.facts["values"] == 2
