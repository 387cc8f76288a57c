"""What an adversary of series is taken to know."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from timeveil.domain.wording import counted
from timeveil.errors import ParameterError

Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class SeriesAdversary:
    """Knows values of a person's series, each to within `tolerance`, or its pattern, or both.

    `values` is how many instants of each person are known, drawn with `seed`; or a list of instants, the
    same for everybody; or `"all"`; or None. With `pattern`, the shape is known as far as it can be published:
    the symbol of every instant at any level. Whoever knows all values exactly is taken to know it. Without it
    values are held against envelopes alone, although whoever knows many of them could rule patterns out: then
    the result is what envelopes hide, and 1 in p is all that is promised. `sample` attacks that many people;
    None attacks all, or as many as can be done in some seconds.

    >>> SeriesAdversary(values=2, tolerance=0.5, pattern=True).as_dict()
    {'values': 2, 'tolerance': 0.5, 'pattern': True, 'seed': 0, 'sample': None}
    """

    values: int | Sequence[str] | Literal["all"] | None = "all"
    tolerance: float = 0.0
    pattern: bool = False
    seed: int = 0
    sample: int | None = None

    def __post_init__(self) -> None:
        if isinstance(self.values, str) and self.values != "all":
            raise _bad('`values` takes a number, a list of instants, "all" or None', "write values=[...]")
        if isinstance(self.values, Sequence) and not isinstance(self.values, str):
            object.__setattr__(self, "values", tuple(self.values))
        whole = [("seed", self.seed, 0)]
        whole += [] if self.sample is None else [("sample", self.sample, 1)]
        whole += [("values", self.values, 1)] if isinstance(self.values, int | float) else []
        for name, given, least in whole:
            if isinstance(given, bool) or not isinstance(given, int) or given < least:
                raise _bad(
                    f"`{name}` must be a whole number of at least {least}", f"give {name}={least} or more"
                )
        number = isinstance(self.tolerance, int | float) and not isinstance(self.tolerance, bool)
        if not number or not math.isfinite(self.tolerance) or self.tolerance < 0:
            raise _bad("`tolerance` must be a number of at least 0", "give it in the units of the values")
        if not self.pattern and (self.values is None or self.values == ()):
            raise _bad("this adversary knows neither values nor a pattern", "give values=1 or pattern=True")

    def known(self, instants: Sequence[str], people: int, rng: np.random.Generator) -> Mask:
        """Of each person, which instants' values are known."""
        known: Mask = np.zeros((people, len(instants)), dtype=bool)
        if self.values == "all":
            known[:] = True
        elif isinstance(self.values, int):
            number = min(self.values, len(instants))
            order = np.argsort(rng.random(known.shape), axis=1)
            np.put_along_axis(known, order[:, :number], values=True, axis=1)
        elif self.values is not None:
            strange = [name for name in self.values if name not in instants]
            if strange:
                raise _bad(
                    f"the series have no instant `{strange[0]}`",
                    f"it has {', '.join(instants[:12])}{', ...' if len(instants) > 12 else ''}",
                )
            known[:, [instants.index(name) for name in self.values]] = True
        return known

    @property
    def words(self) -> str:
        """What is known, in words.

        >>> SeriesAdversary(values=3, tolerance=0.5).words, SeriesAdversary(None, pattern=True).words
        ('the values of 3 instants to within 0.5', 'the pattern')
        """
        said = []
        if self.values is not None and self.values != ():
            number = self.values if isinstance(self.values, int) else len(self.values)
            instants = "all instants" if self.values == "all" else counted(number, "instant")
            said.append(
                f"the values of {instants}" + (f" to within {self.tolerance:g}" if self.tolerance else "")
            )
        if self.pattern:
            said.append("the pattern")
        return " and ".join(said)

    def as_dict(self) -> dict[str, Any]:
        """The same as data."""
        return {
            "values": list(self.values) if isinstance(self.values, tuple) else self.values,
            "tolerance": self.tolerance,
            "pattern": self.pattern,
            "seed": self.seed,
            "sample": self.sample,
        }


def _bad(message: str, hint: str) -> ParameterError:
    return ParameterError(message, hint=hint, code="bad-parameter")
