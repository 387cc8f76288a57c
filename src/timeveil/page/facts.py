"""What the words of every model share: a release and what its ledger adds, and attacks as tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from timeveil.calendar.axis import CYCLIC
from timeveil.domain.parameter import Parameters
from timeveil.domain.release import Ledger, Release
from timeveil.domain.roles import REST, Derived, Roles
from timeveil.domain.run import Run
from timeveil.page.markdown import Table
from timeveil.page.wording import share

ROUNDING = 1e-9  # chances are quotients: a worst chance may exceed its bound by this much


class ReleaseFacts:
    """Facts about any release; each model adds its own. Without a ledger only public facts are there."""

    table: ClassVar[type[Parameters]]
    """The parameters of the model."""
    achieved: ClassVar[str]
    """What a run made of the source, as its title says; `{k}`, `{l}` and `{p}` are those of the promise."""

    def __init__(self, evidence: Any, hierarchies: Sequence[str] = ()) -> None:
        release: Release = evidence.release
        self.evidence, self.guarantee, self.hierarchies = evidence, release.guarantee, hierarchies
        self.ledger: Ledger | None = evidence.ledger
        self.manifest: Mapping[str, Any] = release.manifest
        self.counts: Mapping[str, Any] = self.manifest["counts"]
        self.parameters: Mapping[str, Any] = self.manifest["parameters"]
        self.run: Mapping[str, Any] = {} if self.ledger is None else self.ledger.facts
        self.original: Any = None if self.ledger is None else self.ledger.original
        promise: Mapping[str, Any] = self.guarantee.as_dict()
        self.k, self.l, self.p = (promise.get(name, 0) for name in "klp")
        source = (self.original and self.original.source) or "the table"
        self.title = f"{source} -> {self.achieved.format(k=self.k, l=self.l, p=self.p)}"

    @property
    def removed(self) -> list[str]:
        """Columns that were not published."""
        if self.original is None:
            return []
        person = self.original.roles.respondent
        return [*([] if person is None else [person]), *self.original.dropped]

    def as_dict(self, *entries: str) -> dict[str, Any]:
        """The source, the promise, columns that were dropped, and entries of the manifest."""
        return {
            "source": None if self.original is None else self.original.source,
            "dropped": [] if self.original is None else list(self.original.dropped),
            **{name: self.manifest[name] for name in ("guarantee", "counts", *entries)},
        }

    def examples(self) -> list[str]:
        """Sentences with values, only on request and for the custodian alone."""
        return []

    def command(self) -> str:
        """The command that makes the release again, from a table IN."""
        return Run.of_release(self.table, self.typed_roles, self.stated).command()

    @property
    def stated(self) -> dict[str, Any]:
        """The parameters to state, with those that only the ledger has."""
        axis = self.original.axis
        return {**self.parameters, **({} if axis is None else {"zone": axis.zone, "unit": axis.unit})}

    @property
    def typed_roles(self) -> Roles | None:
        """The roles as a command names them: columns derived from the time go by their option."""
        roles: Roles = self.original.roles
        time = roles.time
        derived = {} if time is None else {Derived(name).column(time): Derived(name) for name in CYCLIC}
        plain = [name for name in roles.quasi if name not in roles.durations]
        quasi = tuple(derived.get(name, name) if isinstance(name, str) else name for name in plain)
        return replace(roles, quasi=quasi, drop=REST if self.original.dropped else ())


@dataclass(frozen=True, slots=True)
class Attempt:
    """What an outsider knew, and the breach that an attack found.

    `bound` means that at most 1 in `bound` is promised; None, that nothing is.
    """

    knows: str
    breach: Any
    bound: int | None

    @property
    def broken(self) -> bool:
        """Whether the worst chance is above what is promised."""
        return self.bound is not None and self.breach.worst > 1 / self.bound + ROUNDING


def attack_table(attempts: Sequence[Attempt]) -> Table:
    """Attacks as a table."""
    rows = []
    for attempt in attempts:
        breach, bound = attempt.breach, attempt.bound
        promised = "nothing" if bound is None else f"at most 1 in {bound}"
        result = "within the bound"
        if bound is None or attempt.broken:
            above = share(breach.share_above(1 / (bound or 2) + 1e-12))
            result = f"{above} above {'1 in 2' if bound is None else 'the bound'}"
        rows.append((attempt.knows, promised, breach.people, breach.worst, breach.mean, result))
    head = ("the outsider knows", "promised", "people tried", "worst chance", "mean chance", "result")
    return Table("Attacks on the release", head, rows, words=2)


def risk_table(breach: Any, named: str, release: Release) -> Table:
    """What is found in the original and in the release; `named` is what a guess is about."""
    risks = (breach.before, breach.after)
    who = "rows" if getattr(release.guarantee, "rows", False) else "people"
    shares = {
        f"{who} with a single candidate": "pinned",
        f"highest chance of naming {named}": "worst",
        f"mean chance of naming {named}": "mean",
        f"{who} out of reach": "out_of_reach",
    }
    rows = [(label, *(getattr(risk, number) for risk in risks)) for label, number in shares.items()]
    for label, part in (("fewest", 0.0), ("median", 0.5), ("most", 1.0)):
        rows.append((f"candidates, {label}", *(risk.quantile(part) for risk in risks)))
    return Table("What this outsider finds", ("", "original", "release"), rows)
