"""No private file is written into what is published, whichever command writes it."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from tests.cli.conftest import ROLES, Cli

import timeveil as tv

PLACES = ("other", "other/deep", "served", "served/slots", "served/slots/1", "many", "many/north", "link")
"""A release, the folder of a stream in service, that of several streams, folders in them, and a link."""
WRITERS = {
    "ledger": f"generalize-time visits.csv --out new --ledger FILE {ROLES} --k 2",
    "state": "publish-stream inbox --out new --state FILE --time day --sensitive result --l 2 --window 2",
    "hierarchy": "hierarchy visits.csv --column zip --prefixes 1 --out FILE",
    "shifted": "shift-dates visits.csv --respondent who --time day --drop-rest --out FILE",
    "key of shifts": "shift-dates visits.csv --respondent who --time day --drop-rest --out new --key FILE",
    "attack": "attack out --ledger ledger --picture FILE",
    "explore": f"explore visits.csv {ROLES} --k 2,3 --picture FILE",
    "report": "report out --ledger ledger --out FILE",
    "compare": "compare out again --ledger ledger --ledger ledger --out FILE",
    "stream ledger": "publish-stream few.csv --out new --ledger FILE --time a --sensitive b --l 2 --window 2",
    "series ledger": "anonymize-series few.csv --out new --ledger FILE --series a,b --k 2 --p 2",
    "pattern ledger": "sanitize-patterns few.csv --out new --ledger FILE --series a,b --k 2 --min-support 3",
}


@pytest.fixture
def places(cli: Cli, published: str, here: Path) -> list[str]:
    for name in ("again", "other", "served/slots/1", "many/north/slots/1", "many/south/slots/1"):
        shutil.copytree("out", name)
    Path("other/deep").mkdir()
    Path("link").symlink_to("many/south")
    Path("inbox").mkdir()
    Path("few.csv").write_text("a,b\n1,2\n")
    return sorted(map(str, here.rglob("*")))


@pytest.mark.parametrize("writer", WRITERS)
def test_a_private_file_stays_out_of_what_is_published(cli: Cli, places: list[str], writer: str) -> None:
    for place in PLACES:
        said = cli(f"{WRITERS[writer].replace('FILE', f'{place}/secret')} --json")
        assert (said.code, json.loads(said.out)["error"]["code"]) == (2, "ledger-in-release"), place
        assert sorted(map(str, Path.cwd().rglob("*"))) == places


def test_a_ledger_written_from_python_stays_out_too(places: list[str]) -> None:
    ledger = tv.open_ledger("ledger")
    for place in PLACES:
        with pytest.raises(tv.PrivateArtifactError):
            tv.write(ledger, f"{place}/secret")


def test_a_public_file_stays_out_as_well(cli: Cli, places: list[str]) -> None:
    """It would make the folder another one than the one that was verified."""
    for place in PLACES:
        for line in ("granularities --graph FILE", "report out --out FILE"):
            said = cli(f"{line.replace('FILE', f'{place}/page')} --json")
            assert (said.code, json.loads(said.out)["error"]["code"]) == (2, "bad-parameter"), place
    assert sorted(map(str, Path.cwd().rglob("*"))) == places


def test_a_release_is_not_written_into_another(cli: Cli, places: list[str]) -> None:
    """Neither would be what was verified; but next to streams there is room."""
    stream = "publish-stream inbox --out FILE --state s.db --time day --sensitive ill --l 2 --window 2"
    lines = (f"generalize-time visits.csv --out FILE {ROLES} --k 2", "verify out --rewrite FILE", stream)
    for place in PLACES:
        for line in lines if place != "many" else ():
            said = cli(f"{line.replace('FILE', f'{place}/new')} --json")
            assert (said.code, json.loads(said.out)["error"]["code"]) == (2, "bad-parameter"), place
        assert cli(f"demo --out {place}/new").code == 2
    assert sorted(map(str, Path.cwd().rglob("*"))) == places
    assert cli(lines[0].replace("FILE", "many/new")).code == 0
    assert cli(WRITERS["ledger"].replace("FILE", "many/secret")).code == 2


def test_beside_what_is_published_there_is_room(cli: Cli, places: list[str]) -> None:
    """A folder with a stream and other files is a desk, not something published."""
    for name in ("desk/stream", "desk/other"):
        shutil.copytree("served", name)
    Path("desk/notes.txt").touch()
    for place in (".", "desk", "inbox"):
        assert cli(f"{WRITERS['hierarchy'].replace('FILE', f'{place}/zip.csv')} --quiet").code == 0
    assert cli(f"{WRITERS['attack'].replace('FILE', 'attack.svg')} --quiet").code == 0
    assert Path("attack.svg").stat().st_mode & 0o077 == 0
