"""Does every group keep what is promised about sensitive values, and about one person's rows?

A recipient sees rows, not people, so that what can be checked is necessary, not sufficient: a group has as
many different values, and as many rows with another than its commonest, as its promise needs. With the
ledger, the holders of every value are counted in every group, and the whole table's, from the original rows.
"""

import math
import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from timeveil.domain.arrays import Flags, Floats, Ints
from timeveil.domain.guarantee import KAnonymity
from timeveil.domain.protection import AnyProtection, AtMost, Closeness, Distinct, Entropy
from timeveil.evidence.checks import Findings
from timeveil.evidence.codes import distinct, distinct_pairs, encode, encode_values, fold, ranked
from timeveil.evidence.published import classes_of
from timeveil.models.events.evidence import Evidence
from timeveil.reading.table import moments

_NUMBER = r"-?\d{1,15}(\.\d{1,15})?([eE][-+]?\d{1,2})?"
_ROUNDING = 1e-9
_CELLS_AT_ONCE = 4_000_000  # of a table of groups by values
Promise: TypeAlias = tuple[str, str, dict[str, Any]]
"""A promise about groups: its sentence, and the violation and its facts where groups break it."""

SENTENCES = {
    "protect:column": "a promise is stated about `{name}`, which is not a sensitive column of the release",
    "decoys:ledger": "the release has decoys, and the ledger notes no seed of them",
    "decoys:pool": "{below:step} at which the groups that are missing break the promise together",
    "protect:dominance": "{below:group} in which one person has more than {share} of the rows",
    "protect:visits": "{below:group} with fewer than {k:person} in common with another group of one of them",
    "protect:order": "closeness is promised of `{name}`, whose values have no order or are not all in it",
    "protect:parameters": "the parameters state other promises about groups than the guarantee",
    "protect:people": "{below:group} in which the people do not keep {promise} about `{name}`",
    "protect:rows": "{below:group} with fewer than {needed:row} of another `{name}` than the commonest",
    "protect:values": "{below:group} with fewer than {needed} different values of `{name}`",
}


def promise_of(evidence: Evidence) -> KAnonymity:
    """The promise of a release of events."""
    promise = evidence.release.guarantee
    return promise if isinstance(promise, KAnonymity) else KAnonymity(evidence.k)


def protections_of(evidence: Evidence) -> dict[str, AnyProtection]:
    """What is promised about each sensitive column; there is nothing to check in any other."""
    promised = promise_of(evidence).protections
    return {name: promised[name] for name in promised if name in evidence.columns("sensitive")}


def check_stated(evidence: Evidence, findings: Findings) -> None:
    """Expect promises about sensitive columns alone, and the parameters that made them."""
    promise, parameters = promise_of(evidence), evidence.release.manifest["parameters"]
    stated = parameters.get("protect"), parameters.get("dominance"), parameters.get("visits", 1)
    findings.expect("protect:parameters", stated == (promise.protect, promise.dominance, promise.visits))
    for name in promise.protections:
        findings.expect("protect:column", name in evidence.columns("sensitive"), name=name)


def check_rows(evidence: Evidence, findings: Findings) -> None:
    """What a recipient can check of the promises: values and rows of every group."""
    for name, promise in protections_of(evidence).items():
        if isinstance(promise, Closeness):
            continue  # rows alone show nothing of a distance
        if promise.least_values > 1:
            findings.check(f"every group has at least {promise.least_values} different values of `{name}`")
        keys = evidence.columns("quasi", "time", "start", "end", "step")
        lines = classes_of(evidence.release, [*keys, name])
        columns = [encode(column) for column in lines.columns[:-2]]
        group, groups = fold([(column.codes, column.size) for column in columns], len(lines))
        few = np.bincount(group, minlength=groups) < promise.least_values
        findings.expect_none("protect:values", below=few, needed=promise.least_values, name=name)
        if isinstance(promise, AtMost):
            # Everyone who does not hold the commonest value has a row with another.
            needed = math.ceil((1 - promise.share) * evidence.k - _ROUNDING)
            which = "its commonest" if promise.of is None else "the commonest named one"
            findings.check(f"every group has at least {needed} rows of another `{name}` than {which}")
            rows = np.asarray(lines["rows"])
            named = _is_named(lines.column(len(keys)).combine_chunks(), promise)
            most = most_of(rows[named], group[named], groups)
            of_others = np.bincount(group, weights=rows, minlength=groups) - most
            few = (of_others < needed) & (most > 0)
            findings.expect_none("protect:rows", below=few, needed=needed, name=name)


def check_people(evidence: Evidence, rows: Ints, group: Ints, findings: Findings) -> None:
    """The promises themselves: some original rows and the group of each, counted in people."""
    ordered = [name for name, *_ in _ranked_columns(evidence)]
    for name in protections_of(evidence):
        findings.expect("protect:order", name in ordered, name=name)
    for (sentence, code, facts), breaks in breaking(evidence, rows, group):
        findings.check(sentence)
        findings.expect_none(code, below=breaks, **facts)


def breaking(evidence: Evidence, rows: Ints, group: Ints) -> Iterator[tuple[Promise, Flags]]:
    """Per promise the groups that break it."""
    people, promise, groups = evidence.people, promise_of(evidence), int(group.max(initial=-1)) + 1
    member, owner, often = distinct_pairs(group, people.person[rows], people.people)
    crowd = np.bincount(member, minlength=groups)
    if promise.dominance:
        total = np.bincount(group, minlength=groups)
        breaks = np.zeros(groups, bool)
        breaks[member[often / total[member] > promise.dominance + _ROUNDING]] = True
        sentence = f"in every group, nobody has more than {promise.dominance} of the rows"
        yield (sentence, "protect:dominance", {"share": promise.dominance}), breaks
    if promise.visits > 1:
        large = crowd[member] >= promise.k
        breaks = _meeting_few(member[large], owner[large], groups, promise.k)
        sentence = f"any two groups that a person is in have at least {promise.k} people in common"
        yield (sentence, "protect:visits", {"k": promise.k}), breaks
    members, membership = ranked(group * people.people + people.person[rows])
    for name, protection, value, bounded in _ranked_columns(evidence):
        size, complete = len(bounded), people.complete
        holder, held, _ = distinct_pairs(membership, value[rows], size)
        holds = distinct_pairs(members[holder] // people.people, held, size)
        _, everywhere, _ = distinct_pairs(people.person[complete], value[complete], size)
        overall = np.bincount(everywhere, minlength=size) / max(len(everywhere), 1)
        breaks = _breaks(protection, [side[bounded[holds[1]]] for side in holds], crowd, overall)
        facts = {"name": name, "promise": f"{protection.spelling}:{protection.amount}"}
        yield (protection.sentence(name), "protect:people", facts), breaks & (crowd > 0)


def _meeting_few(group: Ints, owner: Ints, groups: int, k: int) -> Flags:
    """The groups with fewer than k people in common with another group that one of their people is in."""
    order = np.lexsort((group, owner))
    group, owner = group[order], owner[order]
    begin, end = (np.searchsorted(owner, owner, side) for side in ("left", "right"))
    by_group, breaks = np.argsort(group, kind="stable"), np.zeros(groups, bool)
    # A group is compared with all groups of its people, some groups at a time.
    heads = np.flatnonzero(np.diff(group[by_group], prepend=-1))
    cost = np.append(0, np.cumsum((end - begin)[by_group]))
    batches = np.unique(cost[heads] // _CELLS_AT_ONCE, return_index=True)[1]
    for first, last in pairwise([*heads[batches].tolist(), len(by_group)]):
        # Two groups that meet in few people both break the promise, and are not looked at again: someone in
        # very many groups has most of them with few others, and costs far less than every pair.
        entries = by_group[first:last][~breaks[group[by_group[first:last]]]]
        line, at = expanded(begin[entries], end[entries])
        compared, often = np.unique(group[entries][line] * groups + group[at], return_counts=True)
        breaks[np.concatenate(np.divmod(compared[often < k], groups))] = True
    return breaks


def expanded(begin: Ints, end: Ints) -> tuple[Ints, Ints]:
    """Every number from `begin` to before `end` of each line, and the line that it is from."""
    length = end - begin
    line = np.repeat(np.arange(len(length)), length)
    offset = np.arange(len(line)) - np.repeat(np.cumsum(length) - length, length)
    return line, begin[line] + offset


def _is_named(values: pa.Array, promise: AtMost) -> Flags:
    """Which values a share is promised of."""
    if promise.of is None:
        return np.ones(len(values), bool)
    return np.asarray(pc.is_in(values.cast(pa.string()), value_set=pa.array(promise.of, pa.string())))


def _ranked_columns(evidence: Evidence) -> Iterator[tuple[str, AnyProtection, Ints, Flags]]:
    """Per column with a promise the rank of every original row's value, and of which ranks it is promised.

    A column whose values have no order, although the promise needs one, is left out.
    """
    for name, promise in protections_of(evidence).items():
        values = evidence.original_column(name)
        used = distinct(values.codes[evidence.people.complete])
        spelt = values.values.take(pa.array(used))
        ranks = _ranks_of(spelt, promise)
        if ranks is None:
            continue
        rank, size = np.zeros(values.size, np.int64), int(ranks.max(initial=0)) + 1
        rank[used] = ranks
        bounded = np.full(size, not isinstance(promise, AtMost))
        if isinstance(promise, AtMost):  # nothing is promised about other values than those it names
            bounded[ranks[_is_named(spelt, promise)]] = True
        yield name, promise, rank[values.codes], bounded


def _ranks_of(spelt: pa.Array, promise: AnyProtection) -> Ints | None:
    """The rank of each value, from 0 without holes; None where an order is missing.

    Numbers that are spelt in two ways are one value, and so are null and NaN.
    """
    present = _alike(spelt)
    if not isinstance(promise, Closeness) or promise.order == "none":
        number = encode(present).codes
    elif promise.order is not None:
        listed = {text: n for n, text in enumerate((*promise.order, None))}
        texts = spelt.cast(pa.string()).to_pylist()
        if not listed.keys() >= set(texts):
            return None
        number = np.array([listed[text] for text in texts], np.int64)
    else:
        if pa.types.is_string(present.type) or pa.types.is_large_string(present.type):
            if (dates := moments(present)) is None:
                return None
            present = pa.array(dates[0], mask=dates[1])
        order = pc.array_sort_indices(present, null_placement="at_end")
        number = np.zeros(len(present), np.int64)
        number[order.to_numpy()] = encode(present.take(order)).codes
    return np.unique(number, return_inverse=True)[1].ravel()


def _alike(values: pa.Array) -> pa.Array:
    if pa.types.is_floating(values.type):
        coded = encode_values(values)
        return coded.values.take(pa.array(coded.codes))
    if not (pa.types.is_string(values.type) or pa.types.is_large_string(values.type)):
        return values
    texts = values.to_pylist()
    numbers = [float(text) if text and re.fullmatch(_NUMBER, text, re.ASCII) else None for text in texts]
    if all(number is not None for number, text in zip(numbers, texts, strict=True) if text is not None):
        return pa.array(numbers, pa.float64())
    # A number is marked, so that no word is taken for one.
    marked = [t if n is None else f"\x00{n!r}" for n, t in zip(numbers, texts, strict=True)]
    return pa.array(marked, pa.string())


def _breaks(promise: AnyProtection, holds: Sequence[Ints], crowd: Ints, overall: Floats) -> Flags:
    """The groups that break a promise, from the holders of each value in each group and its people."""
    (group, value, holders), groups = holds, len(crowd)
    total = np.maximum(np.bincount(group, weights=holders, minlength=groups), 1)
    if isinstance(promise, AtMost):
        return np.asarray(most_of(holders, group, groups) / np.maximum(crowd, 1) > promise.share + _ROUNDING)
    if isinstance(promise, Distinct):
        return np.asarray(np.bincount(group, minlength=groups) < promise.values)
    if isinstance(promise, Entropy):
        surprise = np.bincount(group, weights=holders * np.log(holders), minlength=groups)
        return np.asarray(np.log(total) - surprise / total < np.log(promise.values) - _ROUNDING)
    # A table of groups by values, some groups at a time; holds are sorted by group.
    size, distance = len(overall), np.zeros(groups)
    at_once = max(_CELLS_AT_ONCE // size, 1)
    for first in range(0, groups, at_once):
        last = min(first + at_once, groups)
        inside = slice(*np.searchsorted(group, (first, last)))
        share = np.zeros((last - first, size))
        share[group[inside] - first, value[inside]] = holders[inside]
        difference = share / total[first:last, None] - overall
        if promise.order == "none":
            distance[first:last] = np.abs(difference).sum(axis=1) / 2
        else:
            moved = np.abs(np.cumsum(difference, axis=1)).sum(axis=1)
            distance[first:last] = moved / max(size - 1, 1)
    return distance > promise.distance + _ROUNDING


# What an outsider who knows visits of a person learns about a sensitive value of theirs.


def learned(evidence: Evidence, groups: Ints, weight: Floats) -> dict[str, dict[str, float]]:
    """Per column with a promise the chance to be right, `worst` and `mean` over cases.

    A line of `groups` is a case: the group of each known visit. Everyone who has a row in all of them may be
    the person, and the outsider names the value that most of them hold there. `weight` is that of each case.
    """
    person, room, chances = evidence.people.person[evidence.published], evidence.people.people, {}
    member = evidence.group[0] * room + person
    members, owners = ranked(member)
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
    for name, _, value, bounded in _ranked_columns(evidence):
        size = len(bounded)
        owner, holding, _ = distinct_pairs(owners, value[evidence.published], size)
        owner, holding = owner[bounded[holding]], holding[bounded[holding]]
        holdings = [np.zeros(0, np.int64)]
        for group in cases.T:
            who = np.searchsorted(members, group[case] * room + candidate)
            line, at = expanded(*(np.searchsorted(owner, who + side) for side in (0, 1)))
            holdings.append(line * size + holding[at])
        # Distinct (candidate of a case, value), from which how many candidates of a case hold each value.
        distinct_holdings = distinct(np.concatenate(holdings))
        answer, _, holders = distinct_pairs(case[distinct_holdings // size], distinct_holdings % size, size)
        chance = (most_of(holders, answer, len(cases)) / np.maximum(people, 1))[case_of.ravel()]
        mean = float(chance @ weight / weight.sum()) if len(weight) else 0.0
        chances[name] = {"worst": float(chance.max(initial=0.0)), "mean": mean}
    return chances


def most_of(numbers: Ints, group: Ints, groups: int) -> Ints:
    """The largest number of each group, 0 where it has none."""
    most = np.zeros(groups, np.int64)
    np.maximum.at(most, group, numbers)
    return most
