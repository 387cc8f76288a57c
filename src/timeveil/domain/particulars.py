"""What the issuer of a report states in it: none of it follows from the release, and none is checked."""

from __future__ import annotations

import re
from contextlib import suppress
from datetime import date as day

from timeveil.domain.parameter import Parameters, Problem, optional, rule

LONGEST = 200  # characters of a text


class Particulars(Parameters):
    """What is stated at the head of a report, and who signs it."""

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
        """A date as it is written everywhere else."""
        with suppress(ValueError):
            if self.date is None or (re.fullmatch(r"[\d-]{10}", self.date) and day.fromisoformat(self.date)):
                return None
        return "`date` is not a day written YYYY-MM-DD", 'write it like {date="2026-03-31"}'

    @rule("dataset", "issuer", "recipient", "purpose", "sign")
    def texts_are_lines(self) -> Problem:
        """One line each, which a page has room for."""
        for text in (*self.labelled.values(), *(self.sign or ())):
            if not (isinstance(text, str) and text.strip() and len(text) <= LONGEST and text.isprintable()):
                return (
                    f"a text at the head of a report is empty, broken, or over {LONGEST} characters long",
                    "give each of {dataset}, {issuer}, {recipient}, {purpose} and {sign} one line",
                )
        return None
