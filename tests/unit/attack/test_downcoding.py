"""What finer labels undo of coarser ones, recounted from the released rows by their words."""

from __future__ import annotations

import datetime as dt
import math
from collections import Counter, defaultdict

import pyarrow as pa
import pytest

import timeveil as tv
from timeveil.datasets import clinic_visits
from timeveil.page.wording import share
from timeveil.report import explain

ROLES = tv.Roles(respondent="who", time="day", quasi=["sex"])


def published(rows, **options):
    table = pa.table(dict(zip(("who", "sex", "day"), map(list, zip(*rows, strict=True)), strict=True)))
    return tv.generalize_time(
        table, ROLES, 2, granularities=["day", "month"], hierarchies={"sex": "suppression"}, **options
    )


# Women of the first day are shown as such; the man and the woman of the second day share a month.
ROWS = [("a", "f", dt.date(2024, 5, 1)), ("b", "f", dt.date(2024, 5, 1)), ("c", "f", dt.date(2024, 5, 2)),
        ("d", "m", dt.date(2024, 5, 2))]  # fmt: skip


def test_a_coarse_row_is_none_of_the_fine_ones() -> None:
    release, ledger = published(ROWS, recode="local")
    assert sorted(zip(release.table["sex"].to_pylist(), release.table["day"].to_pylist(), strict=True)) == [
        ("*", "2024-05-02"), ("*", "2024-05-02"), ("f", "2024-05-01"), ("f", "2024-05-01")]  # fmt: skip
    narrowed = tv.attack(release, ledger).downcoding
    assert (narrowed.narrowed, narrowed.bits, narrowed.undone) == (0, 0, 0)
    # Two people in two cells, and not both in one: half of the draws are possible, a bit for 2 of 4 rows.
    assert narrowed.bits_of_missing == pytest.approx(0.25, abs=0.05)


def test_what_is_left_of_a_label() -> None:
    # A third person of the second day: women are shown by day twice, and the only man by month.
    rows = [*ROWS[:2], ("c", "f", dt.date(2024, 5, 2)), ("d", "f", dt.date(2024, 5, 2)),
            ("e", "m", dt.date(2024, 5, 2)), ("f", "m", dt.date(2024, 5, 3))]  # fmt: skip
    release, ledger = published(rows, recode="local")
    labels = Counter(zip(release.table["sex"].to_pylist(), release.table["day"].to_pylist(), strict=True))
    assert labels == {("f", "2024-05-01"): 2, ("f", "2024-05-02"): 2, ("m", "2024-05"): 2}
    assert tv.attack(release, ledger).downcoding.narrowed == 0


@pytest.mark.parametrize("way", ["refined", "local", "tiling"])
def test_cells_are_recounted_by_brute_force(way: str) -> None:
    roles = tv.Roles(respondent="patient", time="taken_at", quasi=["sex", "zip"], drop="rest")
    visits = clinic_visits(rows=400, seed=5)
    options = {"hierarchies": {"sex": "suppression", "zip": "prefixes:3"}, "suppress": 0.1, "recode": way}
    release, ledger = tv.generalize_time(visits, roles, 3, granularities=["day", "week", "month"], **options)
    lines = release.table.to_pylist()
    labels = {
        tuple(line[n] for n in ("taken_at_step", "sex", "zip", "taken_at_start", "taken_at_end"))
        for line in lines
    }
    rows_of = Counter(
        tuple(line[n] for n in ("taken_at_step", "sex", "zip", "taken_at_start", "taken_at_end"))
        for line in lines
    )
    listed = ledger.table["group"].to_pylist()
    cells = {
        (row["sex"], row["zip"], row["taken_at"])
        for row, group in zip(visits.to_pylist(), listed, strict=True)
        if group is not None
    }
    covered, left = defaultdict(int), defaultdict(int)
    for sex, zip_code, time in cells:
        fits = sorted(
            label
            for label in labels
            if label[1] in (sex, "*")
            and label[2].rstrip("*") in ("", zip_code[:3], zip_code)
            and label[3] <= time < label[4]
        )
        left[fits[0]] += 1
        for label in fits:
            covered[label] += 1
    total = sum(rows_of.values())
    narrowed = tv.attack(release, ledger).downcoding
    assert narrowed.narrowed == pytest.approx(sum(rows_of[x] for x in labels if covered[x] > left[x]) / total)
    assert narrowed.bits == pytest.approx(
        sum(rows_of[x] * math.log2(covered[x] / left[x]) for x in labels) / total
    )
    undone = sum(rows_of[x] for x in labels if covered[x] > left[x] == 1)
    assert narrowed.undone == pytest.approx(undone / total)
    assert (narrowed.narrowed > 0) == (way != "tiling")


def test_all_rows_alike_leave_nothing_to_narrow() -> None:
    release, ledger = published(ROWS, suppress=0.5, allow_loss=True)
    assert tv.attack(release, ledger).downcoding is None


@pytest.mark.parametrize("way", ["global", "local"])
def test_one_two_and_three_known_visits_side_by_side(way) -> None:
    """The same as three attacks, with the ways to recode in the order of what they risk."""
    roles = tv.Roles(respondent="patient", time="taken_at", quasi=["zip"], drop="rest")
    pair = tv.generalize_time(clinic_visits(rows=800, seed=5), roles, 3, suppress=0.05, recode=way)
    alone = {str(n): tv.attack(*pair, tv.Adversary(visits=n)).pinned_after for n in (1, 2, 3)}
    assert tv.attack(*pair, tv.Adversary(visits=2)).singled_out == alone
    assert alone["1"] == 0
    assert (alone["2"] > 0.1, alone["2"] <= alone["3"]) == (way == "local", True)
    words = " ".join(explain(*pair).text().split())
    assert (f"one person for {share(alone['2'])} of the people" in words) == (way == "local")
