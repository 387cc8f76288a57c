"""Roles are proposed by how columns look, and what is proposed can be published."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pytest

import timeveil as tv
from timeveil.cli import run
from timeveil.datasets import baskets, clinic_visits, daily_cases, hospital_stays, load_curves

TABLES = {
    "generalize-time": (clinic_visits, {"patient": "respondent", "taken_at": "time", "result": "sensitive"}),
    "publish-stream": (daily_cases, {"person": "respondent", "day": "time", "diagnosis": "sensitive"}),
    "anonymize-series": (load_curves, {"household": "respondent", "h00": "series", "tariff": "sensitive"}),
    "sanitize-patterns": (baskets, {"basket": "respondent", "item": "item"}),
}


@pytest.mark.parametrize("command", TABLES)
def test_the_generated_tables_are_recognised_and_their_job_runs(command: str, tmp_path: Path) -> None:
    make, expected = TABLES[command]
    pyarrow.csv.write_csv(make(), tmp_path / "in.csv")
    proposal = tv.suggest(tmp_path / "in.csv")
    roles = {column.name: column.role for column in proposal.columns}
    assert proposal.command == command
    assert {name: roles[name] for name in expected} == expected
    assert all(column.reason for column in proposal.columns)
    job = tmp_path / "job.toml"
    assert run(["suggest", str(tmp_path / "in.csv"), "--out", str(job), "--quiet"]) == 0
    assert tomllib.loads(job.read_text("utf-8"))["command"] == command
    assert run(["run", str(job), "--dry-run", "--quiet"]) == 0


def test_dates_and_pseudonyms() -> None:
    stays = hospital_stays()
    case = pa.array([f"C{row}" for row in range(stays.num_rows)])
    columns = {column.name: column for column in tv.suggest(stays.append_column("case", case)).columns}
    assert columns["discharged"].role == "until"
    assert "follows `admitted`" in columns["discharged"].reason
    assert columns["born"].role == "drop"
    assert columns["case"].role == "drop"
    assert "pseudonym: 4,000 of 4,000 rows" in columns["case"].reason


@pytest.mark.parametrize("way", ["%Y-%m-%d", "%d/%m/%Y", "%m/%d/%Y", "%d.%m.%Y", "%Y-%m-%dT08:00+02:00"])
def test_a_second_date_that_follows_is_an_end_however_it_is_written(way: str) -> None:
    stays = hospital_stays(400)
    for name in ("admitted", "discharged"):
        texts = [moment.strftime(way) for moment in stays[name].to_pylist()]
        stays = stays.set_column(stays.column_names.index(name), name, pa.array(texts))
    roles = tv.suggest(stays.drop_columns(["born"])).roles
    assert (roles.time, roles.until) == ("admitted", ("discharged",))


def test_what_one_person_alone_has_is_counted_by_people() -> None:
    table = pa.table({"patient": ["a", "a", "b", "b"], "ward": ["x", "y", "y", "z"]})
    (ward,) = (column for column in tv.suggest(table).columns if column.name == "ward")
    assert (ward.values, ward.nulls, ward.singled_out) == (3, 0, 1.0)


def test_another_command_can_be_asked_for() -> None:
    proposal = tv.suggest(clinic_visits(rows=300), command="publish-stream")
    assert proposal.command == "publish-stream"
    assert [c.name for c in proposal.columns if c.role == "sensitive"] == ["result"]
    with pytest.raises(tv.ParameterError, match="not one that publishes"):
        tv.suggest(clinic_visits(rows=300), command="demo")


def test_names_cannot_leave_their_comment() -> None:
    table = pa.table(
        {
            "pa\ntient": ["a", "b"] * 60,
            "day": ["2024-01-01", "2024-01-02"] * 60,
            'a"]\nk = 1': ["x", "y"] * 60,
        }
    )
    assert tomllib.loads(tv.suggest(table).job_text())["k"] == 5


def test_an_empty_table_is_refused() -> None:
    with pytest.raises(tv.InputError, match="no rows"):
        tv.suggest(pa.table({"patient": pa.array([], pa.string())}))


def test_no_more_is_promised_than_there_are_values() -> None:
    rows = {
        "person": [f"p{n}" for n in range(120)],
        "day": ["2024-01-31"] * 120,
        "status": ["ill", "well"] * 60,
    }
    proposal = tv.suggest(pa.table(rows))
    assert (proposal.command, proposal.values["l"]) == ("publish-stream", 2)
    assert tomllib.loads(proposal.job_text())["l"] == 2


def test_a_value_too_common_for_a_stream_makes_events() -> None:
    rows = {
        "person": [f"p{n}" for n in range(200)],
        "day": ["2024-01-31", "2024-02-01"] * 100,
        "result": ["negative"] * 140 + ["positive"] * 60,
        "ward": ["a", "b", "c", "d"] * 50,
    }
    proposal = tv.suggest(pa.table(rows))
    assert proposal.command == "generalize-time"
    assert "70 % have the same `result`, too many for a stream" in proposal.reason
    assert tv.suggest(pa.table(rows), command="publish-stream").values["l"] == 2
    release, ledger = tv.generalize_time(pa.table(rows), proposal.roles, k=5, **proposal.values)
    assert tv.verify(release, ledger)


def test_what_is_empty_is_withheld_and_rare_values_are_made_coarser() -> None:
    visits = clinic_visits(rows=1_000, seed=1)
    patient = pa.array([None if row % 9 == 0 else cell.as_py() for row, cell in enumerate(visits["patient"])])
    table = visits.set_column(visits.column_names.index("patient"), "patient", patient)
    proposal = tv.suggest(table)
    assert proposal.values["nulls"] == "withhold"
    assert proposal.values["hierarchies"]["sex"] == "suppression"
    release, ledger = tv.generalize_time(table, proposal.roles, k=5, **proposal.values)
    assert tv.verify(release, ledger)
    assert release.manifest["counts"]["withheld"] == patient.null_count


def test_of_many_columns_that_may_be_known_the_likeliest_are_protected_and_the_rest_left_out() -> None:
    visits = clinic_visits(rows=1_000, seed=1)
    for number in range(6):
        visits = visits.append_column(
            f"flag_{'abcdef'[number]}", pa.array([row % (number + 2) for row in range(1_000)])
        )
    columns = tv.suggest(visits).columns
    quasi = [column.name for column in columns if column.role == "quasi"]
    assert len(quasi) == 6
    assert {"zip", "sex", "age"} <= set(quasi)
    assert all(
        "columns may be known" in c.reason for c in columns if c.name[:4] == "flag" and c.role == "drop"
    )


def test_of_people_with_many_items_short_patterns_are_proposed() -> None:
    people, items = 300, 40
    pairs = [(person, item) for person in range(people) for item in range(items) if (person + item) % 3]
    table = pa.table({"person": [pair[0] for pair in pairs], "item": [f"i{pair[1]}" for pair in pairs]})
    proposal = tv.suggest(table)
    assert (proposal.command, proposal.values["max_len"]) == ("sanitize-patterns", 3)
    assert "max_len" not in tv.suggest(baskets()).values


DOSES = ["1.234", "2.500", "10.000", "1.250", "12.345"]


@pytest.mark.parametrize(
    ("decimal", "doses", "kind"),
    [
        (None, DOSES, "number"),
        ("point", DOSES, "number"),
        ("comma", DOSES, "whole number"),
        (None, ["1.234,50", "2,5"], "text"),
        ("comma", ["1.234,50", "2,5"], "number"),
        (None, ["0,5", "2,25"], "number"),
        ("point", ["0,5", "2,25"], "text"),
    ],
)
def test_the_decimal_separator_says_what_a_number_is(
    decimal: str | None, doses: list[str], kind: str
) -> None:
    rows = 60 * len(doses)
    table = {"patient": [f"p{n % 50}" for n in range(rows)], "day": ["2024-01-31"] * rows, "dose": doses * 60}
    proposal = tv.suggest(pa.table(table), decimal=decimal)
    assert {column.name: column.type for column in proposal.columns} == {
        "patient": "text",
        "day": "date",
        "dose": kind,
    }


def test_a_job_reads_the_file_as_the_proposal_did(tmp_path: Path) -> None:
    lines = [f"p{n % 40};2024-01-{1 + n % 28:02};1.{n % 20:03},5" for n in range(1_600)]
    (tmp_path / "in.csv").write_text("\n".join(["patient;day;age", *lines]), "utf-8")
    job, form = tmp_path / "job.toml", ["--decimal", "comma", "--delimiter", "semicolon"]
    assert run(["suggest", str(tmp_path / "in.csv"), "--out", str(job), "--quiet", *form]) == 0
    read = tomllib.loads(job.read_text("utf-8"))
    assert (read["decimal"], read["delimiter"]) == ("comma", "semicolon")
    assert read["hierarchies"]["age"].startswith("intervals:")
    assert run(["run", str(job), "--dry-run", "--quiet"]) == 0
