"""The parameters of `sanitize_patterns` (Revathi; channels after Atzori et al. 2008), one line each."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from timeveil.domain.lines import READING, AnyAdversary, Reading, after, allow_loss, fold_spellings, force
from timeveil.domain.parameter import Problem, parameter, rule
from timeveil.domain.wording import counted

if TYPE_CHECKING:
    from timeveil.models.patterns.judges.attack import PatternBreach  # noqa: F401 what an attack gives

MOST_SYMBOLS = 52  # symbols are written a to z and A to Z

NOT_A_COUNT = (
    "`min_support` must be a share between 0 and 1, or a whole number of people",
    "{min_support=0.01} is one in a hundred, {min_support=50} is 50 people",
)
"""What is wrong with a support that is neither, and the hint."""


def below_k(people: int, k: int) -> tuple[str, str]:
    """What is wrong with a support of fewer than k people, and the hint."""
    return (
        f"`min_support` is {counted(people, 'person', 'people')} and k is {k}: a pattern with fewer than k "
        "people would be published",
        f"raise {{min_support}} to {k} at least; at 20 times k counts change little",
    )


class PatternParameters(Reading):
    """Publish frequent patterns so that no group of fewer than k people can be computed.

    Patterns of transactions with --item, of series with --series or with --respondent, --time and --value, or
    of a series release. Checks the result, and writes a complete folder or none.

    Example: timeveil sanitize-patterns baskets.csv --out published --respondent customer --item product
    --k 10 --min-support 0.02
    """

    model = "patterns"
    command = "sanitize-patterns"
    roles = ("series", "respondent", "item", "time", "value", "drop")
    have = ("Patterns", "How many people have what in common: baskets, symptoms.")
    promised = "No group of fewer than k people can be computed from the counts."
    contents = "patterns"
    reads = "Table to read, such as baskets.csv, a folder of such files, or a series release folder."
    scopes = {  # noqa: RUF012 a class variable of its base
        "recipient": "by computing every group that the counts give (how many are virtual is not checked)",
        "with ledger": "by counting every pattern and computing every group, with the ledger",
    }
    explored = ("k", "min_support")
    stated = ("k", "min_support", "method", "max_len", "fill", "structural", "symbols", "center", "published")
    unstated = (*READING, "instants", "cap", "after", "force", "engine")

    k: int = parameter("Smallest group that may be computed from the counts.", at_least=2, example=10)
    min_support: float = parameter(
        "Smallest support of a published pattern: a share of the people, below 1, or a number of them.",
        above=0, example=0.02)
    method: Literal["additive", "tight", "clone", "least", "suppressive", "itemset"] = parameter(
        "How small groups are hidden; the first four lose no pattern.", default="additive", example="tight")
    symbols: int = parameter(
        "Series: number of symbols at an instant.", default=6, at_least=2, at_most=MOST_SYMBOLS, example=4)
    structural: bool = parameter(
        "Series: whether readers are taken to know that each person has exactly one symbol per instant.",
        default=True, off="Series: ignore that each person has exactly one symbol per instant.")
    center: Literal["mean", "median"] = parameter(
        "Series: centre that symbols are measured from.", default="mean", example="median")
    instants: tuple[str, ...] | None = parameter(
        "Series: instants whose patterns are published; all if not set.", default=None, example=["h06..h12"])
    max_len: int | None = parameter(
        "Largest number of items in a pattern.", default=None, at_least=1, at_most=10**6, example=4)
    published: Literal["frequent", "closed"] = parameter(
        "Publish all frequent patterns, or only closed ones: no longer pattern has the same count.",
        default="frequent", example="closed")
    cap: int = parameter(
        "Number of patterns at which the search stops with an error.",
        default=5_000_000, at_least=1, at_most=2**31 - 1, example=1_000_000)
    fill: Literal["forward", "linear", "drop"] | None = parameter(
        "Missing readings: repeat the last one, draw a line, or drop the person; refused if not set.",
        default=None, example="linear")
    nulls: Literal["error", "drop"] = parameter(
        "Transactions: rows without a person or an item: refuse or leave out.",
        default="error", example="drop")
    repeats: Literal["error", "once"] = parameter(
        "Transactions: an item that a person has several times: refuse, or count it once.",
        default="error", example="once")
    fold_spellings: bool = fold_spellings()
    allow_loss: bool = allow_loss()
    beside: Any = parameter(
        "Series release of the same people, if one exists; publishing both needs {force}.",
        default=None, example="published-series", metavar="DIR", private=True,
        opened="tv.open_release({})")
    after: list[Any] = after()
    force: bool = force()
    engine: Literal["memory", "spark"] = parameter(
        "Where patterns are mined; spark mines them in the cluster.", default="memory", example="spark")

    @rule("engine", "method", "fill", "nulls", "fold_spellings", "after")
    def rows_stay_in_the_cluster(self) -> Problem:
        """What looks at every row again, or changes one, is done on one machine."""
        needs = {"method": self.method in ("clone", "suppressive"), "fill": self.fill is not None,
                 "nulls": self.nulls == "drop", "fold_spellings": self.fold_spellings, "after": self.after}
        names = [f"`{name}`" for name, value in needs.items() if value]
        if self.engine == "memory" or not names:
            return None
        return (f"{names[0]} needs rows to be read, and with the engine `spark` they stay in the cluster",
                "change the table in Spark first, or leave {engine} out")

    @rule("min_support", "k")
    def a_pattern_has_at_least_k_people(self) -> Problem:
        """A support is a share, or a whole number of people that is not below k."""
        if self.min_support < 1:
            return None
        if self.min_support != int(self.min_support):
            return NOT_A_COUNT
        return None if self.min_support >= self.k else below_k(int(self.min_support), self.k)


@dataclass(frozen=True, slots=True)
class PatternAdversary(AnyAdversary["PatternBreach"]):
    """Has the published counts, and adds and subtracts them in every way there is.

    With `bounds`, also asks of small releases what the least and the most is that any data with these counts
    and this smallest support can have of a group, and solves the counts of series as a system of equations:
    more than the promise is about. Each takes `seconds` at most.

    >>> PatternAdversary(bounds=False).as_dict()
    {'bounds': False, 'seconds': 5}
    """

    words: ClassVar = "has the counts, and adds and subtracts them"

    bounds: bool = parameter(
        "Whether to look for the least and the most people that a group can have.",
        default=True, off="Do not look for the least and the most people that a group can have.")
    seconds: float = parameter(
        "Longest time for each such search, in seconds.", default=5, above=0, example=60, metavar="SECONDS")


PARAMETERS, ADVERSARY = PatternParameters, PatternAdversary
