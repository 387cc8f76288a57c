"""Whatever a manifest states, every judge ends in a finding or in an error of ours."""

from __future__ import annotations

import contextlib
import copy
import json
import random
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.conformance.releases import FEW
from tests.fuzz.mutating import ODD

import timeveil as tv
from timeveil.errors import InternalError
from timeveil.folder import open_ledger, open_release
from timeveil.folder.opening import judged

WRITTEN = Path(__file__).parents[1] / "fixtures" / "version_0_1"
QUERIES = {
    "stream_packets": tv.WindowCount(),
    "series": tv.RangeCount({}),
    "patterns_series": tv.TopPatterns(5),
}
KNOWN: dict[str, dict[tuple[Any, ...], Any]] = {
    "events_csv": {
        ("time", "column"): "zip",
        ("counts", "rows_read"): 10**400,
        ("candidates", "month", "allowed"): False,
    },
    "stream_packets": {
        ("parameters", "move_cost"): [],
        ("guarantee", "l"): 2**63,
        ("time", "column"): "slot",
    },
    "series": {("counts", "suppressed"): 2**63},
    "patterns_series": {("patterns", "symbols"): None, ("counts", "virtual"): 2**63, ("columns", 0): {}},
}
DELETED = "deleted"


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in inner:
        yield (*path, key)
        yield from places(item, (*path, key))


def changes(name: str, manifest: dict[str, Any]) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """What is known to be difficult, and then a sample of every odd value in every place."""
    yield from KNOWN[name].items()
    chance = random.Random(name)  # noqa: S311
    paths = list(places(manifest))
    words = [text for path in paths if isinstance(text := at(manifest, path), str)]
    for path in chance.sample(paths, min(len(paths), 150)):
        yield path, chance.choice([*ODD, *chance.sample(words, 5), 10**400, False, DELETED])


def at(value: Any, path: tuple[Any, ...]) -> Any:
    for key in path:
        value = value[key]
    return value


@pytest.mark.parametrize("name", KNOWN)
def test_an_odd_manifest_is_a_finding_or_an_error_of_ours(name: str, tmp_path: Path) -> None:
    folder, ledger = (
        shutil.copytree(WRITTEN / name, tmp_path / "out"),
        open_ledger(WRITTEN / f"{name}.ledger"),
    )
    manifest, path = json.loads((folder / "release.json").read_text("utf-8")), folder / "release.json"
    crashes = {}
    for where, odd in changes(name, manifest):
        changed = copy.deepcopy(manifest)
        inner = at(changed, where[:-1])
        if odd == DELETED:
            del inner[where[-1]]
        else:
            inner[where[-1]] = odd
        path.write_text(json.dumps(changed, indent=2, ensure_ascii=False) + "\n", "utf-8")
        try:
            judge(folder, ledger, QUERIES.get(name, tv.WindowCount()))
        except Exception as error:  # noqa: BLE001 - whatever is none of ours
            crashes[where] = f"{odd!r:.50}: {error!r}"
    assert crashes == {}


@contextlib.contextmanager
def an_error_of_ours_may_come() -> Iterator[None]:
    try:
        yield
    except InternalError:
        raise
    except tv.TimeveilError:
        pass


def judge(folder: Path, ledger: tv.Ledger, query: Any) -> None:
    with an_error_of_ours_may_come():
        judged(folder)
    with an_error_of_ours_may_come():
        judged(folder, ledger)
    release = None
    with an_error_of_ours_may_come():
        release = open_release(folder)
    if release is None:
        return
    for call in (
        lambda: tv.measure(release, ledger, **FEW[release.guarantee.model]),
        lambda: tv.attack(release, ledger),
        lambda: tv.answer(release, query),
        lambda: tv.report(folder),
    ):
        with an_error_of_ours_may_come():
            call()
