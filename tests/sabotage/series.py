"""What can be done to a release of `anonymize_series`, of all four methods."""

from __future__ import annotations

import math
import random
from collections import Counter, defaultdict
from dataclasses import replace
from statistics import NormalDist
from typing import Any

import numpy as np
import pyarrow as pa

import timeveil as tv
from tests.sabotage.tampering import (
    Tampered,
    counts,
    entry,
    holds,
    in_order,
    lines,
    noted,
    original,
    promised,
    sabotage,
    section,
    several,
    ulp,
    with_lines,
    with_role,
    with_table,
    with_values,
)
from tests.sabotage.valid import MARK
from timeveil.evidence.published import columns_of

_LETTERS = "abcdefghijklmnopqrstuvwxyz"


def _groups(release: tv.Release) -> dict[int, list[int]]:
    found: dict[int, list[int]] = defaultdict(list)
    for n, number in enumerate(release.table["group"].to_pylist()):
        found[number].append(n)
    return found


def _cells(release: tv.Release) -> list[list[int]]:
    found: dict[Any, list[int]] = defaultdict(list)
    for n, line in enumerate(lines(release)):
        found[line["group"], line["pattern"], str(line["level"])].append(n)
    return list(found.values())


def _recounted(release: tv.Release) -> tv.Release:
    return section(
        release,
        "counts",
        rows=release.table.num_rows,
        groups=len(_groups(release)),
        cells=len(_cells(release)),
    )


def _without(release: tv.Release, gone: list[int]) -> tv.Release:
    left = [line for n, line in enumerate(lines(release)) if n not in gone]
    return _recounted(with_lines(release, left))


def _spoilt(release: tv.Release, rows: list[int], **change: Any) -> tv.Release:
    """Some rows with columns changed, and all rows put in order."""
    table = release.table
    for name, do in change.items():
        values = table[name].to_pylist()
        table = with_values(table, name, {n: do(values[n]) for n in rows})
    return in_order(with_table(release, table))


@sabotage("series", "recipient", "group-below-k")
def one_row_short_in_a_group(release, ledger, chance):
    k = release.guarantee.k
    rows = chance.choice(list(_groups(release).values()))
    said = f"1 group with fewer than {k} rows; the smallest has {k - 1}"
    return Tampered(_without(release, rows[k - 1 :]), ledger, said)


@sabotage("series", "recipient", "cell-below-p")
def one_row_short_in_a_cell(release, ledger, chance):
    p = release.guarantee.p
    rows = chance.choice(_cells(release))
    said = f"1 cell with fewer than {p} rows; the smallest has {p - 1}"
    return Tampered(_without(release, rows[p - 1 :]), ledger, said)


@sabotage("series", "recipient", "envelope-differs")
def a_row_moved_to_a_neighbouring_group(release, ledger, chance):
    """Under its old envelope."""
    number = chance.choice(sorted(_groups(release))[:-1])
    row = chance.choice(_groups(release)[number])
    return Tampered(
        _spoilt(release, [row], group=lambda n: n + 1),
        ledger,
        "1 group whose rows show more than one envelope",
    )


@sabotage("series", "custodian", "ledger-groups")
def a_row_moved_to_a_neighbouring_cell(release, ledger, chance):
    """Under the pattern of its new cell, where both stay large enough."""
    table, cells = lines(release), _cells(release)
    pairs = [
        (one, other)
        for one in cells
        for other in cells
        if one is not other
        and table[one[0]]["group"] == table[other[0]]["group"]
        and len(one) > release.guarantee.p
    ]
    chance.shuffle(pairs)
    for one, other in pairs:
        row = {name: table[other[0]][name] for name in ("pattern", "level")}
        moved = in_order(
            with_lines(release, [{**t, **row} if n == one[0] else t for n, t in enumerate(table)])
        )
        if holds(moved):
            many = several(len(cells), "subgroup"), several(len(cells), "cell")
            said = f"the {many[0]} of the ledger are not the {many[1]} of the release"
            return Tampered(moved, ledger, said)
    return None


@sabotage("series", "recipient", "row-count")
def a_dropped_row(release, ledger, chance):
    rows = release.table.num_rows
    gone = chance.randrange(rows)
    left = with_lines(release, [line for n, line in enumerate(lines(release)) if n != gone])
    return Tampered(left, ledger, f"the table has {rows - 1} rows; the manifest states {rows}")


@sabotage("series", "recipient", "row-count")
def a_row_twice(release, ledger, chance):
    rows, n = lines(release), chance.randrange(release.table.num_rows)
    said = f"the table has {len(rows) + 1} rows; the manifest states {len(rows)}"
    return Tampered(with_lines(release, [*rows[: n + 1], *rows[n:]]), ledger, said)


@sabotage("series", "custodian", "conservation")
def a_dropped_row_with_counts_put_right(release, ledger, chance):
    large = [
        rows[0]
        for rows in _cells(release)
        if len(rows) > release.guarantee.p
        and len(_groups(release)[lines(release)[rows[0]]["group"]]) > release.guarantee.k
    ]
    chance.shuffle(large)
    for row in large:
        less, number = _without(release, [row]), release.table.num_rows
        if holds(less):
            said = f"{number} series not withheld; the manifest states {number - 1} rows"
            return Tampered(less, ledger, said)
    return None


@sabotage("series", "recipient", "row-order")
def two_rows_that_changed_places(release, ledger, chance):
    rows = lines(release)
    n = chance.choice(
        [
            n
            for n in range(len(rows) - 1)
            if rows[n] != rows[n + 1] and rows[n]["group"] == rows[n + 1]["group"]
        ]
    )
    rows[n], rows[n + 1] = rows[n + 1], rows[n]
    return Tampered(with_lines(release, rows), ledger, "not in the order that follows from the values")


# Envelopes


def _some_bound(release: tv.Release, chance: random.Random) -> tuple[str, list[int], float]:
    """A column of bounds, the rows of a group, and the way that narrows it."""
    name = chance.choice(columns_of(release, "low", "high"))
    rows = _groups(release)[chance.choice(sorted(_groups(release)))]
    return name, rows, math.inf if name.endswith("_lo") else -math.inf


def _shifted(release: tv.Release, name: str, rows: list[int], towards: float) -> tv.Release:
    """Bounds one unit in their last place further: of the decimal where it is rounded, or of the float."""
    digits = release.manifest["parameters"]["round_outward"]

    def next_one(value: float) -> float:
        if digits is None or value == 0:
            return ulp(value, towards)
        unit = 10.0 ** (math.floor(math.log10(abs(value))) - digits + 1)
        return float(f"{value + math.copysign(unit, towards):.{digits - 1}e}")

    return _spoilt(release, rows, **{name: next_one})


@sabotage("series", "custodian", "outside-envelope")
def an_envelope_narrowed_by_one_unit_in_the_last_place(release, ledger, chance):
    for _ in range(20):
        name, rows, inward = _some_bound(release, chance)
        narrow = _shifted(release, name, rows, inward)
        if holds(narrow):
            said = "not within the envelope of its group"
            if not _filled(release):
                said = f"{several(_outside(narrow, ledger, name), 'series', 'series')} {said}"
            return Tampered(narrow, ledger, said)
    return None


def _matrix(ledger: tv.Ledger) -> tuple[list[str], list[list[float]], list[int | None]]:
    """The instants, and per person the values and the group."""
    roles, table, group = ledger.original.roles, ledger.original.table, ledger.table["group"].to_pylist()
    if roles.series:
        return (
            list(roles.series),
            [list(r) for r in zip(*(table[c].to_pylist() for c in roles.series), strict=True)],
            group,
        )
    rows: dict[str, dict[int, float]] = defaultdict(dict)
    groups: dict[str, int | None] = {}
    for line, number in zip(table.to_pylist(), group, strict=True):
        rows[line["who"]][line["at"]] = line["load"]
        groups[line["who"]] = number
    times = sorted({at for row in rows.values() for at in row})
    return (
        [str(at) for at in times],
        [[row[at] for at in times] for row in rows.values()],
        list(groups.values()),
    )


def _filled(release: tv.Release) -> bool:
    """Whether gaps were filled, so that the original does not say what everybody's values are."""
    return release.manifest["parameters"]["fill"] is not None


def _outside(release: tv.Release, ledger: tv.Ledger, name: str) -> int:
    """How many series lie beyond a bound of their group, told one at a time."""
    instants, matrix, groups = _matrix(ledger)
    bound = {line["group"]: line[name] for line in lines(release)}
    place = instants.index(name[:-3])
    beyond = 0
    for row, group in zip(matrix, groups, strict=True):
        if group is not None:
            low = name.endswith("_lo")
            beyond += row[place] < bound[group] if low else row[place] > bound[group]
    return beyond


@sabotage("series", "custodian", "envelope-wide")
def an_envelope_widened_by_one_unit_in_the_last_place(release, ledger, chance):
    for _ in range(20):
        name, rows, inward = _some_bound(release, chance)
        wide = _shifted(release, name, rows, -inward)
        if holds(wide):
            said = "1 group with a wider envelope than series and rounding explain"
            return Tampered(wide, ledger, said)
    return None


@sabotage("series", "recipient", "envelope-differs")
def a_bound_of_one_row_alone(release, ledger, chance):
    name, rows, inward = _some_bound(release, chance)
    one = chance.choice(rows)
    return Tampered(_shifted(release, name, [one], -inward), ledger, "1 group whose rows show more than one")


@sabotage("series means", "recipient", "envelope-differs")
def a_mean_of_one_row_alone(release, ledger, chance):
    row = chance.randrange(release.table.num_rows)
    spoilt = _spoilt(release, [row], h1_mean=lambda mean: mean + 1)
    return Tampered(spoilt, ledger, "1 group whose rows show more than one envelope or mean")


@sabotage("series", "recipient", "rounding")
def a_digit_too_many(release, ledger, chance):
    """Next to a rounded bound, and not a decimal of so many digits."""
    digits = release.manifest["parameters"]["round_outward"]
    name, rows, inward = _some_bound(release, chance)
    if digits is None or release.table[name][rows[0]].as_py() == 0:
        return None
    long = _spoilt(release, rows, **{name: lambda value: ulp(value, -inward)})
    said = f"{several(len(rows), 'row')} with a bound of more than {digits} significant digits"
    return Tampered(long, ledger, said)


@sabotage("series", "recipient", "envelope")
def a_low_above_its_high(release, ledger, chance):
    row = chance.randrange(release.table.num_rows)
    low, high = columns_of(release, "low")[0], columns_of(release, "high")[0]
    top = release.table[high][row].as_py()
    turned = _spoilt(release, [row], **{low: lambda _: top + 1})
    return Tampered(turned, ledger, "1 row with a missing, infinite or tiny bound, or a low above its high")


entry(
    "bounds said to be rounded less",
    "series",
    "custodian",
    "envelope-wide",
    lambda r: (
        None
        if r.manifest["parameters"]["round_outward"] is None
        else (
            section(r, "parameters", round_outward=None),
            "with a wider envelope than series and rounding explain",
        )
    ),
)
entry(
    "bounds said to be rounded more",
    "series",
    "recipient",
    "rounding",
    lambda r: (section(r, "parameters", round_outward=1), "with a bound of more than 1 significant digit"),
)

# Patterns


def _z(row: list[float], center: str) -> list[float]:
    values = np.array(row)
    middle = np.median(values) if center == "median" else values.mean()
    return list((values - middle) / (values.std() or 1.0))


def _features(release: tv.Release, row: list[float]) -> list[float]:
    """What the letters of a series stand for: its values, means of segments, or steps to the next instant."""
    stated, parameters = release.manifest["series"], release.manifest["parameters"]
    z = _z(row, stated["center"])
    match parameters.get("representation"):
        case "paa":
            length = parameters["segment"]
            return [float(np.mean(z[n : n + length])) for n in range(0, len(z), length)]
        case "slopes":
            return [(after - before) / math.sqrt(2) for before, after in zip(z, [*z[1:], z[0]], strict=True)]
    return [z[list(stated["instants"]).index(name)] for name in stated["pattern"]]


def _own(z: float, letter: str, level: int) -> bool:
    """Whether a letter is that of a feature, by the borders of the normal curve."""
    place, normal = _LETTERS.index(letter), NormalDist()
    low = -math.inf if place == 0 else normal.inv_cdf(place / level)
    high = math.inf if place + 1 == level else normal.inv_cdf((place + 1) / level)
    return low <= z < high


def _members(ledger: tv.Ledger, subgroup: int) -> list[list[float]]:
    """The series of a subgroup."""
    numbers = ledger.table["subgroup"].to_pylist()
    if ledger.original.roles.series:
        return [row for row, number in zip(_matrix(ledger)[1], numbers, strict=True) if number == subgroup]
    who = ledger.original.table["who"].to_pylist()
    people = {name for name, number in zip(who, numbers, strict=True) if number == subgroup}
    return [row for name, row in zip(dict.fromkeys(who), _matrix(ledger)[1], strict=True) if name in people]


def _other_letters(
    release: tv.Release, ledger: tv.Ledger, chance: random.Random, change: Any
) -> Tampered | None:
    """A cell under another letter or level at one instant, such that from outside all looks well."""
    cells, table, stated = _cells(release), lines(release), release.manifest["series"]
    if _filled(release):
        return None
    for number in chance.sample(range(len(cells)), len(cells)):
        rows = cells[number]
        text, level = table[rows[0]]["pattern"], table[rows[0]]["level"]
        place = chance.randrange(len(text))
        found = change(text[place], level[place] if isinstance(level, list) else level)
        if found is None:
            continue
        letter, high = found
        told = {"pattern": lambda t: t[:place] + letter + t[place + 1 :]}  # noqa: B023
        if isinstance(level, list):
            told["level"] = lambda v: [*v[:place], high, *v[place + 1 :]]  # noqa: B023
        elif high != level:
            told["level"] = lambda _: high  # noqa: B023
        other = _spoilt(release, rows, **told)
        if not holds(other) or _cells(other) != cells or _beside(other) != _beside(release):
            continue
        levels = [
            high if isinstance(level, list) and n == place else level[n] if isinstance(level, list) else high
            for n in range(len(text))
        ]
        said = text[:place] + letter + text[place + 1 :]
        wrong = sum(
            not all(map(_own, _features(release, row), said, levels)) for row in _members(ledger, number + 1)
        )
        if wrong or not stated["own_patterns"]:
            return Tampered(
                other, ledger, f"{several(wrong, 'series', 'series')} under a pattern that is not its own"
            )
    return None


def _beside(release: tv.Release) -> list[dict[str, Any]]:
    """All but patterns and levels, so that it shows whether rows changed places."""
    return lines(with_table(release, release.table.drop_columns(["pattern", "level"])))


def _next_letter(letter: str, level: int) -> tuple[str, int] | None:
    return None if level == 1 else (_LETTERS[(_LETTERS.index(letter) + 1) % level], level)


@sabotage("series", "custodian", "pattern-not-own")
def a_letter_swapped_in_a_whole_cell(release, ledger, chance):
    """Of the methods that publish no pattern but a record's own."""
    if not release.manifest["series"]["own_patterns"]:
        return None
    return _other_letters(release, ledger, chance, _next_letter)


@sabotage("series", "custodian", "pattern-not-own")
def a_level_off_by_one_up_in_a_whole_cell(release, ledger, chance):
    if not release.manifest["series"]["own_patterns"]:
        return None
    most = release.manifest["parameters"]["max_level"]
    return _other_letters(release, ledger, chance, lambda a, n: None if n == most else (a, n + 1))


@sabotage("series", "custodian", "pattern-not-own")
def a_level_off_by_one_down_in_a_whole_cell(release, ledger, chance):
    if not release.manifest["series"]["own_patterns"]:
        return None
    return _other_letters(
        release, ledger, chance, lambda a, n: None if _LETTERS.index(a) + 1 >= n else (a, n - 1)
    )


@sabotage("series naive", "nobody")
def a_letter_swapped_in_a_whole_cell_of_shared_patterns(release, ledger, chance):
    """Where a pattern is that of the cell and nobody's own, none is more true than another."""
    return _other_letters(release, ledger, chance, _next_letter)


@sabotage("series representative", "nobody")
def a_letter_swapped_in_a_whole_cell_of_shared_patterns_(release, ledger, chance):
    """Where a pattern is that of the cell and nobody's own, none is more true than another."""
    return _other_letters(release, ledger, chance, _next_letter)


@sabotage("series", "recipient", "pattern")
def a_letter_beyond_its_level(release, ledger, chance):
    row = chance.randrange(release.table.num_rows)
    return Tampered(
        _spoilt(release, [row], pattern=lambda text: "z" + text[1:]),
        ledger,
        "1 row with a letter beyond the level of its instant",
    )


@sabotage("series", "recipient", "pattern")
def a_letter_less(release, ledger, chance):
    row, instants = chance.randrange(release.table.num_rows), len(release.manifest["series"]["pattern"])
    spoilt = _spoilt(release, [row], pattern=lambda text: text[1:])
    return Tampered(spoilt, ledger, f"some patterns are not {several(instants, 'letter')} from a to z")


@sabotage("series", "recipient", "pattern")
def a_level_above_the_highest(release, ledger, chance):
    most = release.manifest["parameters"]["max_level"]
    spoilt = _spoilt(release, [0], level=lambda v: [most + 1, *v[1:]] if isinstance(v, list) else most + 1)
    return Tampered(spoilt, ledger, f"1 row with a level above {most}, the highest stated")


@sabotage("series", "recipient", "pattern")
def a_level_of_none(release, ledger, chance):
    spoilt = _spoilt(release, [0], level=lambda v: [0, *v[1:]] if isinstance(v, list) else 0)
    return Tampered(spoilt, ledger, "from 1 to 52")


@sabotage("series", "recipient", "group")
def groups_numbered_otherwise(release, ledger, chance):
    one = chance.choice(sorted(_groups(release))[:-1])
    other = {one: one + 1, one + 1: one}
    rows = [{**line, "group": other.get(line["group"], line["group"])} for line in lines(release)]
    return Tampered(in_order(with_lines(release, rows)), ledger, "not numbered in the order of its envelope")


@sabotage("series", "recipient", "group")
def a_hole_in_the_numbers_of_groups(release, ledger, chance):
    last = max(_groups(release))
    rows = [{**line, "group": line["group"] + (line["group"] == last)} for line in lines(release)]
    said = f"the {len(_groups(release))} groups are not numbered from 1 without a hole"
    return Tampered(with_lines(release, rows), ledger, said)


# The manifest

entry(
    "k raised",
    "series",
    "recipient",
    "group-below-k",
    lambda r: (
        promised(r, k=1 + max(map(len, _groups(r).values()))),
        f"the smallest has {min(map(len, _groups(r).values()))}",
    ),
)
entry(
    "P raised",
    "series",
    "recipient",
    "cell-below-p",
    lambda r: (
        promised(r, k=40, p=1 + max(map(len, _cells(r)))),
        f"the smallest has {min(map(len, _cells(r)))}",
    ),
)
entry(
    "l raised",
    "series l",
    "recipient",
    "values-below-l",
    lambda r: (
        promised(r, l=r.guarantee.p),
        f"with a value of `income` in more than 1 row in {r.guarantee.p}",
    ),
)
entry(
    "k raised among the parameters alone",
    "series",
    "recipient",
    "guarantee",
    lambda r: (section(r, "parameters", k=r.guarantee.k + 1), "is not the k of the promise"),
)
entry(
    "P raised among the parameters alone",
    "series",
    "recipient",
    "guarantee",
    lambda r: (section(r, "parameters", p=r.guarantee.p + 1), "is not the p of the promise"),
)
entry(
    "k raised in the manifest alone",
    "series",
    "recipient",
    "guarantee",
    lambda r: (section(r, "guarantee", k=r.guarantee.k + 1), "another guarantee than the release"),
)
for _step in (-1, 1):
    _way = "up" if _step > 0 else "down"
    entry(
        f"the rows off by one {_way}",
        "series",
        "recipient",
        "row-count",
        lambda r, s=_step: (counts(r, rows=s), f"rows; the manifest states {r.table.num_rows + s}"),
    )
    entry(
        f"the groups off by one {_way}",
        "series",
        "recipient",
        "counts",
        lambda r, s=_step: (counts(r, groups=s), f"groups; the manifest states {len(_groups(r)) + s}"),
    )
    entry(
        f"the cells off by one {_way}",
        "series",
        "recipient",
        "counts",
        lambda r, s=_step: (counts(r, cells=s), f"cells; the manifest states {len(_cells(r)) + s}"),
    )
entry(
    "as many suppressed as P",
    "series",
    "recipient",
    "suppressed",
    lambda r: (
        None
        if "grouped" in r.manifest["series"]
        else (
            section(r, "counts", suppressed=r.guarantee.p),
            f"the manifest states {r.guarantee.p} withheld series, and p is {r.guarantee.p}",
        )
    ),
)
entry(
    "one series more suppressed",
    "series",
    "custodian",
    "suppressed",
    lambda r: (
        None
        if r.manifest["counts"]["suppressed"] + 1 >= r.guarantee.p
        else (counts(r, suppressed=1), f"the manifest states {r.manifest['counts']['suppressed'] + 1}")
    ),
)
entry(
    "patterns said to be their own, or not",
    "series",
    "recipient",
    "statements",
    lambda r: (
        section(r, "series", own_patterns=not r.manifest["series"]["own_patterns"]),
        "each series' own, unlike its method",
    ),
)
entry(
    "another centre",
    "series",
    "recipient",
    "statements",
    lambda r: (
        section(r, "series", center="mean" if r.manifest["series"]["center"] == "median" else "median"),
        "the manifest states two centres",
    ),
)
entry(
    "other instants of the pattern",
    "series",
    "recipient",
    "statements",
    lambda r: (
        section(r, "series", pattern=list(r.manifest["series"]["pattern"])[::-1]),
        "`series.pattern` of the manifest is not a part of its instants, in order",
    ),
)
entry(
    "another method",
    "series",
    "recipient",
    "statements",
    lambda r: (
        section(
            r, "parameters", method="kapra" if r.manifest["parameters"]["method"] == "naive" else "naive"
        ),
        "unlike its method",
    ),
)
entry(
    "changed values of a column that was not to change",
    "series",
    "recipient",
    "statements",
    lambda r: (
        section(r, "series", perturbed=["ward"]),
        "what l changed of columns for which no l is promised",
    ),
)
entry(
    "changed values kept silent",
    "series l",
    "custodian",
    "row-values",
    lambda r: (
        (section(r, "series", perturbed=[]), "not in the original, ")
        if r.manifest["series"]["perturbed"]
        else None
    ),
)
entry(
    "the sensitive column declared kept",
    "series",
    "custodian",
    "columns",
    lambda r: (
        None
        if r.guarantee.l
        else (with_role(r, "income", "keep"), "the sensitive columns are not those of the original")
    ),
)
entry(
    "a bound declared kept",
    "series",
    "recipient",
    "columns",
    lambda r: (with_role(r, columns_of(r, "low")[0], "keep"), "the first columns are not group, bounds"),
)
entry(
    "columns in another order",
    "series",
    "recipient",
    "columns",
    lambda r: (with_table(r, r.table.select(r.table.column_names[::-1])), "are not in the stated order"),
)
entry(
    "a column more than stated",
    "series",
    "recipient",
    "columns",
    lambda r: (
        with_table(r, r.table.append_column("x", pa.nulls(r.table.num_rows, pa.int8()))),
        "columns that the manifest does not list: x",
    ),
)
entry(
    "a second table",
    "series",
    "recipient",
    "tables",
    lambda r: (with_table(r, r.table, "more"), "2 tables, not `data` alone"),
)
entry(
    "a key too many",
    "series",
    "recipient",
    "manifest",
    lambda r: (section(r, "series", seed=3), "`series` of the manifest has 1 unknown key"),
)

# Values and the ledger


@sabotage("series l", "recipient", "values-below-l")
def one_value_too_frequent_in_a_cell(release, ledger, chance):
    """As few rows as can be take the value of another."""
    income = release.table["income"].to_pylist()
    rows = chance.choice(_cells(release))
    [(common, often)] = Counter(income[n] for n in rows).most_common(1)
    others = [n for n in rows if income[n] != common][: len(rows) // 2 + 1 - often]
    spoilt = _spoilt(release, others, income=lambda _: common)
    return Tampered(spoilt, ledger, "1 cell with a value of `income` in more than 1 row in 2")


@sabotage("series l", "recipient", "values-below-l")
def a_sensitive_value_left_out(release, ledger, chance):
    spoilt = _spoilt(release, [chance.randrange(release.table.num_rows)], income=lambda _: None)
    return Tampered(spoilt, ledger, "1 value of `income` missing, and l needs all")


@sabotage("series", "custodian", "row-values")
def a_kept_value_changed(release, ledger, chance):
    row = chance.randrange(release.table.num_rows)
    spoilt = _spoilt(release, [row], ward=lambda _: 9)
    said = "1 published row not in the original, 1 original series not in the release"
    return Tampered(spoilt, ledger, said) if holds(spoilt) else None


@sabotage("series l", "custodian", "changed-values")
def a_value_changed_without_need(release, ledger, chance):
    """One more than l makes necessary, in a column in which some were changed."""
    if not release.manifest["series"]["perturbed"]:
        return None
    incomes = set(ledger.original.table["income"].to_pylist())
    numbers = ledger.table["subgroup"].to_pylist()
    whole = ledger.original.table["income"].to_pylist()
    for place, rows in enumerate(_cells(release), start=1):
        was = Counter(v for v, number in zip(whole, numbers, strict=True) if number == place)
        now = Counter(release.table["income"][n].as_py() for n in rows)
        if was == now and max(was.values()) <= len(rows) // 2:
            new = float(max(incomes) + 50 + MARK)
            spoilt = _spoilt(release, [max(rows)], income=lambda v, new=new: type(v)(new))
            if holds(spoilt):
                return Tampered(
                    spoilt, ledger, "1 cell in which more values of `income` differ than l = 2 needs"
                )
    return None


@sabotage("series l", "custodian", "changed-values")
def changed_values_of_other_rows(release, ledger, chance):
    """Every cell keeps its values, but most of its rows show that of another."""
    if not release.manifest["series"]["perturbed"]:
        return None
    table, wards = release.table, release.table["ward"].to_pylist()
    income = table["income"].to_pylist()
    for rows in _cells(release):
        turned = sorted(rows, key=lambda n: (-wards[n], income[n]))
        for n, value in zip(rows, [income[n] for n in turned], strict=True):
            table = with_values(table, "income", {n: value})
    spoilt = in_order(with_table(release, table))
    return Tampered(spoilt, ledger, " rows changed; l makes ") if holds(spoilt) else None


def _perturbed_row(release, ledger):
    """A row with a number that nobody had."""
    incomes = set(ledger.original.table["income"].to_pylist())
    published = release.table["income"].to_pylist()
    return next((n for n, value in enumerate(published) if value not in incomes), None)


@sabotage("series l perturb", "custodian", "changed-values")
def a_number_perturbed_too_far(release, ledger, chance):
    """By more than epsilon, to a number that nobody has."""
    row = _perturbed_row(release, ledger)
    if row is None:
        return None
    far = max(release.table["income"].to_pylist()) + 100
    spoilt = _spoilt(release, [row], income=lambda v: type(v)(far))
    return Tampered(spoilt, ledger, "not within 40 of one too frequent in its cell")


@sabotage("series l perturb", "custodian", "changed-values")
def a_perturbed_number_that_somebody_has(release, ledger, chance):
    """The number of somebody in another cell, near the old one: what swapping does."""
    row, published = _perturbed_row(release, ledger), release.table["income"].to_pylist()
    if row is None:
        return None
    [inside] = [rows for rows in _cells(release) if row in rows]
    absent = sorted(set(ledger.original.table["income"].to_pylist()) - {published[n] for n in inside})
    for taken in absent:
        spoilt = _spoilt(release, [row], income=lambda v, taken=taken: type(v)(taken))
        if holds(spoilt):
            return Tampered(spoilt, ledger, "1 changed value of `income` that is in another row, too")
    return None


@sabotage("series l group", "custodian", "row-values")
def values_exchanged_between_cells(release, ledger, chance):
    """Every cell still has its different values, but not its own."""
    published, cells = release.table["income"].to_pylist(), _cells(release)
    for first in cells:
        for second in cells:
            pairs = [(a, b) for a in first for b in second if published[a] != published[b]]
            for a, b in pairs[:4] if first is not second else ():
                swapped = {a: published[b], b: published[a]}
                one = _spoilt(release, [a], income=lambda _, value=swapped[a]: value)
                spoilt = _spoilt(one, [b], income=lambda _, value=swapped[b]: value)
                if holds(spoilt):
                    said = "2 published rows not in the original, 2 original series not in the release"
                    return Tampered(spoilt, ledger, said)
    return None


entry(
    "a column both changed and grouped",
    "series l group",
    "recipient",
    "statements",
    lambda r: (section(r, "series", perturbed=["income"]), "were changed and that none was"),
)
entry(
    "an epsilon without perturbing",
    "series l group",
    "recipient",
    "statements",
    lambda r: (section(r, "parameters", epsilon=1.5), "without an epsilon, or one without them"),
)


def _placed(ledger: tv.Ledger, chance: random.Random) -> int:
    return chance.choice([n for n, g in enumerate(ledger.table["group"].to_pylist()) if g is not None])


@sabotage("series", "custodian", "suppressed")
def a_series_noted_as_suppressed(release, ledger, chance):
    if not ledger.original.roles.series:
        return None
    row, stated = _placed(ledger, chance), release.manifest["counts"]["suppressed"]
    told = noted(ledger, group={row: None}, subgroup={row: None})
    return Tampered(release, told, f"{stated + 1} series withheld; the manifest states {stated}")


@sabotage("series", "custodian", "ledger-groups")
def a_series_noted_in_another_subgroup(release, ledger, chance):
    if not ledger.original.roles.series:
        return None
    row = _placed(ledger, chance)
    number = ledger.table["subgroup"][row].as_py()
    told = noted(ledger, subgroup={row: number - 1 if number > 1 else 2})
    return Tampered(release, told, "of the release, each with its group and rows")


@sabotage("series", "custodian", "person-twice")
def a_series_noted_in_a_group_and_no_subgroup(release, ledger, chance):
    told = noted(ledger, subgroup={_placed(ledger, chance): None})
    return Tampered(release, told, "1 series in more than one group or subgroup")


@sabotage("series dropped", "custodian", "incomplete-rows")
def a_dropped_person_noted_in_a_group(release, ledger, chance):
    """Who was left out for a gap is in no group."""
    row = next(n for n in range(ledger.table.num_rows) if ledger.original.table["h1"][n].as_py() is None)
    told = noted(ledger, group={row: 1}, subgroup={row: 1})
    return Tampered(release, told, "1 row of a dropped person not withheld")


@sabotage("series", "custodian", "person-twice")
def two_series_of_one_person(release, ledger, chance):
    if not ledger.original.roles.series:
        return None
    one = original(ledger, who={0: ledger.original.table["who"][1].as_py()})
    return Tampered(release, one, "1 series of a person who has one already")


@sabotage("series", "custodian", "outside-envelope")
def an_original_value_changed(release, ledger, chance):
    name = release.manifest["series"]["values"][0] if ledger.original.roles.series else "load"
    row = next(n for n in range(ledger.table.num_rows) if ledger.table["group"][n].as_py() is not None)
    other = original(ledger, **{name: {row: 9e9}})
    return Tampered(release, other, "1 series not within the envelope of its group")


@sabotage("series", "custodian", "ledger-rows")
def a_row_missing_in_the_ledger(release, ledger, chance):
    rows = ledger.table.num_rows
    less = replace(ledger, entries=ledger.table.slice(1))
    return Tampered(release, less, f"lists {rows - 1} rows, not the {rows} of the original")


@sabotage("series", "custodian", "ledger-rows")
def two_rows_of_the_ledger_that_changed_places(release, ledger, chance):
    rows = ledger.table.num_rows
    return Tampered(release, noted(ledger, row={0: 1, 1: 0}), f"lists {rows} rows, not the {rows} of the")


@sabotage("series", "custodian", "ledger")
def a_ledger_without_subgroups(release, ledger, chance):
    less = replace(ledger, entries=ledger.table.drop_columns(["subgroup"]))
    return Tampered(release, less, "the ledger lacks a column of a series' ledger")


@sabotage("series long", "custodian", "person-twice")
def a_row_of_a_person_noted_in_another_group(release, ledger, chance):
    row = _placed(ledger, chance)
    number = ledger.table["group"][row].as_py()
    told = noted(ledger, group={row: number - 1 if number > 1 else 2})
    return Tampered(release, told, "1 series in more than one group or subgroup")


@sabotage("series", "custodian", "ledger")
def a_ledger_of_another_model(release, ledger, chance):
    return Tampered(release, replace(ledger, model="time"), "the ledger is not that of this release")


@sabotage("series", "custodian", "parameters")
def another_effort_said_to_have_been_made(release, ledger, chance):
    """How long a method looked does not show in what it found; the ledger has the parameters."""
    if release.manifest["parameters"]["effort"] is None:
        return None
    return Tampered(
        section(release, "parameters", effort=999), ledger, "the run had other parameters: effort"
    )


@sabotage("series", "custodian", "parameters")
def a_highest_level_that_was_never_reached(release, ledger, chance):
    """Levels stop where cells would become too small, whatever the highest is."""
    said = "the run had other parameters: max_level"
    return Tampered(section(release, "parameters", max_level=52), ledger, said)


@sabotage("series", "custodian", "parameters")
def a_number_hidden_in_a_weight(release, ledger, chance):
    if release.manifest["parameters"]["shape_weight"] is None:
        return None
    said = "the run had other parameters: shape_weight"
    return Tampered(section(release, "parameters", shape_weight=12345.67), ledger, said)
