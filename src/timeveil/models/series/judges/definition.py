"""A series release against the series that it was made from, with the ledger.

Every series is either suppressed or published once: in one group, whose envelope holds it and is no wider
than its members and the stated rounding explain, and in one cell, whose pattern is its own where so stated.
A symbol is checked by the borders of its cell on the normal curve, and not by the product that methods use.
Where values were changed for l, no more may differ than l made necessary: in a cell of n rows, of each value
as many as it occurs more often than n / l (Shou et al. 2013, §5.4).
"""

from collections.abc import Callable, Mapping
from decimal import Context, Decimal
from statistics import NormalDist
from typing import Any

import numpy as np
import numpy.typing as npt

from timeveil.domain.arrays import Flags, Floats, Ints
from timeveil.errors import InputError
from timeveil.evidence.checks import Findings
from timeveil.evidence.codes import Coded, Sides, align, column_of, differing, encode, fold_both
from timeveil.evidence.published import columns_of
from timeveil.models.series.evidence import ABSENT, Evidence, Published, encode_numbers
from timeveil.models.series.judges.beside import check_against, check_contents
from timeveil.symbols import MOST_LEVELS

_CLOSE = 1e-9  # a z-normalised value this near to a border may be on either side of it
_BLOCK = 1 << 16

SENTENCES: Mapping[str, str] = {
    "changed-values:cell": "{cells:cell} in which more values of `{name}` differ than l = {l} needs",
    "changed-values:far": "{values:value} of `{name}` not within {epsilon} of one too frequent in its cell",
    "changed-values:rows": "{rows:row} changed; l makes {needed} necessary",
    "changed-values:taken": "{values:changed value} of `{name}` that is in another row, too",
    "columns:instants": "the instants are not those of the original",
    "columns:private": "the {role} is among the published columns",
    "columns:role": "the {role} columns are not those of the original",
    "conservation": "{series} series not withheld; the manifest states {rows:row}",
    "envelope-wide": "{groups:group} with a wider envelope than series and rounding explain",
    "guarantee:rows": "the promise is about rows, but a column names the person of each",
    "incomplete-rows": "{rows:row} of a dropped person not withheld",
    "ledger:columns": "the ledger lacks a column of a series' ledger",
    "ledger-groups": "the {subgroups:subgroup} of the ledger are not the {cells:cell} of the release, "
    "each with its group and rows",
    "outside-envelope": "{series:series} not within the envelope of its group",
    "pattern-not-own": "{series:series} under a pattern that is not its own",
    "person-twice:group": "{series:series} in a group that has another one of the same person",
    "person-twice:groups": "{series:series} in more than one group or subgroup",
    "person-twice:series": "{series:series} of a person who has one already",
    "row-values": "{surplus:published row} not in the original, {missing} original series not in the release",
    "row-values:type": "column `{name}` cannot be compared with the original's",
    "suppressed": "{suppressed} series withheld; the manifest states {stated}",
}


class Cells:
    """The rows of one group with one pattern at one level are a cell, numbered from 0 in order of appearance.

    `of_row` is the cell of each row; the other arrays have an entry per cell.
    """

    def __init__(self, runs: Published) -> None:
        keys = np.column_stack([runs.group, runs.symbols, runs.levels])
        _, first, cell = np.unique(keys, axis=0, return_index=True, return_inverse=True)
        order = np.argsort(first)
        number, example = np.argsort(order)[cell.ravel()], first[order]
        self.rows = np.bincount(number, weights=runs.rows, minlength=len(example)).astype(np.int64)
        self.of_row, self.group = np.repeat(number, runs.rows), runs.group[example]
        self.symbols, self.levels = runs.symbols[example], runs.levels[example]


def check_definition(evidence: Evidence, cells: Cells, findings: Findings) -> None:
    """Judge the release against the series that it was made from."""
    if not _check_ledger(evidence, findings):
        return
    try:
        series = evidence.series
    except InputError as error:
        findings.expect("ledger", False, fault=error.message)
        return
    stated = evidence.release.manifest["series"]
    if not findings.expect("columns:instants", series.has_instants(stated["instants"])):
        return
    group, cell = _assign(evidence, cells, findings)
    _check_envelopes(evidence, group, findings)
    check_contents(evidence, group, findings)
    if cell is not None:
        if stated["own_patterns"] and stated["pattern"]:
            _check_patterns(evidence, cells, cell, findings)
        _check_values(evidence, cells, cell, findings)


def _check_ledger(evidence: Evidence, findings: Findings) -> bool:
    ledger, release = evidence.private, evidence.release
    roles, before = ledger.original.roles, len(findings.violations)
    private = "no respondent, time or value is among them"
    findings.check(f"the published columns are those of the original, and {private}")
    published = [column["name"] for column in release.manifest["columns"]]
    for role in ("respondent", "time", "value"):
        findings.expect("columns:private", getattr(roles, role) not in published, role=role)
    columns = {"sensitive": roles.sensitive, "quasi": roles.quasi_columns, "keep": roles.keep}
    for role, names in columns.items():
        findings.expect("columns:role", columns_of(release, role) == list(names), role=role)
    of_rows = "rows" in release.manifest["guarantee"]
    findings.expect("guarantee:rows", not (of_rows and roles.respondent))
    has_series = roles.series or (roles.respondent and roles.time and roles.value)
    findings.expect("ledger:model", ledger.model == "series" and has_series)
    if len(findings.violations) > before:
        return False
    return findings.expect_rows(ledger, "group", "subgroup")


def _assign(evidence: Evidence, cells: Cells, findings: Findings) -> tuple[Ints, Ints | None]:
    """Group and cell of every series, `ABSENT` if suppressed; no cells where the ledger's are others."""
    findings.check("every series is in one group and one subgroup, or withheld")
    series, original = evidence.series, evidence.private.original
    inside, split = series.of_row != ABSENT, np.zeros(len(series.row), dtype=bool)
    columns = [evidence.noted(name) for name in ("group", "subgroup")]
    findings.expect_none("incomplete-rows", rows=~inside & (columns[0] != ABSENT))
    # All input rows of a series have one group and one subgroup, or neither.
    for numbers in columns:
        differs = numbers[inside] != numbers[series.row][series.of_row[inside]]
        np.logical_or.at(split, series.of_row[inside], differs)
    group, subgroup = (numbers[series.row] for numbers in columns)
    split |= (group == ABSENT) != (subgroup == ABSENT)
    findings.expect_none("person-twice:groups", series=split)
    if original.roles.series and original.roles.respondent is not None:
        people = evidence.original_column(original.roles.respondent)
        if evidence.release.manifest["series"].get("several"):
            findings.check("nobody has two series in one group")
            members = np.column_stack([group, people.codes[series.row]])[group != ABSENT]
            repeats = len(members) - len(np.unique(members, axis=0))
            findings.expect_none("person-twice:group", series=repeats)
        else:
            findings.check("nobody has two series")
            findings.expect_none("person-twice:series", series=len(people.codes) - people.size)
    findings.check("the groups and subgroups of the ledger are the groups and cells of the release")
    published = subgroup != ABSENT
    numbers, number, rows = np.unique(subgroup[published], return_inverse=True, return_counts=True)
    cell = np.full(len(subgroup), ABSENT, dtype=np.int64)
    matched = np.array_equal(numbers, np.arange(1, len(cells.rows) + 1)) and np.array_equal(rows, cells.rows)
    if matched:
        cell[published] = number
        matched = np.array_equal(cells.group[number], group[published])
    findings.expect("ledger-groups", matched, subgroups=len(numbers), cells=len(cells.rows))
    findings.check("as many series are withheld as stated, and the others are the published rows")
    counts, suppressed = evidence.release.manifest["counts"], int((group == ABSENT).sum())
    stated, released = counts["suppressed"], len(group) - suppressed
    findings.expect("suppressed", suppressed == stated, suppressed=suppressed, stated=stated)
    findings.expect("conservation", released == counts["rows"], series=released, rows=counts["rows"])
    return group, cell if matched else None


def _check_envelopes(evidence: Evidence, group: Ints, findings: Findings) -> None:
    needed = "they and the stated rounding explain"
    findings.check(f"every envelope holds its series and is no wider than {needed}")
    runs, matrix = evidence.runs, evidence.series.matrix
    digits = evidence.release.manifest["parameters"]["round_outward"]
    groups, example = np.unique(runs.group, return_index=True)
    # The members of each published group, one group after the other.
    member = np.flatnonzero(np.isin(group, groups))
    member = member[np.argsort(group[member], kind="stable")]
    begins = np.flatnonzero(np.diff(group[member], prepend=ABSENT))
    if not len(begins) or not len(runs.values):
        return
    index = np.searchsorted(groups, group[member])
    low, high = runs.low[example][index], runs.high[example][index]
    values = matrix[np.ix_(member, runs.values)]
    outside = ((values < low) | (values > high)).any(axis=1)
    least, most = np.minimum.reduceat(values, begins), np.maximum.reduceat(values, begins)
    low, high = low[begins], high[begins]
    wide = ~is_nearest_below(low, least, digits) & (low <= least)
    wide |= ~is_nearest_below(-high, -most, digits) & (high >= most)
    findings.expect_none("outside-envelope", series=outside)
    findings.expect_none("envelope-wide", groups=wide.any(axis=1))
    if runs.mean is not None:
        check_against(runs.mean[example][index[begins]], values, begins, (low, high), findings)


def _check_patterns(evidence: Evidence, cells: Cells, assigned: Ints, findings: Findings) -> None:
    findings.check("every pattern is, at every instant, that of each of its series")
    inside, wrong, runs = np.flatnonzero(assigned != ABSENT), 0, evidence.runs
    parameters = evidence.release.manifest["parameters"]
    for start in range(0, len(inside), _BLOCK):
        block = inside[start : start + _BLOCK]
        z = _features(normalised(evidence.series.matrix[block], runs.center)[:, runs.pattern], parameters)
        symbols, levels = cells.symbols[assigned[block]], cells.levels[assigned[block]]
        below, above = z < _BORDERS[levels, symbols] - _CLOSE, z >= _BORDERS[levels, symbols + 1] + _CLOSE
        wrong += int((below | above).any(axis=1).sum())
    findings.expect_none("pattern-not-own", series=wrong)


def _features(z: Floats, parameters: Mapping[str, Any]) -> Floats:
    """What symbols are of: values, the means of segments, or rises to the next instant."""
    if parameters.get("representation") == "slopes":
        return np.diff(z, append=z[:, :1]) / 2**0.5
    if "segment" in parameters:
        length = parameters["segment"]
        return np.column_stack([z[:, i : i + length].mean(axis=1) for i in range(0, z.shape[1], length)])
    return z


def normalised(matrix: Floats, center: str) -> Floats:
    """Values less the centre in population deviations, 0 where a series is constant.

    The least value is taken off first, in halves that cannot overflow: differences of near values are exact,
    and rounding stays far below a thousand millionth for series of any size.
    """
    halves = matrix / 2
    rise = halves - halves.min(axis=1, keepdims=True)
    reach = rise.max(axis=1, keepdims=True)
    flat = reach == 0
    rise = rise / np.where(flat, 1.0, reach)
    middle = (np.median if center == "median" else np.mean)(rise, axis=1, keepdims=True)
    z = (rise - middle) / np.where(flat, 1.0, rise.std(axis=1, keepdims=True))
    return np.where(flat, 0.0, z)


# Per level the lower border of every symbol, then the upper of the last; infinite at the ends.
_BORDERS = np.full((MOST_LEVELS + 1, MOST_LEVELS + 1), np.inf)
_BORDERS[:, 0] = -np.inf
for _level in range(2, MOST_LEVELS + 1):
    _BORDERS[_level, 1:_level] = [NormalDist().inv_cdf(step / _level) for step in range(1, _level)]


def _check_values(evidence: Evidence, cells: Cells, assigned: Ints, findings: Findings) -> None:
    findings.check("the sensitive and kept values of every cell are those of its series, row by row")
    release, inside = evidence.release, np.flatnonzero(assigned != ABSENT)
    row, cell = evidence.series.row[inside], assigned[inside]
    unchanged: list[Sides] = [(cell, cells.of_row, len(cells.rows))]
    changed, numbers = dict[str, Sides](), dict[str, Floats]()
    for name in columns_of(release, "sensitive", "keep"):
        is_changed = name in release.manifest["series"]["perturbed"]
        encoded = encode_numbers if is_changed else encode
        try:
            before = encoded(column_of(evidence.private.original.data, name))
            released = encoded(column_of(release.parts["data"], name))
            before, after = align(Coded(before.codes[row], before.values), released)
        except InputError:
            findings.expect("row-values:type", False, name=name)
            return
        sides = (before.codes, after.codes, max(before.size, 1))
        if is_changed:
            changed[name], numbers[name] = sides, np.asarray(before.values, np.float64)
        else:
            unchanged.append(sides)
    surplus, missing = differing(unchanged)
    same = findings.expect("row-values", not (surplus or missing), surplus=surplus, missing=missing)
    if same and changed:
        findings.check("no more values differ from the original than l makes necessary")
        needed = sum(
            _needed_changes(evidence, name, cells, [unchanged[0], sides], numbers[name], findings)
            for name, sides in changed.items()
        )
        rows, _ = differing([*unchanged, *changed.values()])
        findings.expect("changed-values:rows", rows <= needed, rows=rows, needed=needed)


def _needed_changes(
    evidence: Evidence, name: str, cells: Cells, columns: list[Sides], value_of: Floats, findings: Findings
) -> int:
    """How many values of a column l makes necessary to change; those that were changed are judged."""
    stated, (in_cell, sides) = evidence.release.manifest, columns
    # Each value of each cell: how often it occurs in the original and in the release.
    original, released, count = fold_both(columns)
    had, has = np.bincount(original, minlength=count), np.bincount(released, minlength=count)
    cell, value = np.zeros(count, dtype=np.int64), np.zeros(count)
    cell[original], cell[released] = in_cell[0], in_cell[1]
    # A manifest may state changed values and no l: then none had to change.
    l = stated["guarantee"]["l"] or 1
    excess, added = np.clip(had - cells.rows[cell] // l, 0, None), np.clip(has - had, 0, None)
    wrong = np.bincount(cell, added) > np.bincount(cell, excess)
    findings.expect_none("changed-values:cell", cells=wrong, name=name, l=l)
    if (epsilon := stated["parameters"].get("epsilon")) is not None:
        # Of the values in each cell those that are new are near one that was too frequent, and nobody's.
        findings.check(
            f"changed values of `{name}` are within epsilon of one too frequent, and nobody has them"
        )
        value[original], value[released] = value_of[sides[0]], value_of[sides[1]]
        new = added > 0
        near = {at: value[(excess > 0) & (cell == at)] for at in np.unique(cell[new]).tolist()}
        pairs = zip(cell[new].tolist(), value[new].tolist(), strict=True)
        reach = epsilon * (1 + _CLOSE)
        far = [np.abs(near[at] - changed).min(initial=np.inf) > reach for at, changed in pairs]
        findings.expect_none("changed-values:far", values=sum(far), name=name, epsilon=epsilon)
        before, after = (np.bincount(codes, minlength=sides[2]) for codes in sides[:2])
        # Each value of the column that is in more rows than before: it was nobody's, and is in one row.
        collisions = (after > before) & ((before > 0) | (after > 1))
        findings.expect_none("changed-values:taken", values=collisions.sum(), name=name)
    return int(excess.sum())


# A bound of d significant digits is the double nearest to a decimal of d digits, and nothing in between: what
# a looser test lets pass could carry a message. Decimals are read from Python's texts, which are exact.


def too_long(bounds: Floats, digits: int) -> Flags:
    """Where a number has more significant digits."""
    return _each(bounds, lambda bound: float(f"{bound:.{digits - 1}e}") != bound, bool)


def is_nearest_below(bounds: Floats, values: Floats, digits: int | None) -> Flags:
    """Where no number of this many digits, or no number at all, is above a bound and not above its value."""
    if digits is None:
        return np.asarray(bounds == values)
    following = Context(prec=digits).next_plus
    above = _each(bounds, lambda bound: float(following(Decimal(f"{bound:.{digits - 1}e}"))), float)
    return np.asarray(np.where(bounds == 0, values == 0, values < above))


def _each(bounds: Floats, function: Callable[[float], Any], kind: type) -> npt.NDArray[Any]:
    """The function of every bound, computed once per different number: bounds of few digits are few."""
    # A column at a time: sorting all bounds at once would take several times their memory.
    different = np.unique(np.concatenate([np.unique(column) for column in np.atleast_2d(bounds.T)]))
    answers: npt.NDArray[Any] = np.array([function(bound) for bound in different.tolist()], dtype=kind)
    return answers[np.searchsorted(different, bounds)]
