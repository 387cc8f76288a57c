"""The nouns: what they refuse, what they derive, and that they show no data."""

from __future__ import annotations

import gc
import stat
from dataclasses import FrozenInstanceError

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import timeveil as tv
from timeveil.domain.guarantee import KAnonymity, guarantee_from
from timeveil.domain.judgement import Estimate, Verdict, Violation
from timeveil.domain.relation import Relation, TimeAxis
from timeveil.domain.release import Deferred, Ledger, Release, decode_dictionaries
from timeveil.domain.roles import Derived, Roles
from timeveil.domain.stored import PrivateFolder, Stored
from timeveil.domain.wording import counted, listed, printable, silent
from timeveil.errors import ERROR_CODES, BundleError, ParameterError, RolesError, TimeveilError

CANARY = "canary7391"
ROLES = Roles(respondent="who", time="at", quasi=["zip", Derived("weekday")], sensitive=["s"], keep=["k"])


def table() -> pa.Table:
    return pa.table({"who": [CANARY, CANARY], "zip": [CANARY, "x"]})


def test_roles_list_columns_in_role_order():
    """Derived quasi-identifiers are no columns of the table, but published ones."""
    assert ROLES.columns == ("who", "at", "zip", "s", "k")
    assert ROLES.quasi_columns == ("zip", "at_weekday")
    assert ROLES.published == ("zip", "at_weekday", "k", "s")


def test_a_column_has_one_role():
    """Dropping counts as one."""
    for roles in (
        {"quasi": ["who"]},
        {"drop": ["who"]},
        {"keep": ["x"], "sensitive": ["x"]},
        {"quasi": ["x", "x"]},
    ):
        with pytest.raises(RolesError) as caught:
            Roles(respondent="who", **roles)
        assert caught.value.code == "column-twice"


@pytest.mark.parametrize("role", ["quasi", "sensitive", "keep", "series", "drop"])
def test_a_single_name_is_not_a_list_of_letters(role):
    """`quasi="zip"` would otherwise mean the columns z, i and p."""
    with pytest.raises(RolesError) as caught:
        Roles(**{role: "zip"})
    assert caught.value.code == "bad-parameter"


def test_nothing_can_be_changed_afterwards():
    """Values are frozen."""
    for value, name in ((ROLES, "time"), (KAnonymity(2), "k"), (Estimate(1, 0, 2), "value")):
        with pytest.raises(FrozenInstanceError):
            setattr(value, name, None)


@pytest.mark.parametrize("k", [1, 0, -3, 2.0, "5", None, True])
def test_k_is_a_whole_number_of_at_least_two(k):
    """One person alone hides behind nobody."""
    with pytest.raises(ParameterError) as caught:
        KAnonymity(k)
    assert caught.value.code == "bad-parameter"


def test_a_promise_survives_its_manifest():
    """And an unknown one is not taken for it."""
    assert guarantee_from(KAnonymity(7).as_dict()) == KAnonymity(7)
    for described in (
        {},
        {"name": "k-anonymity"},
        {"name": "magic", "k": 3},
        {"name": "k-anonymity", "k": "3"},
    ):
        with pytest.raises(BundleError):
            guarantee_from(described)


def test_no_repr_shows_a_value():
    """Counts and column names only."""
    relation = Relation(ROLES, table(), TimeAxis("civil", pa.date32()))
    release = Release(KAnonymity(2), {}, {"data": table()})
    ledger = Ledger("time", pa.table({"row": [0, 1], "group": [0, 0]}), relation)
    for thing in (relation, release, ledger):
        assert CANARY not in repr(thing)
        assert "\n" not in repr(thing)
    assert repr(ledger) == "<Ledger of a time release, 2 rows, private>"


def test_a_relation_names_what_it_needs():
    """Asked for a person or a time it does not have, it says so."""
    relation = Relation(ROLES, table(), TimeAxis("civil", pa.date32()))
    assert (relation.respondent, relation.time, relation.clock.kind) == ("who", "at", "civil")
    bare = Relation(Roles(series=["a"]), pa.table({"a": [1]}))
    for name in ("respondent", "time", "clock"):
        with pytest.raises(RolesError) as caught:
            getattr(bare, name)
        assert caught.value.code == "role-missing"


def test_a_deferred_table_is_made_once_and_late():
    """Only when it is looked at."""
    made = []

    def make() -> pa.Table:
        made.append(1)
        return table()

    release = Release(KAnonymity(2), {}, {"data": Deferred(make)})
    assert made == []
    assert release.table.equals(table())
    assert release.tables["data"].equals(table())
    assert sum(batch.num_rows for batch in release.batches()) == 2
    assert made == [1]


def test_a_stored_table_reads_like_one_in_memory():
    """Whole, by column, by batch; its folder is private and goes with it."""
    folder = PrivateFolder()
    place = folder.path
    assert stat.S_IMODE(place.stat().st_mode) == 0o700
    pq.write_table(table(), place / "rows.parquet", row_group_size=1)
    stored = Stored(place / "rows.parquet", folder)
    relation = Relation(ROLES, stored)
    assert relation.rows == 2
    assert relation.table.equals(table())
    assert stored.read(["zip"]).column_names == ["zip"]
    assert pa.Table.from_batches(relation.batches(["zip"])).equals(table().select(["zip"]))
    assert pa.Table.from_batches(Relation(ROLES, table()).batches(["zip"])).equals(table().select(["zip"]))
    assert CANARY not in repr(stored)
    del folder, stored, relation
    gc.collect()
    assert not place.exists()


def test_a_private_folder_can_be_removed_at_once():
    """Closing twice does no harm."""
    folder = PrivateFolder()
    folder.close()
    folder.close()
    assert not folder.path.exists()


def test_a_verdict_is_true_only_without_violations():
    """And gives itself as data."""
    bad = Verdict("recipient", ("sizes",), (Violation("rows-below-k", "1 group is too small"),))
    assert not bad
    assert Verdict("recipient", ("sizes",))
    assert bad.as_dict() == {
        "holds": False,
        "scope": "recipient",
        "checks": ["sizes"],
        "violations": [{"code": "rows-below-k", "message": "1 group is too small"}],
    }


def test_errors_say_what_happened_then_what_to_do():
    """The form of every message."""
    error = RolesError(
        "no column `x`", hint="did you mean `y`?", code="column-missing", facts={"near": ["y"]}
    )
    assert str(error) == "no column `x`\n\nhint: did you mean `y`?"
    assert error.facts == {"near": ["y"]}
    assert isinstance(error, TimeveilError)
    assert error.exit_code == 2
    assert error.code in ERROR_CODES


def test_numbers_have_their_nouns():
    assert (counted(1, "row"), counted(20_412, "row")) == ("1 row", "20,412 rows")
    assert (counted(2, "person", "people"), counted(0, "day")) == ("2 people", "0 days")
    assert (counted(3, "granularity"), counted(2, "class")) == ("3 granularities", "2 classes")


def test_names_are_listed_without_what_does_not_show():
    assert (listed(["a", "b"]), listed(["a", "b", "c"], most=2)) == ("`a`, `b`", "`a`, `b` and 1 more")
    assert listed(["x" * 61]) == f"`{'x' * 59}…`"
    assert printable("column \x1b[31m`a`") == "column ?[31m`a`"


def test_a_dictionary_may_have_values_that_no_row_has():
    coded = pa.DictionaryArray.from_arrays(pa.array([0]), pa.array(["published", "withheld"]))
    decoded = decode_dictionaries(pa.table({"a": coded}))["a"]
    assert (decoded.type, decoded.to_pylist()) == (pa.string(), ["published"])


def test_silence_is_a_progress():
    """Nobody need listen."""
    assert silent("reading", 0.5) is None


def test_numbers_of_a_promise_may_be_of_numpy():
    """Each is held as a plain int."""
    number = np.int64(3)
    promises = (
        tv.KAnonymity(number),
        tv.LDiversity(np.int64(4), number),
        tv.KPAnonymity(number, number, number),
        tv.NoInferenceChannel(number),
    )
    for promise in promises:
        assert {type(value) for value in promise.as_dict().values()} == {str, int}


def test_a_verdict_prints_briefly() -> None:
    checks = tuple(f"a check of many words, number {n}" for n in range(40))
    good = Verdict("recipient", checks)
    assert repr(good) == "<Verdict: holds, 40 checks, recipient>"
    assert str(good) == "holds, as far as a recipient can see: 40 checks passed"
    bad = Verdict("with ledger", checks, tuple(Violation("x", f"group {n} is too small") for n in range(9)))
    assert repr(bad) == "<Verdict: violated, 9 violations, with ledger>"
    assert str(bad).splitlines() == [
        "violated, with ledger: 9 violations",
        *(f"  group {n} is too small" for n in range(3)),
        "  and 6 more",
    ]
