"""A release in an object store: whole or not at all, its manifest last, and opened as a copy."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.fs as pafs
import pytest
from pyarrow import csv

import timeveil as tv
from timeveil import datasets
from timeveil.cli import main
from timeveil.folder import in_store

SECRET = "canary7391"  # noqa: S105 - of nobody
VISITS = datasets.clinic_visits(rows=300, seed=3)
ROLES = tv.Roles(respondent="patient", time="taken_at", quasi=["zip"], sensitive=["result"], drop="rest")


@pytest.fixture(scope="module")
def store() -> Iterator[tuple[str, Any]]:
    """What follows an address of a real server on the loopback address, and its file system."""
    server_module = pytest.importorskip("moto.server")
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = server_module.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    try:
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("AWS_ACCESS_KEY_ID", "someone")
            patch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
            patch.setenv("AWS_EC2_METADATA_DISABLED", "true")
            _, port = server.get_host_and_port()
            end = f"?endpoint_override=127.0.0.1:{port}&scheme=http&region=us-east-1"
            files, _ = pafs.FileSystem.from_uri(f"s3://released{end}&allow_bucket_creation=true")
            files.create_dir("released")
            yield end, files
    finally:
        server.stop()


@pytest.fixture(scope="module")
def pair() -> tuple[tv.Release, tv.Ledger]:
    return tv.generalize_time(VISITS, ROLES, 3, suppress=0.2)


def names(files: Any, folder: str) -> list[str]:
    entries = files.get_file_info(pafs.FileSelector(folder, recursive=True, allow_not_found=True))
    return sorted(entry.path.removeprefix(f"{folder}/") for entry in entries if entry.is_file)


@pytest.mark.parametrize("form", ["parquet", "csv"])
def test_a_release_goes_there_and_is_opened_from_there(store: Any, pair: Any, form: Any) -> None:
    (end, files), (release, ledger) = store, pair
    address = f"s3://released/{form}{end}"
    assert tv.write(release, address, format=form) == address
    assert names(files, f"released/{form}") == ["README.txt", f"data.{form}", "release.json"]
    opened = tv.open_release(address)
    assert opened.table.equals(release.table)
    assert tv.verify(address, ledger)
    with pytest.raises(tv.BundleError, match="exists already") as refused:
        tv.write(release, address)
    assert refused.value.code == "folder-exists"


def test_a_change_there_is_noticed(store: Any, pair: Any) -> None:
    (end, files), (release, _) = store, pair
    address = f"s3://released/changed{end}"
    tv.write(release, address)
    with files.open_output_stream("released/changed/notes.txt") as file:
        file.write(b"more")
    with files.open_output_stream("released/changed/README.txt") as file:
        file.write(b"other words")
    verdict = tv.verify(address)
    assert [violation.code for violation in verdict.violations] == ["file-extra"]
    with pytest.raises(tv.BundleError):
        tv.open_release(address)


def test_a_run_that_fails_leaves_nothing_that_opens(
    store: Any, pair: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    (end, files), (release, _) = store, pair
    address, sent = f"s3://released/failed{end}", list[str]()

    def lost(file: Any, stream: Any) -> None:
        sent.append(Path(file.name).name)
        if len(sent) == 2:
            raise OSError(5, f"{SECRET} lost")
        stream.write(file.read())

    with monkeypatch.context() as patch:
        patch.setattr(in_store.shutil, "copyfileobj", lost)
        with pytest.raises(tv.InputError, match="no access to `failed`") as caught:
            tv.write(release, address)
    assert SECRET not in str(caught.value)
    assert "release.json" not in sent
    assert names(files, "released/failed") == []
    with pytest.raises(tv.BundleError, match="no release at `failed`"):
        tv.open_release(address)
    tv.write(release, address)
    assert tv.verify(address)


def test_it_is_read_back(store: Any, pair: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    (end, files), (release, _) = store, pair

    def other(file: Any, stream: Any) -> None:
        stream.write(file.read()[::-1])

    monkeypatch.setattr(in_store.shutil, "copyfileobj", other)
    with pytest.raises(tv.BundleError):
        tv.write(release, f"s3://released/other{end}")
    assert names(files, "released/other") == []


def test_names_that_lead_elsewhere_are_refused(store: Any, pair: Any, monkeypatch: Any) -> None:
    (end, _), (release, _) = store, pair
    address = f"s3://released/led{end}"
    tv.write(release, address)
    real = in_store.below
    monkeypatch.setattr(
        in_store, "below", lambda *at: {**real(*at), "../../out.txt": "released/led/README.txt"}
    )
    with pytest.raises(tv.BundleError, match="leads elsewhere"):
        tv.open_release(address)


def run(*words: str) -> Any:
    with pytest.raises(SystemExit) as ended:
        main(list(words))
    return ended.value.code


def test_commands_take_the_address(store: Any, tmp_path: Path, capsys: Any) -> None:
    end, _ = store
    csv.write_csv(VISITS, tmp_path / "visits.csv")
    address, ledger = f"s3://released/by-command{end}", str(tmp_path / "visits.ledger")
    roles = ["--respondent", "patient", "--time", "taken_at", "--quasi", "zip", "--drop-rest"]
    limits = ["--k", "3", "--suppress", "0.2"]
    words = ["generalize-time", str(tmp_path / "visits.csv"), "--out", address, *roles, *limits]
    assert run(*words, "--ledger", ledger) == 0
    assert run("verify", address, "--ledger", ledger) == 0
    assert "`by-command`" in capsys.readouterr().out
    assert run("measure", address, "--ledger", ledger) == 0
    assert run(*words) == 2
    assert run(*words, "--overwrite") == 2
    assert SECRET not in capsys.readouterr().err
