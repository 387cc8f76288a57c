"""The original of a pattern release as rows of the items that the release names. Needs the private ledger."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import pyarrow.compute as pc

from timeveil.domain.ledger import Ledger
from timeveil.domain.release import Release
from timeveil.evidence.codes import Integers
from timeveil.evidence.published import mismatch
from timeveil.models.patterns.judges.counting import Baskets, supports
from timeveil.models.patterns.judges.family import Family
from timeveil.models.patterns.judges.mining import mined
from timeveil.models.patterns.judges.published import ADDING, Patterns
from timeveil.reading.baskets import gather
from timeveil.reading.collection import collect
from timeveil.symbols.sax import positions, symbols_at, z_normalised


@dataclass(frozen=True, slots=True)
class Original:
    """What everybody has, and which of them are counted in the release.

    `known` is the release with names for all items of the original, those that it does not have at the end
    (of baskets only: they are named in the order in which they come).
    """

    known: Patterns
    rows: Baskets
    kept: npt.NDArray[np.bool_]

    @property
    def size(self) -> int:
        """How many items there are."""
        return max(len(self.known.names), 1)


def original_of(release: Release, ledger: Ledger, known: Patterns) -> Original:
    """Read what the ledger holds."""
    names = ledger.entries.schema.names
    if ledger.model != "patterns" or "transaction" not in names:
        raise mismatch("the ledger is that of another kind of release")
    if known.instants:
        rows, of_row = _of_series(release, ledger, known)
    else:
        known, rows, of_row = _of_baskets(ledger, known)
    if len(of_row) != ledger.entries.num_rows:
        raise mismatch("the ledger does not note every row of its original")
    there = np.asarray(pc.is_valid(ledger.table["transaction"]))
    kept = np.zeros(rows.rows, dtype=bool)
    inside = (of_row >= 0) & there
    kept[of_row[inside]] = True
    _refuse_other_people(release, ledger, int(kept.sum()))
    return Original(known, rows, kept)


def _refuse_other_people(release: Release, ledger: Ledger, real: int) -> None:
    """Real and virtual people of the ledger together are those that the release counts."""
    added = ledger.virtual
    virtual = 0 if added is None or not added.num_rows else pc.sum(added["copies"]).as_py() or 0
    stated = release.manifest["counts"]
    if (virtual, real + virtual) != (stated["virtual"], stated["transactions"]):
        raise mismatch(
            f"the ledger has {real:,} real and {virtual:,} virtual people, and the release counts "
            f"{stated['transactions']:,}, of whom {stated['virtual']:,} are virtual"
        )


def counted_before(original: Original) -> Family:
    """The patterns of the original with its own counts: what would be published without care."""
    known = original.known
    if known.method in ADDING:
        family = known.family()
        return family.with_support(supports(family, original.rows))
    return mined(original.rows, original.size, known.kinds, known.least, known.longest)


def _of_series(release: Release, ledger: Ledger, known: Patterns) -> tuple[Baskets, Integers]:
    found = collect(ledger.original, fill=release.manifest["parameters"]["fill"])
    missing = [name for name in known.instants if name not in found.instants]
    if missing:
        raise mismatch("the instants of the release are not those of the ledger's original")
    places = [found.instants.index(name) for name in known.instants]
    z = found.matrix
    if ledger.facts.get("origin") != "release":
        z = z_normalised(z, "median" if known.center == "median" else "mean")
    symbols = symbols_at(positions(z[:, places]), known.kinds).astype(np.int64)
    items = (symbols + known.kinds * np.arange(len(places))).ravel()
    return Baskets(np.arange(len(symbols) + 1) * len(places), items), found.series_of_row


def _of_baskets(ledger: Ledger, known: Patterns) -> tuple[Patterns, Baskets, Integers]:
    found = gather(ledger.original)
    place = {name: number for number, name in enumerate(known.names)}
    others = [name for name in found.names if name not in place]
    names = (*known.names, *others)
    place = {name: number for number, name in enumerate(names)}
    number = np.array([place[name] for name in found.names], dtype=np.int64)
    items = number[found.items] if len(found.items) else found.items
    return replace(known, names=names), Baskets(found.starts, items), found.basket_of_row
