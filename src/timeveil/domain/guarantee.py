"""Promises as values. Each names the model whose judges check it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, get_args

from timeveil.domain.parameter import Checked, Problem, literal, numbers_nest, optional, parameter, rule
from timeveil.domain.protection import AnyProtection, protections_from
from timeveil.errors import BundleError, ParameterError, raising

OF_ROWS = "; rows were counted, and a person may have several"


class Promise(Checked):
    """What the four promises have in common."""

    __slots__ = ()
    model: ClassVar[str]
    name: ClassVar[str]
    words: ClassVar[str]
    further_words: ClassVar[Mapping[str, str]] = {}
    """By field: what the sentence adds where it is set."""
    if_set: ClassVar[tuple[str, ...]] = ()
    """Fields that a manifest states only where they are set."""

    @property
    def sentence(self) -> str:
        """The promise in words."""
        added = (words for name, words in self.further_words.items() if getattr(self, name))
        return "".join([self.words, *added]).format(self)

    def as_dict(self) -> dict[str, Any]:
        """The promise as `release.json` states it."""
        stated = dict(self.as_arguments())
        for name in self.if_set:
            if not stated[name] or stated[name] == self.table()[name].default:
                del stated[name]
        return {"name": self.name, **stated}


@dataclass(frozen=True, slots=True)
class KAnonymity(Promise):
    """Every (quasi-identifiers, time) value is shared by at least k different people.

    Mascetti et al. 2006, Definition 3: people are counted, not rows.

    >>> KAnonymity(5).sentence
    'every combination of quasi-identifiers and time is shared by at least 5 different people'

    A group is everyone who shares such a value. With `protect`, every group keeps a promise about sensitive
    columns; with `dominance`, nobody has more than that share of a group's rows; with `visits=2`, at least k
    people are in both of any two groups that a person is in.

    >>> KAnonymity(5, protect={"result": "at-most:1/3"}).sentence.partition("; ")[2]
    'in every group, no value of `result` is held by more than 1/3 of the people'
    >>> KAnonymity(5, dominance=0.5).as_dict()
    {'name': 'k-anonymity', 'k': 5, 'dominance': 0.5}

    With `after`, the same holds for all that an event was published as, in this release and in as many
    earlier ones of the same table, where not being published counts as a value.

    >>> KAnonymity(5, after=1).sentence.partition("; ")[2]
    'so is every combination of what an event was published as in this release and the one before it'
    """

    model = "time"
    name = "k-anonymity"
    words = "every combination of quasi-identifiers and time is shared by at least {0.k} different people"
    if_set = ("protect", "dominance", "visits", "after")

    k: int = parameter(
        "Number of different people who must share every combination of quasi-identifiers and time.",
        at_least=2,
        example=5,
    )
    protect: Mapping[str, Any] | None = parameter(
        "What every group promises about sensitive columns.", default=None, example={"result": "distinct:3"}
    )
    dominance: float | None = optional(
        "Largest share of a group's rows that one person may have.", 0.5, above=0, below=1
    )
    visits: int = parameter(
        "Number of visits of a person that an outsider may know.", default=1, at_least=1, at_most=2, example=2
    )
    after: int | None = optional(
        "Number of earlier releases of the same table that the promise extends to.", 1, at_least=1
    )

    def __post_init__(self) -> None:
        Checked.__post_init__(self)
        texts = {column: str(promise) for column, promise in self.protections.items()}
        object.__setattr__(self, "protect", texts or None)

    def __repr__(self) -> str:
        stated = (f"{name}={value!r}" for name, value in self.as_dict().items() if name != "name")
        return f"KAnonymity({', '.join(stated)})"

    @property
    def further(self) -> bool:
        """Whether more is promised than a number of people."""
        return bool(self.protect or self.dominance or self.visits > 1)

    @property
    def protections(self) -> dict[str, AnyProtection]:
        """What is promised about each sensitive column."""
        return protections_from(self.protect)

    @property
    def further_sentences(self) -> list[str]:
        """What is promised besides a number of people, in words."""
        promises = [promise.sentence(column) for column, promise in self.protections.items()]
        if self.dominance:
            promises.append(f"in every group, nobody has more than {literal(self.dominance)} of the rows")
        if self.visits > 1:
            promises.append(f"any two groups that a person is in have at least {self.k} people in common")
        return promises

    @property
    def sentence(self) -> str:
        """The promise in words."""
        number = "one" if self.after == 1 else f"{self.after}"
        joint = "so is every combination of what an event was published as in this release and the"
        earlier = [f"{joint} {number} before it"] if self.after else []
        return "; ".join([self.words.format(self), *earlier, *self.further_sentences])


@dataclass(frozen=True, slots=True)
class LDiversity(Promise):
    """Every published slot is l-diverse: nobody's sensitive value is known with a chance above 1/l.

    Wang et al. 2010, after Xiao and Tao 2006: records are published in buckets of at least l records, and no
    sensitive value is held by more than 1 in l of a bucket's records.

    With `true_slot`, a person who also knows the slot that a record belongs to learns its value with a chance
    of at most 1 / true_slot; in a slot of n records, m of which hold the commonest value, of at most
    1 / floor(n / m) where that is more. Records stay, move or are withheld in packets of `true_slot`
    different values.

    With `k`, a bucket is a group of at least k records that share their generalised quasi-identifiers.

    >>> LDiversity(3).sentence
    'in every published bucket no sensitive value is held by more than 1 in 3 records'
    >>> LDiversity(4, true_slot=3).as_dict()
    {'name': 'l-diversity', 'l': 4, 'true_slot': 3}
    >>> LDiversity(4, true_slot=3).sentence.split(", ")[-1]
    "unless a value is held by more than 1 in 3 of that slot's records"

    With `recurring="withhold"` a person is published once; with `"invariant"` (Xiao and Tao 2007) all buckets
    of a person have the same values, each once, so that several slots show no more than one. With
    `forget_after` this holds for two slots of a person at most that far apart, if there is none between them.

    >>> LDiversity(3, recurring="withhold", forget_after=30).sentence.partition("; ")[2]
    'each person is published once, and again only after more than 30 slots'
    """

    model = "stream"
    name = "l-diversity"
    words = "in every published bucket no sensitive value is held by more than 1 in {0.l} records"
    further_words: ClassVar = {
        "true_slot": ", and anyone who knows a record's true slot learns its value with a chance of at most "
        "1 in {0.true_slot}, unless a value is held by more than 1 in {0.true_slot} of that slot's records",
        "about_return": "; {0.about_return}",
        "k": "; a bucket is a group of at least {0.k} records with the same generalised quasi-identifiers",
    }
    if_set = ("true_slot", "recurring", "forget_after", "k")

    l: int = parameter("No value may be held by more than 1 in l records.", at_least=2, example=3)
    true_slot: int | None = optional("Promise to someone who knows the true slot.", 2, at_least=2)
    recurring: Literal["withhold", "invariant"] | None = optional(
        "What is promised to people who come back.", "invariant"
    )
    forget_after: int | None = optional(
        "Number of slots after which people who come back are new.", 365, at_least=2
    )
    k: int | None = optional("Records that share their generalised quasi-identifiers.", 5, at_least=2)

    @property
    def about_return(self) -> str:
        """What is promised to people who come back, in words; empty if nothing is."""
        if self.recurring is None:
            return ""
        sentence, until = {
            "withhold": ("each person is published once", ", and again only after more than {} slots"),
            "invariant": (
                "the values of a person's buckets are the same in every slot",
                ", until nothing of that person is published for more than {} slots",
            ),
        }[self.recurring]
        return sentence + (until.format(self.forget_after) if self.forget_after else "")

    @rule("true_slot", "l")
    def _less_is_promised_about_the_true_slot(self) -> Problem:
        if self.true_slot is None or self.true_slot < self.l:
            return None
        hint = f"use {self.l - 1}" if self.l > 2 else "raise l to at least 3"
        return f"`true_slot` must be from 2 to l - 1 = {self.l - 1}, got {self.true_slot}", hint


@dataclass(frozen=True, slots=True)
class KPAnonymity(Promise):
    """k people share every envelope, and p of them the pattern in it.

    Shou et al. 2013, Definition 5. With `l`, each group of p people who share a pattern also has at least l
    different sensitive values. A p of 1 promises nothing about patterns; where none is published, this
    is k-anonymity.

    >>> KPAnonymity(10, 5).sentence
    'every value envelope is shared by at least 10 series, and every pattern in it by at least 5 of them'

    With `rows`, nobody said whose the series are: then rows are counted, and a person may have several.

    >>> KPAnonymity(10, 5, rows=True).sentence.partition("; ")[2]
    'rows were counted, and a person may have several'
    """

    model = "series"
    name = "kp-anonymity"
    words = "every value envelope is shared by at least {0.k} series"
    further_words: ClassVar = {
        "shares_patterns": ", and every pattern in it by at least {0.p} of them",
        "l": ", which have at least {0.l} different sensitive values",
        "rows": OF_ROWS,
    }
    if_set = ("rows",)

    k: int = parameter("Number of series that must share every envelope.", at_least=2, example=10)
    p: int = parameter("Number of those that must share every pattern.", at_least=1, example=5)
    l: int | None = optional("Number of different sensitive values among those.", 3, at_least=2)
    rows: bool = parameter("Whether rows were counted, for want of a respondent.", default=False)
    _numbers_nest = numbers_nest

    @property
    def shares_patterns(self) -> bool:
        """Whether anything is promised about patterns."""
        return self.p > 1


@dataclass(frozen=True, slots=True)
class NoInferenceChannel(Promise):
    """No group of fewer than k people can be computed from the published counts of its items.

    Channels after Atzori et al. 2008: a group is everyone who has some items and none of some others; adding
    and subtracting counts of patterns of these items never gives a number above 0 and below k.

    With `rows`, nobody said whose the rows are: then a row counts as a person.

    With `counts_alone` this is promised only towards someone who does not know that each person has one
    symbol at every instant, which readers of series do know.

    >>> NoInferenceChannel(10).sentence
    'no group of fewer than 10 people can be computed from the published counts of its items'
    >>> NoInferenceChannel(10, counts_alone=True).as_dict()
    {'name': 'no-inference-channel', 'k': 10, 'counts_alone': True}
    """

    model = "patterns"
    name = "no-inference-channel"
    words = "no group of fewer than {0.k} people can be computed from the published counts of its items"
    further_words: ClassVar = {
        "counts_alone": ", by someone who does not know that everybody has one symbol at every instant",
        "rows": OF_ROWS,
    }
    if_set = ("counts_alone", "rows")

    k: int = parameter("Smallest group that may be computed from the counts.", at_least=2, example=10)
    counts_alone: bool = parameter(
        "Leave it out to promise it towards everyone who reads the counts.", default=False
    )
    rows: bool = parameter("Whether rows were counted, for want of a respondent.", default=False)


Guarantee = KAnonymity | LDiversity | KPAnonymity | NoInferenceChannel


def guarantee_from(described: Mapping[str, Any]) -> Guarantee:
    """The promise that a manifest states."""
    message = "the release states a guarantee that this version does not know"
    hint = "open it with the version of timeveil named in its release.json, or a newer one"
    unknown = BundleError(message, hint=hint)
    with raising(unknown, on=(ParameterError, KeyError, TypeError)):
        kind = {kind.name: kind for kind in get_args(Guarantee)}[described["name"]]
        stated = (name for name in kind.table() if name in described or name not in kind.if_set)
        promise: Guarantee = kind(**{name: described[name] for name in stated})
        return promise
    raise unknown
