"""What an attack on a stream came to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from timeveil.evidence.risk import Posterior
from timeveil.models.stream.judges.adversary import StreamAdversary


@dataclass(frozen=True, slots=True, eq=False)
class StreamBreach:
    """An attack on a stream release; `before` the same people, from the original without the respondent.

    `after` is the chance that the adversary gives to each person's true value. `parts` are named parts of
    it: by what became of a record (`stayed`, `moved`, `missing`), or by whether a person had the same value
    every time (`constant`) or not (`changing`), which leads this adversary astray.
    `people` were attacked out of `everyone`. `true_slot` is what was promised to whoever knows the true
    slot: no more than 1 in so many, as far as no value takes more than 1 in so many of that slot's records;
    None for nothing.
    """

    adversary: StreamAdversary
    l: int
    people: int
    everyone: int
    before: Posterior
    after: Posterior
    parts: Mapping[str, Posterior]
    true_slot: int | None = None

    @property
    def worst(self) -> float:
        """The highest chance given to anyone's true value."""
        return self.after.worst

    @property
    def mean(self) -> float:
        """The chance given to the true value, averaged over people."""
        return self.after.mean

    @property
    def certain(self) -> float:
        """Share of people whose value is known for sure."""
        return self.after.certain

    def share_above(self, threshold: float) -> float:
        """Share of people whose true value is given a chance above `threshold`."""
        return self.after.share_above(threshold)

    def as_dict(self) -> dict[str, Any]:
        """The same as data."""
        told = {"share_above_one_in_l": self.l}
        if self.true_slot is not None:
            told["share_above_one_in_true_slot"] = self.true_slot
        found: dict[str, Any] = {
            "adversary": self.adversary.as_dict(),
            "l": self.l,
            **({} if self.true_slot is None else {"true_slot": self.true_slot}),
            "people": self.people,
            "everyone": self.everyone,
            "before": self.before.as_dict(),
            "after": self.after.as_dict(),
            **{name: self.share_above(1 / number) for name, number in told.items()},
        }
        found["parts"] = {
            name: {**part.as_dict(), **{key: part.share_above(1 / number) for key, number in told.items()}}
            for name, part in self.parts.items()
        }
        return found
