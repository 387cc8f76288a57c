"""The parameters of `generalize_time` (Mascetti et al. 2006), one line each."""

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Self, cast

from timeveil.domain.guarantee import KAnonymity
from timeveil.domain.lines import READING, AnyAdversary, Reading, accept_risk, allow_loss, fold_spellings
from timeveil.domain.parameter import Checked, Problem, parameter, rule
from timeveil.domain.protection import protections_from
from timeveil.domain.wording import counted
from timeveil.errors import ParameterError, raising

if TYPE_CHECKING:
    from timeveil.models.events.judges.attack import Breach  # noqa: F401 what an attack gives

CHOICES = ("groups", "generality", "loss", "precision")  # any other `choose` is the name of a granularity
FUNCTION = "function"  # what is stated where `choose` is a function
_IN_PLACE = {"postgres": "the database", "spark": "Spark"}  # the engines that count rows where they are
_SECONDS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400}
_SIZES = ((86_400, "day"), (3_600, "hour"), (60, "minute"), (1, "second"))


class EventParameters(Reading):
    """Publish events so that k people share every combination of quasi-identifiers and time.

    Finds the finest time granularity that keeps the promise, removes the respondent, checks the result, and
    writes a complete folder or none.

    Example: timeveil generalize-time visits.csv --out published --respondent patient --time taken_at
    --quasi zip --sensitive result --drop-rest --k 5
    """

    model = "time"
    command = "generalize-time"
    needs = ("respondent", "time")
    roles = ("until", "quasi", "cyclic", "sensitive", "keep", "event", "drop")
    have = ("Events", "Several rows per person, each with a time: visits, trips, purchases.")
    promised = "At least k people share every combination of time and what outsiders may know."
    contents = "events"
    scopes = {  # noqa: RUF012 a class variable of its base
        "recipient": "as far as a recipient can see (people were not counted)",
        "with ledger": "by counting the people of every group, with the ledger",
    }
    explored = ("k", "suppress")
    stated = ("k", "choose", "suppress", "gaps", "nulls", "granularities")
    unstated = (
        *(*READING, "weights", "hierarchies", "levels", "max_levels", "definitions"),
        *("engine", "memory_limit", "after"),
    )

    k: int = parameter(
        "Number of different people who must share every combination of quasi-identifiers and time.",
        at_least=2, example=5)
    granularities: list[Any] | None = parameter(
        "Granularities to consider; all that fit the data if none is named.",
        default=None, example=["week", "month"], option="--granularity", metavar="NAME")
    choose: str = parameter(
        "How to choose among the ways that work: the most groups, giving up no column if that costs little, "
        "the least general by the paper's measure, the least information lost, the lowest levels, or a name.",
        default="groups", example="month", metavar="groups|generality|loss|precision|NAME")
    suppress: float = parameter(
        "Share of the rows that may be withheld.", default=0.0, at_least=0, below=1, example=0.01)
    recode: Literal["global", "refined", "local", "tiling"] = parameter(
        "How rows are made coarser: all alike (global), each as little as possible (local), the same but no "
        "row coarser than with global (refined), or in periods that do not overlap (tiling).",
        default="global", example="local")
    weights: Mapping[str, float] | None = parameter(
        "How much the precision of a column matters, for {recode} other than global and for {choose} by loss "
        "or precision; 1 if not set.",
        default=None, example={"age": 2}, option="--weight", metavar="C=X", read=float)
    protect: Mapping[str, Any] | None = parameter(
        "What every group promises about a sensitive column: at-most:1/3, at-most:1/4:positive, "
        "distinct:3, entropy:3 or closeness:0.2.",
        default=None, example={"result": "at-most:1/3"}, metavar="C=PROMISE")
    dominance: float | None = parameter(
        "Largest share of a group's rows that one person may have.",
        default=None, above=0, below=1, example=0.5)
    decoys: bool = parameter(
        "Also make some groups coarser, at random, although they keep the promises of {protect}, so that a "
        "missing group need not be one that broke them.",
        default=False, applies_with="protect")
    visits: int = parameter(
        "Number of visits of a person that an outsider may know: with 2, any two groups that a person is in "
        "have k people in common.",
        default=1, at_least=1, at_most=2, example=2)
    hierarchies: Mapping[str, Any] | None = parameter(
        "How a quasi-identifier may be coarsened: a file, intervals, log, calendar, prefixes or suppression.",
        default=None, example={"age": "intervals:5,10"}, option="--hierarchy", metavar="C=HOW")
    levels: Mapping[str, int] | None = parameter(
        "Fixed level of a column with a hierarchy; 0 is the value itself.",
        default=None, example={"age": 1}, option="--level", metavar="C=N", read=int)
    max_levels: Mapping[str, int] | None = parameter(
        "Coarsest level that a column with a hierarchy may be published at.",
        default=None, example={"age": 2}, option="--max-level", metavar="C=N", read=int)
    after: list[Any] = parameter(
        "Ledger of an earlier release of this table; the promise then covers all these releases together.",
        default=(), example=["march.ledger"], metavar="LEDGER", opened="tv.open_ledger({})", path=True)
    append: bool = parameter(
        "Continue the last of the earlier releases: published rows keep their labels, and rows that come "
        "late wait until k people share their group.",
        default=False, applies_with="after")
    origin: str | None = parameter(
        "Count time from the first row of each person, or from the date in a column that is not published, "
        "instead of by the calendar.",
        default=None, example="first", metavar="first|C")
    gaps: Literal["error", "skip", "suppress", "next"] = parameter(
        "Times that a granularity leaves out, such as weekends: refuse, skip that granularity, withhold the "
        "rows, or use its next period.",
        default="error", example="skip")
    nulls: Literal["error", "withhold"] = parameter(
        "Rows without a person or a time: refuse or withhold.", default="error", example="withhold")
    fold_spellings: bool = fold_spellings()
    accept_risk: list[str] = accept_risk()
    allow_loss: bool = allow_loss()
    definitions: Any = parameter(
        "TOML file that defines further granularities.",
        default=None, example="clinic.toml", option="--calendar", metavar="FILE",
        opened='tomllib.loads(Path({}).read_text())["granularity"]')
    engine: Literal["memory", "duckdb", "postgres", "spark"] = parameter(
        "Where people are counted; duckdb reads files larger than memory, postgres counts in the database, "
        "spark in the cluster.",
        default="memory", example="duckdb")
    memory_limit: str | None = parameter(
        "Memory that DuckDB may use.", default=None, example="2GB", metavar="SIZE")

    def __post_init__(self) -> None:
        Checked.__post_init__(self)
        # Promises are stated, typed and written to job files as text.
        texts = {column: str(promise) for column, promise in protections_from(self.protect).items()}
        object.__setattr__(self, "protect", texts or None)

    @property
    def promise(self) -> KAnonymity:
        earlier = len(self.after) or None
        return KAnonymity(self.k, self.protect, self.dominance, visits=self.visits, after=earlier)

    @property
    def may_have_steps(self) -> bool:
        """Whether rows could be published at steps of their own with the other parameters as they are."""
        return self.gaps in ("error", "skip") and self.visits == 1

    @rule("weights", "recode", "choose")
    def only_steps_are_weighed(self) -> Problem:
        """One way for all rows that is not chosen by its loss has nothing to trade."""
        if self.weights is None:
            return None
        if self.recode == "global" and self.choose not in ("loss", "precision", FUNCTION):
            hint = 'add {choose="loss"} or {recode="local"}, or leave {weights} out'
            return "`weights` has no effect where all rows are made coarser alike for the most groups", hint
        numbers = [isinstance(weight, int | float) and 0 < weight < 1e6 for weight in self.weights.values()]
        fault = "a weight is not a number above 0 and below 1,000,000"
        return None if all(numbers) else (fault, "give a number, such as 2")

    @rule("after", "visits", "origin", "engine")
    def people_alone_are_counted_over_releases(self) -> Problem:
        """What was published before cuts groups that nobody sees; only people are counted in them."""
        reasons = {
            "visits": "pairs of groups are compared within one release",
            "origin": "an event is found again by its time",
            "engine": "events of earlier releases are recognised in memory",
        }
        for name, reason in reasons.items() if self.after else ():
            if getattr(self, name) != self.table()[name].default:
                hint = f"leave {{{name}}} out, or {{after}}: then each release keeps its promise alone"
                return f"`{name}` cannot be combined with `after`: {reason}", hint
        return None

    @rule("append", "recode", "choose", "granularities", "levels", "max_levels")
    def what_is_continued_is_not_chosen(self) -> Problem:
        """Periods and levels are those of the release that is continued."""
        for name in ("recode", "granularities", "levels", "max_levels", "choose"):
            if self.append and getattr(self, name) != self.table()[name].default:
                hint = f"leave {{{name}}} out, or leave {{append}} out"
                return f"`{name}` cannot be set with `append`, which keeps that of the release before", hint
        return None

    @rule("recode", "gaps", "visits", "choose", "decoys", "engine", "memory_limit", "origin")
    def every_value_has_an_effect(self) -> Problem:
        """What would change nothing, or could not be promised, is refused."""
        stepped = self.recode != "global"
        problems = [
            # A limit that nothing keeps would be a false comfort.
            (self.memory_limit is not None and self.engine != "duckdb",
             "`memory_limit` applies to the engine duckdb only",
             'add {engine="duckdb"}, or leave {memory_limit} out'),
            (self.origin is not None and self.engine in _IN_PLACE,
             f"`origin` needs rows to be read, and with the engine `{self.engine}` they stay in "
             f"{_IN_PLACE.get(self.engine)}",
             "count the time from it in a view of the table, or leave {engine} out"),
            # A row in a gap of one step and not of another could not be read by its time.
            (stepped and self.gaps not in ("error", "skip"),
             "rows in gaps cannot be withheld or moved where rows are not made coarser alike",
             'use {gaps="skip"}, or leave {recode} out'),
            # Groups that are made one after another are not compared with each other.
            (stepped and self.visits > 1,
             "two known visits are promised where all rows are made coarser alike only",
             "leave {recode} out, or {visits}"),
            # `local` and `tiling` start from no global answer.
            (self.recode in ("local", "tiling") and self.choose != "groups",
             f"`choose` has no effect with the recoding `{self.recode}`",
             'leave {choose} out, or use {recode="refined"}'),
            # Where all rows are made coarser alike, no group is held back for a coarser one.
            (self.decoys and self.recode not in ("refined", "local"),
             "`decoys` applies where groups are formed from fine to coarse only", 'add {recode="local"}'),
        ]
        return next(((message, hint) for applies, message, hint in problems if applies), None)


@dataclass(frozen=True, slots=True)
class Adversary(AnyAdversary["Breach"]):
    """Knows a person's quasi-identifiers and `visits` of their times, each to within `tolerance`.

    `tolerance` is a number of seconds or a `timedelta`; on relative time, a number of the release's unit.
    `sample` attacks that many people, drawn with `seed`; None attacks everyone.

    >>> Adversary(visits=2, tolerance=3600).as_dict()
    {'visits': 2, 'tolerance': 3600, 'seed': 0, 'sample': None}
    """

    visits: int = parameter("Number of known visits of a person.", default=1, at_least=1, example=2)
    tolerance: int | dt.timedelta = parameter(
        "How far off known times may be, in seconds.",
        kind="whole", default=0, at_least=0, example=1_800, metavar="N|30m|2h|1d")
    seed: int = parameter("Seed of random choices.", default=0, at_least=0, example=1)
    sample: int | None = parameter(
        "Number of people to attack; everyone if not set.", default=None, at_least=1, example=1_000)

    def __post_init__(self) -> None:
        if isinstance(self.tolerance, dt.timedelta):
            object.__setattr__(self, "tolerance", self.tolerance // dt.timedelta(seconds=1))
        Checked.__post_init__(self)

    @classmethod
    def typed(cls, options: Mapping[str, Any], manifest: Mapping[str, Any]) -> Self:
        """With a tolerance in seconds, or on relative time in numbers of the release's unit."""
        text, time = str(options.get("tolerance", "0")), manifest["time"]
        relative = time["kind"] == "relative"
        has_unit = text[-1:] in _SECONDS and not relative
        number, seconds = (text[:-1], _SECONDS[text[-1]]) if has_unit else (text, 1)
        hint = "give seconds, or a number with s, m, h or d, such as 30m"
        if relative:
            hint = f"give a number of {time['unit']}s, as the release has relative time"
        error = ParameterError("the tolerance is not a length of time", hint=hint)
        with raising(error, on=(ValueError, OverflowError)):
            tolerance = int(float(number) * seconds)
        return cls(**{**options, "tolerance": tolerance})

    @property
    def seconds(self) -> int:
        """The tolerance as a number; it was made one when the adversary was."""
        return cast("int", self.tolerance)

    def within(self, unit: str = "second") -> str:
        """The tolerance in words, after a blank; nothing if times are known exactly.

        `unit` is that of the tolerance: seconds, or on relative time the release's unit.

        >>> Adversary(tolerance=1800).within(), Adversary(tolerance=1).within("week"), Adversary().within()
        (' to within 30 minutes', ' to within 1 week', '')
        """
        if not self.tolerance:
            return ""
        sizes = _SIZES if unit == "second" else ((1, unit),)
        size, name = next(entry for entry in sizes if self.seconds % entry[0] == 0)
        return f" to within {counted(self.seconds // size, name)}"


PARAMETERS, ADVERSARY = EventParameters, Adversary
