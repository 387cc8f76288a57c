"""Every run explains itself: what was read, tried, chosen, left out and checked, in numbered sentences.

Sentences are made from the manifest and the ledger's facts: column names and counts, never a value.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from timeveil.domain.ledger import Ledger
from timeveil.domain.release import Release
from timeveil.domain.run import Run
from timeveil.domain.verdict import Verdict
from timeveil.evidence.published import promised
from timeveil.models.events.words.choice import chosen, considered, limited
from timeveil.models.events.words.combinations import combinations
from timeveil.models.events.words.exposure import Exposure
from timeveil.page.wording import WIDTH, counted, people, quoted, share, wrapped

PSEUDONYM = 0.2  # share of rows above which a column is called a second name


@dataclass(frozen=True, slots=True)
class Explanation:
    """A title, numbered sentences, what is not protected, and how to do it again."""

    title: str
    sentences: tuple[str, ...]
    limits: tuple[str, ...]
    facts: dict[str, Any]
    run: Run | None = None

    def text(self, width: int = WIDTH) -> str:
        """The whole as plain text. Commands are not wrapped, so that they can be copied."""
        lines = [self.title, *self.numbered(width), "", "What it does not protect:"]
        for limit in self.limits:
            lines += wrapped(limit, width)
        if self.run is not None:
            lines += ["", self.run.again, f"  $ {self.run.command()}", "or in Python:"]
            lines += [f"  {line}".rstrip() for line in self.run.python().splitlines()]
        return "\n".join(lines) + "\n"

    def numbered(self, width: int = WIDTH) -> list[str]:
        """The sentences with their numbers, as lines."""
        lines: list[str] = []
        for number, sentence in enumerate(self.sentences, start=1):
            lines += wrapped(sentence, width, f"{number}. ")
        return lines

    def as_dict(self) -> dict[str, Any]:
        """The same as data."""
        again = {} if self.run is None else {"reproduce": self.run.as_dict()}
        return {
            "title": self.title,
            "sentences": list(self.sentences),
            "limits": list(self.limits),
            **self.facts,
            **again,
        }


def explain(
    release: Release,
    ledger: Ledger,
    *,
    verdict: Verdict | None = None,
    exposed: Exposure | None = None,
    run: Run | None = None,
) -> Explanation:
    """Say what a run of `generalize_time` did, from what it returned.

    `verdict` adds what was checked, `exposed` the numbers on what is not protected, and `run` how to
    do it again.
    """
    sentences = [
        *_read(release, ledger),
        *considered(release, ledger),
        *chosen(release),
        *combinations(release, () if run is None else tuple(run.values.get("hierarchies") or ())),
        *_quasi(release),
        *_left_out(release, ledger),
        *_clock(release),
        *([] if verdict is None else _checked(verdict)),
    ]
    k, source = promised(release, "k"), ledger.original.source or "the table"
    where = "" if run is None else f", in `{run.out}`"
    return Explanation(
        title=f"{source} -> {k}-anonymous by time{where}",
        sentences=tuple(sentences),
        limits=tuple(_limits(release, exposed)),
        facts=_facts(release, ledger, verdict, exposed, run),
        run=run,
    )


def told_to_all(release: Release) -> list[str]:
    """What can be said of a run from its release alone."""
    counts = release.manifest["counts"]
    read = f"Of {counted(counts['rows_read'], 'row')} read, {counts['rows']:,} were published."
    withheld = _withheld(release) if counts["withheld"] else "No row was withheld."
    return [
        read,
        *limited(release),
        *chosen(release),
        *combinations(release),
        *_quasi(release),
        withheld,
        *_moved_on(release),
        *_clock(release),
    ]


def _read(release: Release, ledger: Ledger) -> Iterator[str]:
    rows, at = release.manifest["counts"]["rows_read"], ledger.facts.get("read_at")
    precision = f", time counted by `{at}`" if at else ""
    yield f"Read {counted(rows, 'row')} of {people(ledger.facts.get('people', 0))}{precision}."


def _quasi(release: Release) -> Iterator[str]:
    columns = [column["name"] for column in release.manifest["columns"] if column["role"] == "quasi"]
    levels = release.manifest["levels"]
    plain = [name for name in columns if name not in levels]
    if not columns:
        yield "No quasi-identifier beside the time."
        return
    parts = [
        "`{}` generalised to {}".format(
            name, "one value for all" if levels[name]["name"] == "*" else f"`{levels[name]['name']}`"
        )
        for name in columns
        if name in levels
    ]
    if plain:
        parts.append(f"{quoted(plain)} published as {'it is' if len(plain) == 1 else 'they are'}")
    yield f"Quasi-identifiers beside the time: {'; '.join(parts)}."


def _left_out(release: Release, ledger: Ledger) -> Iterator[str]:
    relation, counts = ledger.original, release.manifest["counts"]
    person = f"Left out: `{relation.roles.respondent}`, which says who"
    columns = f", and {quoted(relation.dropped)}" if relation.dropped else ""
    yield f"{person}{columns}. {_withheld(release) if counts['withheld'] else 'No row was withheld.'}"
    yield from _moved_on(release)


def _moved_on(release: Release) -> Iterator[str]:
    moved = _chosen_counts(release).get("rows_in_gaps", 0)
    if moved and release.manifest["parameters"]["gaps"] == "next":
        yield f"{counted(moved, 'row')} in gaps of the calendar went to the next granule."


def _withheld(release: Release) -> str:
    counts = release.manifest["counts"]
    total = counts["withheld"]
    part = total / counts["rows_read"]
    reasons = "; ".join(reason for number, reason in withheld_by_reason(release) if number)
    return f"Withheld {counted(total, 'row')} ({share(part)}): {reasons}."


def withheld_by_reason(release: Release) -> list[tuple[int, str]]:
    """How many rows were withheld, and why."""
    k, counts, here = promised(release, "k"), release.manifest["counts"], _chosen_counts(release)
    small = here.get("rows_below_k", 0)
    in_gaps = here.get("rows_in_gaps", 0) if release.manifest["parameters"]["gaps"] == "suppress" else 0
    incomplete = counts["withheld"] - small - in_gaps
    return [
        (small, f"{small:,} in groups below {k} people"),
        (in_gaps, f"{in_gaps:,} in gaps of the calendar"),
        (incomplete, f"{incomplete:,} without a person or a time"),
    ]


def _chosen_counts(release: Release) -> dict[str, Any]:
    manifest = release.manifest
    found: dict[str, Any] = manifest["candidates"].get(manifest["granularity"], {})
    return found


def _clock(release: Release) -> Iterator[str]:
    time = release.manifest["time"]
    match time["kind"]:
        case "zoned":
            yield f"Times were read on the clocks of {time['zone']}."
        case "relative":
            yield f"Times are whole numbers of the unit {time['unit']}, since a start of their own."
        case _:
            yield "Times have no zone and were taken as they are."


def _checked(verdict: Verdict) -> Iterator[str]:
    how = (
        "counting people anew, with the ledger" if verdict.scope == "with ledger" else "what a recipient sees"
    )
    outcome = "passed" if verdict else f"found {counted(len(verdict.violations), 'violation')}"
    files = "; `verify` adds one on the files" if verdict else ""
    checks = f"{counted(len(verdict.checks), 'check')} {outcome}{files}"
    yield f"Checked independently of the method, by {how}: {checks}."


def _limits(release: Release, exposed: Exposure | None) -> Iterator[str]:
    k = promised(release, "k")
    if exposed is None:
        yield (
            f"Being one of {k} does not mean a chance of 1 in {k}: one person may have most rows of a group, "
            "and a sensitive value that a whole group shares is known of everyone in it."
            + (" `timeveil attack` has the numbers." if release.manifest["counts"]["rows"] else "")
        )
        return
    yield (
        f"One person has up to {share(exposed.largest_share)} of the rows of a group, "
        f"so being one of {k} does not mean a chance of 1 in {k}."
    )
    for column, part in exposed.sensitive.items():
        whole = ": it is known of everyone there" if part == 1 else ""
        yield f"In the worst group {share(part)} of the rows have the same `{column}`{whole}."
    if exposed.similar_ids:
        yield (
            f"{counted(exposed.similar_ids, 'id')} differ from another only in case or blanks, and count as "
            "other people: if they are the same, groups hold fewer people than this says. Clean the ids."
        )
    for column, part in exposed.tying.items():
        if part >= PSEUDONYM:
            yield (
                f"`{column}` acts like a second name: {share(part)} of the rows have a value of it that only "
                "one person has, in several rows, so they can be tied together. Drop it, or make it coarser."
            )


def _facts(
    release: Release, ledger: Ledger, verdict: Verdict | None, exposed: Exposure | None, run: Run | None
) -> dict[str, Any]:
    manifest = release.manifest
    facts: dict[str, Any] = {
        "source": ledger.original.source,
        "guarantee": manifest["guarantee"],
        "granularity": manifest["granularity"],
        "people": ledger.facts.get("people", 0),
        "read_at": ledger.facts.get("read_at"),
        "skipped": dict(ledger.facts.get("skipped", {})),
        "dropped": list(ledger.original.dropped),
        **{name: manifest[name] for name in ("time", "counts", "levels", "frontier", "candidates")},
    }
    if "nodes" in manifest:
        facts["nodes"] = manifest["nodes"]
    if verdict is not None:
        facts["verified"] = verdict.as_dict()
    if exposed is not None:
        facts["exposure"] = exposed.as_dict()
    if run is not None:
        facts["out"] = run.out
        facts["ledger"] = run.ledger
    return facts
