"""What `verify` says of pattern releases, and of the worked examples; never an item."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from tests.oracles import channels as oracle

import timeveil as tv
from timeveil.domain.guarantee import KAnonymity
from timeveil.domain.relation import Relation
from timeveil.domain.release import Release
from timeveil.domain.roles import Roles
from timeveil.judging import is_well_formed, verify

A = [frozenset(row) for row in ("ab", "abcd", "ad", "ad", "bcd")]
B = [frozenset(row) for row in ("ab", "abc", "ac", "bc")]
C = [frozenset(row) for row in ("a", "ab", "ab", "b")]
D = [frozenset({("t0", symbol)}) for symbol in [0] * 5 + [1] * 4 + [2]]


def found(release, ledger=None) -> dict[str, str]:
    return {v.code: v.message for v in verify(release, ledger).violations}


def counts(text: str) -> oracle.Sets:
    """`_9 a6 ab4` as sets."""
    return {
        frozenset(word.rstrip("0123456789").strip("_")): int(word.lstrip("_abcd")) for word in text.split()
    }


def with_section(release, section, **changed):
    return replace(release, manifest={**release.manifest, section: {**release.manifest[section], **changed}})


def example_a(text: str, virtual: list[str]) -> tuple[Release, tv.Ledger]:
    case = oracle.Case(A)
    rows = [frozenset(row) for row in virtual]
    case.__dict__["virtual"] = rows
    release = with_section(oracle.release_of(case, counts(text)), "counts", virtual=len(rows))
    return release, oracle.ledger_of(case)


def test_example_a_as_the_spec_has_it_holds():
    release, ledger = example_a("_9 a6 b7 c2 d6 ab4 ad3 bc2 bd4 cd2 bcd2", ["ab", "ab", "bd", "bd"])
    outside, inside = verify(release), verify(release, ledger)
    assert outside.violations == inside.violations == ()
    assert (outside.scope, inside.scope) == ("recipient", "with ledger")
    assert set(outside.checks) < set(inside.checks)
    assert is_well_formed(release)


def test_example_a_untouched_gives_four_groups_away():
    release, _ = example_a("_5 a4 b3 c2 d4 ab2 ad3 bc2 bd2 cd2 bcd2", [])
    assert found(release) == {
        "channel": "4 groups of fewer than 2 people can be computed; the smallest has 1"
    }


def test_example_a_as_printed_contradicts_itself():
    """The printed algorithm leaves bd at 2, so that 9 - 7 - 6 + 2 people would have neither b nor d."""
    release, ledger = example_a("_9 a6 b7 c2 d6 ab4 ad3 bc2 bd2 cd2 bcd2", ["ab", "ab", "bd", "bd"])
    assert "unlike-any-data" in found(release)
    assert found(release, ledger)["wrong-support"] == "1 pattern of 10 with another support than stated"


@pytest.mark.parametrize(
    ("method", "text", "virtual"),
    [
        ("tight", "_8 a5 b6 c2 d6 ab3 ad3 bc2 bd4 cd2 bcd2", ["ab", "bd", "bd"]),
        ("clone", "_7 a5 b5 c3 d5 ab3 ad3 bc3 bd3 cd3 bcd3", ["bcd", "ab"]),
    ],
)
def test_example_a_tight_and_clone_hold(method, text, virtual):
    release, ledger = example_a(text, virtual)
    assert found(with_section(release, "parameters", method=method), ledger) == {}


def test_example_a_suppressive_holds():
    release, ledger = tv.sanitize_patterns(
        pa.table({"has": [sorted(row) for row in A]}),
        Roles(item="has"),
        k=2,
        min_support=2,
        method="suppressive",
        allow_loss=True,
    )
    assert {"".join(r["pattern"]): r["support"] for r in release.table.to_pylist()} == {
        "": 3, "a": 3, "d": 3, "ad": 3,
    }  # fmt: skip
    assert found(release, ledger) == {}


def test_example_b_one_more_of_each_opens_a_group_and_two_do_not():
    case = oracle.Case(B)
    more = [frozenset(item) for item in "abc"]
    one, two = ({s: n + times * oracle.support(more, s) for s, n in case.sets.items()} for times in (1, 2))
    assert "channel" in found(oracle.release_of(case, one))
    assert found(oracle.release_of(case, two)) == {}


def test_example_c_merging_what_is_frequent_together_leaves_a_group():
    case = oracle.Case(C)
    assert case.sets[frozenset("ab")] == 2
    merged = {s: n + 2 * (s <= frozenset("ab")) for s, n in case.sets.items()}
    assert "channel" in found(oracle.release_of(case, merged))


def test_example_d_is_a_group_only_for_who_knows_that_symbols_exclude_each_other():
    plain = oracle.Case(D, k=2, least=3, symbols=3, structural=False)
    known = replace(plain, structural=True)
    assert found(oracle.release_of(plain, plain.sets)) == {}
    assert found(oracle.release_of(known, known.sets)) == {
        "channel": "1 group of fewer than 2 people can be computed; the smallest has 1"
    }
    assert found(oracle.release_of(known), oracle.ledger_of(known)) == {}


@pytest.mark.parametrize("people", [29, 7, 5])
def test_closed_patterns_do_not_hide_a_false_number_of_people(people):
    """30 have a and 10 of them b; how many there are in all is told by the empty pattern alone."""
    rows = pa.table({"has": [["a"]] * 20 + [["a", "b"]] * 10})
    release, ledger = tv.sanitize_patterns(rows, tv.Roles(item="has"), k=2, min_support=5, published="closed")
    told = [
        {**line, "support": people if not line["pattern"] else line["support"]}
        for line in release.table.to_pylist()
    ]
    manifest = {**release.manifest, "counts": {**release.manifest["counts"], "transactions": people}}
    table = pa.Table.from_pylist(told, schema=release.table.schema)
    false = replace(release, parts={"data": table}, manifest=manifest)
    assert "support" in found(false)
    assert "support" in found(false, ledger)


def test_what_follows_in_two_steps_is_a_group():
    """(t1=c, t0=c) is 42 - 17 - 21 = 4, and (t0=c, t1=a) is 12 - 7 - 4 = 1 person."""
    table = [[2, 3, 17], [0, 4, 21], [1, 7, 4]]
    rows = [frozenset({("t0", a), ("t1", b)}) for a in range(3) for b in range(3) for _ in range(table[a][b])]
    case = oracle.Case(rows, k=2, least=6, symbols=3)
    assert found(oracle.release_of(case, case.sets)) == {
        "channel": "1 group of fewer than 2 people can be computed; the smallest has 1"
    }
    assert found(oracle.release_of(case), oracle.ledger_of(case)) == {}
    plain = replace(case, structural=False)
    assert found(oracle.release_of(plain, plain.sets)) == {}
    said = [verify(oracle.release_of(one, one.sets)).checks for one in (case, plain)]
    assert any(
        "nor with what is left for the only unpublished symbol of an instant" in check for check in said[0]
    )
    assert any("someone who does not know that everybody has one symbol" in check for check in said[1])


def test_sums_of_symbols_that_do_not_add_up_are_no_data():
    case = oracle.Case(D * 3, k=2, least=3, symbols=3)
    more = {**case.sets, frozenset(): len(case.rows) + 2}
    assert set(found(oracle.release_of(case, more))) == {"unlike-any-data"}


def test_people_in_a_dictionary_with_more_entries_than_people():
    """As Parquet files of text columns have, once rows were left out."""
    who = pa.DictionaryArray.from_arrays([0, 0, 2, 2, 3, 3], ["ann", "bob", "cy", "di", "ed"])
    rows = pa.table({"who": who, "has": ["a", "b"] * 3})
    release, ledger = tv.sanitize_patterns(rows, tv.Roles(respondent="who", item="has"), k=2, min_support=2)
    assert found(release, ledger) == {}


def test_everybody_is_a_group_too():
    case = oracle.Case([frozenset("a")] * 3, k=4, least=4)
    assert found(oracle.release_of(case, {frozenset(): 3})) == {
        "channel": "1 group of fewer than 4 people can be computed; the smallest has 3"
    }


def test_no_violation_names_an_item():
    """Everything is wrong at once, and nothing of it is told."""
    rows = [frozenset({"Xq7canary", "other"}), *[frozenset({"Xq7canary"})] * 3, frozenset({"other"})]
    case = oracle.Case(rows, least=2)
    release, ledger = oracle.release_of(case, case.sets), oracle.ledger_of(case)
    assert found(release)
    strange = replace(release, parts={"data": release.table.slice(1)})
    for one in (release, strange, with_section(release, "parameters", min_support=99)):
        assert "Xq7canary" not in repr((verify(one), verify(one, ledger)))


def test_tables_columns_and_types_are_those_of_a_pattern_release():
    release, _ = example_a("_9 a6 b7 c2 d6 ab4 ad3 bc2 bd4 cd2 bcd2", [])
    given = release.table

    def said(**parts):
        return found(replace(release, parts=parts))

    assert "columns" in said(data=given.append_column("age", pa.array([1] * 11)))
    assert "columns" in said(data=given.select(["support", "pattern"]))
    assert "columns" in said(data=given.set_column(1, "support", given["support"].cast(pa.int32())))
    assert "columns" in said(data=given.set_column(0, "pattern", pa.array(["a"] * 11)))
    assert "tables" in said(data=given, more=given)
    assert said(more=given) == {"tables": "the release has 1 table, not `data` alone"}
    columns = [dict(column) for column in release.manifest["columns"]][::-1]
    assert "columns" in found(replace(release, manifest={**release.manifest, "columns": columns}))
    assert "manifest" in found(Release(KAnonymity(2), release.manifest, release.parts))


@pytest.mark.parametrize(
    ("section", "changed"),
    [
        ("patterns", {"kind": "other"}),
        ("patterns", {"note": "free text"}),
        ("patterns", {"symbols": 1}),
        ("patterns", {"symbols": 53}),
        ("patterns", {"instants": ["t0", 1]}),
        ("parameters", {"method": "by hand"}),
        ("parameters", {"max_len": 0}),
        ("parameters", {"fill": "zero"}),
        ("parameters", {"min_support": 2.5}),
        ("counts", {"virtual": -1}),
        ("counts", {"virtual": True}),
        ("guarantee", {"l": 3}),
    ],
)
def test_the_manifest_is_closed(section, changed):
    release, _ = example_a("_9 a6 b7 c2 d6 ab4 ad3 bc2 bd4 cd2 bcd2", [])
    assert set(found(with_section(release, section, **changed))) == {"manifest"}


def test_people_are_counted_once():
    table = pa.table({"who": [1, 2, 3, 1], "has": [["a"], ["a"], ["a"], ["a"]]})
    case = oracle.Case([frozenset("a")] * 4)
    release, ledger = oracle.release_of(case), oracle.ledger_of(case)
    twice = replace(ledger, original=Relation(Roles(respondent="who", item="has"), table))
    assert set(found(release, twice)) == {"person-twice"}
    again = pa.table({"has": [["a"], ["a", "a"], ["a"], ["a"]]})
    assert "person-twice" in found(release, replace(ledger, original=Relation(Roles(item="has"), again)))


@pytest.mark.parametrize("center", ["mean", "median"])
@pytest.mark.parametrize("symbols", [2, 5, 6, 20])
def test_symbols_are_read_anew_and_agree(center, symbols):
    """Walks, constant series, and values that lie on a border between symbols."""
    rng = np.random.default_rng(symbols)
    matrix = np.concatenate(
        [rng.normal(size=(300, 4)).cumsum(axis=1), np.full((40, 4), 7.0), rng.integers(0, 3, (200, 4))]
    )
    table = pa.table({f"t{n}": matrix[:, n] for n in range(4)})
    release, ledger = tv.sanitize_patterns(
        table, Roles(series=table.column_names), k=3, min_support=10, symbols=symbols, center=center
    )
    assert found(release, ledger) == {}
    moved = matrix.copy()
    moved[0] = moved[0][::-1] * 3 - 5
    other = Relation(Roles(series=table.column_names), pa.table({f"t{n}": moved[:, n] for n in range(4)}))
    before, after = (r.data.to_pandas().iloc[0].rank().tolist() for r in (ledger.original, other))
    assert before == after or "wrong-support" in found(release, replace(ledger, original=other))


@pytest.mark.parametrize("fill", ["forward", "linear", "drop"])
def test_long_series_gaps_and_a_window_of_instants(fill):
    rng = np.random.default_rng(3)
    hours = [f"2024-01-01 0{n}:00:00" for n in range(4)]
    people, when = np.repeat(np.arange(80), 4), hours * 80
    load = np.round(rng.normal(size=(80, 4)).cumsum(axis=1), 1).ravel()
    table = pa.table({"who": people, "when": when, "load": load})
    keep = np.ones(320, dtype=bool)
    keep[rng.integers(0, 320, 12)] = False
    release, ledger = tv.sanitize_patterns(
        table.filter(pa.array(keep)), Roles(respondent="who", time="when", value="load"),
        k=2, min_support=4, symbols=3, fill=fill,
    )  # fmt: skip
    assert found(release, ledger) == {}
    names = release.manifest["patterns"]["instants"]
    part, ledger = tv.sanitize_patterns(
        table, Roles(respondent="who", time="when", value="load"), k=2, min_support=4, symbols=3,
        instants=names[1:3],
    )  # fmt: skip
    assert found(part, ledger) == {}
    assert part.manifest["patterns"]["instants"] == names[1:3]


def test_patterns_of_a_series_release_are_judged_by_its_letters():
    rng = np.random.default_rng(4)
    table = pa.table({f"t{n}": rng.normal(size=200) for n in range(4)})
    rows, _ = tv.anonymize_series(table, Roles(series=table.column_names), k=6, p=3, effort=0)
    release, ledger = tv.sanitize_patterns(rows, k=3, min_support=6, symbols=4)
    assert found(release, ledger) == {}
    assert release.manifest["counts"]["virtual"] == 0


@pytest.mark.parametrize(("items", "lost"), [("a", "1 pattern"), ("d", "1 pattern"), ("abcd", "4 patterns")])
def test_an_item_that_enough_people_have_is_published(items, lost):
    """Left out with all that contains it, nobody but the custodian can miss it."""
    patterns = ["_9", "a6", "b7", "c2", "d6", "ab4", "ad3", "bc2", "bd4", "cd2", "bcd2"]
    shown = " ".join(pattern for pattern in patterns if not set(items) & set(pattern))
    release, ledger = example_a(shown, ["ab", "ab", "bd", "bd"])
    assert found(release, ledger)["lost"] == f"{lost} that at least 2 people have not published"


@pytest.mark.parametrize("instants", [[], [""], ["t0", "t0"]])
def test_instants_are_named_each_once(instants):
    case = oracle.Case(D, k=2, least=3, symbols=3)
    messages = [
        violation.message
        for violation in verify(
            with_section(oracle.release_of(case), "patterns", instants=instants)
        ).violations
    ]
    assert messages == ["the manifest names no instant, an empty one, or one twice"]


def test_another_ledger_is_refused():
    release, _ = example_a("_9 a6 b7 c2 d6 ab4 ad3 bc2 bd4 cd2 bcd2", ["ab", "ab", "bd", "bd"])
    other = oracle.ledger_of(oracle.Case(D, symbols=3))
    assert found(release, other) == {"ledger": "the original has no items"}
    case = oracle.Case(D, k=2, least=3, symbols=3)
    ledger = oracle.ledger_of(case)
    named = Relation(Roles(series=["x"]), ledger.original.data.rename_columns(["x"]))
    assert "ledger" in found(oracle.release_of(case), replace(ledger, original=named))


@pytest.mark.parametrize("rare", "ab")
def test_virtual_people_do_not_make_an_item_frequent(rare):
    often = "ab".replace(rare, "")
    case = oracle.Case([frozenset(rare), *[frozenset(often)] * 3])
    case.__dict__["virtual"] = [frozenset(rare)] * 2
    release = with_section(oracle.release_of(case, counts("_6 a3 b3")), "counts", virtual=2)
    assert found(release) == {}
    assert found(release, oracle.ledger_of(case)) == {
        "min-support": "1 pattern that fewer than 2 people have without virtual ones"
    }


def test_of_a_ledger_of_something_else_nothing_more_is_said():
    release, ledger = example_a("_9 a6 b7 c2 d6 ab4 ad3 bc2 bd4 cd2 bcd2", ["ab", "ab", "bd", "bd"])
    foreign = "the ledger does not belong to this release"
    people, roles = pa.table({"who": ["ann"]}), [{}, {"time": "at"}, {"value": "load"}]
    columns = "the ledger lacks a column or a table of a pattern release's ledger"
    for spoilt, message in (
        *(
            (replace(ledger, original=Relation(Roles(respondent="who", **more), people)), foreign)
            for more in roles
        ),
        (replace(ledger, mappings={}), columns),
        (replace(ledger, entries=ledger.table.drop(["transaction"])), columns),
    ):
        assert [violation.message for violation in verify(release, spoilt).violations] == [message]


@pytest.mark.parametrize("copies", [[None, 3], [0, 4], [1, 2]])
def test_virtual_people_have_a_number_each(copies):
    release, ledger = example_a("_9 a6 b7 c2 d6 ab4 ad3 bc2 bd4 cd2 bcd2", ["ab", "ab", "bd", "bd"])
    mapping = ledger.mappings["virtual"]
    assert mapping["copies"].to_pylist() == [2, 2]
    index = mapping.column_names.index("copies")
    wrong = mapping.set_column(index, "copies", pa.array(copies, mapping["copies"].type))
    assert "virtual" in found(release, replace(ledger, mappings={"virtual": wrong}))


def test_virtual_people_have_one_symbol_at_a_time():
    case = oracle.Case(oracle.series(random.Random(1), 20, 2, 3), k=2, least=3, symbols=3)  # noqa: S311
    assert case.virtual
    release, ledger = oracle.release_of(case), oracle.ledger_of(case)
    mapping = ledger.mappings["virtual"]
    for items in (["t0=a", "t0=b"], ["t0=a", "strange"], ["strange", "t1=a"], ["t0=a"], ["t0=a", "t1=a"] * 2):
        lists = [items, *mapping["pattern"].to_pylist()[1:]]
        odd = mapping.set_column(0, "pattern", pa.array(lists, pa.list_(pa.string())))
        assert found(release, replace(ledger, mappings={"virtual": odd}))["virtual"] == (
            "1 kind of virtual people without one symbol at every instant"
        )


def test_what_cannot_be_looked_at_is_not_passed(monkeypatch):
    case = oracle.Case(oracle.series(random.Random(1), 20, 2, 3), k=2, least=3, symbols=3)  # noqa: S311
    monkeypatch.setattr("timeveil.models.patterns.evidence.boxes.MOST_BOXES", 1)
    assert set(found(oracle.release_of(case))) == {"too-large"}
    wide = oracle.Case([frozenset(oracle.LETTERS[:30])] * 4, published="closed")
    release = oracle.release_of(replace(wide, rows=[frozenset("a")] * 4))
    lists = pa.array([[], list(oracle.LETTERS[26:30] + oracle.LETTERS[:26])], pa.list_(pa.string()))
    large = pa.table({"pattern": lists, "support": pa.array([5, 4], pa.int64())})
    assert "too-large" in found(
        with_section(replace(release, parts={"data": large}), "counts", patterns=2, transactions=5)
    )
