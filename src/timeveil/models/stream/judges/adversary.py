"""What an adversary of a stream is taken to know."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, get_args

from timeveil.errors import ParameterError

Knowledge = Literal["published-slot", "true-slot", "several-slots"]
KNOWLEDGE: tuple[str, ...] = get_args(Knowledge)


@dataclass(frozen=True, slots=True)
class StreamAdversary:
    """Knows a person's quasi-identifiers, and when.

    `published-slot`: the slot that the person's record was published in. `true-slot`: the slot that it
    belongs to, so that it shows whether the record was moved or is missing. `several-slots`: every slot that
    the same person was published in.

    >>> StreamAdversary("true-slot").as_dict()
    {'knows': 'true-slot'}
    """

    knows: Knowledge = "published-slot"

    def __post_init__(self) -> None:
        if self.knows not in KNOWLEDGE:
            raise ParameterError(
                f"`knows` is none of {', '.join(KNOWLEDGE)}",
                hint='give knows="true-slot" for someone who knows when it happened',
                code="bad-parameter",
            )

    def as_dict(self) -> dict[str, Any]:
        """The same as data."""
        return {"knows": self.knows}
