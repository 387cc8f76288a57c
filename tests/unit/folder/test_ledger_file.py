"""A ledger file: private from its first moment, never where a release is, and equal when opened."""

from __future__ import annotations

import errno
import os
import stat
from dataclasses import replace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.unit.folder.making import CANARY, ledger_of, names, plain_release

from timeveil.domain.stored import Stored
from timeveil.errors import BundleError, PrivateArtifactError, TimeveilError
from timeveil.folder import ledger_file, open_ledger, write


def refused(kind: type[TimeveilError], code: str, *arguments) -> None:
    with pytest.raises(kind) as caught:
        write(*arguments)
    assert caught.value.code == code
    assert CANARY not in str(caught.value)


def test_a_ledger_opens_as_it_was_written(tmp_path):
    """Entries, original, roles, axis, mappings and facts come back."""
    ledger = ledger_of()
    assert write(ledger, tmp_path / "visits.ledger") == tmp_path / "visits.ledger"
    opened = open_ledger(tmp_path / "visits.ledger")
    assert opened == ledger
    assert opened.original.source == "visits.csv"
    assert opened.original.axis == ledger.original.axis
    assert opened.original.roles == ledger.original.roles


def test_an_empty_ledger_opens_too(tmp_path):
    """No rows, no mappings."""
    ledger = replace(ledger_of(0), mappings={})
    assert open_ledger(write(ledger, tmp_path / "l")) == ledger


def test_dictionary_columns_come_back_by_value(tmp_path):
    """Encoding is a matter of memory, not of the ledger."""
    ledger = ledger_of()
    data = ledger.original.data
    encoded = data.set_column(2, "zip", data["zip"].dictionary_encode())
    write(replace(ledger, original=replace(ledger.original, data=encoded)), tmp_path / "l")
    assert open_ledger(tmp_path / "l") == ledger


def test_a_stored_ledger_is_streamed_and_a_long_one_stays_on_disk(tmp_path, monkeypatch):
    """Neither writing nor opening needs all rows in memory."""
    ledger = ledger_of(100)
    pq.write_table(ledger.table, tmp_path / "entries.parquet", row_group_size=7)
    pq.write_table(ledger.original.table, tmp_path / "original.parquet", row_group_size=11)
    parts = Stored(tmp_path / "entries.parquet"), Stored(tmp_path / "original.parquet")
    monkeypatch.setattr("timeveil.folder.tables.BLOCK_ROWS", 13)
    monkeypatch.setattr(ledger_file, "IN_MEMORY_ROWS", 10)
    write(replace(ledger, entries=parts[0], original=replace(ledger.original, data=parts[1])), tmp_path / "l")
    opened = open_ledger(tmp_path / "l")
    assert isinstance(opened.entries, Stored)
    assert isinstance(opened.original.data, Stored)
    assert opened.table.equals(ledger.table)
    assert opened.original.table.equals(ledger.original.table)
    batches = pa.Table.from_batches(opened.original.batches(["zip", "patient"]))
    assert batches.equals(ledger.original.table.select(["zip", "patient"]))
    assert opened.original.rows == 100


def test_a_ledger_is_private_from_its_first_moment(tmp_path, monkeypatch):
    """Mode 0600 while it is written and after, whatever the umask."""
    modes = []
    write_rows = ledger_file._write

    def watched(ledger, file):
        (hidden,) = tmp_path.iterdir()
        modes.append(stat.S_IMODE(hidden.stat().st_mode))
        write_rows(ledger, file)

    monkeypatch.setattr(ledger_file, "_write", watched)
    before = os.umask(0)
    try:
        write(ledger_of(), tmp_path / "l")
    finally:
        os.umask(before)
    modes.append(stat.S_IMODE((tmp_path / "l").stat().st_mode))
    assert modes == [0o600, 0o600]
    assert names(tmp_path) == ["l"]


def test_a_ledger_never_goes_into_a_release(tmp_path):
    """Not into the folder, not into a folder in it, not through a link, not in place of a folder."""
    folder = write(plain_release(), tmp_path / "out")
    (folder / "deep").mkdir()
    (tmp_path / "link").symlink_to(folder / "deep")
    (tmp_path / "other").mkdir()
    for place in ("out/l", "out/deep/l", "link/l", "out", "other", "other/../out/l"):
        refused(PrivateArtifactError, "ledger-in-release", ledger_of(), tmp_path / place)
    refused(PrivateArtifactError, "ledger-in-release", ledger_of(), f"{tmp_path}/new/")
    assert names(folder) == ["README.txt", "data.parquet", "deep", "release.json"]
    assert names(folder / "deep") == []


def test_nothing_is_written_over(tmp_path):
    """An existing file stays as it is."""
    (tmp_path / "l").write_text("mine")
    refused(BundleError, "folder-exists", ledger_of(), tmp_path / "l")
    refused(BundleError, "folder-missing", ledger_of(), tmp_path / "no" / "l")
    assert (tmp_path / "l").read_text() == "mine"


def test_a_file_that_appears_meanwhile_is_not_replaced(tmp_path, monkeypatch):
    """The name is given by a link, which does not replace."""
    write_rows = ledger_file._write

    def meanwhile(ledger, file):
        (tmp_path / "l").write_text("mine")
        write_rows(ledger, file)

    monkeypatch.setattr(ledger_file, "_write", meanwhile)
    refused(BundleError, "folder-exists", ledger_of(), tmp_path / "l")
    assert (tmp_path / "l").read_text() == "mine"
    assert names(tmp_path) == ["l"]


def test_a_file_system_without_links_works(tmp_path, monkeypatch):
    """There the file is renamed."""

    def no_links(*_):
        raise OSError(errno.EPERM, "no links here")

    monkeypatch.setattr(os, "link", no_links)
    assert open_ledger(write(ledger_of(), tmp_path / "l")) == ledger_of()
    assert names(tmp_path) == ["l"]


@pytest.mark.parametrize(("number", "code"), [(errno.ENOSPC, "disk-full"), (errno.EACCES, "no-permission")])
def test_trouble_with_the_disk_leaves_nothing(tmp_path, monkeypatch, number, code):
    """A full disk in the middle leaves no part of a ledger."""

    def failing(ledger, file):
        file.write(b"begun")
        raise OSError(number, CANARY)

    monkeypatch.setattr(ledger_file, "_write", failing)
    refused(BundleError, code, ledger_of(), tmp_path / "l")
    assert names(tmp_path) == []


def opening(path) -> BundleError:
    with pytest.raises(BundleError) as caught:
        open_ledger(path)
    assert CANARY not in str(caught.value)
    return caught.value


def test_what_is_no_ledger_does_not_open(tmp_path):
    """A missing file, a folder, junk, another Parquet file, half a ledger."""
    assert opening(tmp_path / "l").code == "folder-missing"
    assert opening(tmp_path).code == "folder-missing"
    (tmp_path / "junk").write_bytes(CANARY.encode() * 50)
    assert opening(tmp_path / "junk").code == "folder-damaged"
    pq.write_table(pa.table({"a": [CANARY]}), tmp_path / "other.parquet")
    assert opening(tmp_path / "other.parquet").code == "folder-damaged"
    whole = write(ledger_of(), tmp_path / "whole").read_bytes()
    (tmp_path / "half").write_bytes(whole[: len(whole) // 2])
    assert opening(tmp_path / "half").code == "folder-damaged"


def test_a_ledger_whose_groups_are_no_numbers_does_not_open(tmp_path):
    """Judges count by them, and an error of Arrow could quote one."""
    ledger = ledger_of()
    texts = pa.array([CANARY] * ledger.entries.num_rows)
    number = ledger.entries.column_names.index("group")
    write(replace(ledger, entries=ledger.entries.set_column(number, "group", texts)), tmp_path / "l")
    with pytest.raises(BundleError, match="not a ledger") as caught:
        open_ledger(tmp_path / "l")
    assert CANARY not in str(caught.value)
