"""What remains visible within groups, however many people share them."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from timeveil.evidence.codes import Integers, distinct_pairs
from timeveil.evidence.risk import Floats
from timeveil.models.events.evidence import Evidence


def largest_share(evidence: Evidence) -> float:
    """The largest share of a group's rows that belongs to one person; 0 where nothing was published."""
    people, published = evidence.linked.people, evidence.linked.published
    shares = _largest(evidence, people.person[published], people.people)
    return float(shares.max(initial=0.0))


def commonest_sensitive(evidence: Evidence) -> dict[str, dict[str, float]]:
    """Per sensitive column the share of the most common value in a group, worst and mean over groups."""
    exposed = {}
    for name in evidence.columns("sensitive"):
        values = evidence.original(name)
        shares = _largest(evidence, values.codes[evidence.linked.published], values.size)
        mean = float(shares.mean()) if len(shares) else 0.0
        exposed[name] = {"worst": float(shares.max(initial=0.0)), "mean": mean}
    return exposed


def _largest(evidence: Evidence, value: Integers, size: int) -> Floats:
    """Per group the share of its most frequent value."""
    group, groups = evidence.linked.group, evidence.linked.groups
    owner, _, often = distinct_pairs(group, value, size)
    most = np.zeros(groups, dtype=np.int64)
    np.maximum.at(most, owner, often)
    return most / np.bincount(group, minlength=groups)


def tying_columns(evidence: Evidence) -> dict[str, float]:
    """Per kept and sensitive column the share of published rows that it ties to another row of their person.

    A value ties rows if only one person has it, in several rows. A kept case number does this for nearly all
    rows; an ordinary measurement for hardly any.
    """
    published, people = evidence.linked.published, evidence.linked.people
    person = people.person[published]
    ties = {}
    for name in (*evidence.columns("keep"), *evidence.columns("sensitive")):
        values = evidence.original(name)
        value, _, often = distinct_pairs(values.codes[published], person, people.people)
        owners = np.bincount(value, minlength=values.size)
        # One person has the value, in several rows, and it is not a missing value.
        tied = (owners[value] == 1) & (often > 1) & ~np.asarray(values.values.is_null())[value]
        ties[name] = float(often[tied].sum()) / max(len(person), 1)
    return ties


def similar_ids(evidence: Evidence) -> int:
    """How many ids differ from another one only in case or surrounding blanks.

    They count as different people. If they are the same person, groups hold fewer people than stated.
    """
    ids = evidence.original(evidence.private.original.respondent).values
    if not (pa.types.is_string(ids.type) or pa.types.is_large_string(ids.type)):
        return 0
    folded = pc.utf8_lower(pc.utf8_trim_whitespace(ids.drop_null()))
    return len(folded) - len(folded.unique())
