"""Whatever stands in a manifest, judging it ends in a verdict or in an error of ours."""

from __future__ import annotations

import contextlib
import copy
import datetime as dt
import json
import random
from dataclasses import replace

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.effort import some
from tests.oracles import judges as oracle
from tests.oracles import judges_series
from tests.oracles import judges_stream as stream_oracle
from tests.unit.folder.making import plain_release

import timeveil as tv
from timeveil.errors import BundleError, TimeveilError
from timeveil.evidence.checks import faults
from timeveil.folder import damage, open_release, write
from timeveil.folder.manifest import as_json
from timeveil.judging import verify
from timeveil.models.events.judges.manifest import MANIFEST

SOME = settings(
    max_examples=some(600), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
ODD = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**20), 10**20)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.sampled_from(["", "week", "relative", "Europe/Rome", "day", "at", "steps", "groups", "ü\n"]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(["kind", "k", "x"]), inner),
    max_leaves=4,
)
EVER = tv.WindowCount(between=("2024-03-01", "2024-04-01"))


def cases():
    rows = [
        {"person": p, "at": at, "zip": "1", "sex": "f", "ward": 1, "result": "x"}
        for p in "abc"
        for at in (dt.date(2024, 4, 2), dt.date(2024, 5, 2))
    ]
    zoned = [{**row, "at": dt.datetime.combine(row["at"], dt.time(), oracle.ROME)} for row in rows]
    days = [{**row, "at": row["at"].day} for row in rows]
    return [
        oracle.build(oracle.Case(rows, 2, oracle.DATES, "month")),
        oracle.build(oracle.Case(zoned, 2, oracle.ZONED, "business-day", "next")),
        oracle.build(oracle.Case(days, 2, oracle.DAYS, "week")),
    ]


def places(value, path=()):
    """Every place of a manifest, from the outside in."""
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in inside:
        yield (*path, key)
        yield from places(inner, (*path, key))


def mutated(manifest, data):
    """Up to three places taken away, replaced, or given a key more."""
    manifest = copy.deepcopy(dict(manifest))
    for _ in range(data.draw(st.integers(1, 3))):
        *way, last = data.draw(st.sampled_from(list(places(manifest))))
        inner = manifest
        for key in way:
            inner = inner[key]
        match data.draw(st.sampled_from(["take", "replace", "replace", "add"])):
            case "take":
                del inner[last]
            case "add" if isinstance(inner[last], dict):
                inner[last][data.draw(st.sampled_from(["people", "name", "of"]))] = data.draw(ODD)
            case _:
                inner[last] = data.draw(ODD)
    return manifest


@SOME
@given(st.sampled_from(cases()), st.data())
def test_an_odd_manifest_gets_a_verdict(pair, data):
    release, ledger = pair
    odd = replace(release, manifest=mutated(release.manifest, data))
    for private in (None, ledger):
        verdict = verify(odd, private)
        assert verdict or all(violation.message for violation in verdict.violations)


def streams():
    rows = [
        {"person": f"{step}{n}", "step": step, "zip": "1", "sex": "f", "ward": 1, "ill": "abcd"[n]}
        for step in range(3)
        for n in range(4)
    ]
    axes = [(stream_oracle.DATES, "day"), (stream_oracle.ZONED, "hour"), (stream_oracle.NUMBERS, "day")]
    return [
        stream_oracle.build(stream_oracle.Case(rows, axis=axis, slot=slot, buckets=buckets))
        for axis, slot in axes
        for buckets in ("anatomy", "none")
    ]


@SOME
@given(st.sampled_from(streams()), st.data())
def test_an_odd_manifest_of_a_stream_gets_a_verdict(pair, data):
    release, ledger = pair
    odd = replace(release, manifest=mutated(release.manifest, data))
    for private in (None, ledger):
        verdict = verify(odd, private)
        assert verdict or all(violation.message for violation in verdict.violations)


@SOME
@given(st.sampled_from([pair for pair in streams() if "sensitive" in pair[0].parts]), st.data())
def test_odd_numbers_in_a_stream_get_a_verdict(pair, data):
    """However large or negative they are, and whatever type of number holds them."""
    release, ledger = pair
    table, name = data.draw(
        st.sampled_from([("sensitive", "count"), ("sensitive", "bucket"), ("data", "bucket")])
    )
    kind = data.draw(st.sampled_from([pa.int64(), pa.uint64(), pa.int8(), pa.float64()]))
    given_table = release.tables[table]
    drawn = data.draw(st.sampled_from([0, 1, 2, 127, 2**53, 2**62, 2**63 - 1, 2**64 - 1, -1, -(2**63)]))
    values = given_table[name].to_pylist()
    values[data.draw(st.integers(0, len(values) - 1))] = drawn
    try:
        column = pa.array(values, kind)
    except (pa.ArrowInvalid, OverflowError):
        return
    key = "columns" if table == "data" else "sensitive_columns"
    told = [{**c, "type": str(kind)} if c["name"] == name else c for c in release.manifest[key]]
    odd = replace(
        release,
        manifest={**release.manifest, key: told},
        parts={
            **release.parts,
            table: given_table.set_column(given_table.schema.get_field_index(name), name, column),
        },
    )
    for private in (None, ledger):
        verify(odd, private)


def series_cases():
    people = judges_series.people(random.Random(4), 14, 3)  # noqa: S311
    return [
        judges_series.build(judges_series.Case(people, 3, 2, long=long, method=method, l=promise))
        for long, method, promise in [(False, "adaptive", None), (True, "kapra", 2), (False, "naive", 2)]
    ]


@SOME
@given(st.sampled_from(series_cases()), st.data())
def test_an_odd_manifest_of_series_gets_a_verdict(pair, data):
    release, ledger = pair
    odd = replace(release, manifest=mutated(release.manifest, data))
    for private in (None, ledger):
        verdict = verify(odd, private)
        assert verdict or all(violation.message for violation in verdict.violations)


@SOME
@given(st.data())
def test_an_odd_folder_gets_a_verdict_or_an_error_of_ours(tmp_path_factory, data):
    folder = write(plain_release(), tmp_path_factory.mktemp("odd") / "out", format="csv")
    path = folder / "release.json"
    path.write_text(json.dumps(mutated(json.loads(path.read_text()), data)))
    with contextlib.suppress(BundleError):
        damage(folder)
        verify(open_release(folder, check=False))


def test_what_is_written_has_the_closed_shape(tmp_path):
    written = json.loads((write(plain_release(), tmp_path / "out") / "release.json").read_text())
    assert list(faults(written, MANIFEST)) == []


@pytest.fixture(scope="module", params=["anatomy", "none"])
def slots(request, tmp_path_factory):
    """The folder of a stream in service, with three slots."""
    folder = tmp_path_factory.mktemp("service")
    (folder / "slots").mkdir()
    roles = tv.Roles(time="day", quasi=["zip"], sensitive=["ill"])
    publisher = tv.StreamPublisher(roles, l=2, window=2, seed=1, buckets=request.param)
    for day in range(3):
        rows = {"day": [dt.date(2024, 3, 4 + day)] * 4, "zip": list("1122"), "ill": list("abcd")}
        for slot in publisher.push(pa.table(rows)):
            write(slot.release, folder / "slots" / str(slot.slot))
    for slot in publisher.close():
        write(slot.release, folder / "slots" / str(slot.slot))
    assert tv.verify(folder)
    return folder


@settings(SOME, max_examples=some(300))
@given(st.data())
def test_odd_slots_get_a_verdict_or_an_error_of_ours(slots, data):
    """One slot may be damaged, or all of them in the same way."""
    paths = sorted(slots.glob("slots/*/release.json"))
    before = {path: path.read_bytes() for path in paths}
    manifests = {path: json.loads(content) for path, content in before.items()}
    *way, last = data.draw(st.sampled_from(list(places(manifests[paths[0]]))))
    value, kept = data.draw(ODD), data.draw(st.booleans())
    for path in data.draw(st.sampled_from([paths, paths[1:2]])):
        inner = manifests[path]
        for key in way:
            inner = inner[key]
        inner[last] = value
        if not kept:
            del inner[last]
        path.write_bytes(as_json(manifests[path]))
    try:
        for judge in (tv.verify, tv.report, lambda folder: tv.answer(tv.open_release(folder), EVER)):
            with contextlib.suppress(TimeveilError):
                judge(slots)
    finally:
        for path, content in before.items():
            path.write_bytes(content)


@pytest.mark.parametrize(
    ("way", "value"),
    [
        (("counts", "rows"), None),
        (("counts", "slots"), "1"),
        (("counts", "buckets"), None),
        (("counts", "last_slot"), None),
        (("counts", "last_slot"), 3.5),
        (("tables", "data"), None),
    ],
)
@pytest.mark.parametrize("how_many", [1, 3])
def test_a_damaged_slot_is_refused_by_every_command(slots, way, value, how_many):
    paths = sorted(slots.glob("slots/*/release.json"))[:how_many]
    before = {path: path.read_bytes() for path in paths}
    for path in paths:
        manifest = json.loads(before[path])
        manifest[way[0]][way[1]] = value
        if value is None:
            del manifest[way[0]][way[1]]
        path.write_bytes(as_json(manifest))
    try:
        for judge in (tv.verify, tv.report, tv.open_release):
            with pytest.raises(BundleError) as caught:
                judge(slots)
            assert caught.value.code == "folder-damaged"
    finally:
        for path, content in before.items():
            path.write_bytes(content)
