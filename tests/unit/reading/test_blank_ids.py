"""An id that says nothing is no person."""

from __future__ import annotations

import pyarrow as pa
import pytest

import timeveil as tv

ROLES = tv.Roles(respondent="who", time="when")
IDS = ["", "  ", "\t", "P1", "P2", "P1"]


@pytest.mark.parametrize("coded", [False, True])
@pytest.mark.parametrize("kind", [pa.string(), pa.large_string()])
def test_blank_ids_are_missing(kind, coded):
    """Refused with their number, or withheld; never counted as people."""
    ids = pa.array(IDS, kind)
    table = pa.table({"who": ids.dictionary_encode() if coded else ids, "when": ["2024-01-01"] * 6})
    with pytest.raises(tv.InputError, match="3 nulls, the first in") as caught:
        tv.read(table, ROLES)
    assert caught.value.facts["row"] == 1
    release, _ = tv.generalize_time(table, ROLES, 2, nulls="withhold", allow_loss=True)
    assert release.manifest["counts"]["smallest_group"] == 2
    assert release.manifest["counts"]["withheld"] == 3
    with pytest.raises(tv.InfeasibleError):
        tv.generalize_time(table, ROLES, 3, nulls="withhold")


def test_quoted_empty_cells_of_a_file_are_missing_ids(tmp_path):
    """Exports that quote every cell write a missing id as a pair of quotes."""
    path = tmp_path / "quoted.csv"
    path.write_text('"who","when"\n"","2024-01-01"\n"P1","2024-01-01"\n', encoding="utf-8")
    for stored in (False, True):
        with pytest.raises(tv.InputError) as caught:
            tv.read(path, ROLES, stored=stored)
        assert caught.value.code == "nulls"
