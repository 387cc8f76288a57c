"""Tables of PostgreSQL come in like files: same rows, one snapshot, and no secret or value in a message."""

from __future__ import annotations

import builtins
import datetime as dt
import json
import math
from contextlib import closing

import pyarrow as pa
import pytest
from tests.postgres import database

import timeveil as tv
from timeveil import datasets
from timeveil.reading.database import DatabaseTable, address_of

VISITS = datasets.clinic_visits(rows=400, seed=3)
CLINIC = tv.Roles(respondent="patient", time="taken_at", quasi=["zip"], sensitive=["result"], drop="rest")
CANARY = "CANARY"


@pytest.fixture(scope="module")
def visits() -> str:
    return database().load(VISITS)


def main(words: list[str]) -> int:
    from timeveil.cli import main as command

    with pytest.raises(SystemExit) as ended:
        command(words)
    return int(ended.value.code or 0)


def refusal(address: str, roles: tv.Roles = CLINIC, **options: object) -> tv.TimeveilError:
    with pytest.raises(tv.TimeveilError) as caught:
        tv.read(address, roles, **options)
    error = caught.value
    assert CANARY not in str(error)
    assert error.__cause__ is None
    assert error.__context__ is None
    return error


@pytest.mark.parametrize("engine", ["memory", "duckdb"])
def test_a_table_gives_what_the_same_rows_give(visits, engine):
    expected, _ = tv.generalize_time(VISITS, CLINIC, 4, suppress=0.1)
    release, ledger = tv.generalize_time(visits, CLINIC, 4, suppress=0.1, engine=engine)
    assert release.table.equals(expected.table)
    assert release.manifest == expected.manifest
    assert tv.verify(release, ledger)
    assert ledger.original.source == visits.partition("#")[2]


def test_every_method_takes_an_address():
    days = [dt.date(2024, 1, 1 + i % 4) for i in range(40)]
    cases = pa.table({"day": days, "zip": ["a", "b"] * 20, "ill": ["x", "y", "z", "w"] * 10})
    roles = tv.Roles(time="day", quasi=["zip"], sensitive=["ill"])
    stream, _ = tv.publish_stream(database().load(cases), roles, l=2, window=2, seed=1)
    assert stream.table.equals(tv.publish_stream(cases, roles, l=2, window=2, seed=1)[0].table)
    meters = pa.table({f"h{i}": [float(i * j % 7) for j in range(30)] for i in range(4)})
    wide = tv.Roles(series=meters.column_names)
    series, _ = tv.anonymize_series(database().load(meters), wide, k=4, p=2)
    assert series.table.equals(tv.anonymize_series(meters, wide, k=4, p=2)[0].table)
    baskets = pa.table({"items": [["tea", "milk"], ["tea"], ["tea", "milk"]] * 8})
    items = tv.Roles(item="items")
    patterns, _ = tv.sanitize_patterns(database().load(baskets), items, k=3, min_support=3)
    assert patterns.table.equals(tv.sanitize_patterns(baskets, items, k=3, min_support=3)[0].table)


def test_columns_have_plain_types():
    name = "of every type"
    database().run(
        f"""CREATE TABLE "{name}" AS SELECT 7::numeric(9, 2) AS number, '-0'::float8 AS zero,
        1.1::real AS real, 'a'::char(3) AS padded, 'v'::varchar AS varied, gen_random_uuid() AS id,
        '2024-01-01'::date AS day,
        '{{1,2}}'::int[] AS list, '{{"a": 1}}'::jsonb AS document, '2024-01-01 12:00+02'::timestamptz AS at"""
    )
    table = DatabaseTable(database().address(name))
    rows = pa.concat_tables(table.batches([name for name in table.names if name != "id"]))
    (row,) = rows.to_pylist()
    assert row["number"] == 7.0
    assert math.copysign(1, row["zero"]) == 1
    assert row["real"] == pytest.approx(1.1)
    assert (row["padded"], row["varied"], row["list"], row["document"]) == ("a", "v", [1, 2], '{"a": 1}')
    assert rows.schema.field("day").type == pa.date32()
    assert rows.schema.field("at").type == pa.timestamp("us", "UTC")


def test_numbers_that_would_be_rounded_are_refused():
    database().run(
        "CREATE TABLE long AS SELECT 'a' AS who, DATE '2024-01-01' AS day, 0.12345678901234567890 AS x"
    )
    error = refusal(database().address("long"), tv.Roles(respondent="who", time="day", keep=["x"]))
    assert error.code == "bad-number"
    assert error.facts == {"column": "x", "count": 1}


def test_all_rows_are_of_one_moment():
    address = database().load(VISITS)
    table = DatabaseTable(address)
    first = pa.concat_tables(table.batches(["patient"]))
    database().run(f'DELETE FROM "{address.partition("#")[2]}"')
    assert pa.concat_tables(table.batches(["patient"])).equals(first)
    assert tv.read(address, CLINIC).rows == 0


def test_a_view_is_a_table(visits):
    database().run(f'CREATE VIEW seen AS SELECT * FROM "{visits.partition("#")[2]}"')
    assert tv.read(database().address("public.seen"), CLINIC).table.equals(tv.read(visits, CLINIC).table)


@pytest.mark.parametrize(
    "address",
    [
        f"postgresql://clerk:{CANARY}@localhost/clinic#visits",
        f"postgresql://localhost/clinic?password={CANARY}#visits",
        f"postgresql://localhost/clinic?pass%77ord={CANARY}#visits",
        f"postgresql://localhost/clinic?sslpassword={CANARY}#visits",
    ],
)
def test_a_password_in_the_address_is_refused(address, tmp_path, capsys):
    assert "PGPASSWORD" in refusal(address).hint
    options = ["--out", str(tmp_path / "out"), "--respondent", "patient", "--time", "taken_at", "--k", "4"]
    assert main(["generalize-time", address, *options, "--drop-rest"]) == 2
    printed = capsys.readouterr()
    assert CANARY not in printed.out + printed.err
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    "address", ["postgresql://localhost/clinic", "postgresql://h/db#a.b.c", "postgresql://[/db#t"]
)
def test_an_address_that_says_too_little_is_refused(address):
    assert "postgresql://host/database#schema.table" in refusal(address).hint


def test_names_are_quoted():
    assert address_of('postgres://h/db?x=1#"a.b".C')[1] == '"a.b"."C"'
    assert address_of('postgres://h/db#"say ""no"""')[1] == '"say ""no"""'
    assert address_of("postgres://h/db#caf%C3%A9")[1] == '"café"'


def test_a_table_that_does_not_exist_is_refused():
    assert refusal(database().address("nowhere")).code == "file-missing"


def test_a_server_that_does_not_answer_is_named_by_nothing():
    error = refusal(f"postgresql://{CANARY}@localhost:1/{CANARY}#visits")
    assert error.code == "database-failed"


def test_who_may_not_read_is_told_so():
    address = database().load(VISITS, "hidden")
    database().run("CREATE ROLE nobody LOGIN", "REVOKE SELECT ON hidden FROM PUBLIC")
    assert refusal(database().address("hidden", "nobody")).code == "no-permission"
    assert tv.read(address, CLINIC).rows == 400


def test_what_the_server_says_is_not_repeated():
    database().run(
        "CREATE TABLE texts AS SELECT 'a' AS patient, DATE '2024-01-01' AS taken_at, 'r' AS result, "
        f"'{CANARY}' AS zip",
        "CREATE VIEW broken AS SELECT patient, taken_at, result, zip::int AS zip FROM texts",
    )
    error = refusal(database().address("broken"))
    assert error.code == "database-failed"
    assert "could not finish" in error.message


def test_a_lost_connection_writes_nothing(visits, monkeypatch, tmp_path):
    table = DatabaseTable(visits)
    (process,) = table.server.row("SELECT pg_backend_pid()")
    database().run(f"SELECT pg_terminate_backend({process}, 5000)")
    with pytest.raises(tv.EngineError, match="was lost") as caught:
        list(table.batches(["patient"]))
    assert caught.value.__context__ is None
    assert caught.value.code == "database-failed"


def test_a_missing_driver_names_the_extra(visits, monkeypatch):
    real = builtins.__import__

    def refuse(name, *args, **options):
        if name.startswith("adbc"):
            raise ModuleNotFoundError(name)
        return real(name, *args, **options)

    monkeypatch.setattr("timeveil.reading.database.import_module", refuse)
    assert "timeveil[postgres]" in refusal(visits).hint


def test_options_of_files_do_not_apply(visits):
    assert refusal(visits, delimiter="comma").code == "bad-parameter"


def test_commands_and_jobs_take_an_address(visits, tmp_path, capsys):
    columns = {"respondent": "patient", "time": "taken_at", "quasi": "zip", "sensitive": "result"}
    options = [word for name, column in columns.items() for word in (f"--{name}", column)]
    numbers = ["--drop-rest", "--k", "4", "--suppress", "0.1"]
    out, ledger = tmp_path / "out", tmp_path / "private.ledger"
    command = ["generalize-time", visits, "--out", str(out), "--ledger", str(ledger), *options, *numbers]
    assert main([*command, "--json"]) == 0
    again = json.loads(capsys.readouterr().out)["reproduce"]
    assert visits in again["command"]
    assert main(["verify", str(out), "--ledger", str(ledger)]) == 0
    job = tmp_path / "job.toml"
    job.write_text(again["job"].replace(str(out), "of the job").replace(str(ledger), "its.ledger"))
    assert main(["run", str(job)]) == 0
    assert tv.open_release(tmp_path / "of the job").table.equals(tv.open_release(out).table)
    assert main(["profile", visits, *options[:6], "--k", "4"]) == 1  # too few people share a time
    assert CANARY not in capsys.readouterr().out


def test_the_password_comes_from_the_environment(visits, monkeypatch, tmp_path):
    """It reaches the server and nothing else."""
    monkeypatch.setenv("PGPASSWORD", CANARY)
    release, ledger = tv.generalize_time(visits, CLINIC, 4, suppress=0.1)
    tv.write(release, tmp_path / "out")
    tv.write(ledger, tmp_path / "private.ledger")
    for path in (*(tmp_path / "out").iterdir(), tmp_path / "private.ledger"):
        assert CANARY.encode() not in path.read_bytes()


def test_a_service_names_server_and_table(visits, monkeypatch, tmp_path):
    uri, _, name = visits.partition("#")
    host = uri.partition("host=")[2]
    services = tmp_path / "services.conf"
    services.write_text(f"[clinic]\nhost={host}\nuser=postgres\ndbname=postgres\n")
    monkeypatch.setenv("PGSERVICEFILE", str(services))
    assert tv.read(f"postgresql://?service=clinic#{name}", CLINIC).rows == 400


def test_connections_are_closed(visits):
    with closing(DatabaseTable(visits).server) as server:
        (process,) = server.row("SELECT pg_backend_pid()")
    tv.read(visits, CLINIC)
    left = f"SELECT count(*) FROM pg_stat_activity WHERE pid = {process}"
    assert database().run(left)[0][0] == 0
