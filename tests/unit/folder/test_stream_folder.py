"""The folder and the ledger file of a stream release."""

from __future__ import annotations

import json
from dataclasses import replace

import pyarrow as pa
import pytest
from tests.oracles import judges_stream as oracle
from tests.unit.folder.making import names

from timeveil.errors import BundleError, PrivateArtifactError
from timeveil.folder import damage, open_ledger, open_release, write
from timeveil.judging import verify

FORMATS = ("parquet", "csv")
ROWS = [
    {"person": f"p{step}{n}", "step": step, "zip": "=1", "sex": None, "ward": n, "ill": ill}
    for step in range(6)
    for n, ill in enumerate(["flu", "flu", "flu", "tbc", "-hiv", ""][: 3 + step])
]
AXES = [(oracle.DATES, "day"), (oracle.ZONED, "hour"), (oracle.DAYS, "week"), (oracle.NUMBERS, "day")]


@pytest.fixture
def case():
    return oracle.Case(ROWS, l=2, window=3)


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("buckets", ["anatomy", "none"])
@pytest.mark.parametrize(("axis", "slot"), AXES)
def test_a_release_opens_as_it_was_written(tmp_path, case, form, buckets, axis, slot):
    """Rows, order, types, manifest and promise of both tables come back from the folder."""
    release, ledger = oracle.build(replace(case, axis=axis, slot=slot, buckets=buckets))
    write(release, tmp_path / "out", format=form)
    opened = open_release(tmp_path / "out")
    assert opened.tables.keys() == release.tables.keys()
    for name, table in release.tables.items():
        assert opened.tables[name].equals(table)
    stated = {key: value for key, value in opened.manifest.items() if key != "tables"}
    assert stated == release.manifest
    assert verify(opened, ledger)
    files = ["README.txt", f"data.{form}", "release.json", f"sensitive.{form}"]
    assert names(tmp_path / "out") == (files if buckets == "anatomy" else files[:3])


@pytest.mark.parametrize(("axis", "slot"), AXES)
def test_a_ledger_opens_as_it_was_written(tmp_path, case, axis, slot):
    release, ledger = oracle.build(replace(case, axis=axis, slot=slot))
    facts = {**ledger.facts, "seed": 3}
    write(replace(ledger, facts=facts), tmp_path / "ledger.parquet")
    opened = open_ledger(tmp_path / "ledger.parquet")
    assert opened.table.equals(ledger.table)
    assert opened.original.table.equals(ledger.original.table)
    assert (opened.model, opened.original.axis, opened.facts) == ("stream", ledger.original.axis, facts)
    assert verify(release, opened)


def test_a_ledger_never_goes_into_the_folder(tmp_path, case):
    release, ledger = oracle.build(case)
    write(release, tmp_path / "out")
    with pytest.raises(PrivateArtifactError):
        write(ledger, tmp_path / "out" / "ledger.parquet")


def test_a_release_that_breaks_its_promise_is_not_written(tmp_path, case):
    release, _ = oracle.build(case)
    table = release.tables["sensitive"]
    doubled = table.set_column(3, "count", pa.array([c + 1 for c in table["count"].to_pylist()]))
    with pytest.raises(BundleError) as caught:
        write(replace(release, parts={**release.parts, "sensitive": doubled}), tmp_path / "out")
    assert caught.value.code == "not-verified"
    assert names(tmp_path) == []


@pytest.mark.parametrize("file", ["data.parquet", "sensitive.parquet"])
def test_a_changed_or_missing_table_is_noticed(tmp_path, case, file):
    write(oracle.build(case)[0], tmp_path / "out")
    whole = (tmp_path / "out" / file).read_bytes()
    (tmp_path / "out" / file).write_bytes(whole + b" ")
    assert [found.code for found in damage(tmp_path / "out")] == ["file-changed"]
    (tmp_path / "out" / file).unlink()
    assert [found.code for found in damage(tmp_path / "out")] == ["file-missing"]


@pytest.mark.parametrize("columns", [None, [], [{"name": "slot"}], "slot"])
def test_a_table_without_its_columns_is_refused(tmp_path, case, columns):
    write(oracle.build(case)[0], tmp_path / "out")
    path = tmp_path / "out" / "release.json"
    manifest = json.loads(path.read_text("utf-8"))
    path.write_text(json.dumps({**manifest, "sensitive_columns": columns}), "utf-8")
    with pytest.raises(BundleError) as caught:
        open_release(tmp_path / "out")
    assert caught.value.code == "folder-damaged"


def readme(tmp_path, case) -> str:
    write(oracle.build(case)[0], tmp_path / "out")
    return " ".join((tmp_path / "out" / "README.txt").read_text("utf-8").split())


def test_the_letter_explains_slots_buckets_and_what_not_to_conclude(tmp_path, case):
    said = readme(tmp_path, case)
    assert "in every published bucket no sensitive value is held by more than 1 in 2 records" in said
    assert "A slot is one day." in said
    assert "It may be up to 2 slots late" in said
    assert "on slot and bucket together" in said
    assert "Joining the tables gives every record every value of its bucket" in said
    assert "Columns of the table sensitive, one row per bucket and value: slot (string)" in said
    assert "timeveil verify FOLDER" in said
    assert "p00" not in said


def test_the_letter_of_a_release_without_buckets_speaks_of_slots(tmp_path, case):
    said = readme(tmp_path, replace(case, buckets="none", window=1, axis=oracle.NUMBERS))
    assert "in every published slot no sensitive value is held by more than 1 in 2 records" in said
    assert "Slots are numbered" in said
    assert "Every record is in its own slot." in said
    assert "bucket together" not in said
