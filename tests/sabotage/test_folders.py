"""A folder that was touched is refused; one that was forged with all hashes right is left to the judge."""

from __future__ import annotations

import random
import shutil
from dataclasses import replace

import pytest

import timeveil as tv
from tests.sabotage import patterns, series, stream_groups, streams, time_tables  # noqa: F401
from tests.sabotage.folders import DAMAGES, forged
from tests.sabotage.tampering import CATALOGUE
from tests.sabotage.valid import made, shapes
from timeveil.folder import damage

MODELS = {"time": "time", "stream": "stream, buckets", "series": "series, adaptive",
          "patterns": "patterns, baskets, additive, closed"}  # fmt: skip
IN_TABLES = ("dropped", "twice", "short", "too frequent", "moved", "changed places", "by one")
"""Words of what is done to tables and counts, and so fits into a folder that opens."""


@pytest.fixture(scope="module", params=MODELS)
def folder(request, tmp_path_factory):
    return tv.write(made(MODELS[request.param], 0)[0], tmp_path_factory.mktemp("whole") / "out")


@pytest.mark.parametrize("one", DAMAGES, ids=lambda one: one.what)
def test_damage_is_noticed_and_named(one, folder, tmp_path):
    place = tmp_path / "out"
    shutil.copytree(folder, place)
    assert damage(place) == ()
    one.do(place)
    if one.opens == "never":
        with pytest.raises(tv.BundleError, match=one.says) as refused:
            damage(place)
        assert refused.value.code == one.code
    elif one.opens:
        with pytest.raises(tv.BundleError, match=one.says) as refused:
            tv.verify(tv.open_release(place, check=False))
        assert refused.value.code == one.code
    else:
        assert any(found.code == one.code and one.says in found.message for found in damage(place))
    with pytest.raises(tv.BundleError):
        tv.verify(tv.open_release(place))


@pytest.mark.parametrize("model", MODELS)
def test_a_forged_folder_is_left_to_the_judge(model, tmp_path):
    """Its files are what they say they are, so that what is in them is all that gives it away."""
    tried = 0
    for one in CATALOGUE:
        if (
            one.model != model
            or one.notices != "recipient"
            or not any(word in one.what for word in IN_TABLES)
        ):
            continue
        shape = shapes(one.on)[0]
        spoilt = one.do(*made(shape, 0), random.Random(one.what))  # noqa: S311
        if spoilt is not None:
            tried += 1
            place = forged(spoilt.release, tmp_path / str(tried))
            assert damage(place) == ()
            verdict = tv.verify(tv.open_release(place, check=False))
            assert any(v.code == one.code and spoilt.says in v.message for v in verdict.violations), one.what
            with pytest.raises(tv.BundleError, match="does not keep its promise"):
                tv.write(spoilt.release, tmp_path / "never")
    assert tried > 3


@pytest.mark.parametrize(
    ("model", "code"),
    [
        ("time", "row-values"),
        ("stream", "row-values"),
        ("series", "outside-envelope"),
        ("patterns", "wrong-support"),
    ],
)
def test_a_table_of_another_release_with_the_right_hash(model, code, tmp_path):
    """The custodian names it; a recipient may, where a number of the two is not the same."""
    (one, ledger), (other, _) = (made(MODELS[model], seed) for seed in (0, 1))
    place = forged(replace(one, parts=other.parts), tmp_path / "out")
    assert damage(place) == ()
    assert code in {violation.code for violation in tv.verify(tv.open_release(place), ledger).violations}


@pytest.mark.parametrize(
    ("model", "code"),
    [
        ("time", "row-values"),
        ("stream", "parameters"),
        ("series", "outside-envelope"),
        ("patterns", "wrong-support"),
    ],
)
def test_the_ledger_of_another_release(model, code):
    (release, _), (_, ledger) = (made(MODELS[model], seed) for seed in (0, 1))
    assert code in {violation.code for violation in tv.verify(release, ledger).violations}


def test_two_files_exchanged_with_the_right_hashes(tmp_path):
    release, _ = made("stream, buckets", 0)
    turned = replace(release, parts={"data": release.parts["sensitive"], "sensitive": release.parts["data"]})
    place = forged(turned, tmp_path / "out")
    verdict = tv.verify(tv.open_release(place, check=False))
    assert {violation.code for violation in verdict.violations} == {"manifest"}


def test_a_whole_forgery_is_noticed_by_nobody(tmp_path):
    """Whoever invents an original and keeps every promise for it has written a valid release of nobody."""
    release, ledger = made("time", 1)
    place = forged(release, tmp_path / "out")
    assert damage(place) == ()
    assert tv.verify(tv.open_release(place), ledger)
