"""Counting inside Spark: rows are moved once, and every failure ends with nothing left behind."""

from __future__ import annotations

import gc
import io
import os
import re
import signal
import tempfile
from contextlib import redirect_stdout
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.spark import MARKS, WHERE, frame, session

import timeveil as tv
from timeveil import datasets
from timeveil.calendar.catalogue import resolve
from timeveil.calendar.timeline import Timeline, base_for
from timeveil.domain.stored import Parts
from timeveil.engines.spark import SparkEvents
from timeveil.folder.ledger_file import LedgerColumns
from timeveil.folder.tables import ManyParts
from timeveil.reading import part_file
from timeveil.reading.in_place import ClusterRows, read_in_place
from timeveil.reading.spark import FOLDER, SparkTable

pytestmark = list(MARKS)
VISITS = datasets.clinic_visits(rows=300, seed=3)
CLINIC = tv.Roles(respondent="patient", time="taken_at", quasi=["zip"], sensitive=["result"], drop="rest")
OPTIONS = {"suppress": 0.2, "engine": "spark"}
CANARY = "CANARY"


@pytest.fixture(autouse=True)
def temporary(tmp_path, monkeypatch) -> Path:
    """A folder for temporary files that no other test uses."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


def refusal(table: object, roles: tv.Roles = CLINIC, **options: object) -> tv.TimeveilError:
    with pytest.raises(tv.TimeveilError) as caught:
        tv.generalize_time(table, roles, 3, **{**OPTIONS, **options})
    error = caught.value.with_traceback(None)
    del caught  # a traceback keeps the variables of its frames
    gc.collect()
    assert CANARY not in str(error)
    assert error.__context__ is None
    assert not list(Path(tempfile.gettempdir()).iterdir())
    return error


def test_a_table_that_changes_in_a_session_with_habits_of_its_own(tmp_path, monkeypatch):
    """Its zone does not matter, its views stay, once copied the table may go, and parts hold rows alone."""
    spark, path = session(), tmp_path / "visits.parquet"
    pq.write_table(VISITS, path)
    spark.read.parquet(str(path)).createOrReplaceTempView("cells")
    real = SparkTable.stage

    def staged(table, columns):
        real(table, columns)
        path.unlink()

    monkeypatch.setattr(SparkTable, "stage", staged)
    monkeypatch.setattr("timeveil.reading.spark._session", session)
    zone = spark.conf.get("spark.sql.session.timeZone")
    spark.conf.set("spark.sql.session.timeZone", "America/Havana")
    try:
        release, ledger = tv.generalize_time("cells", CLINIC, 3, **OPTIONS)
    finally:
        spark.conf.set("spark.sql.session.timeZone", zone)
    assert {view.name for view in spark.catalog.listTables() if view.isTemporary} == {"cells"}
    expected, _ = tv.generalize_time(VISITS, CLINIC, 3, suppress=0.2)
    assert release.table.equals(expected.table)
    assert tv.verify(release, ledger)
    folder = Path(tv.write(release, tmp_path / "published"))
    assert tv.verify(folder, ledger)
    parts = sorted((folder / "data").iterdir())
    assert [part.name for part in parts] == [f"part-{number:05d}.parquet" for number in range(len(parts))]
    metadata = pq.read_metadata(parts[0])
    column = metadata.row_group(0).column(0)
    assert (metadata.metadata, column.statistics, column.has_dictionary_page) == (None, None, False)


@pytest.mark.skipif("sail" in WHERE, reason="Sail explains its plans in another way")
@pytest.mark.parametrize("is_even", [True, False])
def test_the_shuffle_budget(is_even):
    """Raw rows are moved once; groups after them where a combination has too many for a task."""
    zips = [f"{number % 50 if is_even else 1}" for number in range(len(VISITS))]
    visits = VISITS.set_column(VISITS.column_names.index("zip"), "zip", pa.array(zips))
    relation = read_in_place(frame(visits), CLINIC, "spark")
    events = SparkEvents(relation)
    granularities = resolve(["day", "week", "month", "quarter", "year"], relation.clock)
    ticks = base_for(relation.clock, granularities, *events.extent())
    timeline = Timeline(relation.clock, ticks, events.observe(ticks))
    firsts = [timeline.firsts(granularity) for granularity in granularities]
    with redirect_stdout(io.StringIO()) as printed:
        relation.data.server.frame(events._tallied(firsts, {}, 3)).explain()
    events.close()
    # Of what is computed once and was computed by now, the plan before it ran is printed as well.
    plan = printed.getvalue().partition("== Initial Plan ==")[0]
    moves = re.findall(r"Exchange (?:hash|range|round)\w*\((.*)\)", plan)
    keys = [re.findall(r"\b(structure|person|combination|granule|fresh|g|head)#", move) for move in moves]
    of_groups = [["combination"], ["combination", "granule", "fresh"], ["structure", "person"]]
    assert keys == [["g"], *([["structure"]] if is_even else of_groups)]
    assert "SinglePartition" not in printed.getvalue()


def test_judges_count_in_the_cluster(monkeypatch, tmp_path):
    """No row of a release or its ledger comes to the driver."""
    release, ledger = tv.generalize_time(frame(VISITS), CLINIC, 3, **OPTIONS)
    folder = Path(tv.write(release, tmp_path / "published"))
    tv.write(ledger, tmp_path / "private.ledger")
    monkeypatch.setattr("timeveil.folder.ledger_file.IN_MEMORY_ROWS", 0)
    opened = tv.open_ledger(tmp_path / "private.ledger")

    def read(self, columns=None):
        raise AssertionError("rows came to the driver")

    for kind in (Parts, ManyParts, LedgerColumns, ClusterRows):
        monkeypatch.setattr(kind, "to_batches", read)
    for published, given in ((release, ledger), (tv.open_release(folder), None), (release, opened)):
        assert tv.verify(published, given)
    breach = tv.attack(release, ledger)
    assert breach.worst <= 1 / 3 < breach.before.worst


def test_messages_of_spark_are_replaced():
    """An expression that fails quotes the value that it fails on."""
    failing = frame(VISITS).selectExpr("*", f"CAST(concat('{CANARY}', zip) AS INT) AS years")
    with pytest.raises(Exception, match=CANARY):
        failing.toArrow()
    roles = tv.Roles(respondent="patient", time="taken_at", quasi=["years"], drop="rest")
    assert refusal(failing, roles).code == "engine-failed"


def test_a_full_disk_of_an_executor(monkeypatch):
    def full(path, tables, plain):
        path.write_bytes(b"the beginning")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(part_file, "_write", full)
    assert refusal(frame(VISITS)).code == "disk-full"


def test_what_cannot_be_counted_there_is_refused(monkeypatch):
    monkeypatch.setattr("timeveil.reading.spark._session", session)
    assert "DataFrame" in refusal(VISITS).hint
    assert refusal("no_such_table").code == "file-missing"
    assert "schema" in refusal("visits.csv").hint
    assert "stay in Spark" in refusal("visits", origin="first").message
    nested = frame(VISITS).selectExpr("*", "array(zip) AS zips")
    roles = tv.Roles(respondent="patient", time="taken_at", quasi=["zips"], drop="rest")
    assert "array<string>" in refusal(nested, roles).message
    session().conf.set(FOLDER, "/no/such/folder")
    try:
        assert FOLDER in refusal(frame(VISITS)).message
    finally:
        session().conf.unset(FOLDER)


@pytest.mark.skipif(not WHERE.startswith("local-cluster"), reason="executors are not processes of their own")
def test_an_executor_that_is_killed_in_the_middle(monkeypatch, tmp_path):
    """Its task runs again elsewhere; what it left behind is in no release."""
    once, real = tmp_path / "once", part_file._write

    def killed(path, tables, plain):
        if path.parent.name == "data" and not once.exists():
            once.touch()
            path.write_bytes(b"the beginning")
            daemon = Path(f"/proc/{os.getppid()}/stat").read_text().rsplit(")", 1)[1].split()[1]
            os.kill(int(daemon), signal.SIGKILL)
        return real(path, tables, plain)

    monkeypatch.setattr(part_file, "_write", killed)
    release, ledger = tv.generalize_time(frame(VISITS), CLINIC, 3, **OPTIONS)
    assert once.exists()
    assert release.table.equals(tv.generalize_time(VISITS, CLINIC, 3, suppress=0.2)[0].table)
    assert tv.verify(release, ledger)
    assert tv.verify(tv.write(release, tmp_path / "published"), ledger)
