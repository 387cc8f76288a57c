"""The parameters of a stream in service. A state file goes on under those it was made with."""

from __future__ import annotations

import hashlib
import inspect
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from timeveil.domain.roles import Roles
from timeveil.errors import ParameterError
from timeveil.models.stream.method import StreamPublisher
from timeveil.models.stream.method.settings import Settings, settings_from
from timeveil.models.stream.parameters import StreamParameters

_OF_PACKETS = ("protect_slot", "spread", "fillers")
SINGLE = ""
"""The name of the one stream where streams are not told apart."""


@dataclass(frozen=True)
class Parameters:
    """What decides what is published. `options` are those of `StreamPublisher` beside roles and seed.

    Options that are left out have their defaults. `stream_by` is a column of which every value is a stream
    with a window of its own.

    >>> parameters = Parameters(Roles(time="day", sensitive=["disease"]), {"l": 3, "window": 7})
    >>> parameters.as_dict()["l"], parameters.differing({**parameters.as_dict(), "l": 4})
    (3, ['l'])
    """

    roles: Roles
    options: Mapping[str, Any] = field(default_factory=dict)
    stream_by: str | None = None
    format: str = "parquet"

    def __post_init__(self) -> None:
        asked = inspect.signature(StreamPublisher).parameters
        usual = {name: p.default for name, p in asked.items() if name not in ("roles", "seed")}
        object.__setattr__(self, "options", {**usual, **self.options})

    @cached_property
    def settings(self) -> Settings:
        """The same, checked; without the seed."""
        return settings_from(self.roles, StreamParameters(**{**self.options, "seed": 0}))

    def as_dict(self) -> dict[str, Any]:
        """All that must not change from one start to the next, as plain JSON values."""
        told = {
            "respondent": self.roles.respondent,
            "time": self.roles.time,
            "quasi": list(self.roles.quasi_columns),
            "sensitive": list(self.roles.sensitive),
            "keep": list(self.roles.keep),
            **self.options,
            "stream_by": self.stream_by,
            "format": self.format,
        }
        if self.options["protect_slot"] is None:  # so that state files from before there were packets go on
            told = {name: value for name, value in told.items() if name not in _OF_PACKETS}
        plain: dict[str, Any] = json.loads(json.dumps(told))
        return plain

    def differing(self, stored: Mapping[str, Any]) -> list[str]:
        """Names of the parameters that are not those of a stored run."""
        ours = self.as_dict()
        return [name for name in {**ours, **stored} if ours.get(name) != stored.get(name)]

    def check(self) -> None:
        """Refuse what no stream can have, before anything is read or made."""
        _ = self.settings
        if self.format not in ("parquet", "csv"):
            raise ParameterError(
                "the format is neither `parquet` nor `csv`",
                hint="give --format parquet or csv",
                code="bad-parameter",
            )
        private = (self.roles.respondent, self.roles.time, *self.roles.sensitive)
        if self.stream_by is not None and self.stream_by in private:
            raise ParameterError(
                "streams cannot be told apart by the respondent, the time or the sensitive column: the name "
                "of a stream is published",
                hint="name a column such as the hospital or the district with --stream-by",
                code="bad-parameter",
            )

    def publisher(self, stream: str, seed: int, state: bytes | None = None) -> StreamPublisher:
        """The publisher of one stream, new or from its state."""
        given = {**self.options, "seed": own_seed(seed, stream)}
        if state is None:
            return StreamPublisher(self.roles, **given)
        return StreamPublisher.restore(state, self.roles, **given)


def own_seed(seed: int, stream: str) -> int:
    """The secret seed of one stream, so that no two draw the same.

    >>> own_seed(7, "") == 7, own_seed(7, "a") == own_seed(7, "b")
    (True, False)
    """
    if stream == SINGLE:
        return seed
    mixed = seed.to_bytes(16, "big") + stream.encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.sha256(mixed).digest()[:16], "big")
