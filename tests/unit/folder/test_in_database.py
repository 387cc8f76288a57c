"""A release in a schema of PostgreSQL: it appears whole or not at all, and judges read it like a folder."""

from __future__ import annotations

import datetime as dt
import json
import shlex

import pyarrow as pa
import pytest
from tests.postgres import database

import timeveil as tv
from timeveil import datasets
from timeveil.folder import in_database
from timeveil.folder.writing import write_pair
from timeveil.reading.database import Server

VISITS = datasets.clinic_visits(rows=300, seed=3)
CLINIC = tv.Roles(respondent="patient", time="taken_at", quasi=["zip"], sensitive=["result"], drop="rest")
CANARY = "CANARY"


def schemas() -> set[str]:
    return {name for (name,) in database().run("SELECT nspname FROM pg_namespace")}


def tables(schema: str) -> set[str]:
    rows = database().run(f"SELECT tablename FROM pg_tables WHERE schemaname = '{schema}'")
    return {name for (name,) in rows}


def published() -> tuple[tv.Release, tv.Ledger]:
    return tv.generalize_time(VISITS, CLINIC, 3, suppress=0.2)


def of_a_stream() -> tuple[tv.Release, tv.Ledger]:
    days = [dt.date(2024, 1, 1 + i % 4) for i in range(40)]
    cases = pa.table({"day": days, "zip": ["a", "b"] * 20, "ill": ["x", "y", "z", "w"] * 10})
    return tv.publish_stream(
        cases, tv.Roles(time="day", quasi=["zip"], sensitive=["ill"]), l=2, window=2, seed=1
    )


def of_series() -> tuple[tv.Release, tv.Ledger]:
    meters = pa.table({f"h{i}": [float(i * j % 7) for j in range(30)] for i in range(4)})
    return tv.anonymize_series(meters, tv.Roles(series=meters.column_names), k=4, p=2)


def of_patterns() -> tuple[tv.Release, tv.Ledger]:
    baskets = pa.table({"items": [["tea", "milk"], ["tea"], ["tea", "milk", "\u00e9"]] * 8})
    return tv.sanitize_patterns(baskets, tv.Roles(item="items"), k=3, min_support=3)


@pytest.mark.parametrize("make", [published, of_a_stream, of_series, of_patterns])
def test_every_model_is_written_opened_and_judged(make, tmp_path):
    release, ledger = make()
    out, private = database().address(f"out_{make.__name__}"), database().address(f"private_{make.__name__}")
    assert tv.write(release, out) == out
    assert tv.write(ledger, private) == private
    opened, kept = tv.open_release(out), tv.open_ledger(private)
    tv.write(release, tmp_path / "folder")
    in_folder = tv.open_release(tmp_path / "folder")
    assert opened.tables == in_folder.tables
    assert kept.table.to_pylist() == ledger.table.to_pylist()
    assert kept.facts == ledger.facts
    for name in ("columns", "counts", "parameters", "guarantee"):
        assert opened.manifest[name] == in_folder.manifest[name]
    verdict = tv.verify(out, kept)
    assert verdict
    assert verdict.scope == "with ledger"
    assert tv.measure(opened, kept) == tv.measure(in_folder, ledger)
    assert tv.attack(opened, kept).as_dict() == tv.attack(in_folder, ledger).as_dict()
    assert tv.report(out, private).holds
    # A clean copy takes it out of the database, and back.
    assert tv.verify(out, rewrite=tmp_path / "copy")
    assert tv.verify(tmp_path / "copy", ledger)


@pytest.mark.parametrize("make", [published, of_series])
def test_rows_are_held_in_a_private_file_instead_of_memory(make):
    release, ledger = make()
    out = database().address(f"many_{make.__name__}")
    tv.write(release, out)
    opened = tv.open_release(out)
    assert not isinstance(opened.parts["data"], pa.Table)
    assert tv.verify(opened, ledger)


@pytest.mark.parametrize(
    ("statement", "code"),
    [
        ("UPDATE {0}.data SET result = (SELECT max(result) FROM {0}.data)", "file-changed"),
        ("DELETE FROM {0}.data WHERE ctid = (SELECT min(ctid) FROM {0}.data)", "file-changed"),
        ("CREATE TABLE {0}.more AS SELECT 1 AS x", "file-extra"),
        ("CREATE VIEW {0}.more AS SELECT 1 AS x", "file-extra"),
        ("UPDATE {0}.release SET manifest = manifest || ' '", "file-form"),
    ],
)
def test_what_was_changed_is_found(statement, code):
    release, _ = published()
    schema = f"changed_{abs(hash(statement))}"
    tv.write(release, database().address(schema))
    assert tv.verify(database().address(schema))
    database().run(statement.format(schema))
    verdict = tv.verify(database().address(schema))
    assert code in {violation.code for violation in verdict.violations}
    with pytest.raises(tv.BundleError):
        tv.open_release(database().address(schema))


@pytest.mark.parametrize(
    "statement",
    [
        "ALTER TABLE {0}.data ENABLE ROW LEVEL SECURITY",
        "ALTER TABLE {0}.data ADD hidden text",
        "ALTER TABLE {0}.data ALTER result TYPE varchar",
        "ALTER TABLE {0}.data RENAME TO old; CREATE VIEW {0}.data AS SELECT * FROM {0}.old",
        "DROP TABLE {0}.data",
        "DELETE FROM {0}.release",
        "DROP TABLE {0}.release",
    ],
)
def test_only_plain_tables_of_the_stated_types_are_read(statement):
    schema = f"odd_{abs(hash(statement))}"
    tv.write(published()[0], database().address(schema))
    database().run(*statement.format(schema).split(";"))
    for judge in (tv.verify, tv.open_release):
        with pytest.raises(tv.BundleError) as caught:
            judge(database().address(schema))
        assert caught.value.code in ("folder-damaged", "folder-missing")


def test_a_schema_that_is_not_empty_is_refused_and_stays():
    release, ledger = published()
    database().run("CREATE SCHEMA taken", "CREATE TABLE taken.theirs AS SELECT 1 AS x")
    for thing in (release, ledger):
        for overwrite in (False, True):
            with pytest.raises(tv.BundleError) as caught:
                tv.write(thing, database().address("taken"), overwrite=overwrite)
            assert caught.value.code == "folder-exists"
    assert tables("taken") == {"theirs"}


def test_a_release_is_replaced_in_one_transaction_and_only_if_asked():
    (release, _), address = published(), database().address("replaced")
    tv.write(release, address)
    database().run("CREATE ROLE recipient LOGIN", "GRANT USAGE ON SCHEMA replaced TO recipient")
    with pytest.raises(tv.BundleError) as caught:
        tv.write(release, address)
    assert caught.value.code == "folder-exists"
    coarser, _ = tv.generalize_time(VISITS, CLINIC, 6, suppress=0.2)
    tv.write(coarser, address, overwrite=True)
    assert tv.open_release(address).guarantee == coarser.guarantee
    # The rights on the schema stay.
    rights = database().run("SELECT has_schema_privilege('recipient', 'replaced', 'USAGE')")
    assert rights == [(True,)]


def test_a_release_that_breaks_its_promise_does_not_appear():
    release, _ = published()
    short = tv.Release(release.guarantee, release.manifest, {"data": release.table.slice(0, 1)})
    with pytest.raises(tv.BundleError) as caught:
        tv.write(short, database().address("never"))
    assert caught.value.code == "not-verified"
    assert "never" not in schemas()


@pytest.mark.parametrize("step", ["create", "commit"])
def test_a_connection_that_is_lost_leaves_nothing_behind(step, monkeypatch, tmp_path):
    release, ledger = published()
    real = getattr(Server, step)

    def lost(server, *arguments):
        (process,) = server.row("SELECT pg_backend_pid() AS pid")
        database().run(f"SELECT pg_terminate_backend({process}, 5000)")
        real(server, *arguments)

    monkeypatch.setattr(Server, step, lost)
    with pytest.raises(tv.EngineError) as caught:
        tv.write(release, database().address("lost"))
    assert caught.value.code == "database-failed"
    assert ("check whether" in caught.value.hint) == (step == "commit")
    with pytest.raises(tv.EngineError):
        tv.write(ledger, database().address("lost_ledger"))
    assert not {"lost", "lost_ledger"} & schemas()


def test_a_ledger_is_taken_back_if_the_release_does_not_appear(monkeypatch, tmp_path):
    release, ledger = published()
    private, pair = database().address("pair_private"), (release, tmp_path / "out", ledger)
    monkeypatch.setattr("timeveil.folder.writing.put_in_place", lambda *_, **__: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        write_pair(*pair, private, "parquet")
    assert not tables("pair_private")
    monkeypatch.undo()
    # The schema is there and empty, which is fine; and so a release in one and a ledger in another.
    out = database().address("pair_out")
    write_pair(release, out, ledger, private, "parquet")
    assert tv.verify(out, tv.open_ledger(private))
    # Where nobody knows whether the release appeared, its ledger stays.
    real = Server.commit

    def commit(server):
        if server.row("SELECT count(*) AS n FROM pg_namespace WHERE nspname = 'unknown_out'") == (1,):
            (process,) = server.row("SELECT pg_backend_pid() AS pid")
            database().run(f"SELECT pg_terminate_backend({process}, 5000)")
        real(server)

    monkeypatch.setattr(Server, "commit", commit)
    with pytest.raises(tv.EngineError):
        write_pair(release, database().address("unknown_out"), ledger, tmp_path / "kept.ledger", "parquet")
    assert (tmp_path / "kept.ledger").exists()


def test_a_ledger_is_nobody_elses():
    release, ledger = published()
    same = database().address("same")
    with pytest.raises(tv.PrivateArtifactError):
        write_pair(release, same, ledger, same, "parquet")
    database().run("CREATE SCHEMA open_to_all", "GRANT USAGE ON SCHEMA open_to_all TO PUBLIC")
    with pytest.raises(tv.PrivateArtifactError):
        tv.write(ledger, database().address("open_to_all"))
    assert not tables("open_to_all")
    with pytest.raises(tv.BundleError) as caught:
        tv.open_ledger(database().address("open_to_all"))
    assert caught.value.code == "folder-missing"


def test_a_user_who_may_not_write_is_told_so_and_an_empty_schema_is_enough():
    release, _ = published()
    database().run("CREATE ROLE clerk LOGIN")
    for options in ("", "&options=-cdefault_transaction_read_only%3Don"):
        address = database().address("of_clerk", "clerk" if not options else "postgres")
        with pytest.raises(tv.EngineError) as caught:
            tv.write(release, address.replace("#", f"{options}#"))
        assert caught.value.code == "no-permission"
    assert "of_clerk" not in schemas()
    database().run("CREATE SCHEMA of_clerk", "GRANT ALL ON SCHEMA of_clerk TO clerk")
    tv.write(release, database().address("of_clerk", "clerk"))
    assert tv.verify(database().address("of_clerk", "clerk"))


def test_a_release_that_is_replaced_while_it_is_read_is_one_snapshot(monkeypatch):
    release, address = published()[0], database().address("moving")
    tv.write(release, address)
    real = in_database.Schema.rows

    def changed(schema, *arguments):
        database().run("DELETE FROM moving.data")
        return real(schema, *arguments)

    monkeypatch.setattr(in_database.Schema, "rows", changed)
    assert tv.verify(address)
    monkeypatch.undo()
    assert not tv.verify(address)


@pytest.mark.parametrize("name", ["", "a.b", "pg_catalog", "x" * 64])
def test_a_schema_needs_a_name(name):
    for thing in published():
        with pytest.raises(tv.ParameterError):
            tv.write(thing, database().uri + f"#{name}")


def test_what_a_database_cannot_hold_is_refused():
    table = VISITS.append_column(CANARY * 12, pa.array(["x"] * 300))
    roles = tv.Roles(respondent="patient", time="taken_at", quasi=["zip"], keep=[CANARY * 12], drop="rest")
    release, _ = tv.generalize_time(table, roles, 3, suppress=0.2)
    with pytest.raises(tv.BundleError) as caught:
        tv.write(release, database().address("long_names"))
    assert caught.value.code == "unsupported-input"
    with pytest.raises(tv.ParameterError):
        tv.write(published()[0], database().address("long_names"), format="csv")
    assert "long_names" not in schemas()


def main(words: list[str]) -> int:
    from timeveil.cli import main as command

    with pytest.raises(SystemExit) as ended:
        command(words)
    return int(ended.value.code or 0)


def test_the_commands_read_and_write_a_database(capsys, monkeypatch, tmp_path):
    """A password of the environment is used by the driver, and shown nowhere."""
    monkeypatch.setenv("PGPASSWORD", CANARY)
    source, out, private = (
        database().load(VISITS),
        *map(database().address, ("by_command", "by_command_private")),
    )
    columns = ["--respondent", "patient", "--time", "taken_at", "--quasi", "zip", "--drop-rest"]
    words = [source, "--out", out, "--ledger", private, *columns, "--k", "3", "--suppress", "0.2"]
    assert main(["generalize-time", *words, "--engine", "postgres"]) == 0
    again = shlex.split(capsys.readouterr().out.partition("  $ ")[2].replace("\\\n", " "))
    assert again[:6] == ["timeveil", "generalize-time", source, "--out", out, "--respondent"]
    assert main(["verify", out, "--ledger", private, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["holds"] is True
    assert main(["measure", out, "--ledger", private]) == 0
    assert main(["attack", out, "--ledger", private]) == 0
    assert main(["report", out, "--ledger", private, "--out", str(tmp_path / "report.html")]) == 0
    assert main(["query", out, "--between", "2000-01-01", "2100-01-01"]) == 0
    job = tmp_path / "job.toml"
    by_job = database().address("by_job")
    job.write_text(f'''command = "generalize-time"\nin = "{source}"\nout = "{by_job}"
respondent = "patient"\ntime = "taken_at"\nquasi = ["zip"]\ndrop = "rest"\nk = 5\nsuppress = 0.2\n''')
    assert main(["run", str(job)]) == 0
    assert main(["compare", out, by_job]) == 0
    printed = capsys.readouterr()
    stored = [
        *database().run("SELECT manifest || readme FROM by_command.release"),
        *database().run("SELECT description FROM by_command_private.ledger"),
    ]
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert CANARY not in printed.out + printed.err + page + str(stored)
    assert main(["generalize-time", *words]) == 2  # both are there
    assert main(["generalize-time", *words[:3], *words[5:], "--overwrite", "--quiet"]) == 0
    database().run("DELETE FROM by_command.data")
    assert main(["verify", out]) == 1
