"""Streams of their own for every value of a column, such as the hospital: nothing moves between them."""

import hashlib
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from timeveil.domain.relation import Relation
from timeveil.domain.roles import REST, Roles
from timeveil.errors import InputError, ParameterError
from timeveil.models.stream.method.arrivals import reader_of
from timeveil.models.stream.parameters import StreamParameters
from timeveil.reading.columns import decoded


def refuse_as_name(by: str, roles: Roles) -> None:
    """Refuse a column whose values cannot be the names of streams."""
    if by in (roles.respondent, roles.time, *roles.sensitive):
        message = "the respondent, the time or the sensitive column cannot separate streams"
        hint = "use a column such as the hospital or the district for {stream_by}"
        raise ParameterError(f"{message}: the name of a stream is published", hint=hint)
    if roles.drop != REST and by in roles.drop:
        message = f"column `{by}` is dropped and also separates streams"
        hint = "leave it out of {drop}; it is not published unless it has another role"
        raise InputError(message, hint=hint, code="column-twice")


def with_names(by: str, roles: Roles) -> Roles:
    """The roles to read with, so that the column is read, too."""
    return roles if by in roles.columns else replace(roles, keep=(*roles.keep, by))


def separated(table: Any, by: str, roles: Roles, options: StreamParameters) -> Iterator[tuple[str, Relation]]:
    """The records of each stream, in their order, by the name of the stream."""
    relation = reader_of(with_names(by, roles), options).read(table)[0]
    column = relation.table.column(by)
    if column.null_count:
        message = f"column `{by}`, which separates streams, has {column.null_count} nulls"
        raise InputError(message, hint="fill them in: every record belongs to a stream", code="nulls")
    column = decoded(column)
    if pa.types.is_floating(column.type) or pa.types.is_nested(column.type):
        hint = "use text, whole numbers or dates"
        raise InputError(f"column `{by}`, which separates streams, has type {column.type}", hint=hint)
    names = column.cast(pa.string()).combine_chunks().dictionary_encode()
    has_role = by in roles.columns
    published = relation.roles if has_role else replace(relation.roles, keep=roles.keep)
    records = relation.table if has_role else relation.table.drop_columns([by])
    for code, name in enumerate(names.dictionary.to_pylist()):
        rows = np.flatnonzero(np.asarray(names.indices) == code)
        yield name, Relation(published, records.take(pa.array(rows)), relation.axis, relation.dropped)


def seed_of(stream: str, seed: int) -> int:
    """The seed of one stream: no two of them draw the same."""
    mixed = seed.to_bytes(16, "big") + stream.encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.sha256(mixed).digest()[:16], "big")
