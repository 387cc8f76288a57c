"""Attack timeveil for some minutes and count what held.

    python -m tests.redteam [--minutes 5] [--seed N] [--only CAMPAIGN] [--case N]

Campaigns take turns: the next case is of the one that has had the least time. A case follows from the seed,
its campaign and its number alone, but for the moments at which processes are killed.
"""

from __future__ import annotations

import argparse
import random
import secrets
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from tests.redteam import answers, bombs, forgeries, kills, permutations, releases, spellings
from tests.redteam.trial import BrokenPromiseError, Counted, Trial
from tests.service.processes import Nursery, nursery

CAMPAIGNS: dict[str, Callable[[Trial], Counted]] = {
    "releases": releases.attack,
    "forgeries": forgeries.attack,
    "permutations": permutations.attack,
    "spellings": spellings.attack,
    "answers": answers.attack,
    "bombs": bombs.attack,
    "kills": kills.attack,
}


@dataclass
class Tally:
    """What came of a campaign's cases; `broken` says what broke, by case."""

    name: str
    cases: int = 0
    seconds: float = 0.0
    held: Counter[str] = field(default_factory=Counter)
    broken: dict[int, str] = field(default_factory=dict)

    def run(self, seed: int, case: int, children: Nursery) -> None:
        """Try one case."""
        began = time.monotonic()
        chance = random.Random(f"{seed} {self.name} {case}")  # noqa: S311
        self.cases += 1
        with tempfile.TemporaryDirectory(prefix="redteam-") as folder:
            try:
                self.held.update(CAMPAIGNS[self.name](Trial(chance, Path(folder), children)))
            except BrokenPromiseError as broken:
                self.broken[case] = str(broken)
            except Exception:  # noqa: BLE001 - whatever ends an attack early is something that broke
                self.broken[case] = traceback.format_exc()
        self.seconds += time.monotonic() - began


def in_turn(seed: int, names: list[str], seconds: float, children: Nursery) -> list[Tally]:
    """Let campaigns take turns until the time is over."""
    tallies, end = [Tally(name) for name in names], time.monotonic() + seconds
    while time.monotonic() < end:
        tally = min(tallies, key=lambda tally: tally.seconds)
        tally.run(seed, tally.cases, children)
    return tallies


def table(tallies: list[Tally]) -> str:
    """Campaign by campaign what was tried, held and broken."""
    lines = [f"{'campaign':<13} {'cases':>7} {'tried':>9} {'held':>9} {'broken':>7}  of which held"]
    for tally in tallies:
        held, broken = tally.held.total(), len(tally.broken)
        kinds = ", ".join(f"{count:,} {kind}" for kind, count in sorted(tally.held.items()))
        lines.append(
            f"{tally.name:<13} {tally.cases:>7,} {held + broken:>9,} {held:>9,} {broken:>7,}  {kinds}"
        )
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description="Attack timeveil for some minutes and count what held.")
    parser.add_argument("--minutes", type=float, default=5)
    parser.add_argument("--seed", type=int, help="drawn anew if it is not set")
    parser.add_argument("--only", choices=[*CAMPAIGNS])
    parser.add_argument("--case", type=int, help="repeat this case alone; needs --only")
    options = parser.parse_args()
    if options.case is not None and options.only is None:
        parser.error("--case needs --only")
    seed = secrets.randbelow(2**32) if options.seed is None else options.seed
    print(f"seed {seed}", flush=True)  # noqa: T201
    names = [options.only] if options.only else [*CAMPAIGNS]
    with nursery() as children:
        if options.case is None:
            tallies = in_turn(seed, names, 60 * options.minutes, children)
        else:
            tallies = [Tally(options.only)]
            tallies[0].run(seed, options.case, children)
    print(table(tallies))  # noqa: T201
    for tally in tallies:
        for case, what in tally.broken.items():
            again = f"python -m tests.redteam --seed {seed} --only {tally.name} --case {case}"
            print(f"\n{tally.name}, case {case}: {what.rstrip()}\n  again: {again}")  # noqa: T201
    return int(any(tally.broken for tally in tallies))


if __name__ == "__main__":
    raise SystemExit(main())
