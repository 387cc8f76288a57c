"""A file of the inbox as records, by stream."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa

from timeveil.domain.relation import Relation
from timeveil.domain.roles import Roles
from timeveil.errors import InputError
from timeveil.reading import read
from timeveil.service.parameters import SINGLE, Parameters


def snapshots_of(path: Path, parameters: Parameters) -> Iterator[tuple[str, Relation]]:
    """The records of a file, for each stream that it has any of; those of a stream keep their order."""
    by, roles = parameters.stream_by, parameters.roles
    given = by is None or by in roles.columns
    relation = read(
        path,
        roles if given else replace(roles, keep=(*roles.keep, str(by))),
        zone=parameters.options.get("zone"),
        unit=parameters.options.get("unit"),
        nulls=parameters.options.get("nulls", "error"),
        needs=("time", "sensitive"),
        slot_numbers=True,
    )
    if by is None:
        yield SINGLE, relation
        return
    names = _names(relation, by)
    own = relation.roles if given else replace(relation.roles, keep=roles.keep)
    table = relation.table if given else relation.table.drop_columns([by])
    for code, name in enumerate(names.dictionary.to_pylist()):
        rows = np.flatnonzero(np.asarray(names.indices) == code)
        yield name, Relation(own, table.take(pa.array(rows)), relation.axis, relation.dropped)


def check_streams_roles(roles: Roles, by: str | None) -> None:
    """Streams may be told apart by a column with a role of its own, or with none."""
    if by is not None and roles.drop != "rest" and by in roles.drop:
        raise InputError(
            f"column `{by}` is to be dropped and to tell streams apart",
            hint="leave it out of --drop; it is not published unless it has another role",
            code="column-twice",
        )


def _names(relation: Relation, by: str) -> pa.DictionaryArray:
    """The stream of each record, as text."""
    column = relation.table.column(by)
    if column.null_count:
        raise InputError(
            f"column `{by}`, which tells streams apart, has {column.null_count} nulls",
            hint="fill them in: every record belongs to a stream",
            code="nulls",
        )
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if pa.types.is_floating(column.type) or pa.types.is_nested(column.type):
        raise InputError(
            f"column `{by}`, which tells streams apart, is of type {column.type}",
            hint="give text, whole numbers or dates",
            code="unsupported-input",
        )
    whole: pa.DictionaryArray = column.cast(pa.string()).combine_chunks().dictionary_encode()
    return whole
