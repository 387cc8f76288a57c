"""Who can be found in a release of events, counted by SQL where it is, for an outsider who knows one visit.

Every visit of every person is tried, as in memory, and what comes here is how often each number of candidates
occurs. Whom several visits single out is counted for a sample of people, drawn by a hash of who they are.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from timeveil.domain.arrays import Floats, Ints
from timeveil.evidence.codes import plain_type
from timeveil.evidence.risk import ColumnRisk, Risk, column_risk
from timeveil.models.events.evidence import Evidence
from timeveil.models.events.judges.tables import Tables, tables_of, typed, where, whole

_MOST_VALUES = 10_000


def searched(evidence: Evidence, sample: int) -> dict[str, Any] | None:
    """What an attack states, if both tables are in a session and belong together; a `sample` of people."""
    tables = tables_of(evidence)
    if tables is None:
        return None
    row, counts = tables.session.row, evidence.release.manifest["counts"]
    (read,), (rows,) = (
        row(f"SELECT count(*) AS n FROM {source}")
        for source in ("judged_original", f"{tables.sides} WHERE shown = 0")
    )
    if (read, rows) != (counts["rows_read"], counts["rows"]):
        return None  # the ledger of another release: it is refused when it is read
    raw = [f"r{place}" for place in range(len(tables.quasi))]
    renamed = (f"judged_placed.{column} AS r{place}" for place, column in enumerate(tables.quasi.values()))
    tables.session.view("judged_known", tables.labelled(tables.placed, "granule", "tick", *renamed))
    keys = ", ".join([*raw, "tick", "person", *tables.classed.split(", ")])
    shown = "max(CASE WHEN grouped IS NOT NULL AND granule IS NOT NULL THEN 1 ELSE 0 END) AS visible"
    visits = f"SELECT {keys}, {shown} FROM judged_known WHERE complete = 1 GROUP BY {keys}"
    tables.session.keep("judged_seen", visits)
    before, after = _risks(tables, raw)
    shares = {name: _shares(tables, name) for name in evidence.columns("sensitive")}
    largest, _ = _shares(tables, None)
    return {
        "before": before,
        "after": after,
        "people": round(float(before.weight.sum())),
        "everyone": row("SELECT count(DISTINCT person) AS n FROM judged_seen")[0],
        "largest_share": float(largest.max(initial=0.0)),
        "commonest_sensitive": {
            name: {"worst": float(share.max(initial=0.0)), "mean": float(share @ often / max(often.sum(), 1))}
            for name, (share, often) in shares.items()
        },
        "columns": {name: _column(tables, name) for name in tables.carried},
        "singled_out": {str(known): _alone(tables, known, sample) for known in (1, 2, 3)},
    }


def _risks(tables: Tables, raw: Sequence[str]) -> tuple[Risk, Risk]:
    """The candidates of each visit in the original and in the release, by how often these numbers occur."""
    same = ", ".join([*raw, "tick"])
    first = f"row_number() OVER (PARTITION BY {tables.classed}, person, visible ORDER BY tick) AS turn"
    of_visit = f"count(*) OVER (PARTITION BY {same}) AS before, count(*) OVER (PARTITION BY person) AS visits"
    each = f"SELECT {tables.classed}, visible, {of_visit}, {first} FROM judged_seen"
    fresh = "sum(CASE WHEN visible = 1 AND turn = 1 THEN 1 ELSE 0 END)"
    after = f"CASE WHEN visible = 1 THEN {fresh} OVER (PARTITION BY {tables.classed}) ELSE 0 END AS after"
    counted = tables.session.table(
        f"SELECT before, {whole('after')} AS after, visits, count(*) AS n FROM "
        f"(SELECT before, visits, {after} FROM ({each}) AS e) AS v GROUP BY before, after, visits"
    )
    before, found, visits, often = (np.asarray(column) for column in counted.columns)
    weight = often / np.maximum(visits, 1)  # the visits of a person weigh 1 together
    return Risk(before, weight), Risk(found, weight)


def _shares(tables: Tables, name: str | None) -> tuple[Floats, Ints]:
    """The shares of a class that its commonest value, or its busiest person, has, and how many have each."""
    column = "person" if name is None else tables.carried[name]
    each = f"SELECT {tables.classed}, count(*) AS n FROM {tables.sides} WHERE shown = 0"
    each = f"({each} GROUP BY {tables.classed}, {column}) AS c"
    most = f"(SELECT max(n) AS most, {whole('sum(n)')} AS total FROM {each} GROUP BY {tables.classed}) AS t"
    counted = tables.session.table(f"SELECT most, total, count(*) AS n FROM {most} GROUP BY most, total")
    largest, total, often = (np.asarray(column) for column in counted.columns)
    return largest / np.maximum(total, 1), often


def _column(tables: Tables, name: str) -> ColumnRisk:
    """What a kept or sensitive column reveals by itself."""
    column, kind = tables.carried[name], tables.evidence.private.original.data.schema.field(name).type
    people = "count(DISTINCT person) + max(CASE WHEN person IS NULL THEN 1 ELSE 0 END) AS people"
    values = f"SELECT count(*) AS n, {people} FROM judged_original WHERE {column} IS NOT NULL"
    total, alone = tables.session.row(
        f"SELECT {whole('sum(n)')} AS n0, {where('people = 1', 'n')} AS n1 "
        f"FROM ({values} GROUP BY {column}) AS v"
    )
    listed = f"SELECT DISTINCT {column} FROM judged_original ORDER BY {column} LIMIT {_MOST_VALUES}"
    read = tables.session.table(listed).column(0).combine_chunks()
    return column_risk(typed(read, plain_type(kind)), total, alone)


def _alone(tables: Tables, known: int, sample: int) -> float:
    """The share of a sample of people who alone are in all classes of so many of their visits."""
    drawn = "(SELECT DISTINCT person AS target FROM judged_seen) AS p"
    order = f"ORDER BY md5(concat('', target)), target LIMIT {sample}"
    tables.session.keep("judged_targets", f"SELECT target FROM {drawn} {order}")
    turn = "row_number() OVER (PARTITION BY person ORDER BY md5(concat(person, '|', tick)), tick) AS turn"
    visits = f"SELECT judged_seen.*, {turn} FROM judged_seen JOIN judged_targets ON person = target"
    classes = tables.classed.split(", ")
    cases = f"SELECT DISTINCT person AS target, {', '.join(f'{c} AS s{c}' for c in classes)}"
    cases = f"({cases} FROM ({visits}) AS v WHERE turn <= {known} AND visible = 1) AS cases"
    members = f"(SELECT DISTINCT person, {tables.classed} FROM judged_seen WHERE visible = 1) AS members"
    same = " AND ".join(tables.session.same.format(f"cases.s{c}", f"members.{c}") for c in classes)
    fits = f"SELECT target, count(*) AS n FROM {cases} JOIN {members} ON {same} GROUP BY target, person"
    # Nobody is in more classes of a person than that person.
    needed = f"SELECT target, n, max(n) OVER (PARTITION BY target) AS needed FROM ({fits}) AS f"
    people = f"SELECT {where('n = needed')} AS people FROM ({needed}) AS n GROUP BY target"
    (everyone,) = tables.session.row("SELECT count(*) AS n FROM judged_targets")
    (alone,) = tables.session.row(f"SELECT {where('people = 1')} AS n FROM ({people}) AS p")
    return float(alone / max(everyone, 1))
