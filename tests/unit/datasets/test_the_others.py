from __future__ import annotations

from collections import Counter

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from benchmarks import generated
from benchmarks.generated import events

from timeveil.datasets import TARIFFS, baskets, daily_cases, hospital_stays, load_curves


def share(mask: pa.ChunkedArray) -> float:
    return float(pc.mean(mask.cast(pa.int8())).as_py())


class TestDailyCases:
    cases = daily_cases(days=200, seed=1)

    def test_days_are_dates_without_holes_at_the_ends(self) -> None:
        day = self.cases["day"]
        assert day.type == pa.date32()
        assert (pc.max(day).as_py() - pc.min(day).as_py()).days + 1 <= 200

    def test_snapshots_are_small_and_smaller_at_the_weekend(self) -> None:
        per_day = self.cases["day"].value_counts()
        counts = per_day.field("counts").to_numpy()
        weekend = pc.greater_equal(pc.day_of_week(per_day.field("values")), 5).to_numpy(zero_copy_only=False)
        assert counts.max() < 80
        assert counts[weekend].mean() < counts[~weekend].mean() / 2

    def test_people_come_back(self) -> None:
        counts = self.cases["person"].value_counts().field("counts").to_numpy()
        assert 0.3 < counts[counts > 1].sum() / counts.sum() < 0.7

    def test_one_diagnosis_is_too_common_on_many_days_and_rare_ones_exist(self) -> None:
        counts = self.cases["diagnosis"].value_counts().field("counts").to_numpy()
        assert counts.size == 8
        assert counts.max() / counts.sum() > 0.28
        assert counts.min() / counts.sum() < 0.07

    def test_a_person_keeps_district_age_band_and_sex(self) -> None:
        people = self.cases.group_by(["person", "district", "age_band", "sex"]).aggregate([])
        assert people.num_rows == pc.count_distinct(self.cases["person"]).as_py()


class TestLoadCurves:
    wide = load_curves(people=1_000, seed=1)
    values = np.column_stack([column.to_numpy() for column in wide.columns[1:-1]])

    def test_one_row_per_household_and_one_column_per_hour(self) -> None:
        hours = [f"h{hour:02}" for hour in range(24)]
        assert self.wide.column_names == ["household", *hours, "tariff"]
        assert pc.count_distinct(self.wide["household"]).as_py() == self.wide.num_rows == 1_000

    def test_long_holds_the_same_numbers(self) -> None:
        long = load_curves(people=1_000, seed=1, long=True)
        assert long.num_rows == 24_000
        assert np.array_equal(long["kwh"].to_numpy().reshape(1_000, 24), self.values)
        assert long["instant"][:25].to_pylist() == [*range(24), 0]
        assert long["household"][24] == self.wide["household"][1]
        assert long["tariff"][24] == self.wide["tariff"][1]

    def test_consumption_is_positive_and_skewed(self) -> None:
        totals = self.values.sum(axis=1)
        assert (self.values > 0).all()
        assert totals.mean() > 1.05 * np.median(totals)

    def test_some_curves_are_constant_and_some_copies(self) -> None:
        constant = (self.values.max(axis=1) == self.values.min(axis=1)).mean()
        copies = 1 - len(np.unique(self.values, axis=0)) / len(self.values)
        assert 0.015 < constant < 0.05
        assert 0.005 < copies < 0.04

    def test_evening_is_the_peak(self) -> None:
        assert self.values.mean(axis=0).argmax() in (18, 19, 20)

    def test_a_curve_hints_at_the_tariff(self) -> None:
        night = share_of(self.wide["tariff"], "night")
        by_night = self.values[:, :4].mean(axis=1) > self.values[:, 8:16].mean(axis=1)
        hinted = share_of(self.wide["tariff"].filter(pa.array(by_night)), "night")
        assert hinted > 3 * night
        assert set(self.wide["tariff"].to_pylist()) == set(TARIFFS)

    @pytest.mark.parametrize(("instants", "last"), [(1, "h00"), (96, "h95"), (101, "h100")])
    def test_any_number_of_instants(self, instants: int, last: str) -> None:
        table = load_curves(people=2, instants=instants)
        assert table.num_columns == instants + 2
        assert table.column_names[-2] == last


class TestBaskets:
    sold = baskets(transactions=3_000, seed=1)

    def test_every_basket_holds_something(self) -> None:
        assert pc.count_distinct(self.sold["basket"]).as_py() == 3_000

    def test_items_are_skewed(self) -> None:
        counts = np.sort(self.sold["item"].value_counts().field("counts").to_numpy())
        assert counts.size == 48
        assert counts[-1] > 15 * counts[0]

    def test_what_goes_together_is_bought_together(self) -> None:
        holds = {name: baskets_with(self.sold, name) for name in ("pasta", "tomato sauce")}
        both = len(holds["pasta"] & holds["tomato sauce"]) / 3_000
        apart = len(holds["pasta"]) * len(holds["tomato sauce"]) / 3_000**2
        assert both > 2.5 * apart

    def test_some_items_stand_twice_and_some_baskets_are_copies(self) -> None:
        distinct = self.sold.group_by(["basket", "item"]).aggregate([]).num_rows
        assert distinct < self.sold.num_rows
        contents: dict[str, list[str]] = {}
        for basket, item in zip(*(column.to_pylist() for column in self.sold.columns), strict=True):
            contents.setdefault(basket, []).append(item)
        large = [tuple(items) for items in contents.values() if len(items) >= 6]
        assert len(set(large)) < len(large)


class TestEvents:
    table = events(200_000, people=5_000, days=90, seed=1)

    def test_columns_are_compact(self) -> None:
        assert self.table.schema.field("person").type == pa.int64()
        assert self.table.schema.field("happened_at").type == pa.timestamp("s")
        for name in ("zip", "sex"):
            assert self.table.schema.field(name).type == pa.dictionary(pa.int8(), pa.string())
        assert self.table.nbytes < 27 * 200_000

    def test_people_are_numbered_from_zero_and_skewed(self) -> None:
        counts = np.bincount(self.table["person"].to_numpy(), minlength=5_000)
        assert counts.size == 5_000
        assert counts.max() > 20 * np.median(counts)

    def test_times_stay_within_the_days_asked_for(self) -> None:
        when = self.table["happened_at"]
        assert str(pc.min(when)) >= "2024-01-01 00:00:00"
        assert str(pc.max(when)) < "2024-03-31 00:00:00"

    def test_quasi_identifiers_belong_to_the_person(self) -> None:
        table = events(20_000, people=500, quasi=3)
        assert table.column_names == ["person", "happened_at", "zip", "sex", "age_band", "value"]
        people = table.group_by(["person", "zip", "sex", "age_band"]).aggregate([])
        assert people.num_rows == pc.count_distinct(table["person"]).as_py()

    def test_blocks_leave_no_seam(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(generated, "BLOCK", 999)
        table = events(5_000, people=100, days=10)
        assert pc.min(table["person"]).as_py() >= 0
        assert pc.max(table["person"]).as_py() < 100
        assert str(pc.max(table["happened_at"])) < "2024-01-11 00:00:00"
        assert pc.count_distinct(table["value"]).as_py() == 5_000


def share_of(column: pa.ChunkedArray, value: str) -> float:
    return share(pc.equal(column, value))


def baskets_with(table: pa.Table, item: str) -> set[str]:
    return set(table["basket"].filter(pc.equal(table["item"], item)).to_pylist())


def test_stays_end_after_they_begin_and_belong_to_one_birth_date():
    stays = hospital_stays(800, seed=3)
    born: dict[str, set] = {}
    for row in stays.to_pylist():
        assert row["born"] <= row["admitted"].date() < row["discharged"]
        born.setdefault(row["patient"], set()).add((row["born"], row["sex"]))
        assert row["diagnosis"] != "birth" or row["sex"] == "f"
    assert all(len(traits) == 1 for traits in born.values())
    assert max(Counter(stays["patient"].to_pylist()).values()) > 5
