"""A whole stream at once: the fast path over records that are sorted by slot and coded as numbers.

It gives exactly what pushing slot by slot gives under the same seed. Rows are read once and never moved; what
comes out of the kernel is, per row, by how many slots it is late. The tables of the release are made when
they are first looked at.

Cost: one pass over the rows, plus the relays. Memory: the input and some 20 bytes a row.
"""

from __future__ import annotations

import os
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from timeveil.calendar.granularity import Granularity
from timeveil.domain.ledger import Ledger
from timeveil.domain.progress import Progress, silent
from timeveil.domain.release import Release
from timeveil.domain.roles import Roles
from timeveil.errors import ParameterError
from timeveil.models.stream.method import summary
from timeveil.models.stream.method.arrivals import Arrivals, arrivals, refuse_wide_gap
from timeveil.models.stream.method.chance import JITTER, Draws
from timeveil.models.stream.method.costs import MoveCost, WithholdCost
from timeveil.models.stream.method.exact import solve_window
from timeveil.models.stream.method.outcome import Fate, assemble
from timeveil.models.stream.method.reposition import Filler
from timeveil.models.stream.method.settings import Buckets, FirstWindow, Late, Nulls, Settings, settings_from
from timeveil.models.stream.method.slots import Ints
from timeveil.models.stream.method.streaming import Stream
from timeveil.models.stream.method.summary import fixed
from timeveil.models.stream.method.whole_packets import run_packets
from timeveil.reading.encoding import encode, encode_people

FILLERS = ("never", "last_chance", "always")
KERNEL_CELLS = 1 << 27
KERNEL_ROWS = 25_000
"""Shorter streams are done sooner without loading the kernel, let alone compiling it."""
PARALLEL_ROWS = 1 << 20


def publish_stream(
    table: Any,
    roles: Roles,
    l: int = 3,
    window: int = 7,
    slot: str | Granularity = "day",
    *,
    move_cost: MoveCost = "linear",
    withhold_cost: WithholdCost = None,
    seed: int | None = None,
    first_window: FirstWindow = "grow",
    fill_empty: bool = True,
    filler: Filler = "never",
    jitter: int = 0,
    buckets: Buckets = "anatomy",
    late: Late = "refuse",
    nulls: Nulls = "error",
    zone: str | None = None,
    unit: str | None = None,
    protect_slot: int | None = None,
    spread: int = 1,
    fillers: int = 0,
    progress: Progress = silent,
) -> tuple[Release, Ledger]:
    """Publish a stream that is there as a whole, every slot l-diverse.

    The same as pushing its slots one by one into a `StreamPublisher` and closing it. Rows need not be sorted:
    a whole table has no late records.

    >>> import pyarrow as pa
    >>> cases = pa.table({"day": [1, 1, 1, 2, 2], "age": [30, 40, 50, 60, 70],
    ...                   "disease": ["flu", "flu", "flu", "cold", "mumps"]})
    >>> roles = Roles(time="day", quasi=["age"], sensitive=["disease"])
    >>> release, ledger = publish_stream(cases, roles, l=2, window=2, seed=1)
    >>> release.table["slot"].to_pylist(), release.tables["sensitive"]["disease"].to_pylist()
    ([2, 2, 2, 2], ['flu', 'mumps', 'cold', 'flu'])
    >>> ledger.facts["moved"], ledger.facts["withheld"]
    (2, 1)
    """
    settings = settings_from(
        roles,
        l,
        window,
        slot,
        move_cost=move_cost,
        withhold_cost=withhold_cost,
        seed=seed,
        first_window=first_window,
        fill_empty=fill_empty,
        filler=filler,
        jitter=jitter,
        buckets=buckets,
        late=late,
        nulls=nulls,
        zone=zone,
        unit=unit,
        protect_slot=protect_slot,
        spread=spread,
        fillers=fillers,
    )
    progress("reading", 0.0)
    arrived = arrivals(table, settings)
    progress("encoding", 0.3)
    records = _records(arrived, settings)
    progress("repositioning", 0.6)
    fate, facts = _run(records, settings)
    progress("done", 1.0)
    return assemble(arrived, settings, fate, _with_incomplete(facts, arrived.incomplete))


@dataclass(frozen=True, slots=True)
class Records:
    """Records in the order of arrival, as numbers.

    `order` puts input rows into that order, none if they are in it; `arrives` is the slot each comes in,
    `came_from` the one it belongs to. `slots` and `begin` say which slots occur and where they begin.
    """

    order: Ints | None
    came_from: Ints
    arrives: Ints
    slots: Ints
    begin: Ints
    codes: Any
    people: Any
    values: pa.Array
    first: int | None
    last: int | None


def _records(arrived: Arrivals, settings: Settings) -> Records:
    roles = arrived.relation.roles
    coded = encode(_dictionary(arrived.rows([roles.sensitive[0]]).column(0)))
    _refuse_few_values(len(coded.values), len(coded.codes), settings.l)
    codes, people = coded.codes, np.zeros(0, np.int32)
    if roles.respondent is not None:
        people, _ = encode_people(arrived.rows([roles.respondent]).column(0))
    came_from, order = arrived.slot, None
    sums = _sums(len(came_from))
    slots, begin = sums.arrivals_of(fixed(came_from))
    if len(came_from) and len(slots) == 0:
        order = np.argsort(came_from, kind="stable")
        came_from, codes, people = came_from[order], codes[order], people[order] if len(people) else people
        slots, begin = sums.arrivals_of(fixed(came_from))
    refuse_wide_gap(slots)
    place = sums.first_seen(fixed(codes), len(coded.values))
    values = coded.values
    if not np.array_equal(place, np.arange(len(place))):
        codes, values = place[codes], values.take(pa.array(np.argsort(place)))
    first = int(slots[0]) if len(slots) else None
    last = int(slots[-1]) + settings.jitter if len(slots) else None
    records = Records(order, came_from, came_from, slots, begin, codes, people, values, first, last)
    return _delayed(records, settings) if settings.jitter and len(slots) else records


def _dictionary(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """A long column of text as codes, worked out on all cores."""
    if len(column) < PARALLEL_ROWS or pa.types.is_dictionary(column.type):
        return column
    cores = os.cpu_count() or 1
    size = -(-len(column) // cores)
    slices = [column.slice(begin, size) for begin in range(0, len(column), size)]
    parts = [chunk for part in slices for chunk in part.chunks]
    with ThreadPoolExecutor(cores) as pool:
        return pa.chunked_array(list(pool.map(lambda part: part.dictionary_encode(), parts)))


def _refuse_few_values(values: int, rows: int, l: int) -> None:
    if rows and values < l:
        raise ParameterError(
            f"l is {l}, and the sensitive column has {values} different values: no slot could be published",
            hint=f"choose l of at most {values}" if values >= 2 else "name another sensitive column",
            code="bad-parameter",
            facts={"l": l, "values": values},
        )


def _delayed(records: Records, settings: Settings) -> Records:
    """Every record after a random wait, in the order in which it then arrives."""
    waits = _waits(records, settings)
    arrives = records.arrives + waits
    again = np.argsort(arrives, kind="stable")
    slots, begin = _sums(len(arrives)).arrivals_of(fixed(arrives[again]))
    return Records(
        again if records.order is None else records.order[again],
        records.came_from[again],
        arrives[again],
        slots,
        begin,
        records.codes[again],
        records.people[again] if len(records.people) else records.people,
        records.values,
        records.first,
        records.last,
    )


def _waits(records: Records, settings: Settings) -> Ints:
    if len(records.codes) < KERNEL_ROWS:
        sizes = zip(records.slots.tolist(), np.diff(records.begin).tolist(), strict=True)
        drawn = ((Draws(settings.seed, slot, JITTER), size) for slot, size in sizes)
        return np.array([draws.below(settings.jitter + 1) for draws, size in drawn for _ in range(size)])
    from timeveil.models.stream.kernels.chance import chance_of, random_waits  # noqa: PLC0415

    chance = chance_of(settings.seed)
    waits: Ints = random_waits(chance, records.slots, records.begin, 0, JITTER, settings.jitter)
    return waits


def _sums(rows: int) -> Any:
    """Where sums are made: short streams are not worth loading kernels for."""
    if rows < KERNEL_ROWS:
        return summary
    from timeveil.models.stream.kernels import placements  # noqa: PLC0415

    return placements


def _run(records: Records, settings: Settings) -> tuple[Fate, dict[str, Any]]:
    """Late slots and buckets of every record, back in the order of the input."""
    size = settings.window * settings.window * len(records.values)
    fits = len(records.codes) >= KERNEL_ROWS and size <= KERNEL_CELLS
    run = by_kernel if fits else step_by_step
    packet = None
    if settings.rules is None:
        late, bucket, buckets, duplicates = run(records, settings)
    else:
        late, bucket, packet, buckets, duplicates = run_packets(
            records, settings, fast=len(records.codes) >= KERNEL_ROWS
        )
    extra = records.arrives - records.came_from if settings.jitter else np.zeros(0, np.int64)
    furthest = settings.window + settings.jitter
    moved, came, withheld = _sums(len(late)).sum_up(
        late, fixed(records.codes), extra, len(records.values), furthest
    )
    facts = _facts(settings, records, moved, came, withheld)
    slot, published = records.arrives + late, late >= 0
    came_from, codes = records.came_from, records.codes
    if records.order is not None:
        back = np.empty_like(records.order)
        back[records.order] = np.arange(len(back))
        slot, published, came_from, codes = slot[back], published[back], came_from[back], codes[back]
        bucket, packet = (None if part is None else part[back] for part in (bucket, packet))
    span = records.first, records.last
    fate = Fate(came_from, slot, bucket, published, codes, records.values, *span, buckets, packet)
    return fate, {**facts, "duplicates": duplicates}


def _facts(settings: Settings, records: Records, moved: Ints, came: Ints, withheld: Ints) -> dict[str, Any]:
    costs, total = settings.costs, int(came.sum())
    distances = np.arange(len(moved))
    loss = sum(costs.of_distance(d) * int(n) for d, n in enumerate(moved.tolist()))
    by_value = zip(records.values.to_pylist(), withheld.tolist(), strict=True)
    loss += sum(costs.of_value(value) * count for value, count in by_value if count)
    far = int(moved[1:].sum())
    return {
        "rows": total,
        "published": int(moved.sum()),
        "moved": far,
        "withheld": int(withheld.sum()),
        "mean_distance": float((distances * moved).sum() / far) if far else 0.0,
        "largest_distance": int(distances[moved > 0].max(initial=0)),
        "information_loss": costs.amount(loss),
        "withhold_cost": costs.told(records.values.to_pylist()),
        "values": len(records.values),
        "largest_share": float(came.max(initial=0) / total) if total else 0.0,
        "values_above_share": int(np.count_nonzero(came * settings.l > total)),
        "seed": settings.seed,
    }


def _with_incomplete(facts: dict[str, Any], incomplete: int) -> dict[str, Any]:
    """Rows that lack a time, a person or a value are withheld like others, at no cost."""
    total = {name: facts[name] + incomplete for name in ("rows", "withheld")}
    return {**facts, **total, "incomplete": incomplete}


def by_kernel(records: Records, settings: Settings) -> tuple[Any, Any, int, int]:
    """Late slots, buckets, how many buckets and how many records withheld because of duplicates."""
    from timeveil.models.stream.kernels.anatomy import bench_of  # noqa: PLC0415
    from timeveil.models.stream.kernels.chance import chance_of  # noqa: PLC0415
    from timeveil.models.stream.kernels.placements import Rows, Rules, cells_of, most_at_once, publish_rows  # noqa: PLC0415
    from timeveil.models.stream.kernels.ring import ring_of  # noqa: PLC0415

    rows, values, width = len(records.codes), max(len(records.values), 1), settings.window
    late = np.zeros(rows, np.int16)
    bucketed = settings.buckets == "anatomy"
    bucket = np.zeros(rows if bucketed else 0, np.int32)
    if records.first is None or records.last is None:
        return late, bucket if bucketed else None, 0, 0
    slots = records.slots - records.first
    most = int(most_at_once(slots, records.begin, 2 * width))
    people = int(records.people.max(initial=-1)) + 1
    withhold = np.array([settings.costs.of_value(v) for v in records.values.to_pylist()], np.int64)
    span = records.last - records.first + 1
    solved, start = _solved(records, settings, span, withhold)
    rules = Rules(
        settings.l,
        records.first,
        span,
        settings.fill_empty,
        FILLERS.index(settings.filler),
        bucketed,
        solved,
    )
    tally = np.zeros(5, np.int64)
    publish_rows(
        Rows(fixed(records.codes), fixed(records.people), late, bucket),
        slots,
        records.begin,
        ring_of(width, values, settings.l),
        cells_of(width, values, most, people),
        bench_of(most if bucketed else 0, values, settings.l),
        rules,
        np.array(settings.costs.move, np.int64),
        withhold,
        start,
        chance_of(settings.seed),
        tally,
    )
    return late, bucket if bucketed else None, int(tally[2]), int(tally[3])


def _solved(records: Records, settings: Settings, span: int, withhold: Ints) -> tuple[int, Ints]:
    """The first window solved exactly: how many slots, and a row (slot, value, origin, records) per group."""
    none = np.zeros((0, 4), np.int64)
    if settings.first_window == "grow" or records.first is None:
        return 0, none
    number = min(settings.window, span)
    counts: list[dict[int, int]] = [{} for _ in range(number)]
    for k, slot in enumerate((records.slots - records.first).tolist()):
        if slot >= number:
            break
        counts[slot] = dict(Counter(records.codes[records.begin[k] : records.begin[k + 1]].tolist()))
    published, withheld = solve_window(
        0, counts, settings.l, settings.costs.move, lambda code: int(withhold[code])
    )
    groups = [
        (slot, value, origin, count)
        for slot, cells in published.items()
        for value, cell in cells.items()
        for origin, count in cell.items()
    ]
    groups += [(slot, value, -1, n) for slot, cells in withheld.items() for value, n in cells.items()]
    return number, np.array(groups, np.int64) if groups else none


def step_by_step(records: Records, settings: Settings) -> tuple[Any, Any, int, int]:
    """The same without the kernel: for short streams, and for more values than its arrays should hold."""
    rows = len(records.codes)
    late, bucket = np.full(rows, -1, np.int64), np.zeros(rows, np.int32)
    stream = Stream(replace(settings, jitter=0))
    stream.values = records.values.to_pylist()
    stream.codes = {value: code for code, value in enumerate(stream.values)}
    person = settings.roles.respondent
    finals = []
    for k, slot in enumerate(records.slots.tolist()):
        part = slice(int(records.begin[k]), int(records.begin[k + 1]))
        table = pa.table({"": pa.array(np.arange(part.start, part.stop))})
        if person is not None:
            table = table.append_column(person, pa.array(records.people[part]))
        if k == 0 and records.first is not None and records.first < slot:
            finals += stream.arrive(records.first, None, [], [])
        finals += stream.arrive(slot, table, records.codes[part].tolist(), records.arrives[part].tolist())
    if stream.last is not None and records.last is not None and records.last > stream.last:
        finals += stream.arrive(records.last, None, [], [])
    buckets = 0
    for slot, chosen, _, numbers in finals + stream.end():
        if chosen.num_rows:
            places = chosen.column(0).to_numpy()
            late[places] = slot - records.arrives[places]
            bucket[places] = numbers or 0
            buckets += max(numbers) + 1 if numbers else 0
    return late, bucket if settings.buckets == "anatomy" else None, buckets, stream.tally["duplicates"]
