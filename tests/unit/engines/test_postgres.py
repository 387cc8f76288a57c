"""Counting inside PostgreSQL: rows stay there, one snapshot, and every failure ends with nothing written."""

from __future__ import annotations

import datetime as dt

import pyarrow as pa
import pytest
from tests.postgres import database

import timeveil as tv
from timeveil import datasets
from timeveil.reading import in_place
from timeveil.reading.database import Server

VISITS = datasets.clinic_visits(rows=300, seed=3)
CLINIC = tv.Roles(respondent="patient", time="taken_at", quasi=["zip"], sensitive=["result"], drop="rest")
OPTIONS = {"suppress": 0.2, "engine": "postgres"}
CANARY = "CANARY"


@pytest.fixture(scope="module")
def visits() -> str:
    return database().load(VISITS)


def refusal(address: object, roles: tv.Roles = CLINIC, **options: object) -> tv.TimeveilError:
    with pytest.raises(tv.TimeveilError) as caught:
        tv.generalize_time(address, roles, 3, **{**OPTIONS, **options})
    assert CANARY not in str(caught.value)
    assert caught.value.__context__ is None
    return caught.value


def test_no_row_leaves_the_database_unless_it_is_published_or_judged(visits, monkeypatch):
    queries = []
    real = Server.batches

    def noted(server, query):
        for table in real(server, query):
            queries.append((query, table.num_rows))
            yield table

    monkeypatch.setattr(Server, "batches", noted)
    release, ledger = tv.generalize_time(visits, CLINIC, 3, **OPTIONS)
    # What is published, the group of every row by its number, and cells with people by number.
    listed = [query.partition("FROM")[0] for query, rows in queries if rows > 200]
    assert len(listed) == 5
    assert not any("person" in columns for columns in listed)
    assert tv.verify(release, ledger)
    assert any("SELECT person FROM" in query for query, _ in queries)


def test_the_source_is_not_changed(visits):
    name = visits.partition("#")[2]
    before = database().run(f"SELECT md5(string_agg(t::text, ',')) FROM {name} AS t")
    tv.generalize_time(visits, CLINIC, 3, **OPTIONS)
    assert database().run(f"SELECT md5(string_agg(t::text, ',')) FROM {name} AS t") == before


def test_a_table_that_changes_while_it_is_counted_is_one_snapshot(monkeypatch):
    address, expected = database().load(VISITS), tv.generalize_time(VISITS, CLINIC, 3, suppress=0.2)[0]
    real = in_place._Reading.relation

    def changed(reading, nulls):
        relation = real(reading, nulls)
        database().run(f'DELETE FROM "{address.partition("#")[2]}"')
        return relation

    monkeypatch.setattr(in_place._Reading, "relation", changed)
    release, ledger = tv.generalize_time(address, CLINIC, 3, **OPTIONS)
    assert release.table.equals(expected.table)
    assert tv.verify(release, ledger)


def test_a_view_is_counted_and_names_of_ours_do_not_hide_it(visits):
    database().run(f'CREATE VIEW cells AS SELECT * FROM "{visits.partition("#")[2]}"')
    release, _ = tv.generalize_time(database().address("cells"), CLINIC, 3, **OPTIONS)
    assert release.table.equals(tv.generalize_time(visits, CLINIC, 3, suppress=0.2)[0].table)


@pytest.mark.parametrize("path", ["public", "public, pg_temp"])
def test_tables_that_are_named_like_temporary_ones_stay(path):
    """The names of the statements are common ones, and the owner may drop tables."""
    names = ["events", "visits", "numbered", "kept", "spans", "labels", "level_q0", "placed", "source"]
    for name in names:
        database().load(VISITS.slice(0, 5), name)
    address = (
        database().load(VISITS, "quasis").replace("?", f"?options=-csearch_path%3D{path.replace(' ', '')}&")
    )
    release, ledger = tv.generalize_time(address, CLINIC, 3, hierarchies={"zip": "prefixes:2"}, **OPTIONS)
    assert tv.verify(release, ledger)
    counts = [database().run(f"SELECT count(*) FROM {name}")[0][0] for name in [*names, "quasis"]]
    assert counts == [5] * len(names) + [300]
    # The ledger is still open, and stands in nobody's way.
    database().run(*(f"DROP TABLE {name}" for name in [*names, "quasis"]))


def test_who_may_not_create_temporary_tables_is_told_so(visits):
    database().run("CREATE ROLE reader LOGIN", "REVOKE TEMPORARY ON DATABASE postgres FROM PUBLIC")
    address = visits.replace("postgres@", "reader@", 1)
    assert refusal(address).code == "no-permission"
    assert tv.read(address, CLINIC).rows == 300  # reading needs no such right


def test_a_connection_that_is_lost_while_counting(visits, monkeypatch):
    real = Server.upload

    def lost(server, name, table):
        (process,) = server.row("SELECT pg_backend_pid() AS pid")
        database().run(f"SELECT pg_terminate_backend({process}, 5000)")
        real(server, name, table)

    monkeypatch.setattr(Server, "upload", lost)
    assert refusal(visits).code == "database-failed"


def test_other_tables_are_refused():
    assert "postgresql://" in refusal(VISITS).hint
    assert refusal(tv.read(VISITS, CLINIC)).code == "bad-parameter"


@pytest.mark.parametrize("options", [{"fold_spellings": True}, {"origin": "first"}, {"decimal": "comma"}])
def test_what_needs_rows_is_refused(visits, options):
    assert "stay in the database" in refusal(visits, **options).message


def test_derived_columns_are_refused(visits):
    roles = tv.Roles(respondent="patient", time="taken_at", quasi=[tv.weekday], drop="rest")
    assert "`cyclic`" in refusal(visits, roles).message


def people(names: list[str | None], **more: object) -> tuple[str, tv.Roles]:
    days = [dt.date(2024, 1, 1)] * len(names)
    table = pa.table({"who": names, "day": days, **more})
    return database().load(table), tv.Roles(respondent="who", time="day", drop="rest")


@pytest.mark.parametrize("nulls", ["error", "withhold"])
def test_nulls_and_names_that_show_nothing(nulls):
    address, roles = people(["a", "b", "c", None, "\u200b", " "])
    if nulls == "error":
        assert refusal(address, roles).facts == {"column": "who", "count": 3}
        return
    expected, _ = tv.generalize_time(address, roles, 3, nulls=nulls, allow_loss=True)
    release, _ = tv.generalize_time(address, roles, 3, nulls=nulls, allow_loss=True, engine="postgres")
    assert release.manifest == expected.manifest
    assert release.manifest["counts"]["withheld"] == 3


def test_two_spellings_of_a_person_are_refused():
    address, roles = people([f"{CANARY} A", f"{CANARY}  A", "José", "Jose\u0301", "b"])
    error = refusal(address, roles)
    assert error.code == "person-twice"
    assert error.facts["count"] == 2


def test_times_out_of_all_calendars_are_refused():
    for number, time in enumerate(["DATE 'infinity'", "TIMESTAMP '20000-01-01'", "DATE '0044-03-15 BC'"]):
        database().run(f"CREATE TABLE far{number} AS SELECT 'a' AS who, {time} AS day")
        roles = tv.Roles(respondent="who", time="day")
        assert refusal(database().address(f"far{number}"), roles).code == "bad-time"


def test_texts_are_not_times():
    database().run("CREATE TABLE texts_of_days AS SELECT 'a' AS who, '2024-01-01' AS day")
    assert (
        refusal(database().address("texts_of_days"), tv.Roles(respondent="who", time="day")).code
        == "bad-time"
    )


def test_the_ledger_can_be_written_and_opened(visits, tmp_path):
    release, ledger = tv.generalize_time(visits, CLINIC, 3, **OPTIONS)
    tv.write(release, tmp_path / "out")
    tv.write(ledger, tmp_path / "private.ledger")
    opened = tv.open_ledger(tmp_path / "private.ledger")
    assert tv.verify(tv.open_release(tmp_path / "out"), opened)
    assert tv.measure(release, opened) == tv.measure(release, ledger)
    assert tv.attack(release, ledger).worst <= 1 / 3
