"""What a pattern release lost, in words."""

from __future__ import annotations

from timeveil.models.patterns.judges import measure
from timeveil.models.patterns.judges.measure import PatternError, PatternLoss
from timeveil.page.wording import WIDTH, aligned, counted, people, share, wrapped

_WAYS = {
    "this release": "this release",
    "without people": "leaving people out",
    "without patterns": "leaving patterns out",
    "series table": "read off the series table",
}


def described(loss: PatternLoss, width: int = WIDTH) -> list[str]:
    """The loss in sentences, beside other ways as a table."""
    told = sentences(loss)
    if loss.alternatives:
        told.append("Other ways to publish the same patterns:")
    lines = [
        line
        for number, sentence in enumerate(told, start=1)
        for line in wrapped(sentence, width, f"{number}. ")
    ]
    if not loss.alternatives:
        return lines
    return [*lines, "", *aligned([(f"   {row[0]}", *row[1:]) for row in table(loss)])]


def sentences(loss: PatternLoss) -> list[str]:
    """How many counts are others than the true ones, and by how much."""
    told = [
        f"{counted(loss.patterns, 'pattern')} of {people(loss.people)}: {loss.changed:,} published with "
        f"another count ({share(loss.changed / max(loss.patterns, 1))}), {loss.lost:,} not at all.",
        f"Counts are off by {share(loss.mean_error)} on average and by {share(loss.worst_error)} at worst; "
        f"{people(loss.virtual)} who do not exist were added, {loss.withheld:,} left out.",
    ]
    missing = [_WAYS[way] for way in ("without people", "without patterns") if loss.alternative(way) is None]
    if loss.patterns >= measure.MOST_PATTERNS:
        most = measure.MOST_PATTERNS
        told.append(f"Not compared with {' or '.join(missing)}: more than {most:,} patterns.")
    elif missing:
        told.append(f"Not compared with {' or '.join(missing)}: that would take too long.")
    return told


def table(loss: PatternLoss) -> list[tuple[str, ...]]:
    """This release beside other ways to publish the same, a head and a line for each."""
    head = ("", "patterns", "changed", "lost", "off by", "at worst", "people left out")
    own = PatternError(
        "this release",
        loss.patterns,
        loss.changed,
        loss.lost,
        loss.mean_error,
        loss.worst_error,
        loss.withheld,
    )
    return [head, *(_row(found) for found in (own, *loss.alternatives))]


def _row(found: PatternError) -> tuple[str, ...]:
    return (
        _WAYS[found.way],
        f"{found.patterns:,}",
        f"{found.changed:,}",
        f"{found.lost:,}",
        share(found.mean_error),
        share(found.worst_error),
        f"{found.withheld:,}",
    )
