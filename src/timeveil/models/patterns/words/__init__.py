"""The words about a pattern release: its facts, its losses, what attacks find, and answers.

Texts hold column names and numbers, never an item. Only on request does a run name the small groups that the
true counts reveal; these sentences are for the custodian alone.
"""

import math
from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from timeveil.domain.judgement import Estimate
from timeveil.domain.release import Release
from timeveil.domain.roles import Roles
from timeveil.domain.wording import Progress
from timeveil.errors import InfeasibleError
from timeveil.models.patterns.evidence import Patterns
from timeveil.models.patterns.judges import measure
from timeveil.models.patterns.judges.attack import PatternBreach, SmallGroup, attack, examples_of
from timeveil.models.patterns.judges.measure import PatternLoss
from timeveil.models.patterns.judges.profile import PatternProfile
from timeveil.models.patterns.parameters import PatternAdversary, PatternParameters
from timeveil.models.patterns.words import pictures
from timeveil.page import templates
from timeveil.page.charts import bar_chart
from timeveil.page.report import Summary, Table
from timeveil.page.svg import RISK
from timeveil.page.templates import ReleaseFacts
from timeveil.page.wording import aligned, counted, joined, people, percent, quoted, share
from timeveil.symbols import LETTERS, borders

SHORT = 8  # up to this many counts of a sum are listed
_ALTERNATIVES = {
    "without people": "leaving people out",
    "without patterns": "leaving patterns out",
    "series table": "counting in the series table",
}


class Facts(ReleaseFacts):
    """What the templates of this model are filled with; the ledger adds what only the custodian knows."""

    table, achieved = PatternParameters, "pattern counts that reveal no group below {k}"
    exposure = None

    def examples(self) -> list[str]:
        """Small groups that the true counts reveal, by name: for the custodian alone."""
        try:
            groups = examples_of(self.evidence)
        except InfeasibleError as error:
            return [f"No example of what the true counts reveal: {error.message}."]
        return [f"Private, from the true counts: {derivation(group)}" for group in groups]

    def figures(self) -> list[tuple[str, Any]]:
        return [
            ("patterns published, including the empty one", self.counts["patterns"]),
            ("people counted, including virtual ones", self.counts["transactions"]),
            ("virtual people among them", self.counts["virtual"]),
            ("people who have a pattern, at least", self.parameters["min_support"]),
        ]

    @property
    def stated(self) -> dict[str, Any]:
        """The parameters to state; those of series only where patterns are of series."""
        stated, instants = super().stated, self.manifest["patterns"]["instants"]
        for name in () if instants else ("symbols", "center", "structural"):
            stated.pop(name, None)
        named = instants and tuple(instants) != self.original.roles.series
        return {**stated, "instants": instants if named else None}

    @property
    def typed_roles(self) -> Roles | None:
        """The roles as a command names them; a release has none."""
        return None if self.run.get("origin") == "release" else super().typed_roles

    def as_dict(self, *entries: str) -> dict[str, Any]:
        return {**super().as_dict("patterns", "parameters", *entries), "run": dict(self.run)}


def attack_summary(breach: PatternBreach, _release: Release | None = None) -> Summary:
    """An attack as a page; its examples, which are private, name some small groups of the original."""
    sentences, limits = templates.marked("models/patterns/words/attack.j2", breach=breach)
    return Summary(
        sentences,
        risk_table(breach),
        f"An outsider {breach.adversary.words} -> what they find",
        [*limits, "Other releases about the same people, and who is among those counted."],
        [derivation(group) for group in breach.examples],
    )


def derivation(group: SmallGroup) -> str:
    """How anyone gets from counts to a few people."""
    have = quoted(group.present) or "anything"
    none = "not" if len(group.absent) == 1 else "none of"
    without = f" and {none} {quoted(group.absent)}" if group.absent else ""
    verb = "has" if group.people == 1 else "have"
    numbers = [f"{number:,}" for number in dict.fromkeys(group.counts[index][1] for index in group.follow)]
    if len(group.counts) > SHORT:
        total, unpublished = f"from {counted(len(group.counts), 'count')}", len(group.follow)
        which = f"{unpublished:,} of which"
    else:
        terms = " ".join(f"{'-' if sign < 0 else '+'} {number:,}" for sign, number in group.counts)
        total, unpublished = f"{terms.removeprefix('+ ')} = {group.people:,}", len(numbers)
        which = f"where {joined(numbers)}"
    if numbers:
        verbs = ("is", "follows") if unpublished == 1 else ("are", "follow")
        total += f", {which} {verbs[0]} not published but {verbs[1]} from others"
    return f"exactly {people(group.people)} {verb} {have}{without}: {total}."


def risk_table(breach: PatternBreach) -> Table:
    """What is found in the original and in the release."""
    risks = (breach.before, breach.after)
    rows = [
        (f"groups below {breach.k} that sums give", breach.channels_before, breach.channels_after),
        ("people in one of them", breach.exposed_before, breach.exposed_after),
        ("people alone in one", *(risk.pinned for risk in risks)),
        ("smallest group", *(risk.quantile(0.0) if risk.worst else "none" for risk in risks)),
    ]
    return Table("What this outsider finds", ("", "original", "release"), rows)


def loss_summary(loss: PatternLoss) -> Summary:
    """The loss as numbered sentences and a table."""
    ways = ("without people", "without patterns")
    options = {
        "missing": [_ALTERNATIVES[way] for way in ways if loss.alternative(way) is None],
        "most_patterns": measure.MOST_PATTERNS,
    }
    sentences = templates.sentences("models/patterns/words/loss.j2", loss=loss, **options)
    return Summary(sentences, alternative_table(loss) if loss.alternatives else None)


def alternative_table(loss: PatternLoss) -> Table:
    """This release and other ways to publish the same patterns."""
    head = ("", "patterns", "changed", "lost", "mean error", "worst error", "people left out")
    numbers = ("patterns", "changed", "lost", "mean_error", "worst_error", "withheld")
    ways = {"this release": loss, **{_ALTERNATIVES[other.way]: other for other in loss.alternatives}}
    rows = [(name, *(getattr(way, number) for number in numbers)) for name, way in ways.items()]
    return Table("Other ways to publish the same patterns", head, rows)


def support_lines(count: Estimate, published: Patterns, items: Sequence[str]) -> list[str]:
    """How many people have a pattern, and what its symbols stand for."""
    if count.low == count.high:
        answer = f"{people(int(count.value))} exactly"
    elif not published.own_letters:
        answer = f"{people(int(count.value))} by these symbols"
    elif math.isinf(count.high):
        answer = f"{people(int(count.low))} or more, because some were left out"
    elif count.low == 0:
        answer = f"not published: {people(int(count.high))} at most"
    else:
        answer = f"{people(int(count.value))}, between {count.low:,.0f} and {count.high:,.0f}"
        if published.virtual:
            answer += f", because {published.virtual:,} who do not exist were added"
    return [answer, *_footnotes(published, items, count.unknown)]


def _footnotes(published: Patterns, items: Sequence[str], unknown: Sequence[str] = ()) -> list[str]:
    """What a number does not say, and the values of each symbol, which are the same at every instant."""
    lines = [f"no published pattern contains {quoted(unknown)}"] if unknown else []
    if not published.own_letters:
        origin = "a series release" if "origin" in published.manifest["patterns"] else "an unstated origin"
        lines.append(f"the symbols are those of {origin}: by people's own symbols, it may be any number")
    if not published.instants or not items:
        return lines
    symbols = sorted({LETTERS.index(item.rpartition("=")[2]) for item in items})
    cells = {symbol: borders([symbol, symbol + 1], published.kinds).tolist() for symbol in symbols}
    rows = [(f"  {LETTERS[symbol]}:", span_words(*ends)) for symbol, ends in cells.items()]
    alphabet = counted(published.kinds, "symbol")
    head = f"in deviations of a series from its {published.center}, with {alphabet}:"
    return [*lines, "", head, *aligned(rows, left=2)]


def confidence_lines(confidence: Estimate, published: Patterns, items: Sequence[str]) -> list[str]:
    """How often a rule holds, and what its symbols stand for."""
    answer = f"{share(confidence.value)} of them"
    if confidence.low != confidence.high:
        answer += f", between {share(confidence.low)} and {share(confidence.high)}"
    return [answer, *_footnotes(published, items, confidence.unknown)]


def top_lines(top: pa.Table, published: Patterns) -> list[str]:
    """The strongest patterns as a table."""
    patterns, rows = top.to_pylist(), []
    if not patterns:
        return ["no pattern is that long"]
    for row in patterns:
        # In backquotes, a comma in a name does not make two items of one.
        names = (quoted([item]) if "," in item else item for item in row["pattern"])
        rows.append((", ".join(names), f"{row['support']:,}", f"{row['low']:,.0f}"))
    items = list(dict.fromkeys(item for row in patterns for item in row["pattern"]))
    lines = aligned([("pattern", "people", "at least"), *rows])
    return [*lines, *_footnotes(published, items)]


def span_words(low: float, high: float) -> str:
    """A range of z-normalised values."""
    if math.isinf(low):
        return f"below {high:.3g}"
    return f"{low:.3g} and above" if math.isinf(high) else f"{low:.3g} to {high:.3g}"


def profile_summary(risk: PatternProfile, source: str, _known: Sequence[str] = ()) -> Summary:
    """The small groups that true counts reveal, and who is alone with some of their items."""
    rows = (
        f"{people(risk.people)} have {counted(risk.items, 'different item')}; "
        f"{counted(risk.patterns, 'pattern')} of {risk.min_support:,} people or more."
    )
    verdict = f"holds: no group of fewer than {risk.k} people follows from the true counts."
    if not risk.already_safe:
        verdict = (
            f"not yet safe: {counted(risk.small_groups, 'group')} of fewer than {risk.k} people follow "
            f"from the true counts by adding and subtracting; the smallest has {people(risk.smallest_group)}."
        )
    table = Table(
        "Share of people who are found by items that somebody knows of them",
        ("items known", "alone", f"in a group under {risk.k}"),
        [(counted(each.items, "item"), each.alone, each.below_k) for each in risk.known],
    )
    title = f"People in a group of fewer than {risk.k}, by known items"
    subtitle = "Share of people with that many items, of whom an outsider knows some items at random."
    shares = {counted(each.items, "item"): each.below_k for each in risk.known}
    picture = bar_chart(title, subtitle, shares, colours=dict.fromkeys(shares, RISK), label=percent)
    head = f"{source} -> what true counts reveal to an outsider"
    return Summary([rows, verdict], table, head, picture=picture)


def public(f: Facts) -> dict[str, Any]:
    """What the template of a report needs besides the facts."""
    published = f.evidence.patterns
    return {
        "published": published,
        "strongest": pictures.release_picture(f.evidence) if int(published.lengths.max(initial=0)) else None,
        "lengths": pictures.length_picture(published),
    }


def private(f: Facts, progress: Progress) -> dict[str, Any]:
    """What only the custodian may see: the risk before, the loss, and attacks."""
    progress("attacking", 0.2)
    breach = attack(f.evidence, PatternAdversary())
    progress("measuring", 0.7)
    loss = measure.measure(f.evidence, against=None, seed=0)
    alternatives = alternative_table(loss)
    result = "above the bound" if breach.broken else "within the bound"
    if breach.channels_after and not breach.broken:
        result = "beyond the promise"
    exposed: tuple[Any, Any] = (breach.channels_after, breach.exposed_after)
    attacks, bounds = [(breach.adversary.words, "none", *exposed, result)], breach.beyond
    all_solved = bounds is not None and bounds.tried == bounds.possible
    if bounds is not None and all_solved:
        outcome = f"{bounds.exact:,} known exactly" if bounds.pinned else "none is certain to be small"
        attacks.append(("solves for all data with these counts", "nothing", bounds.pinned, None, outcome))
    head = ("the outsider", "promised", "groups below k", "people in one", "result")
    return {
        "breach": breach,
        "attacked": pictures.group_picture(breach),
        "risks": risk_table(breach),
        "attacks": Table("Attacks on the release", head, attacks, words=2),
        "all_solved": all_solved,
        "losses": loss_summary(loss).sentences,
        "errors": pictures.error_picture(loss, alternatives),
        "error_table": alternatives,
        "exposed": beyond_the_promise(breach),
    }


def beyond_the_promise(breach: PatternBreach) -> list[str]:
    """What equations give, and bounds if all were tried or a small group was found before time was up."""
    bounds = breach.beyond
    (first, *equations) = templates.marked("models/patterns/words/attack.j2", breach=breach)[1]
    conclusive = bounds is not None and (bounds.tried == bounds.possible or bounds.pinned > 0)
    return [first, *equations] if conclusive else equations
