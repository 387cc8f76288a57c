"""Someone who learns from a stream release which values come with which quasi-identifiers."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import timeveil as tv
from timeveil.models.stream.judges.attack import learnt_shares, shares_through_labels
from timeveil.models.stream.words import attack_summary
from timeveil.report import explain

ROLES = tv.Roles(respondent="who", time="day", quasi=["a", "b"], sensitive=["ill"])
LEARNS = tv.StreamAdversary("correlation")


def records(strength: float, number: int = 3_000, seed: int = 1) -> pa.Table:
    """Six values; each quasi-identifier is that of the value in a share `strength` of the records."""
    draw = np.random.default_rng(seed)
    value = draw.integers(0, 6, number)
    columns = {
        name: np.where(draw.random(number) < strength, value, draw.integers(0, 6, number)) for name in "ab"
    }
    return pa.table(
        {"who": np.arange(number), "day": np.arange(number) // 50, **columns, "ill": [f"v{n}" for n in value]}
    )


def published(strength: float) -> tuple[tv.Release, tv.Ledger]:
    return tv.publish_stream(records(strength), ROLES, l=5, window=3, seed=1)


def test_what_goes_with_the_value_gives_it_away() -> None:
    """One in five is promised to who does not learn, and this outsider is right for most."""
    pair = published(0.6)
    plain, learnt = tv.attack(*pair), tv.attack(*pair, LEARNS)
    assert plain.worst <= 1 / 5 + 1e-9
    assert learnt.mean > 0.5
    assert learnt.parts["guess"].mean > 0.7
    assert learnt.parts["sure"].people > 500
    assert learnt.parts["sure"].mean > 0.95


def test_nothing_is_learnt_where_nothing_goes_with_anything() -> None:
    learnt = tv.attack(*published(0.0), LEARNS)
    assert learnt.mean == pytest.approx(1 / 5, abs=0.02)
    assert learnt.parts["guess"].mean == pytest.approx(1 / 5, abs=0.03)
    assert learnt.parts["sure"].people == 0


def test_the_chances_of_a_record_and_of_a_value_are_what_is_published() -> None:
    """Two buckets of three: values a, a, b and a, b, c."""
    record = np.repeat(np.arange(6), [2, 2, 2, 3, 3, 3])
    value = np.array([0, 1] * 3 + [0, 1, 2] * 3)
    cell = np.array([0, 1] * 3 + [2, 3, 4] * 3)
    often = np.array([2, 1, 1, 1, 1])
    chance = learnt_shares(record, value, cell, often, [np.array([0, 0, 1, 0, 1, 2])])
    assert np.bincount(record, chance) == pytest.approx(np.ones(6))
    assert np.bincount(cell, chance) == pytest.approx(often, abs=0.01)
    # Where values go with the column, the one who differs has what differs.
    assert chance[(record == 2) & (value == 1)] > chance[(record == 0) & (value == 1)]


def test_it_does_not_depend_on_the_order_of_records() -> None:
    table = records(0.6, number=300)
    turned = table.take(pa.array(np.random.default_rng(2).permutation(300)))
    first, second = (
        tv.attack(*tv.publish_stream(t, ROLES, l=3, window=2, buckets="anatomy", seed=4), LEARNS)
        for t in (table, turned)
    )
    assert first.people == second.people
    assert first.mean == pytest.approx(second.mean, abs=0.05)


def test_without_buckets_values_are_there_to_be_read() -> None:
    release, ledger = tv.publish_stream(records(0.6, 300), ROLES, l=3, window=2, buckets="none", seed=1)
    learnt = tv.attack(release, ledger, LEARNS)
    assert learnt.mean == pytest.approx(tv.attack(release, ledger).mean)
    assert learnt.parts == {}


@pytest.mark.parametrize("way", ["buckets", "generalize"])
def test_nothing_is_learnt_where_nothing_is_published(way):
    table = pa.table(
        {"who": [0, 1, 2], "day": [0, 1, 2], "a": [0, 1, 2], "b": [0, 1, 2], "ill": ["v", "w", "v"]}
    )
    none = tv.publish_stream(table, ROLES, l=2, window=1, groups=way, allow_loss=True)
    assert none[0].manifest["counts"]["rows"] == 0
    learnt = tv.attack(*none, LEARNS)
    assert (learnt.people, learnt.parts["guess"].people, learnt.parts["sure"].people) == (0, 0, 0)


def test_an_attack_names_the_way_out() -> None:
    """Nothing is named where it was taken, or where nothing is learnt."""
    groups = tv.publish_stream(records(0.6), ROLES, l=5, window=3, seed=1, groups="generalize")
    packets = tv.publish_stream(records(0.6), ROLES, l=5, window=7, seed=1, protect_slot=2)
    told = [
        "--groups generalize" in " ".join(attack_summary(tv.attack(*pair, LEARNS), pair[0]).limits)
        for pair in (published(0.6), published(0.0), groups, packets)
    ]
    assert told == [True, False, False, False]
    assert tv.attack(*packets, LEARNS).parts["guess"].mean > 0.3
    for pair, named in ((published(0.6), True), (packets, False)):
        sentences = " ".join(explain(*pair).sentences)
        assert "quasi-identifiers go with the sensitive value" in sentences.lower()
        assert ("--groups generalize" in sentences) is named


def test_the_run_and_the_report_say_so() -> None:
    release, ledger = published(0.6)
    html = tv.report(release, ledger).html
    assert "what the release shows of who has what" in html
    assert "Anyone who learns from the release which values come with which quasi-identifiers" in html


def test_what_labels_contain_shows_who_has_which_value():
    """A group of both sexes, and two whose label shows that the value goes with the sex."""
    person, labels = np.array([0, 1, 0, 1]), np.array([0, 0, 1, 2])
    sexes = person, labels, np.array([[1.0, 1.0], [1.0, 0.0], [0.0, 1.0]])
    pairs, values, true = np.repeat(np.arange(4), 2), np.tile([0, 1], 4), np.array([0, 1, 0, 1])
    chance = shares_through_labels(pairs, values, np.ones(8, int), true, [sexes])
    assert chance[:2].round(1).tolist() == [0.7, 0.3]
