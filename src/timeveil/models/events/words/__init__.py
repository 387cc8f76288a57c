"""The words about a release of events: column names and counts from manifest and ledger, never a value."""

import math
import shlex
from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import islice
from typing import Any

import numpy as np

from timeveil.calendar.catalogue import resolve
from timeveil.domain.guarantee import KAnonymity
from timeveil.domain.protection import AtMost
from timeveil.domain.release import Release
from timeveil.domain.wording import Progress
from timeveil.evidence.published import columns_of
from timeveil.evidence.risk import withheld_by
from timeveil.models.events.evidence import Evidence
from timeveil.models.events.judges import measure
from timeveil.models.events.judges.attack import Breach, attack, singled_out
from timeveil.models.events.judges.profile import Profile
from timeveil.models.events.judges.protected import promise_of
from timeveil.models.events.parameters import CHOICES, FUNCTION, Adversary, EventParameters
from timeveil.models.events.words.pictures import attack_picture, granularity_picture, size_picture
from timeveil.page import templates
from timeveil.page.charts import bar_chart
from timeveil.page.report import Summary, Table
from timeveil.page.svg import RISK
from timeveil.page.templates import Attempt, ReleaseFacts, attack_table, risk_table
from timeveil.page.wording import cell, counted, joined, name, people, percent, quoted

CHEAP_ROWS = 1_000_000  # above this many rows, a run does not look into every group
SAMPLE = 2_000  # people who are tried by outsiders other than the one that the promise covers
WINDOWS = 1_000  # random window counts that the loss is measured by in a report
_MOST_CANDIDATES = 40
_SHOWN_STEPS = 4
_SPANS = (("days", 86_400), ("hours", 3_600), ("minutes", 60), ("seconds", 1))


class Facts(ReleaseFacts):
    """What the templates of this model are filled with; the ledger adds what only the custodian knows."""

    table, achieved = EventParameters, "{k}-anonymous by time"

    def __init__(self, evidence: Evidence, hierarchies: Sequence[str] = ()) -> None:
        super().__init__(evidence, hierarchies)
        self.granularity: str = self.manifest["granularity"]
        self.levels: Mapping[str, Mapping[str, Any]] = self.manifest["levels"]
        self.quasi = columns_of(evidence.release, "quasi")
        self.steps: Sequence[Mapping[str, Any]] = self.manifest.get("steps", ())
        self.largest_steps = sorted(self.steps, key=lambda step: -step["rows"])[:_SHOWN_STEPS]
        self.ways: Mapping[str, Mapping[str, float]] | None = self.run.get("ways")
        candidates = self.manifest["candidates"]
        self.allowed = {name: counts for name, counts in candidates.items() if counts["allowed"]}
        self.aliases = [alias for counts in self.allowed.values() for alias in counts["aliases"]]
        self.skipped: Mapping[str, str] = self.run.get("skipped", {})
        self.chosen: Mapping[str, Any] = candidates.get(self.granularity, {})
        self.in_gaps: int = self.chosen.get("rows_in_gaps", 0)
        promise = promise_of(evidence)
        causes = {
            "because of what was published before": promise.after,
            "in groups that break what else is promised": promise.further,
        }
        self.withheld = {
            f"in groups of fewer than {self.k} people": self.chosen.get("rows_below_k", 0),
            " or ".join(cause for cause, holds in causes.items() if holds): self.chosen.get("rows_short", 0),
            "in gaps of the calendar": self.in_gaps if self.parameters["gaps"] == "suppress" else 0,
        }
        self.incomplete: int = self.counts["withheld"] - sum(self.withheld.values())
        self.withheld["without a person or a time"] = self.incomplete

    @cached_property
    def exposure(self) -> dict[str, Any] | None:
        """What stays visible inside groups; None without a ledger or rows, and where it would take long."""
        if self.ledger is None or self.original.rows > CHEAP_ROWS or not self.counts["rows"]:
            return None
        commonest = self.evidence.once(measure.commonest_sensitive)
        return {
            "largest_share": self.evidence.once(measure.largest_share),
            "commonest_sensitive": {column: shares["worst"] for column, shares in commonest.items()},
            "tied_rows": measure.tying_columns(self.evidence),
            "similar_ids": measure.similar_ids(self.evidence),
            "withheld_by": withheld_by(self.evidence, ~self.evidence.published),
            "singled_out": self.evidence.once(singled_out) if self.steps else {},
        }

    @cached_property
    def finer_than_data(self) -> list[str]:
        """Granularities of the default calendar that are finer than the times."""
        if self.ledger is None or self.parameters["granularities"] is not None:
            return []
        candidates = {*self.manifest["candidates"], *self.skipped}
        return [g.name for g in resolve(None, self.ledger.original.clock) if g.name not in candidates]

    @property
    def search(self) -> dict[str, int]:
        """How many granularities were considered, combinations each has, and nodes tried and not tried."""
        distinct = max(len(self.allowed) - len(self.aliases), 1)
        tried, nodes = self.run.get("tried", distinct), self.run.get("nodes", distinct)
        return {
            "considered": len(self.allowed) + len(self.finer_than_data) + len(self.skipped),
            "combinations": nodes // distinct,
            "tried": tried,
            "untried": nodes - tried,
        }

    @property
    def reason(self) -> str:
        """Why this granularity: the key of a sentence in the templates."""
        named, rule = self.parameters["granularities"], self.parameters["choose"]
        if rule not in (*CHOICES, FUNCTION):
            return "by name"
        if named is not None and len(named) == 1 and "nodes" not in self.manifest:
            return "no other"
        nodes = self.manifest.get("nodes") or [self.allowed[name] for name in self.manifest["frontier"]]
        if rule == "groups" and any(_groups(node) > _groups(self.chosen) for node in nodes):
            return "sparing"
        if rule in ("groups", "generality") and self.granularity not in self._frontier:
            return f"{rule}, not the finest"
        if len(self.manifest.get("nodes", self.manifest["frontier"])) > 1:
            return str(rule)
        alone = sum(counts["feasible"] for counts in self.allowed.values()) == 1 < len(self.allowed)
        return "only" if alone else "finest"

    @property
    def equally_fine(self) -> dict[str, int]:
        """Other granularities that nothing finer beats, with their groups after withholding."""
        frontier = self.manifest["frontier"]
        return {n: _groups(self.allowed[n]) for n in frontier if self.granularity not in self._alike(n)}

    @property
    def coarser(self) -> list[str]:
        """Granularities that also keep the promise but are coarser than needed."""
        finest = {*self._frontier, *self._alike(self.granularity)}
        return [name for name, counts in self.allowed.items() if counts["feasible"] and name not in finest]

    @property
    def closest_failure(self) -> dict[str, Any] | None:
        """The granularity that fails by the fewest rows, and the `suppress` that would allow it."""
        failed = [
            (counts["rows_below_k"] + counts.get("rows_short", 0), name)
            for name, counts in self.allowed.items()
            if not counts["feasible"]
        ]
        if not failed:
            return None
        rows, name = min(failed)
        # `suppress` is a share of the rows with a person and a time.
        needed = math.ceil(rows / (self.counts["rows_read"] - self.incomplete) * 10_000) / 10_000
        possible = rows > 0 and needed < 1 and _groups(self.allowed[name]) > 0
        groups = self.allowed[name]["groups_below_k"] + self.allowed[name].get("groups_short", 0)
        return {"name": name, "rows": rows, "groups": groups, "suppress": f"{needed:g}" if possible else None}

    @cached_property
    def combinations(self) -> list[Mapping[str, Any]]:
        """With hierarchies, the finest combinations of levels and time, those with the most groups first."""
        nodes = sorted(self.manifest.get("nodes", ()), key=_groups, reverse=True)
        return [{**node, "left": _groups(node)} for node in nodes] if len(nodes) > 1 else []

    @property
    def is_least(self) -> bool:
        """Whether the chosen combination is one of the finest."""
        return len(self._others) < len(self.combinations)

    @property
    def _others(self) -> list[Mapping[str, Any]]:
        names, levels = self._alike(self.granularity), self.levels
        return [
            node for node in self.combinations if node["granularity"] not in names or node["levels"] != levels
        ]

    @property
    def generalisable(self) -> list[str]:
        """Columns with a hierarchy, also where no combination makes them coarser."""
        levels = (column for node in (*self.combinations, *self.steps) for column in node["levels"])
        columns = {*self.hierarchies, *levels}
        return [column for column in self.quasi if column in columns]

    @property
    def another_combination(self) -> str:
        """The options that select a combination other than the chosen one."""
        node = self._others[0]
        options = ["--choose", node["granularity"]]
        for column in self.generalisable:
            level = node["levels"].get(column, {"level": 0})["level"]
            options += ["--level", f"{column}={level}"]
        return shlex.join(options)

    def figures(self) -> list[tuple[str, Any]]:
        counts, names = self.counts, list(dict.fromkeys(step["granularity"] for step in self.steps))
        time = (
            f"{name(names[0])} to {name(names[-1])}, row by row" if len(names) > 1 else name(self.granularity)
        )
        return [
            ("rows published", counts["rows"]),
            ("rows withheld", f"{counts['withheld']:,} of {counts['rows_read']:,}"),
            ("granularity of time", time),
            ("groups of the same quasi-identifiers and time", counts["groups"]),
            ("people in the smallest group", counts["smallest_group"]),
        ]

    @property
    def stated(self) -> dict[str, Any]:
        """The parameters to state, with the chosen levels."""
        levels = {column: level["level"] for column, level in self.levels.items()} or None
        earlier = ["LEDGER"] * self.manifest["guarantee"].get("after", 0) or None
        stated = {**super().stated, "levels": levels, "after": earlier}
        if "origin" in self.parameters:  # times were read by the calendar
            kind = self.original.data.schema.field(f"{self.original.time} (calendar)").type
            stated |= {"zone": getattr(kind, "tz", None), "unit": stated["unit"] if kind == "int64" else None}
        return stated

    def as_dict(self, *entries: str) -> dict[str, Any]:
        nodes = ("nodes",) if "nodes" in self.manifest else ()
        return {
            **super().as_dict("granularity", "time", "levels", "frontier", "candidates", *nodes, *entries),
            "people": self.run.get("people", 0),
            "read_at": self.run.get("read_at"),
            "skipped": dict(self.skipped),
            **({"ways": self.ways} if self.ways else {}),
            **({} if self.exposure is None else {"exposure": self.exposure}),
        }

    @property
    def _frontier(self) -> set[str]:
        """Granularities that nothing finer beats, with those that group the data alike."""
        return {synonym for name in self.manifest["frontier"] for synonym in self._alike(name)}

    def _alike(self, name: str) -> tuple[str, ...]:
        return (name, *self.allowed.get(name, {"aliases": ()})["aliases"])


def _groups(counts: Mapping[str, Any]) -> int:
    """Groups that are left after withholding."""
    return int(counts["groups"] - counts["groups_below_k"] - counts.get("groups_short", 0))


def attack_summary(breach: Breach, release: Release) -> Summary:
    """An attack as a page."""
    protections = release.guarantee.protections if isinstance(release.guarantee, KAnonymity) else {}
    promised = {column: promise for column, promise in protections.items() if isinstance(promise, AtMost)}
    template = "models/events/words/attack.j2"
    sentences, limits = templates.marked(template, breach=breach, shares_promised=promised)
    title = f"An outsider knows {knowledge(breach, release)} -> what they find"
    return Summary(sentences, risk_table(breach, "a person", release), title, limits)


def knowledge(breach: Breach, release: Release) -> str:
    """What the outsider knows."""
    times = f"the time of {counted(breach.adversary.visits, 'visit')}"
    within = breach.adversary.within(release.manifest["time"]["unit"] or "second")
    searched = f", and has {breach.releases} releases" if breach.releases > 1 else ""
    return joined([*map(name, columns_of(release, "quasi")), times]) + within + searched


def loss_summary(loss: measure.Loss) -> Summary:
    """The loss as numbered sentences."""
    widths = {"before": loss.width_before, "after": loss.width_after, "effective": loss.width_effective}
    spans = {name: span(width, loss.width_unit) for name, width in widths.items()}
    return Summary(templates.sentences("models/events/words/loss.j2", loss=loss, **spans))


def span(width: float, unit: str) -> str:
    """A width of time in the largest unit that it fills."""
    sizes = _SPANS if unit == "second" else ((f"{unit}s", 1),)
    label, size = next((span for span in sizes if width >= span[1]), sizes[-1])
    number = width / size
    return f"{number:.3g} {label if number != 1 else label[:-1]}"


def profile_summary(risk: Profile, source: str, known: Sequence[str]) -> Summary:
    """Who is unique at which granularity, in a table, sentences and a picture."""
    k, spread, levels = risk.k, risk.rows_per_person, (risk.as_it_stands, *risk.granularities)
    rows = (
        f"{counted(risk.rows, 'row')} of {people(risk.people)}: a median of "
        f"{counted(round(spread['median']), 'row')} per person, {spread['max']:,.0f} at most."
    )
    if risk.rows_incomplete:
        rows += f" {counted(risk.rows_incomplete, 'row')} without a person or a time left out."
    verdict = f"holds: the table is already {k}-anonymous."
    if not risk.already_anonymous:
        verdict = (
            f"not yet {k}-anonymous: {risk.as_it_stands.people_below_k:,} of {people(risk.people)} are in a "
            f"group of fewer than {k}."
        )
    numbers = ("granularity", "people_unique", "people_below_k", "share_below_k", "smallest_group")
    marks = [" !" if level.claimed_by_rows != level.smallest_group else "" for level in levels]
    cells = [
        (*(getattr(level, number) for number in numbers), f"{level.claimed_by_rows:,}{mark}", level.groups)
        for level, mark in zip(levels, marks, strict=True)
    ]
    head = ("time by", "people alone", f"in groups under {k}", "share of people", "smallest group")
    caption = "Who would be found if only the person were left out"
    table, sentences, ways = Table(caption, (*head, "in rows", "groups"), cells), [rows], None
    if any(marks):
        sentences.append("! marks where counting rows, not people, would overstate the smallest group.")
    if risk.ways:
        head = (f"--k {k} --recode", "bits lost per row", "alone by 1 visit", "2 visits", "3 visits")
        lost = [(way.recode, cell("bits", way.bits), *way.singled_out.values()) for way in risk.ways]
        ways = Table("What each way to recode loses, and whom known visits single out", head, lost)
    elif risk.ways_left_out:
        sentences.append(f"Ways of recoding (--recode) are left out: {risk.ways_left_out}.")
    picture = bar_chart(
        f"People in a group of fewer than {k}",
        "Share of people, if times were published as they are or at a granularity.",
        {level.granularity: level.share_below_k for level in levels},
        colours=dict.fromkeys((level.granularity for level in levels), RISK),
        label=percent,
        strong=risk.as_it_stands.granularity,
    )
    title = f"{source} -> what {quoted(known)} reveal to an outsider"
    return Summary([*sentences, verdict], table, title, picture=picture, ways=ways)


def public(f: Facts) -> dict[str, Any]:
    """What the template of a report needs besides the facts."""
    candidates = dict(islice(f.allowed.items(), _MOST_CANDIDATES))
    short = (
        {"groups_short": "groups short", "rows_short": "rows short"} if promise_of(f.evidence).further else {}
    )
    numbers = ("groups", "smallest_group", "groups_below_k", "rows_below_k", *short, "feasible")
    marks = {f.granularity: " (contains all steps)" if f.steps else " (chosen)"}
    rows = [
        (name(granularity) + marks.get(granularity, ""), *(counts[number] for number in numbers))
        for granularity, counts in candidates.items()
    ]
    head = ("time by", "groups", "smallest group", "groups below k", "rows below k", *short.values(), "works")
    title = "What each granularity gives before rows are withheld, and whether it works"
    return {
        "sizes": size_picture(f.evidence.release, f.k),
        # Rows at steps of their own have no one granularity to compare with the others.
        "granularities": None if f.steps else granularity_picture(candidates, f.granularity),
        "candidates": Table(title, head, rows) if rows else None,
    }


def private(f: Facts, progress: Progress) -> dict[str, Any]:
    """What only the custodian may see: the risk before, the loss, and attacks."""
    release, time = f.evidence.release, f.manifest["time"]
    progress("attacking", 0.2)
    breach = attack(f.evidence, Adversary())
    near = Adversary(tolerance=1 if time["kind"] == "relative" else 86_400, sample=SAMPLE)
    exact = f.steps or breach.releases > 1
    tried = [breach] if exact else [breach, attack(f.evidence, near)]
    attempts = [Attempt(knowledge(attempt, release), attempt, f.k) for attempt in tried]
    most_rows = int(np.bincount(f.evidence.people.person).max(initial=0))
    for visits in (2, 3):
        if visits <= max(2, most_rows):
            several = attack(f.evidence, Adversary(visits=visits, sample=SAMPLE))
            attempts.append(Attempt(knowledge(several, release), several, None))
    progress("measuring", 0.7)
    return {
        "breach": breach,
        "knowledge": attempts[0].knows,
        "attacked": attack_picture(breach, time["unit"] or "second"),
        "risks": risk_table(breach, "a person", release),
        "attacks": attack_table(attempts),
        "broken": any(attempt.broken for attempt in attempts),
        "losses": loss_summary(measure.measure(f.evidence, windows=WINDOWS, seed=0)).sentences,
    }
