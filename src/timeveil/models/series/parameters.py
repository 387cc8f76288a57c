"""The parameters of `anonymize_series` (Shou et al. 2013), one line each."""

from __future__ import annotations

from typing import ClassVar, Literal

from timeveil.domain.parameter import Parameters, Problem, fold_spellings, numbers_nest, parameter, rule

WEIGHING = ("adaptive", "representative")
"""Methods that use `shape_weight` and `effort`."""
LEAST_REPRESENTED = 3
"""Someone who knows all but one of a subgroup comes close to the last from a representative."""
MOST_SYMBOLS = 52
"""Symbols are written a to z and A to Z."""
MOST_DIGITS = 15
"""Decimals of up to 15 digits are all different floats; longer ones are not."""


class SeriesParameters(Parameters):
    """Publish series so that k share every envelope, and p of them every pattern in it.

    One row per series with --series, or one row per reading with --respondent, --time and --value. Checks
    the result, and writes a complete folder or none.

    Example: timeveil anonymize-series loads.csv --out published --respondent household --series h00..h23
    --sensitive tariff --k 10 --p 5
    """

    model = "series"
    command = "anonymize-series"
    roles = ("series", "respondent", "time", "value", "sensitive", "keep", "drop")
    contents = "series"
    scopes = {  # noqa: RUF012 a class variable of its base
        "recipient": "as far as a recipient can see",
        "with ledger": "by following every series, with the ledger",
    }
    explored = ("k", "p", "l", "shape_weight")
    repeating: ClassVar = {"l": "sensitive numbers are exchanged anew"}
    removed: ClassVar = {
        "adoption": 'leave {adoption} out; {method="adaptive"} loses less',
        "exact": "leave {exact} out; kapra loses as little without it",
    }

    k: int = parameter("Number of series that must share every envelope.", at_least=2, example=10)
    p: int = parameter("Number of series that must share each pattern in an envelope.", at_least=1, example=5)
    method: Literal["adaptive", "kapra", "naive", "representative"] = parameter(
        "How groups and patterns are formed; adaptive loses least.", default="adaptive", example="kapra"
    )
    shape_weight: float = parameter(
        "Weight of the pattern against the values: 2 for narrow envelopes, 10 for both, 50 and up for shape.",
        default=50, at_least=0, at_most=1_000_000, example=10, methods=WEIGHING
    )
    effort: int = parameter(
        "How long groups are improved; 0 is fastest.",
        default=1, at_least=0, at_most=1_000, example=2, methods=WEIGHING
    )
    max_level: int = parameter(
        "Largest number of symbols possible at an instant.",
        default=20, at_least=2, at_most=MOST_SYMBOLS, example=20
    )
    center: Literal["mean", "median"] = parameter(
        "Centre that patterns are measured from.", default="mean", example="median"
    )
    round_outward: int | None = parameter(
        "Significant digits that envelopes are rounded outward to; off publishes people's exact values.",
        default=3, at_least=1, at_most=MOST_DIGITS, example=2
    )
    l: int | None = parameter(
        "Replace sensitive numbers until at most 1 in l of those who share a pattern has the same one.",
        default=None, at_least=2, example=3
    )
    publish_values: tuple[str, ...] | None = parameter(
        "Instants whose envelopes are published; all if not set.", default=None, example=["h06..h12"]
    )
    publish_pattern: tuple[str, ...] | None = parameter(
        "Instants whose pattern is published; all if not set.", default=None, example=["h00..h12"]
    )
    fill: Literal["forward", "linear", "drop"] | None = parameter(
        "Missing readings: repeat the last one, draw a line, or drop the person; refused if not set.",
        default=None, example="linear"
    )
    zone: str | None = parameter(
        "Time zone in which times with an offset are read.",
        default=None, example="Europe/Berlin", metavar="Z"
    )
    unit: str | None = parameter(
        "Unit of whole numbers in the time column.", default=None, example="minute", metavar="UNIT"
    )
    fold_spellings: bool = fold_spellings()

    numbers_nest = numbers_nest

    @rule("method", "p")
    def representatives_stand_for_three(self) -> Problem:
        """Of two who share a representative each would know the other's series."""
        if self.method != "representative" or self.p >= LEAST_REPRESENTED:
            return None
        return (
            f"the method `representative` needs p of at least {LEAST_REPRESENTED}, got {self.p}: "
            "of two people who share a pattern, each would know the other's",
            'raise {p}, or use {method="adaptive"}',
        )


PARAMETERS = SeriesParameters
