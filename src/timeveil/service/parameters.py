"""The parameters of a stream in service. A state file resumes under those it was made with."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from timeveil.domain.roles import Roles
from timeveil.errors import InputError, ParameterError
from timeveil.models.stream.method import StreamPublisher
from timeveil.models.stream.method.settings import Settings, settings_from
from timeveil.models.stream.parameters import StreamParameters

SINGLE = ""  # the name of the stream where no column separates streams


@dataclass(frozen=True)
class Parameters:
    """What decides what is published. `options` are those of `StreamPublisher` besides roles and seed.

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
        by, roles = self.stream_by, self.settings.roles
        if by is not None and by in (roles.respondent, roles.time, *roles.sensitive):
            message = "the respondent, the time or the sensitive column cannot separate streams"
            hint = "use a column such as the hospital or the district for {stream_by}"
            raise ParameterError(f"{message}: the name of a stream is published", hint=hint)
        if by is not None and roles.drop != "rest" and by in roles.drop:
            message = f"column `{by}` is dropped and also separates streams"
            hint = "leave it out of {drop}; it is not published unless it has another role"
            raise InputError(message, hint=hint, code="column-twice")

    def publisher(self, stream: str, seed: int, state: bytes | None = None) -> StreamPublisher:
        if stream != SINGLE:  # no two streams draw the same
            mixed = seed.to_bytes(16, "big") + stream.encode("utf-8", "surrogatepass")
            seed = int.from_bytes(hashlib.sha256(mixed).digest()[:16], "big")
        options = {**self.options, "seed": seed}
        if state is None:
            return StreamPublisher(self.roles, **options)
        return StreamPublisher.restore(state, self.roles, **options)
