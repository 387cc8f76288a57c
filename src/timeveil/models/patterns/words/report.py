"""A run of `sanitize_patterns` explains itself: what was read, found, raised or left out, and left open.

Sentences are made from the manifest and the ledger's facts: column names and numbers, never an item. Only if
asked for are the small groups told that the true counts give away; they are for the custodian alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from timeveil.domain.ledger import Ledger
from timeveil.domain.release import Release
from timeveil.domain.run import Run
from timeveil.domain.verdict import Verdict
from timeveil.evidence.published import promised
from timeveil.models.events.words.explanation import Explanation
from timeveil.page.wording import counted, people, quoted, share

NARROW = 5
"""At so many times k and below, counts are raised by much of themselves."""
HEAVY = 0.1
"""Above so much, as an error on average or as a share of virtual people, distortion is called heavy."""
FEW = 5
"""Below so many, k is called small."""
SOME = 5
"""So many small groups are told."""
TWO = 2
"""With so many letters a pattern tells all there is to tell of its instants."""

_METHODS = {
    "additive": "virtual people are added, k for each kind of small group",
    "tight": "virtual people are added, as few as will do",
    "clone": "copies of real people are added",
    "suppressive": "the people of small groups are left out",
    "itemset": "patterns that give a small group away are left out",
}


def explain_patterns(
    release: Release,
    ledger: Ledger,
    *,
    verdict: Verdict | None = None,
    run: Run | None = None,
) -> Explanation:
    """Say what a run of `sanitize_patterns` did, from what it returned."""
    warned = warnings(release, ledger)
    sentences = [
        *_read(ledger),
        *_found(release, ledger),
        *_small(release, ledger),
        *_done(release, ledger),
        *_columns(ledger),
        *([] if verdict is None else _checked(verdict)),
        *(f"Warning: {warning}" for warning in warned),
        *(_told(ledger) if run is not None and run.explain else []),
    ]
    source, k = ledger.original.source or "the table", promised(release, "k")
    where = "" if run is None else f", in `{run.out}`"
    return Explanation(
        title=f"{source} -> patterns that give no group below {k} away by counts of its items{where}",
        sentences=tuple(sentences),
        limits=tuple(_limits(release)),
        facts=_facts(release, ledger, warned, verdict, run),
        run=run,
    )


def told_to_all(release: Release) -> list[str]:
    """What can be said of a run from its release alone."""
    counts, parameters = release.manifest["counts"], release.manifest["parameters"]
    longest, method = parameters["max_len"], parameters["method"]
    short = "" if longest is None else f" of at most {counted(longest, 'item')}"
    closed = " (the closed ones)" if release.manifest["patterns"]["published"] == "closed" else ""
    told = [
        f"Looked for patterns{short} that at least {people(parameters['min_support'])} have.",
        f"Method `{method}`, where a small group could be computed: {_METHODS.get(method, method)}.",
    ]
    if counts["virtual"]:
        told.append(
            f"Added {counted(counts['virtual'], 'virtual person', 'virtual people')}; which is not published."
        )
    return [*told, f"Published {counted(counts['patterns'], 'pattern')}{closed}, the empty one for all."]


def warnings(release: Release, ledger: Ledger) -> list[str]:
    """What a custodian should think of before the release leaves the building."""
    k, parameters, facts = promised(release, "k"), release.manifest["parameters"], ledger.facts
    said = _distorted(k, parameters["min_support"], facts)
    if facts["lost"]:
        said.append(
            f"{counted(facts['lost'], 'pattern')} of {facts['patterns']:,} were lost; the method additive "
            "loses none."
        )
    if k < FEW:
        said.append(f"k is {k}, so few who work together can find out the others. 5 to 20 is usual.")
    shared = facts.get("source_p")
    if shared is not None and shared < k:
        said.append(
            f"k is {k}, and in the series release that the patterns are made from a pattern is shared by "
            f"{shared} or more. Whoever has that release counts groups of {shared} in it: beside it, k of "
            f"the counts is worth no more."
        )
    if facts["origin"] == "series":
        said.append(
            "these counts are of the original series. Publish them instead of a series release of the same "
            "people, not beside it, or make them from that release."
        )
        if not release.manifest["patterns"]["structural"]:
            said.append(
                "everybody has one letter at every instant, which every reader knows; groups that follow "
                "from that were not looked for, and the promise is weaker. Leave structural on unless you "
                "only compare."
            )
    return said


def _distorted(k: int, least: int, facts: Mapping[str, Any]) -> list[str]:
    """That counts are far from true ones, where much had to change or a narrow support made it likely."""
    if not facts["channels"]:
        return []
    mean, worst = facts["mean_error"] or 0.0, facts["worst_error"] or 0.0
    added = facts["virtual"] / max(facts["transactions"] + facts["virtual"], 1)
    cost = ""
    if worst > 0:
        cost = f" Here counts rose by {share(mean)} on average and by {share(worst)} at worst."
    more = f"The more it is, the less has to change; from {20 * k:,} on it is often little."
    if least <= NARROW * k:
        return [
            f"the smallest support is {least:,}, {least / k:.3g} times k: expect heavy distortion.{cost} "
            f"{more}"
        ]
    if mean > HEAVY or worst > 1 or added > HEAVY:
        return [
            f"heavy distortion: {share(added)} of the people counted are virtual.{cost} A larger min_support "
            "leaves more as it is."
        ]
    return []


def _read(ledger: Ledger) -> Iterator[str]:
    facts, rows = ledger.facts, ledger.original.rows
    kind = {"series": "series", "release": "rows of a series release", "baskets": "transactions"}
    total = facts["transactions"] + facts["left_out"]
    from_rows = "" if total == rows else f", from {counted(rows, 'row')}"
    items = counted(facts["items"], "different item")
    yield f"Read {total:,} {kind[facts['origin']]} with {items}{from_rows}."
    if facts["origin"] == "baskets" and facts.get("without_items") != 0:
        yield _without_items(facts)
    if facts["filled"]:
        yield f"Filled in {counted(facts['filled'], 'missing reading')}."
    if facts["left_out"]:
        yield f"Left out {counted(facts['left_out'], 'series', 'series')} with a missing reading."


def _without_items(facts: Mapping[str, Any]) -> str:
    """Whoever has nothing is in a table of lists and not in one of items."""
    nothing = facts.get("without_items")
    if nothing is None:
        return "Whoever has no item has no row in such a table, and is not counted among all."
    has, is_counted = ("has", "is") if nothing == 1 else ("have", "are")
    return f"{people(nothing)} {has} no item, and {is_counted} counted among all."


def _found(release: Release, ledger: Ledger) -> Iterator[str]:
    facts, parameters = ledger.facts, release.manifest["parameters"]
    longest = parameters["max_len"]
    short = "" if longest is None else f" of at most {counted(longest, 'item')}"
    yield (
        f"Found {counted(facts['patterns'], 'pattern')}{short} that at least "
        f"{people(parameters['min_support'])} have, of {counted(facts['frequent_items'], 'item')}."
    )


def _small(release: Release, ledger: Ledger) -> Iterator[str]:
    k, facts = promised(release, "k"), ledger.facts
    if facts["channels"] == 0:
        yield (
            f"No group of fewer than {k} follows from the true counts of its items, so nothing had to be "
            "done."
        )
        return
    how = (
        ", also as everybody has one letter at every instant"
        if release.manifest["patterns"]["structural"]
        else ""
    )
    yield (
        f"From their true counts anyone could compute {counted(facts['channels'], 'group')} of fewer than "
        f"{k} people{how}."
    )


def _done(release: Release, ledger: Ledger) -> Iterator[str]:
    facts, counts, method = ledger.facts, release.manifest["counts"], release.manifest["parameters"]["method"]
    if facts["channels"]:
        yield f"Method `{method}`: {_METHODS[method]}."
        if counts["virtual"]:
            kinds = counted(facts["mergers"], "kind")
            yield (
                f"Added {counted(counts['virtual'], 'virtual person', 'virtual people')} of {kinds}; "
                f"{facts['changed']:,} of {facts['patterns']:,} counts rose, all by "
                f"{share(facts['mean_error'])} on average, the most by {share(facts['worst_error'])}."
            )
        if facts["withheld"]:
            part, rounds = share(facts["withheld"] / facts["transactions"]), counted(facts["rounds"], "round")
            yield f"Left out {people(facts['withheld'])} ({part}) in {rounds}."
    lost = f"lost {facts['lost']:,}" if facts["lost"] else "lost none"
    closed = " (the closed ones)" if release.manifest["patterns"]["published"] == "closed" else ""
    yield f"Published {counted(counts['patterns'], 'pattern')}{closed}, the empty one for all; {lost}."


def _columns(ledger: Ledger) -> Iterator[str]:
    person = ledger.original.roles.respondent
    left = [*([] if person is None else [person]), *ledger.original.dropped]
    if left:
        yield f"Left out: {quoted(left)}."


def _checked(verdict: Verdict) -> Iterator[str]:
    how = "with the ledger" if verdict.scope == "with ledger" else "by what a recipient sees"
    outcome = "passed" if verdict else f"found {counted(len(verdict.violations), 'violation')}"
    yield f"Checked independently of the method, {how}: {counted(len(verdict.checks), 'check')} {outcome}."


def _told(ledger: Ledger) -> Iterator[str]:
    """Small groups that the true counts give away, by name: for the custodian alone."""
    for text in ledger.mappings["channels"]["text"].to_pylist()[:SOME]:
        yield f"Keep to yourself, it was so before: {text}."


def _limits(release: Release) -> Iterator[str]:
    k = promised(release, "k")
    yield (
        f"That adding and subtracting gives no group below {k} does not keep anybody from solving for all "
        "tables that fit the counts, which can bound a group closer; `timeveil attack` tries it where there "
        "are few."
    )
    if (release.manifest["patterns"]["symbols"] or 0) > TWO:
        yield (
            "With more than two letters, plus and minus over counts of other letters can give a group of "
            f"some letters at an instant that is below {k}; `timeveil attack` tries that, too."
        )
    yield "Who knows some of the people takes them off a count, and is nearer to the rest."
    yield "With a table of the same people, or an earlier release, the counts can tell more than either does."


def _facts(
    release: Release, ledger: Ledger, warned: list[str], verdict: Verdict | None, run: Run | None
) -> dict[str, Any]:
    manifest = release.manifest
    facts: dict[str, Any] = {
        "source": ledger.original.source,
        **{name: manifest[name] for name in ("guarantee", "patterns", "parameters", "counts")},
        "run": dict(ledger.facts),
        "dropped": list(ledger.original.dropped),
        "warnings": warned,
    }
    if verdict is not None:
        facts["verified"] = verdict.as_dict()
    if run is not None:
        facts["out"], facts["ledger"] = run.out, run.ledger
    return facts
