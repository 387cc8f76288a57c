"""A stream for every value of a column, each published by itself: here, or by the executors of Spark.

Streams are independent, so in Spark each is a task, and an executor has all records of one in memory. It
publishes them as one machine does, writes release and ledger into the folder that all machines share, and
verifies there what it wrote. Names, paths and errors pass the driver, and no record does. timeveil is
installed on the machines of the executors, too.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa

from timeveil import errors
from timeveil.domain.release import Ledger, Release
from timeveil.domain.roles import Roles
from timeveil.errors import ParameterError, TimeveilError
from timeveil.folder import open_ledger, open_release
from timeveil.folder.writing import write_pair
from timeveil.judging import verify
from timeveil.models.stream.method import publish_stream
from timeveil.models.stream.method.separate import refuse_as_name, seed_of, separated, with_names
from timeveil.models.stream.method.settings import Settings, settings_from
from timeveil.models.stream.parameters import StreamParameters
from timeveil.reading.columns import fit
from timeveil.reading.in_place import require_time
from timeveil.reading.spark import SparkTable

_OF_ROWS = ("after", "time_format", "decimal", "delimiter", "encoding", "sheet")
_REPORT = "name STRING, folder STRING, fault STRING"
Pair = tuple[Release, Ledger]


def publish_streams(
    table: Any, roles: Roles, stream_by: str, *, engine: Literal["memory", "spark"] = "memory", **options: Any
) -> Mapping[str, Pair]:
    """Publish a stream for every value of a column, such as the hospital, and return them by that value.

    `options` are those of `publish_stream`. Each stream has a seed of its own, which follows from `seed` and
    its name as in a service with `stream_by`. With `engine="spark"` the table is a DataFrame of Spark, the
    name of a table or a path; executors publish and verify streams, which are opened when they are asked for.
    The promise is that of every stream alone: nothing is promised about a person with records in two.

    >>> import pyarrow as pa
    >>> cases = pa.table({"day": [1, 1, 2, 2, 1, 1], "site": [*"NNNNSS"], "disease": [*"aabbcd"]})
    >>> streams = publish_streams(cases, Roles(time="day", sensitive=["disease"]), "site", l=2, window=2)
    >>> {site: release.table.num_rows for site, (release, ledger) in streams.items()}
    {'N': 4, 'S': 2}
    """
    options.setdefault("seed", secrets.randbits(128))
    settings = settings_from(roles, StreamParameters(**{"l": 3, "window": 7, **options}))
    refuse_as_name(stream_by, roles)
    work = _Streams(roles, stream_by, settings, options)
    if engine == "memory":
        return dict(work.published(table))
    if engine != "spark":
        raise ParameterError("`engine` is neither `memory` nor `spark`", hint='use {engine="spark"}')
    if named := [name for name in _OF_ROWS if options.get(name)]:
        message = f"`{named[0]}` needs rows to be read, and with the engine `spark` they stay in the cluster"
        raise ParameterError(message, hint="change the table in Spark first, or leave {engine} out")
    return _in_spark(SparkTable(table), work)


@dataclass(frozen=True)
class _Streams:
    """How each stream is published."""

    roles: Roles
    by: str
    settings: Settings
    options: Mapping[str, Any]

    def published(self, table: Any) -> Iterator[tuple[str, Pair]]:
        for name, relation in separated(table, self.by, self.roles, self.settings.options):
            options = {**self.options, "seed": seed_of(name, self.settings.seed)}
            yield name, publish_stream(relation, self.roles, **options)

    def written(self, schema: pa.Schema, dropped: tuple[str, ...], shared: Path, rows: pa.Table) -> pa.Table:
        """What an executor does with the rows of one stream, whose last two columns say where they were."""
        report = {"name": [""], "folder": [f"stream-{secrets.token_hex(8)}"], "fault": [""]}
        rows = rows.sort_by([(column, "ascending") for column in rows.column_names[-2:]])
        try:
            records = rows.select(range(len(schema))).rename_columns(schema.names).cast(schema)
            ((name, (release, ledger)),) = self.published(records)
            fitted = replace(ledger.original.roles, drop=dropped)
            ledger = replace(ledger, original=replace(ledger.original, roles=fitted, dropped=dropped))
            folder = shared / report["folder"][0]
            folder.mkdir(mode=0o700)
            release_folder, ledger_file = _places(folder)
            judge = lambda written: verify(written, ledger)  # noqa: E731 - as short as it can be
            write_pair(release, release_folder, ledger, ledger_file, "parquet", judge)
            report["name"] = [name]
        except TimeveilError as error:
            fault = [type(error).__name__, error.message, error.template, error.code]
            report["fault"] = [json.dumps(fault)]
        return pa.table(report)


class _OpenedLater(Mapping[str, Pair]):
    """Releases and ledgers in a private folder, which goes with the last use of this."""

    def __init__(self, server: Any, folders: Mapping[str, str]) -> None:
        self._server, self._folders = server, folders

    def __getitem__(self, name: str) -> Pair:
        release_folder, ledger_file = _places(self._server.folder.path / self._folders[name])
        return open_release(release_folder), open_ledger(ledger_file)

    def __iter__(self) -> Iterator[str]:
        return iter(self._folders)

    def __len__(self) -> int:
        return len(self._folders)


def _places(folder: Path) -> tuple[Path, Path]:
    return folder / "release", folder / "ledger.parquet"


def _in_spark(source: SparkTable, work: _Streams) -> Mapping[str, Pair]:
    fitted, server = fit(with_names(work.by, work.roles), source.names, ("time", "sensitive")), source.server
    require_time(source, str(fitted.time))
    columns: Sequence[str] = fitted.columns
    try:
        source.stage(columns)
        if not source.parts:
            return {}
        schema, dropped, shared = source.empty(columns).schema, tuple(fitted.drop), server.folder.path
        # On executors rows have no column to drop; hierarchies are read here, once.
        options = {**work.options, "hierarchies": work.settings.hierarchies or None}
        work = replace(work, roles=replace(work.roles, drop=()), options=options)
        with server.explained():
            names = [*(f"c{number}" for number in range(len(columns))), "file", "position"]
            files = server.files(source.parts).select("*", "_metadata.file_name", "_metadata.row_index")
            groups = files.toDF(*names).groupBy(names[columns.index(work.by)])
            done = groups.applyInArrow(lambda r: work.written(schema, dropped, shared, r), _REPORT).toArrow()
    finally:
        server.forget()  # what follows reads the files
    for fault in filter(None, done["fault"].to_pylist()):
        kind, message, hint, code = json.loads(fault)
        raise getattr(errors, kind)(f"one of {len(done)} streams: {message}", hint=hint, code=code)
    folders = sorted(zip(done["name"].to_pylist(), done["folder"].to_pylist(), strict=True))
    return _OpenedLater(server, dict(folders))
