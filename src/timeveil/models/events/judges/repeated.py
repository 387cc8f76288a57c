"""Do k people share what an event was published as in this release and in all earlier ones together?

The ledgers of the earlier releases list the group of each of their rows. The events of all releases are
recognised anew: two rows are one event if they have the same person and the same event number or, where there
is none, the same cells throughout; of several rows that are alike the first is paired with the first.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from timeveil.domain.arrays import Flags, Ints
from timeveil.domain.release import Ledger
from timeveil.domain.wording import counted
from timeveil.errors import ParameterError, raising
from timeveil.evidence.checks import Findings
from timeveil.evidence.codes import changes, column_of, distinct_pairs, encode, fold, mismatch, plain_type
from timeveil.models.events.evidence import Evidence
from timeveil.models.events.judges.protected import promise_of

SENTENCES = {
    "joint-below-k": "{below:joint label} of this and the earlier releases with fewer than {k} people; the "
    "smallest has {smallest:person}",
    "joint:ledgers": "the ledgers of the earlier releases are not those that the release was made after",
    "joint:number": "the promise is about {stated:earlier release}, and the ledger notes {noted}",
}
ABSENT = -1


class Joint(NamedTuple):
    """The joint labels of all events: per event a number for its label, and its person; per row its event.

    `absent` marks labels of events that were never published.
    """

    label: Ints
    person: Ints
    absent: Flags
    event: Ints


def group_of_rows(evidence: Evidence) -> Ints:
    """The group of each original row, `ABSENT` where it was not published."""
    group = np.full(len(evidence.published), ABSENT)
    group[evidence.published] = evidence.group[0]
    return group


def joint_labels(evidence: Evidence) -> Joint:
    """What every event was published as in the earlier releases and in this one."""
    ledger = evidence.private
    events, person = _recognised([*ledger.after, ledger])
    listed = [pc.fill_null(earlier.table["group"].cast(pa.int64()), ABSENT) for earlier in ledger.after]
    labels = np.full((len(events), len(person)), ABSENT)
    groups = [*map(np.asarray, listed), group_of_rows(evidence)]
    for line, event, group in zip(labels, events, groups, strict=True):
        line[event] = group
    label, count = fold([(line + 1, int(line.max(initial=0)) + 2) for line in labels], len(person))
    absent = np.ones(count, dtype=bool)
    absent[label[(labels != ABSENT).any(axis=0)]] = False
    return Joint(label, person, absent, events[-1])


def _recognised(ledgers: Sequence[Ledger]) -> tuple[list[Ints], Ints]:
    """The number of each row's event, per ledger, and the person of each event."""
    roles, rows = ledgers[-1].original.roles, [ledger.original.rows for ledger in ledgers]
    names = [str(roles.respondent), roles.event] if roles.event else list(roles.columns)
    if any(each.model != "time" or {*names} - {*each.original.data.schema.names} for each in ledgers):
        raise mismatch("a ledger of an earlier release is not one of the same table")
    columns = []
    for name in names:
        originals = (column_of(ledger.original.data, name) for ledger in ledgers)
        parts = [column.cast(plain_type(column.type)) for column in originals]
        # Values are compared in a type that holds all of them: a file may store times more precisely.
        error = mismatch(f"column `{name}` has another type in an earlier release")
        with raising(error, on=pa.ArrowException):
            tables = [pa.table({name: part}) for part in parts]
            columns.append(encode(pa.concat_tables(tables, promote_options="permissive")[name]))
    row_key, _ = fold([(column.codes, column.size) for column in columns], sum(rows))
    # The how-manieth of its kind a row is in its table: look at rows by table and key, in their order.
    table = np.repeat(np.arange(len(rows)), rows)
    order = np.lexsort((row_key, table))
    begins = np.flatnonzero(changes(table[order], row_key[order]))
    turn = np.empty(len(order), np.int64)
    turn[order] = np.arange(len(order)) - np.repeat(begins, np.diff(begins, append=len(order)))
    event, number = fold([(row_key, int(row_key.max(initial=0)) + 1), (turn, len(turn) + 1)], len(turn))
    person = np.zeros(number, np.int64)
    person[event] = columns[names.index(str(roles.respondent))].codes
    return np.split(event, np.cumsum(rows)[:-1]), person


def require_earlier(evidence: Evidence) -> None:
    """Refuse to judge a promise over several releases without the ledgers of all of them."""
    stated, ledgers = promise_of(evidence).after or 0, evidence.private.after
    if ledgers and not stated and not evidence.private.facts.get("after"):
        raise ParameterError(
            "the release promises nothing about earlier releases",
            hint="leave {after} out; `attack` with {after} shows what they give away together",
        )
    if any(earlier.model != "time" for earlier in ledgers):
        raise mismatch("a ledger of an earlier release belongs to another model")
    if len(ledgers) < stated:
        raise ParameterError(
            f"the promise is about {counted(stated, 'earlier release')}; {len(ledgers)} have a ledger",
            hint="name the ledgers of all of them with {after}, or judge without {ledger}",
            code="ledger-mismatch",
            facts={"stated": stated, "named": len(ledgers)},
        )


def check_joint(evidence: Evidence, findings: Findings) -> None:
    """Expect k people behind every joint label."""
    stated, ledger = promise_of(evidence).after or 0, evidence.private
    noted = ledger.facts.get("after", [])
    agrees = findings.expect("joint:number", len(noted) == stated, stated=stated, noted=len(noted))
    if not agrees or not stated:
        return
    findings.check(
        f"what an event was published as in this and {counted(stated, 'earlier release')} together is shared "
        f"by at least {evidence.k} different people"
    )
    prints = [earlier.fingerprint for earlier in ledger.after]
    if not findings.expect("joint:ledgers", sorted(prints) == sorted(noted)):
        return
    joint = evidence.once(joint_labels)
    members, _, _ = distinct_pairs(joint.label, joint.person, int(joint.person.max(initial=0)) + 1)
    people = np.bincount(members, minlength=len(joint.absent))[~joint.absent]
    smallest = int(people.min(initial=evidence.k))
    findings.expect_none("joint-below-k", below=people < evidence.k, k=evidence.k, smallest=smallest)
