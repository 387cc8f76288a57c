"""Publishing a table again: what every event was published as before is counted like a quasi-identifier.

Someone who has several releases of one table can look an event up in each. The *joint label* of an event is
its group in every release, or "absent" where it was not published: a new event is absent before, a deleted or
withheld one is absent now. The promise is that every joint label, unless it is absent throughout, is shared
by at least k people.

An event is recognised by its person and `Roles.event`, or else by all of its columns; of rows that are alike
the first is the first. A corrected row is thus a deletion and an addition. Events with the same groups in all
earlier releases make a *class*. Within a group of the new release,

    people of a class who are fewer than k are withheld, and are then absent;
    people of a class who are absent, deleted or withheld, have to be nobody or at least k: where they are
    fewer, further rows of the class are withheld until they are k, from its largest group if k people stay
    there, and otherwise one of its groups as a whole.

Both are counted as withheld; at `suppress` 0 only a granularity that needs neither is feasible.
Cost: events of all releases are numbered once, in memory; each granularity sorts the visits.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from timeveil.calendar.axis import instants
from timeveil.calendar.granularity import Granularity
from timeveil.calendar.timeline import Timeline
from timeveil.domain.arrays import Codes, Flags, Ints
from timeveil.domain.relation import Relation
from timeveil.domain.release import Ledger, decode_dictionaries
from timeveil.domain.wording import counted as how_many
from timeveil.engines import Cells
from timeveil.errors import InfeasibleError, InputError, ParameterError, raising
from timeveil.models.events.parameters import EventParameters
from timeveil.reading.encoding import combine, distinct, encode, encode_people
from timeveil.reading.risks import people_in_common, require_ledger
from timeveil.reading.spellings import Spellings
from timeveil.recoding import Hierarchy

HIDDEN = "\x00before"
"""The column of classes, which nothing publishes."""
SAME_TABLE = 0.1  # the share of the events published before that has to be in the table again
_NEVER = 0  # the class of events that were not published before
_ANOTHER = "is not that of a release of this table"
_SAME_TABLE = (
    "give the ledgers of earlier releases of the same table; {event} names the column that distinguishes a "
    "person's events"
)


@dataclass(frozen=True)
class Earlier:
    """What the events of a table were published as before.

    `of_row` has the class of each row. `labels` has, per class, its group in every earlier release, -1 where
    it was absent. `gone` are events that were published and are not in the table: their class and person.
    `last` is the latest time that was published.
    """

    of_row: Codes
    labels: Ints
    gone: tuple[Ints, Ints]
    last: int
    append: bool

    @property
    def facts(self) -> dict[str, int]:
        """How many rows were published before, how many were not, and how many that were are gone."""
        familiar = int((self.of_row != _NEVER).sum())
        return {"known": familiar, "new": len(self.of_row) - familiar, "gone": len(self.gone[0])}

    def hidden(self, relation: Relation) -> Relation:
        """The relation with the class of each row as a column that is not published."""
        data = relation.table.append_column(HIDDEN, pa.array(self.of_row))
        return replace(relation, data=data, hidden=(HIDDEN,))

    def shown(self, cells: Cells, classes: Codes, group: Ints, order: Ints, k: int) -> Flags:
        """The cells that may be published, by the class of each and its group, -1 in a gap.

        `order` puts cells into the order of what they say: nothing may depend on the order of rows.
        """
        # The number of each cell's class within its group, and per such number its people and rows.
        pairs = group * (int(classes.max(initial=0)) + np.int64(1)) + classes
        joint = np.unique(pairs, return_inverse=True)[1].ravel()
        people = people_of(joint[cells.cell], cells.person, int(joint.max(initial=-1)) + 1)
        rows = np.bincount(joint, weights=cells.rows, minlength=len(people))
        visible: Flags = (group >= 0) & (people >= k)[joint]
        # The classes that were published before and are absent now for somebody, but for fewer than k.
        visits = np.flatnonzero(~visible[cells.cell])
        of_class = np.concatenate([classes[cells.cell[visits]].astype(np.int64), self.gone[0]])
        person = np.concatenate([cells.person[visits].astype(np.int64), self.gone[1]])
        missing = people_of(of_class, person, len(self.labels))
        missing[_NEVER] = 0
        for lacking in np.flatnonzero((missing > 0) & (missing < k)):
            left = np.unique(joint[visible & (classes == lacking)])
            crowd = np.flatnonzero(joint == left[people[left].argmax()])
            absent = {*self.gone[1][self.gone[0] == lacking].tolist()}
            absent.update(cells.person[(~visible & (classes == lacking))[cells.cell]].tolist())
            extra = _enough(cells, crowd[np.lexsort((order[crowd], cells.rows[crowd]))], absent, k)
            # Every group that is left has k people of the class, so that one of them is enough in any case.
            visible[extra if len(extra) else joint == left[rows[left].argmin()]] = False
        return visible

    def late(self, cells: Cells, classes: Codes, timeline: Timeline, firsts: Codes) -> Flags:
        """Cells that were not published before although their period was, where a release is continued."""
        if not self.append:
            return np.zeros(len(cells), np.bool_)
        last = timeline.base.granule(np.array([self.last]))[0]
        reached = int(np.searchsorted(timeline.granules, last, side="right"))
        period = firsts[reached - 1] if reached else np.int32(-1)
        late: Flags = (classes == _NEVER) & (firsts[cells.position] <= period)
        return late

    def in_the_way(self, cells: Cells, classes: Codes, group: Ints, order: Ints, k: int) -> tuple[int, int]:
        """The earlier release that alone would have most rows withheld, from 1, and these rows."""
        worst = []
        for number, labels in enumerate(self.labels.T, start=1):
            kinds, kind = np.unique(labels, return_inverse=True)
            alone = replace(self, labels=kinds[:, None], gone=(kind.ravel()[self.gone[0]], self.gone[1]))
            # What was absent comes first, and stays the class that nothing is promised about.
            visible = alone.shown(cells, kind.ravel()[classes].astype(np.int32), group, order, k)
            worst.append((int(cells.rows[~visible & (group >= 0)].sum()), -number))
        rows, number = max(worst)
        return -number, rows


def _enough(cells: Cells, crowd: Ints, absent: set[int], k: int) -> Ints:
    """The first cells of a group whose people and the absent are k, if k people stay in the others."""
    begins, ends = (np.searchsorted(cells.cell, crowd, side) for side in ("left", "right"))
    people = [{*cells.person[begin:end].tolist()} for begin, end in zip(begins, ends, strict=True)]
    count = 0
    while len(absent) < k and count < len(people):
        absent = absent | people[count]
        count += 1
    stay: set[int] = set().union(*people[count:])
    return crowd[:count] if len(stay) >= k else crowd[:0]


def people_of(group: Ints | Codes, person: Ints | Codes, groups: int) -> Ints:
    """The number of different people in each group; both are given per visit."""
    room = int(person.max(initial=0)) + 1
    pairs = distinct(group * np.int64(room) + person)
    return np.bincount(pairs // room, minlength=groups)


def look_back(relation: Relation, parameters: EventParameters) -> Earlier | None:
    """Recognise the events of earlier releases; None if there are none."""
    ledgers = parameters.after
    if not ledgers:
        return None
    history = _History([*(ledger.original for ledger in ledgers), relation])
    present = history.events[-1]
    labels = np.full((len(history.person_of_event), len(ledgers)), -1, np.int64)
    for number, ledger in enumerate(ledgers):
        group = pc.fill_null(ledger.table["group"].cast(pa.int64()), -1)
        labels[history.events[number], number] = np.asarray(group)
        recurring = np.isin(np.flatnonzero(labels[:, number] >= 0), present)
        if recurring.sum() < SAME_TABLE * len(recurring):
            reason = f"{int(recurring.sum()):,} of its {len(recurring):,} published events are in it"
            raise _unusable(number + 1, f"{_ANOTHER}: {reason}")
    absent = np.full((1, len(ledgers)), -1)
    classes, of_event = np.unique(np.concatenate([absent, labels]), axis=0, return_inverse=True)
    of_event = of_event.ravel()[1:]  # absent throughout sorts first, so that it is class 0
    _refuse_small(classes, of_event, history.person_of_event, parameters.k)
    named, timed = (history.tables[-1][name].is_valid() for name in (relation.respondent, relation.time))
    counted = np.flatnonzero(pc.and_(named, timed))
    gone = np.setdiff1d(np.flatnonzero(of_event != _NEVER), present[counted])
    # Per person the code that the engine gives; people who are not in the table any more have others.
    codes, room = encode_people(relation.table[relation.respondent].take(pa.array(counted)))
    by_person = room + np.arange(int(history.person_of_event.max(initial=-1)) + 1, dtype=np.int64)
    by_person[history.person_of_event[present[counted]]] = codes
    people = by_person[history.person_of_event[gone]]
    last = max(map(_last, ledgers))
    of_row = of_event[present].astype(np.int32)
    return Earlier(of_row, classes, (of_event[gone], people), last, parameters.append)


class _History:
    """The events of several tables, numbered so that the same event has the same number in each."""

    def __init__(self, relations: Sequence[Relation]) -> None:
        self.tables = [decode_dictionaries(relation.table) for relation in relations]
        roles, person = relations[-1].roles, relations[-1].respondent
        keys = [person, roles.event] if roles.event else sorted(roles.columns)
        columns = {name: self._column(name) for name in keys}
        # A person who is spelt in another way than before would count as two.
        spellings = Spellings(person, "respondent")
        spellings.note(columns[person])
        spellings.refuse([columns[person]])
        rows = [len(table) for table in self.tables]
        coded = {name: encode(column) for name, column in columns.items()}
        key, _ = combine([(codes.codes, len(codes.values)) for codes in coded.values()], sum(rows))
        # Rows of one table that are alike are told apart by which of them they are.
        table = np.repeat(np.arange(len(rows)), rows)
        order = np.lexsort((table, key))
        begins = np.flatnonzero(np.diff(key[order], prepend=-1) | np.diff(table[order], prepend=-1))
        nth = np.empty(len(key), np.int64)
        nth[order] = np.arange(len(key)) - np.repeat(begins, np.diff(begins, append=len(key)))
        if roles.event and nth.any():
            raise _repeated(roles.event, int((nth > 0).sum()))
        events, event = np.unique(key * (nth.max(initial=0) + 1) + nth, return_inverse=True)
        # Per table the number of each row's event.
        self.events: list[Ints] = np.split(event.ravel(), np.cumsum(rows)[:-1])
        self.person_of_event = np.zeros(len(events), np.int64)
        self.person_of_event[event.ravel()] = coded[person].codes

    def _column(self, name: str) -> pa.ChunkedArray:
        """A column of all tables; numbers may be whole in one and not in another, and times more precise."""
        columns = [table[name] for table in self.tables]
        kinds = {column.type for column in columns if column.null_count < len(column)} or {columns[0].type}
        names = " and ".join(sorted(map(str, kinds)))
        error = InputError(
            f"column `{name}` is {names} in releases of one table, so that events cannot be recognised",
            hint="read all tables alike, with the same {zone}, {unit} and {time_format}",
            code="other-data",
        )
        if len(kinds) > 1 and any(map(pa.types.is_decimal, kinds)):  # which would be rounded
            raise error
        # Arrow refuses types without a common one, and whole numbers that no floating-point number equals.
        with raising(error, on=pa.ArrowException):
            schemas = [pa.schema([(name, kind)]) for kind in kinds]
            (kind,) = pa.unify_schemas(schemas, promote_options="permissive").types
            return pa.chunked_array([chunk for column in columns for chunk in column.cast(kind).chunks], kind)


def _last(ledger: Ledger) -> int:
    """The last instant that an earlier release published."""
    times = ledger.original.table[ledger.original.time].filter(ledger.table["group"].is_valid())
    return int(instants(ledger.original.clock, times).max(initial=np.iinfo(np.int64).min))


# Ledgers that cannot be continued.


def refuse_repeated_events(relation: Relation) -> None:
    """Refuse two rows of a person with one event: in the next release neither would be recognised."""
    if relation.roles.event is None:
        return
    batches = relation.batches([relation.respondent, relation.roles.event])
    named = decode_dictionaries(pa.Table.from_batches(batches)).drop_null()
    if repeated := len(named) - len(named.group_by(named.column_names).aggregate([])):
        raise _repeated(relation.roles.event, repeated)


def _repeated(event: str, rows: int) -> InputError:
    message = f"{rows:,} rows have the person and the `{event}` of another row"
    hint = "give every event of a person its own {event}, or leave {event} out"
    return InputError(message, hint=hint, code="other-data")


def refuse_ledgers(relation: Relation, ledgers: Sequence[Any]) -> None:
    """Refuse what are not the ledgers of all earlier releases of this table."""
    for number, ledger in enumerate(ledgers, start=1):
        require_ledger(ledger)
        if ledger.model != "time":
            hint = "give ledgers of events only: nothing is promised over releases of several models"
            raise _unusable(number, "belongs to a release of another model", hint)
        _refuse_other_table(relation, ledger.original, number)
    prints = [ledger.fingerprint for ledger in ledgers]
    for number, ledger in enumerate(ledgers, start=1):
        if any(_is_same(ledger, other) for other in ledgers[: number - 1]):
            fault, hint = "is named twice, and its release counts once", "name each ledger once with {after}"
            raise _unusable(number, fault, hint)
        # A release that was made after others extends the promise to these.
        if missing := [earlier for earlier in ledger.facts.get("after", ()) if earlier not in prints]:
            fault = f"is of a release made after {how_many(len(missing), 'release')} that `after` lacks"
            raise _unusable(number, fault, "name the ledgers of all earlier releases with {after}")


def _refuse_other_table(relation: Relation, original: Relation, number: int) -> None:
    roles, before, old, new = relation.roles, original.roles, original.clock, relation.clock
    if (roles.respondent, roles.time) != (before.respondent, before.time):
        raise _unusable(number, f"{_ANOTHER}: its person or its time is in another column")
    needed = {roles.respondent, roles.event} if roles.event else {*roles.columns, *before.columns}
    if lacking := needed - ({*before.columns} & {*roles.columns}):
        columns = ", ".join(f"`{name}`" for name in sorted(filter(None, lacking)))
        raise _unusable(number, f"{_ANOTHER}: not both have {columns}")
    if (old.kind, old.zone, old.unit) != (new.kind, new.zone, new.unit):
        raise _unusable(number, f"{_ANOTHER}: its times are read in another way")
    if not people_in_common(relation, original):
        raise _unusable(number, f"{_ANOTHER}: it is about other people")


def _unusable(number: int, fault: str, hint: str = _SAME_TABLE) -> ParameterError:
    message, facts = f"ledger {number} of `after` {fault}", {"ledger": number}
    return ParameterError(message, hint=hint, code="ledger-mismatch", facts=facts)


def _is_same(ledger: Ledger, other: Ledger) -> bool:
    """Whether two ledgers are one, read twice perhaps."""
    if ledger.fingerprint != other.fingerprint or ledger.facts != other.facts:
        return False
    first, second = (decode_dictionaries(each.original.table) for each in (ledger, other))
    return bool(first.equals(second))


def _refuse_small(classes: Ints, of_event: Ints, person: Ints, k: int) -> None:
    """What fewer than k people share already cannot be mended by publishing more."""
    people = people_of(of_event, person, len(classes))[1:]
    small = np.flatnonzero(people < k) + 1
    if not len(small):
        return
    apart = [number for number, labels in enumerate(classes[small].T, start=1) if (labels >= 0).any()]
    which = f"earlier release {apart[0]}" if len(apart) == 1 else "the earlier releases together"
    least = int(people.min())
    raise InfeasibleError(
        f"{len(small):,} groups of {which} have fewer than {k:,} people, the smallest {least:,}, and no "
        "further release changes that",
        hint=f"choose a {{k}} of at most {least:,}"
        if least > 1
        else "leave out {after}: no promise over these holds",
        code="no-granularity",
        facts={"best_k": least, "releases": apart, "groups_below_k": len(small)},
    )


# What is continued.


def continued(
    ledgers: Sequence[Ledger], hierarchies: Mapping[str, Hierarchy]
) -> tuple[Granularity, dict[str, int]]:
    """How the last release was published: its granularity, and the level of each hierarchy."""
    stated = [ledger.facts.get("granularity") for ledger in ledgers]
    levels = [ledger.facts.get("levels", {}) for ledger in ledgers]
    if None in stated or any("steps" in ledger.facts for ledger in ledgers):
        message = "a release that is continued has rows at steps of their own, or is of an earlier version"
        raise ParameterError(message, hint="leave {append} out")
    if any(other != (stated[-1], levels[-1]) for other in zip(stated, levels, strict=True)):
        message = "the earlier releases have different granularities or levels, so that their periods overlap"
        raise ParameterError(message, hint="leave {append} out")
    for column, level in levels[-1].items():
        names = hierarchies[column].names if column in hierarchies else ()
        if names[level["level"] - 1 : level["level"]] != (level["name"],):
            message = f"`{column}` is generalised in another way than in the release that is continued"
            raise ParameterError(message, hint="give the same {hierarchies} again")
    pinned = {column: levels[-1].get(column, {"level": 0})["level"] for column in hierarchies}
    return Granularity.from_dict(dict(ledgers[-1].facts["calendar"][stated[-1]])), pinned
