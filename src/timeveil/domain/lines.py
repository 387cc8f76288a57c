"""Tables of parameters that several commands share, and lines that the tables of several methods do."""

import re
from collections.abc import Mapping
from contextlib import suppress
from datetime import date as day
from functools import cache
from typing import Any, ClassVar, Generic, Literal, Self, TypeVar

from timeveil.domain.parameter import (
    Checked,
    Parameter,
    Parameters,
    Problem,
    Range,
    optional,
    parameter,
    rule,
)
from timeveil.errors import InfeasibleError

Decimal = Literal["point", "comma"]
Delimiter = Literal["comma", "semicolon", "tab", "pipe"]
READING = ("zone", "unit", "time_format", "decimal", "delimiter", "encoding", "sheet")
SEED = Parameter("seed", "whole", "Secret number to draw with.", range=Range(0, 2**128), example=7)
B = TypeVar("B")
LARGEST_LOSS = 0.25  # above it, withholding is refused unless allowed, and not offered as a way out
LONGEST = 200  # characters of a text at the head of a report


class FileForm(Parameters):
    """What a file looks like; what is not set is found out."""

    decimal: Decimal | None = optional("Decimal separator, where the file does not show it.", "comma")
    delimiter: Delimiter | None = optional(
        "Delimiter of a CSV file, where its header does not show it.", "semicolon"
    )
    encoding: str | None = optional("Encoding of a text file that is not UTF-8.", "cp1252", "NAME")
    sheet: str | None = optional("Sheet of a workbook; the first one with cells if not set.", "2024", "NAME")

    @classmethod
    @cache
    def table(cls) -> dict[str, Parameter]:
        """The lines of the table by name; what a command adds comes first."""
        lines = super().table()
        specific = (name for name in lines if name not in READING)
        return {name: lines[name] for name in (*specific, *(name for name in READING if name in lines))}

    def reading(self, *more: str) -> dict[str, Any]:
        return {name: getattr(self, name) for name in (*READING, *more) if name in type(self).table()}


class Reading(FileForm):
    """How a table is read, the same for every method."""

    zone: str | None = optional("Time zone in which times with an offset are read.", "Europe/Berlin", "Z")
    unit: str | None = optional("Unit of whole numbers in the time column.", "minute", "UNIT")
    time_format: str | None = optional(
        "How dates are written, where the column does not show it.", "%d/%m/%Y", "FORMAT"
    )

    unstated: ClassVar[tuple[str, ...]] = READING


def fold_spellings() -> Any:
    """The line that every method has."""
    meaning = "Count look-alike spellings of a person, value or item as one; refused if not set."
    return parameter(meaning, default=False)


def accept_risk() -> Any:
    """The line of methods that publish columns unchanged."""
    meaning = "Kept or sensitive column to publish although it reads as a time or is nearly unique."
    return parameter(meaning, default=(), example=["discharged"], metavar="C")


def allow_loss() -> Any:
    """The line that every method has."""
    meaning = "Publish even if more than a quarter is withheld; refused if not set."
    return parameter(meaning, default=False)


def after() -> Any:
    """The line of methods that promise nothing over several releases."""
    meaning = "Ledger of an earlier release: refused if it shows the same people, unless {force} is set."
    opened: Any = {"metavar": "LEDGER", "opened": "tv.open_ledger({})", "path": True}
    return parameter(meaning, default=(), example=["march.ledger"], **opened)


def force() -> Any:
    """The line of methods that promise nothing over several releases."""
    meaning = "Publish even though another release shows the same people; each keeps its promise alone."
    return parameter(meaning, default=False)


def refuse_loss(parameters: Parameters, withheld: int, of: int, noun: str, hint: str) -> None:
    """Refuse to withhold more than a quarter, or than the share that `suppress` allows if that is larger."""
    values = parameters.as_arguments()
    most = max(LARGEST_LOSS, values.get("suppress", 0))
    if withheld > most * of and not values["allow_loss"]:
        share = f"{withheld:,} of {of:,} {noun} ({100 * withheld / of:.0f} %)"
        message = f"{share} would be withheld; more than {100 * most:g} % is refused"
        hint, facts = f"{hint}, or accept the loss with {{allow_loss=True}}", {"withheld": withheld, "of": of}
        raise InfeasibleError(message, hint=hint, code="too-much-withheld", facts=facts)


class Particulars(Parameters):
    """What the issuer states at the head of a report, and who signs it; none of it is checked."""

    dataset: str | None = optional("Name of the data set.", "Visits of 2024", "TEXT")
    date: str | None = optional("Date of the report.", "2026-03-31", "YYYY-MM-DD")
    issuer: str | None = optional("Who issues the release and the report.", "City clinic", "TEXT")
    recipient: str | None = optional("Who receives the release.", "Institute of epidemiology", "TEXT")
    purpose: str | None = optional("What the release is for.", "Study of waiting times", "TEXT")
    sign: list[str] | None = optional(
        "Name or office of a person who signs; adds a line to sign on.", ["Data protection officer"], "TEXT"
    )

    @property
    def labelled(self) -> dict[str, str]:
        """What is set, by its label, without the signatures."""
        labels = {"dataset": "Data set", "date": "Date", "issuer": "Issued by", "recipient": "Issued to"}
        labels["purpose"] = "Purpose"
        return {label: text for name, label in labels.items() if (text := getattr(self, name)) is not None}

    @rule("date")
    def date_is_a_day(self) -> Problem:
        with suppress(ValueError):
            if self.date is None or (re.fullmatch(r"[\d-]{10}", self.date) and day.fromisoformat(self.date)):
                return None
        return "`date` is not a day written YYYY-MM-DD", 'write it like {date="2026-03-31"}'

    @rule("dataset", "issuer", "recipient", "purpose", "sign")
    def texts_are_lines(self) -> Problem:
        for text in (*self.labelled.values(), *(self.sign or ())):
            if not (isinstance(text, str) and text.strip() and len(text) <= LONGEST and text.isprintable()):
                return (
                    f"a text at the head of a report is empty, broken, or over {LONGEST} characters long",
                    "give each of {dataset}, {issuer}, {recipient}, {purpose} and {sign} one line",
                )
        return None


class AnyAdversary(Checked, Generic[B]):
    """What an adversary knows, which are also the options of `timeveil attack`; an attack gives a B."""

    __slots__ = ()

    @classmethod
    def typed(cls, options: Mapping[str, Any], manifest: Mapping[str, Any]) -> Self:  # noqa: ARG003 models override it
        """The adversary that options of the command line describe, against the release of a manifest."""
        return cls(**options)

    def as_dict(self) -> dict[str, Any]:
        arguments = self.as_arguments()
        return {name: list(v) if isinstance(v, tuple) else v for name, v in arguments.items()}


class ExploreParameters(Parameters):
    """How settings are judged and compared."""

    loss: str | None = optional("Loss to compare by, a column of the table.", "withheld", "NAME")
    risk: str | None = optional("Risk to compare by.", "mean", "worst|mean|promised")
    max_loss: float | None = optional("Largest acceptable loss, as a share or in bits.", 0.2, at_least=0)
    max_risk: float | None = optional("Largest acceptable risk, as a share.", 0.1, at_least=0)
    workers: int | None = optional("Settings tried at a time; one per core if not set.", 1, at_least=1)


class ShiftParameters(Reading):
    """How dates are shifted, and how the table is read."""

    within: int = parameter(
        "Largest number of days that a person's dates are shifted by.",
        default=365,
        at_least=1,
        at_most=36_500,
    )
    preserve: Literal["weekday", "season"] | None = optional(
        "Shift by whole weeks, or to about the same time of the year.", "weekday"
    )
    seed: int | None = optional(
        "Seed of the shifts, for tests; secret and random if not set.", 1, private=True, at_least=0
    )
    nulls: Literal["error", "withhold"] = parameter(
        "Rows without a person or a time: refuse or leave out.", default="error", example="withhold"
    )
    accept_risk: list[str] = accept_risk()
