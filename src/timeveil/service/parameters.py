"""The parameters of a stream in service. A state file resumes under those it was made with."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from timeveil.domain.roles import Roles
from timeveil.models.stream.method import StreamPublisher
from timeveil.models.stream.method.separate import refuse_as_name, seed_of
from timeveil.models.stream.method.settings import Settings, settings_from
from timeveil.models.stream.parameters import StreamParameters

SINGLE = ""  # the name of the stream where no column separates streams


@dataclass(frozen=True)
class Parameters:
    """What decides what is published. `options` are those of `StreamPublisher` besides roles and seed.

    Options that are left out have their defaults. `stream_by` is a column of which every value is a stream
    with a window of its own.
    """

    roles: Roles
    options: Mapping[str, Any] = field(default_factory=dict)
    stream_by: str | None = None
    format: str = "parquet"

    @cached_property
    def settings(self) -> Settings:
        """The parameters, checked; without the seed."""
        options = {"l": 3, "window": 7, **self.options, "seed": 0}
        return settings_from(self.roles, StreamParameters(**options))

    def as_dict(self) -> dict[str, Any]:
        """Everything that must not change from one start to the next, as plain JSON values."""
        stored = {
            "respondent": self.roles.respondent,
            "time": self.roles.time,
            "quasi": list(self.roles.quasi_columns),
            "sensitive": list(self.roles.sensitive),
            "keep": list(self.roles.keep),
            **self.settings.options.lasting(),
            "stream_by": self.stream_by,
            "format": self.format,
        }
        return dict(json.loads(json.dumps(stored)))

    def differing(self, stored: Mapping[str, Any]) -> list[str]:
        """Names of the parameters that are not those of a stored run."""
        return StreamParameters.differing(self.as_dict(), stored)

    def check(self) -> None:
        """Refuse what no stream can have, before anything is read or made."""
        roles = self.settings.roles
        if self.stream_by is not None:
            refuse_as_name(self.stream_by, roles)

    def publisher(self, stream: str, seed: int, state: bytes | None = None) -> StreamPublisher:
        seed = seed if stream == SINGLE else seed_of(stream, seed)
        options = {**self.options, "seed": seed}
        if state is None:
            return StreamPublisher(self.roles, **options)
        return StreamPublisher.restore(state, self.roles, **options)
