"""Is every (quasi-identifiers, time) value shared by k people? (Mascetti et al. 2006, Definition 3)

A recipient cannot count people. What the tables alone show is necessary but not sufficient: every value is in
at least k rows, every granule is one of the stated calendar, and the manifest agrees with the tables. With
the ledger the definition itself is checked: every original row that was not withheld is placed by published
intervals and values; then people are counted per class, and these rows must be the published ones.
"""

from collections import Counter
from collections.abc import Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from timeveil.calendar.axis import published
from timeveil.calendar.granularity import Granularity
from timeveil.calendar.timeline import Ticks, Timeline
from timeveil.domain.arrays import Flags
from timeveil.domain.judgement import Verdict
from timeveil.domain.relation import TimeAxis
from timeveil.errors import InputError
from timeveil.evidence.checks import UNREADABLE, Findings
from timeveil.evidence.conditions import period_of, share_of
from timeveil.models.events.evidence import HIGHEST, LOWEST, Evidence, bounds_of, roles_of
from timeveil.models.events.judges import protected, recount, repeated
from timeveil.models.events.judges.counts import Counts
from timeveil.models.events.judges.in_place import counts_of
from timeveil.models.events.judges.manifest import check_columns, check_shape, check_statements
from timeveil.reading.table import moments

SENTENCES = {
    "candidates:allowed": "the chosen granularity is stated to be infeasible or not allowed",
    "candidates:alike": "granularities that group the data alike are not those that do",
    "candidates:below": "the smallest group and the groups below k do not fit together",
    "candidates:chosen": "the chosen granularity is not among the candidates",
    "candidates:definition": "the granularity and its definition have different names",
    "candidates:empty": "the frontier is empty",
    "candidates:feasible": "{wrong} of {candidates} candidates are not as feasible as their numbers say",
    "candidates:frontier": "the frontier names a granularity that does not work",
    "candidates:groups": "the chosen granularity is stated with {chosen_groups:group}, "
    "the release with {groups}",
    "candidates:least": "the frontier is not that of the original",
    "candidates:levels": "the levels, or the combinations of levels and time, are not those of the run",
    "candidates:nodes": "the frontier is not that of the nodes at the published levels",
    "candidates:names": "the manifest names a granularity that is not among the candidates",
    "candidates:numbers": "{wrong} of {candidates} candidates with other numbers than in the original",
    "candidates:order": "the candidates are not in the order of the calendar, or of the names given",
    "candidates:possible": "{wrong} of {candidates} candidates with impossible numbers for {rows_read:row}",
    "candidates:rule": "`parameters.choose` of the manifest is neither a rule nor the chosen granularity",
    "candidates:run": "the candidates are not those of the run",
    "candidates:smallest": "the chosen granularity is stated with a smallest group of {chosen_smallest}, "
    "the release with {smallest_group}",
    "candidates:withheld": "{omitted:row} stated to be below k or in gaps, and {withheld} withheld",
    "class-rows": "{groups:group} with another number of rows than in the original",
    "columns:clock": "the kind, zone and unit of the time do not fit the published columns",
    "columns:durations": "a stated duration is not a quasi-identifier of the release",
    "columns:ends": "`{name}_start` and `{name}_end` differ in type",
    "columns:label": "column `{name}` does not hold labels",
    "columns:labels": "a column that is stated to have distinct labels is not generalised",
    "columns:levels": "a generalised column is not a quasi-identifier of the release",
    "columns:respondent": "the respondent is among the published columns",
    "columns:role": "the {role} columns are not those of the original",
    "columns:roles": "the roles are not in the order {roles}",
    "columns:step": "the column `{name}_step` does not number the steps of the manifest, each with rows",
    "columns:time": "the manifest does not state one label, one start and one end of the time",
    "counts:groups": "the table has {classes:group}; the manifest states {groups}",
    "counts:read": "the manifest states {rows_read:row} read; the original has {original}",
    "counts:rows": "{rows} published and {withheld} withheld rows do not add up to {rows_read} rows read",
    "granule": "{wrong:label} of {granules} not a granule of the stated granularity with its start and end",
    "granule:definition": "the stated granularity cannot be rebuilt from its definition",
    "granule:title": "a granularity of the catalogue has another title than in the catalogue",
    "guarantee:k": "`parameters.k` of the manifest is not the k of the promise",
    "incomplete-rows": "{rows:row} without person or time not withheld",
    "label:distinct": "the {granules:granule} do not each have a label and a start of their own",
    "label:missing": "{granules:granule} without a label",
    "labels:contain": "{values:value} of `{name}` published under a label that does not contain it",
    "labels:distinct": "{values:value} of `{name}` spelt like a label, and the manifest states none",
    "ledger:columns": "the ledger has no row or no group column",
    "ledger-groups": "the ledger has {groups:group}, the release has {classes:group} of the same rows; "
    "{pairs:pair} of them overlap",
    "ledger-rows": "the ledger lists {listed:row}, not the {original} of the original in order",
    "no-class:granule": "{rows:row} not withheld, but in no published granule",
    "no-class:group": "{rows:row} not withheld, but in no published group",
    "people-below-k": "{below:group} with fewer than {k} people; the smallest has {smallest:person}",
    "row-count": "the table has {total:row}; the manifest states {rows}",
    "row-values": "{surplus:published row} not in the original, {missing:original row} not in the release",
    "row-values:type": "column `{name}` cannot be compared with the original's",
    "rows-below-k": "{below:group} with fewer than {k} rows, hence fewer than {k} people; "
    "the smallest has {smallest:row}",
    "smallest-group:below": "the manifest states a group of {smallest_group}, and k is {k}",
    "smallest-group:people": "the smallest group has {smallest:person}; the manifest states {smallest_group}",
    "smallest-group:rows": "the manifest states that the smallest group has {smallest_group:person}, "
    "but one has {smallest:row}",
    "steps:definitions": "the granularities of the steps are not those defined",
    "steps:ledger": "the steps are not those of the run",
    "steps:levels": "a step generalises a column that is not among the generalised ones",
    "steps:numbers": "{wrong} of {steps:step} with other numbers than the table",
    "steps:people": "{wrong} of {steps:step} stated with another smallest group than the original's",
    "steps:recode": "steps and `parameters.recode` do not fit together",
    "withheld": "{unlisted:row} withheld; the manifest states {withheld}",
    **protected.SENTENCES,
    **recount.SENTENCES,
    **repeated.SENTENCES,
}


def check(evidence: Evidence) -> Verdict:
    """Every check of events, as far as each makes sense after the one before."""
    findings = Findings("recipient" if evidence.ledger is None else "with ledger", SENTENCES)
    release = evidence.release
    if check_shape(release, findings) and check_columns(release, findings):
        counts = counts_of(evidence)  # not kept with the evidence, which it reads: temporary files go at once
        check_statements(evidence, findings)
        evidence.progress("counting rows", 0.1)
        _check_sizes(evidence, counts, findings)
        protected.check_rows(evidence, findings)
        _check_granules(evidence, counts, findings)
        evidence.progress("checking the order of rows", 0.3)
        counts.order.expect(findings)
        if evidence.ledger is not None:
            evidence.progress("counting people", 0.4)
            repeated.require_earlier(evidence)
            findings.open_ledger(release, evidence.private)
            _check_definition(evidence, counts, findings)
            if not findings.violations:  # what is counted again rests on all of this
                recount.check_candidates(evidence, counts.candidates, findings)
    return findings.verdict()


# What a recipient can check in the table: its rows, classes and granules.


def _check_sizes(evidence: Evidence, counts: Counts, findings: Findings) -> None:
    k, stated, sizes = evidence.k, evidence.release.manifest["counts"], counts.sizes()
    findings.check("row and group counts are those of the manifest")
    findings.check(
        f"every combination of quasi-identifiers and time is in at least {k} rows "
        "(a recipient cannot count people)"
    )
    facts = {
        "row-count": sizes["total"] == stated["rows"],
        "counts:groups": sizes["classes"] == stated["groups"],
    }
    if sizes["classes"]:
        findings.check("the stated smallest group has no more people than a group has rows")
        facts["rows-below-k"] = not sizes["below"]
        facts["smallest-group:below"] = stated["smallest_group"] >= k
        facts["smallest-group:rows"] = stated["smallest_group"] <= sizes["smallest"]
    findings.expect_all(facts, **stated, **sizes, k=k)


def _check_granules(evidence: Evidence, counts: Counts, findings: Findings) -> None:
    """Every label with its start and end is one granule of the stated calendar, and each granule has one."""
    findings.check("every label, start and end is a granule of the stated granularity")
    for step, granules in counts.granules():
        if not len(granules):
            continue
        label = granules.column(0)
        findings.expect("label:missing", not label.null_count, granules=label.null_count)
        starts = len(np.unique(bounds_of(evidence.axis, *granules.columns[1:])[0]))
        one_each = pc.count_distinct(label, "all").as_py() == len(granules) == starts
        findings.expect("label:distinct", one_each, granules=len(granules))
        try:
            wrong = int((~_fits(evidence.axis, evidence.granularity_of(step), granules)).sum())
        except UNREADABLE:  # definitions are anyone's
            findings.expect("granule:definition", False)
            continue
        findings.expect("granule", not wrong, wrong=wrong, granules=len(granules))


def _fits(axis: TimeAxis, granularity: Granularity, granules: pa.Table) -> Flags:
    """Which are the granule that holds their first instant (or last, or any, where unbounded)."""
    label, *stated = granules.columns
    start, end = bounds_of(axis, *stated)
    inside = np.where(start > LOWEST, start, np.where(end < HIGHEST, end - 1, 0))
    probes, probe = np.unique(inside, return_inverse=True)
    timeline = Timeline(axis, Ticks(width=1, phase=0, name="second"), probes, gaps="skip")
    calendar = timeline.granules_of(granularity)
    code = np.asarray(calendar.code, dtype=np.int64)[probe.ravel()]
    bounds = bounds_of(axis, pa.chunked_array([calendar.start]), pa.chunked_array([calendar.end]))
    labels = np.array([*calendar.label, None], dtype=object)  # -1, outside every granule, takes the last
    fits = (code >= 0) & (labels[code] == np.array(label.to_pylist(), dtype=object))
    for expected, bound, missing in zip(bounds, (start, end), (LOWEST, HIGHEST), strict=True):
        fits &= np.append(expected, missing)[code] == bound
    for bound, column in zip((start, end), stated, strict=True):  # nothing follows the second of a bound
        fits &= np.asarray(pc.fill_null(pc.equal(published(axis, bound), column), True))
    return np.asarray(fits)


# The definition itself, with the ledger.


def _check_definition(evidence: Evidence, counts: Counts, findings: Findings) -> None:
    if not _check_listed(evidence, counts, findings):
        return
    recount.check_durations(evidence, findings)
    recount.check_origin(evidence, findings)
    findings.check("every row that was not withheld is in a published group")
    try:
        placed = counts.placed()
        findings.expect_none("incomplete-rows", rows=placed["incomplete"])
        findings.expect_none("no-class:granule", rows=placed["outside"])
        people = counts.people()
    except InputError as error:
        findings.expect("ledger", False, fault=error.message)
        return
    _check_people(evidence, people, findings)
    counts.check_further(findings)
    _check_labels(evidence, counts, findings)
    findings.check("the published rows are the original rows that were not withheld, one for one")
    rows = counts.rows_of_classes()
    findings.expect_none("no-class:group", rows=rows["unpublished"])
    findings.expect_none("class-rows", groups=rows["differ"])
    differing, unfit = counts.row_values()
    for name in unfit:
        findings.expect("row-values:type", False, name=name)
    findings.expect("row-values", not any(differing.values()), **differing)
    findings.check("the groups of the ledger are those of the release")
    groups = counts.groups()
    findings.expect("ledger-groups", len({*groups.values()}) == 1, **groups)


def _check_listed(evidence: Evidence, counts: Counts, findings: Findings) -> bool:
    """Expect the columns of the original, and a ledger that lists its rows."""
    findings.check("the published columns are those of the original, and no respondent is among them")
    ledger, stated = evidence.private, evidence.release.manifest["counts"]
    columns = [column["name"] for column in evidence.release.manifest["columns"]]
    facts = [findings.expect("columns:respondent", ledger.original.roles.respondent not in columns)]
    for role, names in roles_of(ledger.original).items():
        facts.append(findings.expect("columns:role", evidence.columns(role) == names, role=role))
    if not (findings.expect("ledger:model", ledger.model == "time") and all(facts)):
        return False
    findings.check("the ledger lists every original row, in order, and what was withheld")
    rows = ledger.original.rows
    if not findings.expect("ledger:columns", {"row", "group"} <= set(ledger.entries.schema.names)):
        return False
    listed = counts.listed()
    agree = {
        "ledger-rows": listed["listed"] == rows and not listed["misplaced"],
        "counts:read": stated["rows_read"] == rows,
        "withheld": listed["unlisted"] == stated["withheld"],
    }
    findings.expect_all(agree, **stated, **listed, original=rows)
    return listed["listed"] == rows


def _check_people(evidence: Evidence, people: Mapping[str, int], findings: Findings) -> None:
    k, stated = evidence.k, evidence.release.manifest["counts"]["smallest_group"]
    findings.check(
        f"every combination of quasi-identifiers and time is shared by at least {k} different people"
    )
    if people["published"]:
        facts = {"people-below-k": not people["below"], "smallest-group:people": stated == people["smallest"]}
        findings.expect_all(facts, k=k, smallest_group=stated, **people)


def _check_labels(evidence: Evidence, counts: Counts, findings: Findings) -> None:
    """Expect labels that mean what answers take them to mean."""
    manifest = evidence.release.manifest
    if manifest["levels"]:
        findings.check("a label contains the values published under it, and is spelt like none where stated")
    levels = [
        (name, level, n) for n, step in enumerate(evidence.steps) for name, level in step["levels"].items()
    ]
    for name, level, number in levels:
        values, value, shown = counts.shown(name, number)
        texts = [value if value is None else str(value) for value in values.to_pylist()]
        dates, meanings = moments(values) if period_of(level["name"]) else None, texts
        if dates is not None:
            days = dates[0].astype("M8[s]").astype(str).tolist()
            meanings = [None if text is None else day for text, day in zip(texts, days, strict=True)]
        pairs = list(zip(value.tolist(), shown, strict=True))
        wrong = sum(not share_of(level["name"], label, meanings[value])[-1] for value, label in pairs)
        findings.expect_none("labels:contain", values=wrong, name=name)
        if name in manifest.get("distinct_labels", ()):
            holders = Counter(shown)
            alone = sum(texts[value] == label and holders[label] == 1 for value, label in pairs)
            alike = sum(text in holders for text in texts) - alone
            findings.expect_none("labels:distinct", values=alike, name=name)
