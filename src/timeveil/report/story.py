"""What the parts of a report on one model have in common: the parts themselves, and how chances are told."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from timeveil.calendar.axis import CYCLIC
from timeveil.domain.ledger import Ledger
from timeveil.domain.roles import REST, Derived, Roles
from timeveil.page.tree import Block, Numbers, Picture, Sentences
from timeveil.page.wording import share

LARGEST_PICTURE = 120_000
"""Characters of a picture; a larger one is not put into a report."""
WITHOUT_LEDGER = "What the risk was before is not told here: only the ledger, which stays inside, tells it."
NOT_PROMISED = "nothing is promised"


@dataclass(frozen=True, slots=True)
class Story:
    """The parts of a report that differ between models.

    `figures` are the numbers to begin with, `promise` says in plain words what is promised. `again` is the
    command that makes such a release, where the ledger tells it.
    """

    what: str
    promise: tuple[str, ...]
    figures: tuple[tuple[str, str], ...]
    done: tuple[str, ...]
    risk: tuple[Block, ...]
    loss: tuple[Block, ...]
    attacks: tuple[Block, ...]
    limits: tuple[str, ...]
    again: str | None = None


@dataclass(frozen=True, slots=True)
class Attempt:
    """What an outsider knew, and came to: chances of being right, and how many people were tried.

    `bound` is 1 in so many, None where nothing is promised.
    """

    knows: str
    people: int
    bound: int | None
    worst: float
    mean: float
    above: float

    def row(self) -> tuple[str, ...]:
        """A line of the table of attacks."""
        promised = NOT_PROMISED if self.bound is None else f"at most 1 in {self.bound}"
        return self.knows, promised, f"{self.people:,}", share(self.worst), share(self.mean), self.outcome

    @property
    def outcome(self) -> str:
        """How it went against the bound."""
        if self.bound is None:
            return f"{share(self.above)} above 1 in 2"
        if self.worst <= 1 / self.bound + 1e-9:
            return "within the bound"
        return f"{share(self.above)} above the bound"


def attempts(caption: str, tried: Sequence[Attempt]) -> Numbers:
    """Attacks as a table."""
    head = ("the outsider knows", "promised", "people tried", "worst chance", "mean chance", "result")
    return Numbers(caption, head, tuple(one.row() for one in tried), words=2)


def fitting(*makers: Callable[[], str]) -> list[Block]:
    """The first picture that is not too large for a report, or a word on where to see it."""
    for make in makers:
        svg = make()
        if len(svg) <= LARGEST_PICTURE:
            return [Picture(svg)]
    return [Sentences(("What there is to draw is too much for this page; `timeveil plot` draws it.",))]


def typed_roles(ledger: Ledger) -> Roles:
    """The roles of the original as they were given: what was derived from the time by its name."""
    original = ledger.original
    roles, time = original.roles, original.roles.time
    derived = {} if time is None else {Derived(name).column(time): Derived(name) for name in CYCLIC}
    quasi = tuple(derived.get(name, name) if isinstance(name, str) else name for name in roles.quasi)
    return replace(roles, quasi=quasi, drop=REST if original.dropped else ())
