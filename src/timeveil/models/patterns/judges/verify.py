"""Can a group of fewer than k people be computed from published counts? (Atzori et al. 2008; Revathi)

Counts are public, so anyone who receives them can check all of the promise. With the ledger one also sees
that every person is counted once, or withheld where the method withholds; that every count is that of the
original and the virtual people together, with no virtual one hidden; and that nothing is lost where nothing
may be.

A cell of a box is the number of people with its items and none of others. If all cells of all maximal boxes
are empty or have at least k people, so have those of all boxes (cell theorem). If one is below 0, no data at
all have these counts.
"""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from timeveil.domain.arrays import Flags
from timeveil.domain.judgement import Verdict
from timeveil.domain.release import Ledger
from timeveil.errors import InfeasibleError, InputError
from timeveil.evidence.checks import Findings
from timeveil.models.patterns.evidence import ADDING, MOST_PEOPLE, Evidence, Patterns
from timeveil.models.patterns.evidence.boxes import channels_of
from timeveil.models.patterns.evidence.counting import Baskets, Original, supports, with_border
from timeveil.models.patterns.evidence.family import NONE, Family, Knowledge, SizeError, all_parts
from timeveil.models.patterns.judges.manifest import check_columns, check_shape, check_statements

Copies = list[tuple[int, Baskets]]  # virtual people by the number of copies of each

SENTENCES = {
    "channel": "{groups:group} of fewer than {k} people can be computed; the smallest has {least}",
    "columns:stated": "the manifest does not state the columns pattern and support alone",
    "columns:stated-types": "the manifest does not state lists of texts and 64-bit whole numbers",
    "columns:table": "the table has {columns:column}, not pattern and support alone",
    "columns:types": "a pattern is not a list of texts, or a support is not a 64-bit whole number",
    "conservation:empty": "the empty pattern counts {stated} people where there are {people}",
    "conservation:incomplete": "{rows:row} without a person or an item, not left out by the manifest",
    "conservation:withheld": "{withheld:person} withheld, which the method does not do",
    "counts:empty": "the empty pattern counts {people} people where the manifest states {stated}",
    "counts:kinds": "the virtual people are not k of each kind, as the method adds them",
    "counts:virtual": "the manifest states more virtual people than people",
    "guarantee:k": "`parameters.k` of the manifest is not the k of the promise",
    "guarantee:readers": "the guarantee and `patterns.structural` differ on what readers know",
    "item:missing": "{cells:pattern} or items missing",
    "item:order": "{items:item} twice in a pattern, or out of order",
    "item:strange": "{strange:item} of {texts} not as the manifest states them",
    "item:together": "{patterns:pattern} with two symbols of one instant",
    "ledger:columns": "the ledger lacks a column or a table of a pattern release's ledger",
    "ledger:model": "the ledger does not belong to this release",
    "ledger-rows:people": "the transactions of the ledger are not the people of the original",
    "lost": "{lost:pattern} that at least {least} people have not published",
    "min-support": "{rare:pattern} with a support below {least}",
    "min-support:k": "patterns of {least} people are published where k is {k}",
    "min-support:real": "{rare:pattern} that fewer than {least} people have without virtual ones",
    "missing-part": "{patterns:pattern} of which a part is missing",
    "missing-part:empty": "there is no empty pattern, whose support is the number of people",
    "not-closed": "{patterns:pattern} with no more people than one that contains it",
    "pattern-twice": "{patterns:pattern} repeated",
    "person-twice": "{repeated:row} or items of a person who has them already",
    "row-count": "the table has {patterns} patterns where the manifest states {stated}",
    "row-order": "{rows:row} not in the order of items",
    "row-order:length": "{rows:row} after a longer one",
    "statements:baskets": "the manifest states of baskets what only series have",
    "statements:instants": "the manifest names no instant, an empty one, or one twice",
    "statements:kind": "the manifest states `{name}`, or leaves it out, unlike its kind",
    "statements:longest": "a pattern has {longest:item} where {most} is the most",
    "statements:origin": "the manifest states another origin of the letters than the ledger",
    "statements:twice": "the manifest states `{name}` twice, and not the same",
    "statements:virtual": "the manifest states virtual people, which its method does not add",
    "support:more": "{patterns:pattern} with more people than a part of it",
    "support:most": "a pattern has more people than the empty pattern",
    "support:missing": "{cells:pattern} without a support",
    "support:range": "{wrong:support} below 0 or beyond {most}",
    "too-large:boxes": "symbols of one instant can be combined in too many ways to examine all",
    "too-large:parts": "the patterns have too many parts to examine all of them",
    "unlike-any-data": "{groups:group} would have fewer than 0 people: no data have these counts",
    "unlike-any-data:sums": "{sums:sum} of all symbols of an instant differ from their total: no data have "
    "these counts",
    "virtual": "the ledger does not note the {stated} virtual people that the manifest states",
    "virtual:instants": "{kinds:kind} of virtual people without one symbol at every instant",
    "virtual:none": "the ledger lists no virtual people where {stated} are stated",
    "wrong-support": "{wrong:pattern} of {patterns} with another support than stated",
}


def check(evidence: Evidence) -> Verdict:
    """All checks of the pattern model, as far as each makes sense after the one before."""
    release, ledger = evidence.release, evidence.ledger
    findings = Findings("recipient" if ledger is None else "with ledger", SENTENCES)
    sound = check_shape(release, findings) and check_columns(release, findings)
    if sound and check_statements(evidence, findings):
        evidence.progress("reading patterns", 0.1)
        family = _check_table(evidence, findings)
        if family is not None:
            evidence.progress("looking for small groups", 0.3)
            _check_channels(evidence, family, findings)
            findings.check("the stated number of virtual people is possible (only the ledger shows more)")
            if ledger is not None:
                evidence.progress("counting people", 0.6)
                findings.open_ledger(release, ledger)
                _check_definition(evidence, ledger, family, findings)
    return findings.verdict()


def _check_table(evidence: Evidence, findings: Findings) -> Family | None:
    """Judge the table; the family of all sets that it counts, where there is one."""
    findings.check("every pattern is a list of items in order, none twice and one of each instant at most")
    findings.check("every support is a number of people")
    findings.check("rows are in the order of their length and items, the empty pattern first")
    for name, numbers in evidence.table.faults:
        findings.expect(name, False, **numbers)
    if evidence.table.faults:
        return None
    family, manifest = evidence.table.family, evidence.release.manifest
    counts, parameters = manifest["counts"], manifest["parameters"]
    findings.check("the numbers of patterns and people are those of the manifest")
    patterns, people = counts["patterns"], int(family.support[0])
    findings.expect("row-count", family.number == patterns, patterns=family.number, stated=patterns)
    stated = counts["transactions"]
    findings.expect("counts:empty", people == stated, people=people, stated=stated)
    findings.expect("counts:virtual", counts["virtual"] <= stated)
    findings.expect("counts:kinds", parameters["method"] != "additive" or not counts["virtual"] % evidence.k)
    least, most = parameters["min_support"], parameters["max_len"]
    findings.check(f"no pattern has a support below {least:,}, nor more items than stated")
    rare = int((family.support < least).sum())
    findings.expect("min-support", not rare or family.number == 1, rare=rare, least=least)
    longest = len(family.levels) - 1
    findings.expect("statements:longest", most is None or longest <= most, longest=longest, most=most)
    closed = manifest["patterns"]["published"] == "closed"
    return _check_closed(family, findings) if closed else _check_parts(family, findings)


def _check_parts(family: Family, findings: Findings) -> Family | None:
    findings.check("every part of a pattern is published, with as many people or more")
    if (family.parents[1:] >= 0).all():
        missing = sum(int((drop < 0).any(axis=1).sum()) for drop in family.drops)
    else:  # the family cannot drop items then, so every set is looked up
        every = {tuple(items) for level in family.levels for items in level.tolist()}
        parts = ((items[:n] + items[n + 1 :] for n in range(len(items))) for items in every)
        missing = sum(any(part not in every for part in shorter) for shorter in parts)
    if not findings.expect_none("missing-part", patterns=missing):
        return None
    rising = 0
    for length, drop in enumerate(family.drops):
        rising += int((family.support[drop] < family.supports(length)[:, None]).any(axis=1).sum())
    findings.expect_none("support:more", patterns=rising)
    return family


def _check_closed(family: Family, findings: Findings) -> Family | None:
    """All sets that closed patterns count: as many people as the most common pattern that contains a set."""
    findings.check("every pattern is closed: all that contain it have fewer people")
    try:
        complete, numbers = all_parts(family)
    except SizeError:
        findings.expect("too-large:parts", False)
        return None
    containing = np.full(complete.number, -1, dtype=np.int64)
    for length, drop in enumerate(complete.drops):
        np.maximum.at(containing, drop.ravel(), np.repeat(complete.supports(length), length))
    if not findings.expect("support:most", containing[0] <= family.support[0]):
        return None
    loose = (containing[numbers] >= family.support)[1:]  # the empty pattern is always published
    return complete if findings.expect_none("not-closed", patterns=loose) else None


def _check_channels(evidence: Evidence, family: Family, findings: Findings) -> None:
    """Compute every cell that a reader can; of series, with what follows from one symbol at every instant."""
    described, k = evidence.release.manifest["patterns"], evidence.k
    structural, series = bool(described["structural"]), described["kind"] == "series"
    assumed = " by someone who does not know that everybody has one symbol at every instant" if series else ""
    if structural:
        assumed = ", nor with what is left for the only unpublished symbol of an instant"
    group = f"no group of fewer than {k} people"
    findings.check(f"{group} follows from sums and differences of the counts of its items{assumed}")
    add_up = ", and letters of an instant add up" if structural else ""
    findings.check(f"no group would have fewer than 0 people{add_up}")
    knowledge = Knowledge(family if structural else family.unlinked)
    if not findings.expect_none("unlike-any-data:sums", sums=knowledge.contradictions):
        return
    try:
        channels = channels_of(knowledge.family, k)
    except InfeasibleError:
        findings.expect("too-large:boxes", False)
        return
    findings.expect_none("channel", groups=len(channels), k=k, least=int(channels.size.min(initial=k)))
    findings.expect_none("unlike-any-data", groups=channels.impossible)


def _check_definition(evidence: Evidence, ledger: Ledger, family: Family, findings: Findings) -> None:
    if not _check_ledger(ledger, findings):
        return
    try:
        original = evidence.original
    except InputError as error:
        findings.expect("ledger", False, fault=error.message)
        return
    table, described = evidence.table, evidence.release.manifest["patterns"]
    if "origin" in described:
        findings.check("the symbols are those of the stated origin")
        mined = "series release" if ledger.facts.get("origin") == "release" else "table"
        findings.expect("statements:origin", described["origin"] == mined)
    counted = _check_people(ledger, original, table.method, findings)
    virtual = _virtual(ledger, table, findings)
    if counted is None or virtual is None:
        return
    rows, doubtful = original.rows.take(counted), original.doubtful
    # What is just outside is counted with the family: a pattern that enough people have is lost there.
    wider, outside = family, np.zeros(family.number, dtype=bool)
    if table.method != "itemset":
        wider, outside = with_border(family, table.longest or len(family.levels))
    counts = supports(wider, rows)
    real, least = counts[~outside], table.least
    findings.check("every support is the number of real and virtual people who have the pattern")
    total = real + sum(copies * supports(family, people) for copies, people in virtual)
    stated, people = int(family.support[0]), int(total[0])
    findings.expect("conservation:empty", stated == people, stated=stated, people=people)
    wrong = (np.abs(total - family.support) > doubtful)[1:]
    findings.expect_none("wrong-support", wrong=wrong, patterns=family.number - 1)
    if table.method in ADDING:
        findings.check(f"at least {least:,} people have every pattern, virtual ones not counted")
        findings.expect_none("min-support:real", rare=real[1:] + doubtful < least, least=least)
    if table.method != "itemset":
        findings.check(f"no pattern that {least:,} people have is missing")
        singles = np.bincount(rows.items[rows.items >= 0], minlength=family.size)
        singles[family.singles] = 0  # the border combines published items; these are the others
        lost = np.concatenate([singles, counts[outside]]) >= least + doubtful
        findings.expect_none("lost", lost=lost, least=least)


def _check_ledger(ledger: Ledger, findings: Findings) -> bool:
    roles = ledger.original.roles
    has_roles = roles.item or roles.series or (roles.respondent and roles.time and roles.value)
    if not findings.expect("ledger:model", ledger.model == "patterns" and has_roles):
        return False
    if not findings.expect("ledger:columns", "virtual" in ledger.mappings):
        return False
    return findings.expect_rows(ledger, "transaction")


def _check_people(ledger: Ledger, original: Original, method: str, findings: Findings) -> Flags | None:
    findings.check("everybody is counted once, with all of their items, or withheld where that is the method")
    findings.expect_none("person-twice", repeated=original.repeated)
    findings.expect_none("conservation:incomplete", rows=original.incomplete)
    noted = np.asarray(pc.fill_null(ledger.table.column("transaction"), NONE)).astype(np.int64)
    inside = original.row_of >= 0
    number = np.full(original.rows.rows, NONE, dtype=np.int64)
    # One note per person; rows of a person that disagree show up as a split.
    number[original.row_of[inside]] = noted[inside]
    split = (noted[inside] != number[original.row_of[inside]]).any() or (noted[~inside] != NONE).any()
    counted: Flags = number != NONE
    distinct = len(np.unique(number[counted])) == int(counted.sum())
    if not findings.expect("ledger-rows:people", distinct and not split):
        return None
    if method != "suppressive":
        findings.expect_none("conservation:withheld", withheld=~counted)
    return counted


def _virtual(ledger: Ledger, published: Patterns, findings: Findings) -> Copies | None:
    findings.check("the virtual people are as many as the manifest states")
    table, stated = ledger.mappings["virtual"], published.virtual
    if not {"pattern", "copies"} <= set(table.column_names) or not table.num_rows:
        return [] if findings.expect("virtual:none", not (stated or table.num_rows), stated=stated) else None
    copies = np.asarray(pc.fill_null(table.column("copies"), 0)).astype(np.int64)
    possible = bool(((copies >= 1) & (copies <= MOST_PEOPLE)).all())
    findings.expect("virtual", possible and int(copies.sum()) == stated, stated=stated)
    if not possible:
        return None
    patterns = table.column("pattern")
    lengths = np.asarray(pc.fill_null(pc.list_value_length(patterns), 0)).astype(np.int64)
    texts = pc.list_flatten(patterns).cast(pa.string()).to_pylist()
    items = np.array([published.number_of.get(text, NONE) for text in texts], dtype=np.int64)
    rows = Baskets(np.concatenate([[0], np.cumsum(lengths)]), items)
    if published.kinds > 1:
        # those who do not have exactly one symbol at every instant, as everybody has
        instants, inside = len(published.instants), items >= 0
        occupied = np.unique(rows.owners[inside] * instants + items[inside] // published.kinds)
        complete = np.bincount(occupied // instants, minlength=rows.rows) == instants
        findings.expect_none("virtual:instants", kinds=~complete | (lengths != instants))
    return [(int(count), rows.take(copies == count)) for count in np.unique(copies)]
