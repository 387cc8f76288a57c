"""What anyone who knows the method can undo of the labels of a release at several steps.

A row is read at the first step that has a label for it. So a row with a coarse label is none of those that a
finer label would have shown, and what remains of its label is narrower than the label says (downcoding, Cohen
2021). And a finer label that is missing had fewer than k people, so that those of a group are spread over
what remains (combinatorial refinement, Chhillar et al. 2025). Nobody is found by either: all people of a
group remain in what is left of it, so that they are still k.
"""

from dataclasses import dataclass

import numpy as np

from timeveil.domain.arrays import Ints
from timeveil.domain.judgement import PlainData
from timeveil.evidence.checks import Findings
from timeveil.evidence.codes import distinct_pairs, fold, ranked
from timeveil.models.events.evidence import Evidence, observed
from timeveil.models.events.judges.protected import breaking

GROUPS, DRAWS = 100, 64


@dataclass(frozen=True, slots=True)
class Downcoding(PlainData):
    """What is undone of the labels, in bits a row, and of how many rows, in shares of all published ones.

    A cell is a combination of quasi-identifiers at a time that occurs in the original; the outsider is
    assumed to know which do. `narrowed` is the share of rows whose label covers cells that a finer label
    shows, `bits` what is regained by that, and `undone` the share of rows of which a single cell remains
    although the label covers several. `bits_of_missing` is what is regained from the finer labels that are
    missing, estimated from a sample of the groups; periods that do not overlap are not made from fine to
    coarse, so that what is missing there tells nothing so simple.
    """

    narrowed: float
    bits: float
    undone: float
    bits_of_missing: float


def downcoding(evidence: Evidence) -> Downcoding | None:
    """Narrow every label by the finer ones; None where all rows are at one step, or there are none."""
    if not (evidence.stepped and len(evidence.classes)):
        return None
    cell, example = evidence.cells
    cells = example[np.bincount(cell, weights=evidence.published) > 0]
    covered, left = np.zeros((2, len(evidence.classes)))
    for number in range(len(evidence.steps)):
        admitted = evidence.admitted(number, cells)
        fits = admitted >= 0
        covered += np.bincount(admitted[fits], minlength=len(covered))
        read = fits & (evidence.step[cells] == number)
        left += np.bincount(admitted[read], minlength=len(left))
    rows = np.asarray(evidence.classes["rows"])
    weight = rows / max(rows.sum(), 1)
    narrowed, tiled = covered > left, evidence.release.manifest["parameters"]["recode"] == "tiling"
    return Downcoding(
        narrowed=float(weight[narrowed].sum()),
        bits=float(weight @ np.log2(np.maximum(covered, 1) / np.maximum(left, 1))),
        undone=float(weight[narrowed & (left == 1)].sum()),
        bits_of_missing=0.0 if tiled else _bits_of_missing(evidence, np.random.default_rng(0)),
    )


def check_decoys(evidence: Evidence, findings: Findings) -> None:
    """Expect that the groups of k people that are missing at a step keep the promise together."""
    if not (evidence.release.manifest["parameters"].get("decoys") and evidence.published.any()):
        return
    findings.check("the groups that are missing at a step keep what is promised about groups together")
    findings.expect("decoys:ledger", isinstance(evidence.private.facts.get("decoys", {}).get("seed"), int))
    person, below = evidence.people.person, 0
    for number, label in enumerate(labels_by_step(evidence)):
        waiting = np.flatnonzero(evidence.published & (evidence.step > number))
        groups, group = ranked(label[waiting])
        members, _, _ = distinct_pairs(group, person[waiting], evidence.people.people)
        pool = waiting[(np.bincount(members, minlength=len(groups)) >= evidence.k)[group]]
        below += any(breaks.any() for _, breaks in breaking(evidence, pool, 0 * pool))
    findings.expect_none("decoys:pool", below=below)


def _bits_of_missing(evidence: Evidence, draw: np.random.Generator) -> float:
    """How much less likely it makes a group's people to be anywhere in their cells, in bits a row.

    The people of a group are put into its cells at random; in some of the draws every finer label would have
    fewer than k of them.
    """
    rows, (group, groups) = np.flatnonzero(evidence.published), evidence.group
    order = np.argsort(group, kind="stable")
    ends = np.cumsum(np.bincount(group, minlength=groups))
    labels, bits, total = labels_by_step(evidence), 0.0, 0
    for number in draw.permutation(groups)[:GROUPS]:
        members = rows[order[slice(ends[number - 1] if number else 0, ends[number])]]
        cells = np.unique(evidence.cells[0][members], return_index=True)[1]
        people = len(np.unique(evidence.people.person[members]))
        drawn, draws = draw.integers(len(cells), size=(DRAWS, people)), np.repeat(np.arange(DRAWS), people)
        possible = np.ones(DRAWS, bool)
        for step in range(int(evidence.step[members[0]])):
            label = np.unique(labels[step][members[cells]], return_inverse=True)[1].ravel()
            at, _, often = distinct_pairs(draws, label[drawn].ravel(), len(label))
            possible[at[often >= evidence.k]] = False
        bits, total = bits - np.log2(max(possible.sum(), 1) / DRAWS), total + len(members)
    return float(bits / max(total, 1))


def labels_by_step(evidence: Evidence) -> list[Ints]:
    """Per step a number for what each original row would be published as there."""
    granularities = [evidence.granularity_of(step) for step in evidence.steps]
    timeline, position = observed(evidence.people, granularities, "skip")
    labels = []
    for granularity, step in zip(granularities, evidence.steps, strict=True):
        granule = np.zeros(len(evidence.people.person), np.int64)
        granule[evidence.people.complete] = timeline.firsts(granularity)[position]
        columns = [evidence.labels_at(name, step["levels"].get(name)) for name in evidence.quasi]
        sides = [(column.codes, column.size) for column in columns]
        labels.append(fold([*sides, (np.maximum(granule, 0), len(timeline))], len(granule))[0])
    return labels
