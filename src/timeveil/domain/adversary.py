"""What an adversary knows: a table whose lines are also the options of `timeveil attack`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Generic, Self, TypeVar

from timeveil.domain.parameter import Checked

B = TypeVar("B")


class AnyAdversary(Checked, Generic[B]):
    """What the adversaries of all models have in common; an attack by one of them gives a B."""

    __slots__ = ()

    @classmethod
    def typed(cls, options: Mapping[str, Any], manifest: Mapping[str, Any]) -> Self:  # noqa: ARG003 models override it
        """The adversary that options of the command line describe, against the release of a manifest."""
        return cls(**options)

    def as_dict(self) -> dict[str, Any]:
        """The adversary as plain data."""
        arguments = self.as_arguments()
        return {name: list(v) if isinstance(v, tuple) else v for name, v in arguments.items()}
