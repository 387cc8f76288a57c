"""A run of `anonymize_series` explains itself: what was read, grouped, lost, left out and left open.

Sentences are made from the manifest, the ledger's facts and counts: column names and numbers, never a value.
They are for the custodian, since they compare the release with the original.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from timeveil.domain.ledger import Ledger
from timeveil.domain.release import Release
from timeveil.domain.run import Run
from timeveil.domain.verdict import Verdict
from timeveil.evidence.published import columns_of, promised
from timeveil.models.events.words.explanation import Explanation
from timeveil.models.series.words.numbers import SeriesNumbers, series_numbers
from timeveil.page.wording import counted, quoted, share

FEW = 5
"""Below so many who share an envelope, k is called small; below 3 who share a pattern, p is."""
MUCH = 0.1
"""Share of constant or filled series from which on it is worth a word."""

OFTEN = 0.5
"""Share of bounds that are somebody's exact value from which on rounding is said to do too little."""
NEARLY = 0.9
"""So many different values to a row, and a column is like a name."""

_METHODS = {
    "adaptive": "patterns with a level for each instant, every one each member's own",
    "kapra": "patterns first, groups from them (KAPRA)",
    "naive": "groups first, patterns inside them (Naive)",
    "representative": "one pattern for each subgroup that stands for its mean",
}


def explain_series(
    release: Release,
    ledger: Ledger,
    *,
    verdict: Verdict | None = None,
    run: Run | None = None,
) -> Explanation:
    """Say what a run of `anonymize_series` did, from what it returned."""
    numbers = series_numbers(release, ledger)
    warned = [*warnings(release, numbers), *([] if run is None else run.unused())]
    sentences = [
        *_read(release, ledger),
        *_rules(release),
        *_grouped(release, numbers),
        *_lost(numbers),
        *_rounded(release, numbers),
        *_different(release, ledger),
        *_customised(release),
        *_columns(ledger),
        *([] if verdict is None else _checked(verdict)),
        *(f"Warning: {warning}" for warning in warned),
    ]
    source = ledger.original.source or "the table"
    where = "" if run is None else f", in `{run.out}`"
    k, p = promised(release, "k"), promised(release, "p")
    return Explanation(
        title=f"{source} -> {k} share every envelope, {p} every pattern{where}",
        sentences=tuple(sentences),
        limits=tuple(_limits(release, numbers)),
        facts=_facts(release, ledger, numbers, warned, verdict, run),
        run=run,
    )


def told_to_all(release: Release) -> list[str]:
    """What can be said of a run from its release alone."""
    counts, parameters = release.manifest["counts"], release.manifest["parameters"]
    instants, digits = release.manifest["series"]["instants"], parameters["round_outward"]
    told = [
        f"Published {counted(counts['rows'], 'series', 'series')} of {counted(len(instants), 'instant')}, "
        "one to a person.",
        *_rules(release),
        f"They stand in {counted(counts['groups'], 'group')} of one envelope each, with "
        f"{counted(counts['cells'], 'pattern')} in all.",
        f"Suppressed {counted(counts['suppressed'], 'series', 'series')} that fit nowhere."
        if counts["suppressed"]
        else "No series was suppressed.",
    ]
    if digits is not None:
        told.append(f"Envelopes were widened to bounds of {counted(digits, 'significant digit')}.")
    changed = release.manifest["series"]["perturbed"]
    if changed:
        told.append(
            f"Some values of {quoted(changed)} became others that occur nearby; which is not published."
        )
    return [*told, *_customised(release)]


def warnings(release: Release, numbers: SeriesNumbers) -> list[str]:
    """What a custodian should think of before the release leaves the building."""
    parameters, said = release.manifest["parameters"], []
    k, p = promised(release, "k"), promised(release, "p")
    if parameters["method"] == "representative":
        said.append(
            "patterns of the method representative are means: whoever knows all but one of a subgroup gets "
            "near the last one's shape. Prefer adaptive unless you need the last bit of shape."
        )
    if parameters["round_outward"] is None:
        said.append(
            "envelopes are not rounded, so every bound is somebody's exact value, and whoever is in the "
            "group learns it. Round them outward unless that is harmless."
        )
    exact, wide = numbers.loss.value_loss_unrounded, numbers.loss.value_loss
    if exact and wide and wide / exact > 1 + MUCH:
        digits = parameters["round_outward"]
        said.append(
            f"rounding outward to {counted(digits, 'significant digit')} made envelopes "
            f"{share(wide / exact - 1)} wider, as values lie close together. One digit more costs less."
        )
    if parameters["round_outward"] is not None and numbers.attained > OFTEN:
        digits = parameters["round_outward"]
        fewer = f"Round to {digits - 1}" if digits > 1 else "Make values coarser before publishing"
        said.append(
            f"{share(numbers.attained)} of the bounds are somebody's exact value in spite of rounding, as "
            f"values have hardly more than {counted(digits, 'significant digit')}; whoever is in the group "
            f"learns it. {fewer} unless that is harmless."
        )
    for name, part in numbers.different.items():
        if part >= NEARLY:
            said.append(
                f"nearly every row has a `{name}` of its own: whoever knows it finds the row, as by a name. "
                "Drop the column if it tells who somebody is, or make it coarser."
            )
    if k < FEW or p < 3:
        small = f"k is {k}" if k < FEW else f"p is {p}"
        said.append(
            f"{small}, so few who work together can find out the others. 5 to 20 and half of it is usual."
        )
    kept = columns_of(release, "keep")
    if kept:
        is_are = "is published as it is" if len(kept) == 1 else "are published as they are"
        said.append(
            f"{quoted(kept)} {is_are}, beside the series: the promise does not count what an outsider knows "
            f"of {'it' if len(kept) == 1 else 'them'}."
        )
    if numbers.constant >= MUCH:
        said.append(
            f"{share(numbers.constant)} of the series are constant: they have no shape, and a group of them "
            "has an envelope as narrow as their values are close."
        )
    return said


def _read(release: Release, ledger: Ledger) -> Iterator[str]:
    facts, rows = ledger.facts, ledger.original.rows
    long = "" if ledger.original.roles.series else f", from {counted(rows, 'row')} of one reading each"
    told = f"Read {counted(facts['series'] + facts['left_out'], 'series', 'series')} of "
    yield told + f"{counted(facts['instants'], 'instant')}{long}."
    how = release.manifest["parameters"]["fill"]
    if facts["filled"]:
        total = facts["series"] * facts["instants"]
        way = "the last one before" if how == "forward" else "a line between its neighbours"
        yield (
            f"Filled in {counted(facts['filled'], 'missing reading')} with {way}, "
            f"{share(facts['filled'] / total)} of all."
        )
    if facts["left_out"]:
        yield f"Left out {counted(facts['left_out'], 'series', 'series')} with a missing reading."


def _rules(release: Release) -> Iterator[str]:
    parameters, k, p = release.manifest["parameters"], promised(release, "k"), promised(release, "p")
    method = parameters["method"]
    weight = parameters["shape_weight"]
    knobs = "" if weight is None else f"; shape weight {weight:g}, effort {parameters['effort']}"
    yield (
        f"Published so that every envelope is shared by at least {k} series and every pattern in it by at "
        f"least {p}; method `{method}`: {_METHODS[method]}{knobs}."
    )


def _grouped(release: Release, numbers: SeriesNumbers) -> Iterator[str]:
    counts = release.manifest["counts"]
    sizes, cells = numbers.group_sizes, numbers.cell_sizes
    yield (
        f"{counted(counts['rows'], 'series', 'series')} in {counted(counts['groups'], 'group')} of "
        f"{_span(*sizes)}, with {counted(counts['cells'], 'pattern')} of {_span(*cells)}."
    )
    suppressed = counts["suppressed"]
    yield (
        f"Suppressed {counted(suppressed, 'series', 'series')} that fit nowhere."
        if suppressed
        else "No series was suppressed."
    )


def _lost(numbers: SeriesNumbers) -> Iterator[str]:
    loss = numbers.loss
    if loss.value_loss is not None and loss.value_span is not None:
        of_all = (
            f", {share(loss.value_loss / loss.value_span)} of what all series span" if loss.value_span else ""
        )
        yield (
            f"Before, {share(numbers.alone)} of the series were alone with their values. Now values are told "
            f"by an envelope that is {loss.value_loss:.4g} wide on average (value loss){of_all}."
        )
    if loss.pattern_loss is not None:
        yield (
            f"Shapes are told with {loss.level_mean:.3g} letters to an instant on average, and are "
            f"{loss.pattern_loss:.3g} off (pattern loss: 0 the same, 1 unrelated)."
        )


def _rounded(release: Release, numbers: SeriesNumbers) -> Iterator[str]:
    digits, exact = release.manifest["parameters"]["round_outward"], numbers.loss.value_loss_unrounded
    if digits is not None:
        yield (
            f"Envelopes were widened to bounds of {counted(digits, 'significant digit')}; "
            f"{share(numbers.attained)} of the bounds are somebody's exact value all the same. Without that "
            f"they would be {exact:.4g} wide."
        )


def _different(release: Release, ledger: Ledger) -> Iterator[str]:
    changed = ledger.facts["perturbed"]
    if promised_l := release.manifest["guarantee"]["l"]:
        each = [f"{counted(count, 'value')} of `{name}`" for name, count in changed.items()]
        which = f"{', '.join(each)} became others that occur nearby" if each else "nothing had to be changed"
        yield (
            f"Of those who share a pattern, at most 1 in {promised_l} has the same sensitive value; {which}. "
            "That hides which value is whose, not where they lie: those of a pattern may be close together, "
            "and so is a new one to the true one."
        )


def _customised(release: Release) -> Iterator[str]:
    series = release.manifest["series"]
    total, values, pattern = (len(series[name]) for name in ("instants", "values", "pattern"))
    if values < total or pattern < total:
        yield (
            f"Of {total} instants, envelopes of {values} and the pattern of {pattern} are published; the "
            "rest can be estimated."
        )


def _columns(ledger: Ledger) -> Iterator[str]:
    person = ledger.original.roles.respondent
    left = [*([] if person is None else [person]), *ledger.original.dropped]
    if left:
        yield f"Left out: {quoted(left)}."


def _span(low: int, high: int) -> str:
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"


def _checked(verdict: Verdict) -> Iterator[str]:
    how = "with the ledger" if verdict.scope == "with ledger" else "by what a recipient sees"
    outcome = "passed" if verdict else f"found {counted(len(verdict.violations), 'violation')}"
    yield f"Checked independently of the method, {how}: {counted(len(verdict.checks), 'check')} {outcome}."


def _limits(release: Release, numbers: SeriesNumbers) -> Iterator[str]:
    p = promised(release, "p")
    for column, part in numbers.commonest.items():
        whole = ": it is known of everyone there" if part == 1 else ""
        yield f"Of those who share a pattern, up to {share(part)} have the same `{column}`{whole}."
    yield (
        f"1 in {p} holds for whoever knows values, the pattern or both. Whoever is in a group, or knows "
        "others in it, leaves those out and is nearer to the rest."
    )
    yield "Two releases of the same people can be held against each other, and their groups intersected."


def _facts(
    release: Release,
    ledger: Ledger,
    numbers: SeriesNumbers,
    warned: list[str],
    verdict: Verdict | None,
    run: Run | None,
) -> dict[str, Any]:
    manifest = release.manifest
    facts: dict[str, Any] = {
        "source": ledger.original.source,
        **{name: manifest[name] for name in ("guarantee", "series", "parameters", "counts")},
        "run": dict(ledger.facts),
        **numbers.as_dict(),
        "dropped": list(ledger.original.dropped),
        "warnings": warned,
    }
    if verdict is not None:
        facts["verified"] = verdict.as_dict()
    if run is not None:
        facts["out"], facts["ledger"] = run.out, run.ledger
    return facts
