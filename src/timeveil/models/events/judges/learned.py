"""What an outsider who knows visits of a person learns about a sensitive value of theirs.

Everyone who has a row in the group of each known visit may be the person. The outsider names the value that
most of them hold in these groups, among those that a promise names if it does, and is right with a chance of
their share. People are counted, through the ledger.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from timeveil.domain.protection import AtMost
from timeveil.evidence.codes import Integers, distinct, distinct_pairs
from timeveil.models.events.evidence import Evidence
from timeveil.models.events.judges.protected import bounded_ranks, expanded, protections_of, ranks_of


def learned(
    evidence: Evidence, groups: Integers, weight: npt.NDArray[np.float64]
) -> dict[str, dict[str, float]]:
    """Per column with a promise the chance to be right, `worst` and `mean` over cases.

    A line of `groups` is a case: the group of each known visit. Cases weigh differently in the mean.
    """
    return {
        name: {
            "worst": float(chance.max(initial=0.0)),
            "mean": float(chance @ weight / weight.sum()) if len(weight) else 0.0,
        }
        for name, chance in _chances(evidence, groups)
    }


def _chances(evidence: Evidence, groups: Integers) -> Iterator[tuple[str, npt.NDArray[np.float64]]]:
    person, room = evidence.people.person[evidence.published], evidence.people.people
    member = evidence.group[0] * room + person
    members = distinct(member)
    # Cases with the same groups have the same candidates.
    cases, case_of = np.unique(np.sort(groups, axis=1), axis=0, return_inverse=True)
    begins, ends = (np.searchsorted(members, (cases + side) * room) for side in (0, 1))
    smallest = (ends - begins).argmin(axis=1)
    lines = np.arange(len(cases))
    case, index = expanded(begins[lines, smallest], ends[lines, smallest])
    candidate = members[index] % room
    for group in cases.T:  # everyone who is in all groups may be the person
        inside = np.isin(group[case] * room + candidate, members)
        case, candidate = case[inside], candidate[inside]
    people = np.bincount(case, minlength=len(cases))
    for name, promise in protections_of(evidence).items():
        numbered = ranks_of(evidence, name, promise)
        if numbered is None:
            continue
        rank, size = numbered
        value = rank[evidence.original_column(name).codes[evidence.published]]
        owners = np.searchsorted(members, member)
        owner, holding, _ = distinct_pairs(owners, value, size)
        if isinstance(promise, AtMost):  # nothing is promised about other values than those it names
            named = bounded_ranks(evidence, name, promise)[holding]
            owner, holding = owner[named], holding[named]
        holdings = [np.zeros(0, np.int64)]
        for group in cases.T:
            who = np.searchsorted(members, group[case] * room + candidate)
            line, at = expanded(*(np.searchsorted(owner, who + side) for side in (0, 1)))
            holdings.append(line * size + holding[at])
        # Distinct (candidate of a case, value), from which how many candidates of a case hold each value.
        distinct_holdings = distinct(np.concatenate(holdings))
        answer, _, holders = distinct_pairs(case[distinct_holdings // size], distinct_holdings % size, size)
        most = np.zeros(len(cases))
        np.maximum.at(most, answer, holders)
        yield name, (most / np.maximum(people, 1))[case_of.ravel()]
