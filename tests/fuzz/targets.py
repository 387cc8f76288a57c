"""One target for each reader: bytes that somebody sent go in, and no more than an error of ours comes out.

The contract of every target: it ends with a result or with a `TimeveilError` that is not our own mistake, the
text of the error has no cell value in it, and nothing was written.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import shutil
import zlib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from typer.main import get_command

import timeveil as tv
from timeveil.calendar.definitions import from_toml
from timeveil.cli import app
from timeveil.errors import InternalError, TimeveilError
from timeveil.folder import damage, open_ledger, open_release
from timeveil.jobs.request import calendar_file, read_job, read_question
from timeveil.recoding import hierarchy_from
from timeveil.service import Parameters, Service
from timeveil.service.status import status

HERE = Path(__file__).parent
CORPUS, RELEASES = HERE / "corpus", HERE / "releases"
MODELS = ("time", "stream", "series", "patterns")
CANARY = "canary7391"
ROLES = tv.Roles(respondent="who", time="day", quasi=["zip"], drop="rest")
SNAPSHOTS = Parameters(tv.Roles(time="day", quasi=["age"], sensitive=["ill"]), {"l": 2, "window": 2})
PARQUET, GZIP, ZSTD = b"PAR1", b"\x1f\x8b", b"\x28\xb5\x2f\xfd"

Target = Callable[[bytes, Path], None]


def csv(data: bytes, place: Path) -> None:
    ending = ".gz" if data.startswith(GZIP) else ".zst" if data.startswith(ZSTD) else ""
    path = place / f"in.csv{ending}"
    path.write_bytes(data)
    _read(path)


def json_lines(data: bytes, place: Path) -> None:
    path = place / "in.jsonl"
    path.write_bytes(data)
    _read(path)


def arrow(data: bytes, place: Path) -> None:
    path = place / "in.arrow"
    path.write_bytes(data)
    _read(path)


def excel(data: bytes, place: Path) -> None:
    path = place / "in.xlsx"
    path.write_bytes(data)
    _read(path)


def parquet(data: bytes, place: Path) -> None:
    path = place / "in.parquet"
    path.write_bytes(data)
    _read(path)


def _read(path: Path) -> None:
    """At once and in batches; both give the same, or neither gives anything."""
    outcomes: list[Any] = []
    for stored in (False, True):
        try:
            outcomes.append(tv.read(path, ROLES, nulls="withhold", stored=stored))
        except TimeveilError as error:
            outcomes.append(error)
    whole, batched = outcomes
    assert isinstance(whole, TimeveilError) == isinstance(batched, TimeveilError), outcomes
    if isinstance(whole, TimeveilError):
        raise whole
    assert (whole.rows, whole.axis) == (batched.rows, batched.axis)


def manifest(data: bytes, place: Path) -> None:
    folder = place / "out"
    shutil.copytree(RELEASES / _model_of(data), folder)
    (folder / "release.json").write_bytes(data)
    _judge(folder)


def _model_of(data: bytes) -> str:
    return next((model for model in MODELS if f'"model": "{model}"'.encode() in data), "time")


def release(data: bytes, place: Path) -> None:
    """Another table with its right hash in the manifest."""
    form = "parquet" if data.startswith(PARQUET) else "csv"
    folder = place / "out"
    shutil.copytree(RELEASES / _model_like(data), folder)
    (folder / "data.csv").unlink()
    (folder / f"data.{form}").write_bytes(data)
    told = json.loads((folder / "release.json").read_text())
    entry = told["tables"]["data"]
    entry |= {"format": form, "file": f"data.{form}", "sha256": hashlib.sha256(data).hexdigest()}
    if form == "parquet":
        del entry["formula_cells"]
    (folder / "release.json").write_text(json.dumps(told, indent=2, ensure_ascii=False) + "\n")
    _judge(folder)


def _model_like(data: bytes) -> str:
    heads = {model: (RELEASES / model / "data.csv").read_bytes().split(b"\n")[0] for model in MODELS}
    head = data.split(b"\n")[0]
    if data.startswith(PARQUET):
        with contextlib.suppress(pa.ArrowException, OSError):
            head = ",".join(f'"{name}"' for name in pq.read_schema(io.BytesIO(data)).names).encode()
    return next((model for model in MODELS if heads[model] == head), MODELS[zlib.crc32(data) % 4])


def _judge(folder: Path) -> None:
    damage(folder)
    opened = open_release(folder, check=False)
    tv.verify(opened)
    open_release(folder)


def ledger(data: bytes, place: Path) -> None:
    path = place / "ledger"
    path.write_bytes(data)
    opened = open_ledger(path)
    if opened.model in MODELS:
        tv.verify(open_release(RELEASES / opened.model), opened)


def job(data: bytes, place: Path) -> None:
    (place / "job.toml").write_bytes(data)
    (place / "w.csv").write_text(",".join(f"h{hour:02}" for hour in range(24)) + "\n")
    if read_question(place / "job.toml") is None:
        read_job(place / "job.toml")


def calendar(data: bytes, place: Path) -> None:
    (place / "calendar.toml").write_bytes(data)
    for granularity in from_toml(calendar_file(place / "calendar.toml")):
        granules = granularity.index([-(10**9), 0, 1_700_000_000])
        known = [int(granule) for granule in granules if granule >= 0]
        granularity.label(known)
        json.dumps(granularity.as_dict())


def hierarchy(data: bytes, place: Path) -> None:
    path = place / "levels.csv"
    path.write_bytes(data)
    text = data.decode("utf-8", "replace")
    rule = text if text.startswith(("intervals:", "prefixes:")) else path
    made = hierarchy_from(rule)
    for level in range(1, min(made.top, 5) + 1):
        made.level(level, pa.array(["01234", "37", "-1e5", None]))


def query(data: bytes, place: Path) -> None:
    """The lines of the input are the arguments of `timeveil query`."""
    model, *arguments = data.decode("utf-8", "replace").replace("\0", "").split("\n")
    model = model if model in MODELS else MODELS[len(data) % 4]
    given = ["query", str(RELEASES / model), *(a for a in arguments if a not in ("--help", "-h"))]
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        try:
            _command_line().main(args=given, prog_name="timeveil", standalone_mode=False)
        except Exception as error:
            if not hasattr(error, "format_message"):  # the option parser's own
                raise


@cache
def _command_line() -> Any:
    return get_command(app)


def inbox(data: bytes, place: Path) -> None:
    (place / "in").mkdir()
    suffix = "parquet" if data.startswith(PARQUET) else "csv"
    (place / "in" / f"a.{suffix}").write_bytes(data)
    with Service(place / "in", place / "out", place / "state", SNAPSHOTS, seed=7) as service:
        service.run()


def state(data: bytes, place: Path) -> None:
    (place / "state").write_bytes(data)
    status(place / "state")


TARGETS: dict[str, Target] = {
    "csv": csv,
    "json": json_lines,
    "arrow": arrow,
    "excel": excel,
    "parquet": parquet,
    "manifest": manifest,
    "release": release,
    "ledger": ledger,
    "job": job,
    "calendar": calendar,
    "hierarchy": hierarchy,
    "query": query,
    "inbox": inbox,
    "state": state,
}
WRITES = ("inbox", "state")
"""Targets that write by design: what came in is noted in the state file."""
MADE = {
    "in.csv",
    "in.csv.gz",
    "in.csv.zst",
    "in.jsonl",
    "in.arrow",
    "in.xlsx",
    "in.parquet",
    "out",
    "ledger",
    "job.toml",
    "w.csv",
    "calendar.toml",
    "levels.csv",
}
"""Files that the targets make themselves."""


def check(name: str, data: bytes, place: Path) -> str:
    """Hold one input against the contract; the code of the error, or "" if there was none."""
    place.mkdir()
    try:
        return _check(name, data, place)
    finally:
        shutil.rmtree(place, ignore_errors=True)


def _check(name: str, data: bytes, place: Path) -> str:
    try:
        TARGETS[name](data, place)
    except InternalError:
        raise
    except TimeveilError as caught:
        error = caught
    else:
        return ""
    told = f"{error} {error.facts} {error.__cause__} {error.__context__}"
    assert CANARY not in told or _is_a_name(data), "a value is told"
    if name not in WRITES:
        assert {path.name for path in place.iterdir()} <= MADE, "something was written"
    return str(error.code)


def _is_a_name(data: bytes) -> bool:
    """Whether the marked value stands where names of columns stand."""
    head = data.replace(b"\r", b"\n").lstrip(b"\n\xef\xbb\xbf").split(b"\n")[0]
    packed = (PARQUET, GZIP, ZSTD, b"PK", b"ARROW1", b"\xff\xff\xff\xff")
    return CANARY.encode() in head or data.startswith(packed) or b'"' in head
