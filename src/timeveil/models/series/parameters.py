"""The parameters of `anonymize_series` (Shou et al. 2013), one line each."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

from timeveil.domain import lines
from timeveil.domain.lines import READING, AnyAdversary, Reading
from timeveil.domain.parameter import Checked, Parameter, Problem, Range, numbers_nest, parameter, rule
from timeveil.domain.roles import columns_named
from timeveil.domain.wording import counted
from timeveil.errors import ParameterError, raising

if TYPE_CHECKING:
    from timeveil.models.series.judges.attack import SeriesBreach  # noqa: F401 what an attack gives

WEIGHING = ("adaptive", "representative")  # methods that use `shape_weight` and `effort`
LEAST_REPRESENTED = 3
"""Someone who knows all but one of a subgroup comes close to the last from a representative."""
MOST_SYMBOLS = 52  # symbols are written a to z and A to Z
FEWEST_OF_A_MEAN = 4  # of three people two are at the bounds, so that a mean shows the third
MOST_DIGITS = 15  # decimals of up to 15 digits are all different floats; longer ones are not
_INSTANTS = Parameter("values", "whole", "Number of known instants.", range=Range(1), example=1)


class SeriesParameters(Reading):
    """Publish series so that k people share every envelope of values, and p of them each pattern in it.

    One row per series with --series, or one row per reading with --respondent, --time and --value. Checks
    the result, and writes a complete folder or none.

    Example: timeveil anonymize-series loads.csv --out published --respondent household --series h00..h23
    --sensitive tariff --k 10 --p 5
    """

    model = "series"
    command = "anonymize-series"
    roles = ("series", "respondent", "time", "value", "quasi", "sensitive", "keep", "drop")
    have = ("Series", "One series of numbers per person: load curves, heart rates.")
    promised = "At least k people share every envelope of values, and p of them each pattern."
    contents = "series"
    scopes = {  # noqa: RUF012 a class variable of its base
        "recipient": "as far as a recipient can see",
        "with ledger": "by following every series, with the ledger",
    }
    explored = ("k", "p", "l", "shape_weight")
    out_of_range = ("too-few-people",)
    stated = ("k", "p", "l", "method", "shape_weight", "effort", "max_level", "center", "round_outward",
              "fill", "publish_values", "publish_pattern")
    unstated = (*READING, "hierarchies", "after", "force", "engine", "parts")
    repeating: ClassVar = {"l": "sensitive numbers are changed anew"}
    removed: ClassVar = {
        "adoption": 'leave {adoption} out; {method="adaptive"} loses less',
        "exact": "leave {exact} out; kapra loses as little without it",
    }

    k: int = parameter("Number of series that must share every envelope.", at_least=2, example=10)
    p: int = parameter(
        "Number of series that must share each pattern in an envelope; 1 publishes envelopes only.",
        at_least=1, example=5)
    method: Literal["adaptive", "kapra", "naive", "representative"] = parameter(
        "How groups and patterns are formed; adaptive loses least.", default="adaptive", example="kapra")
    shape_weight: float = parameter(
        "Weight of the pattern against the values: 2 for narrow envelopes, 10 for both, 50 and up for shape.",
        default=50, at_least=0, at_most=1_000_000, example=10, methods=WEIGHING)
    effort: int = parameter(
        "How long groups are improved; 0 is fastest.",
        default=1, at_least=0, at_most=1_000, example=2, methods=WEIGHING)
    max_level: int = parameter(
        "Largest number of symbols possible at an instant.",
        default=20, at_least=2, at_most=MOST_SYMBOLS, example=20)
    representation: Literal["sax", "paa", "slopes"] = parameter(
        "What a symbol describes: an instant, the mean of a segment (paa), or a step to the next instant.",
        default="sax", example="paa")
    segment: int | None = parameter(
        "With paa: number of instants in a segment.", default=None, at_least=2, at_most=100_000, example=4)
    center: Literal["mean", "median"] = parameter(
        "Centre that patterns are measured from.", default="mean", example="median")
    round_outward: int | None = parameter(
        "Significant digits that envelopes are rounded outward to; off publishes people's exact values.",
        default=3, at_least=1, at_most=MOST_DIGITS, example=2)
    means: bool = parameter(
        "Also publish the mean of each group at each instant, rounded so that exact values rarely follow.",
        default=False)
    l: int | None = parameter(
        "At most 1 in l of those who share a pattern may have the same sensitive value.",
        default=None, at_least=2, example=3)
    l_method: Literal["swap", "perturb", "group"] = parameter(
        "How l treats numbers: exchange some for others that occur, draw some within epsilon as the paper "
        "does, or form cells of different values, as is always done for categories.",
        default="swap", example="group", applies_with="l")
    epsilon: float | None = parameter(
        "With perturb: how far a drawn number may be from the true one.",
        default=None, above=0, at_most=10**300, example=0.5, applies_with="l")
    publish_values: tuple[str, ...] | None = parameter(
        "Instants whose envelopes are published; all if not set.", default=None, example=["h06..h12"])
    publish_pattern: tuple[str, ...] | None = parameter(
        "Instants whose pattern is published; all if not set, and none where p is 1.",
        default=None, example=["h00..h12"])
    fill: Literal["forward", "linear", "drop"] | None = parameter(
        "Missing readings: repeat the last one, draw a line, or drop the person; refused if not set.",
        default=None, example="linear")
    hierarchies: Mapping[str, Any] | None = parameter(
        "How a quasi-identifier is generalised with its group; by its type if not set.",
        default=None, example={"age": "intervals:5,10"}, option="--hierarchy", metavar="C=HOW")
    fold_spellings: bool = lines.fold_spellings()
    accept_risk: list[str] = lines.accept_risk()
    allow_loss: bool = lines.allow_loss()
    after: list[Any] = lines.after()
    force: bool = lines.force()
    engine: Literal["memory", "spark"] = parameter(
        "Where groups are formed; spark forms them in the cluster.", default="memory", example="spark")
    parts: int | None = parameter(
        "Number of parts of similar series, each grouped on its own; 1 if not set, in spark 1 per partition.",
        default=None, at_least=1, at_most=1_000_000, example=64)

    @rule("engine", "fill", "fold_spellings")
    def rows_stay_in_the_cluster(self) -> Problem:
        """Executors read the same rows as the driver, which are not changed after reading."""
        if self.engine == "memory" or not (self.fill or self.fold_spellings):
            return None
        name = "fill" if self.fill else "fold_spellings"
        return (f"`{name}` changes rows, and with the engine `spark` they stay in the cluster",
                "change the table in Spark first, or leave {engine} out")

    @rule("engine", "parts", "method")
    def parts_leave_nobody_out(self) -> Problem:
        """The paper's methods may suppress fewer than p series, and would in every part."""
        if self.method in WEIGHING or (self.engine == "memory" and self.parts in (None, 1)):
            return None
        return (f"the method `{self.method}` may leave series out, and would in every part",
                'use {method="adaptive"}, or leave {parts} and {engine} out')

    numbers_nest = numbers_nest

    @rule("l_method", "epsilon")
    def numbers_are_drawn_within_epsilon(self) -> Problem:
        """The paper calls epsilon small and leaves it open; its unit is that of the column."""
        if (self.l_method == "perturb") == (self.epsilon is not None):
            return None
        if self.epsilon is None:
            return "to perturb numbers needs epsilon", "say how far they may be moved, such as {epsilon=0.5}"
        return 'epsilon applies to perturbed numbers only', 'add {l_method="perturb"}, or leave {epsilon} out'

    @rule("representation", "segment", "publish_pattern")
    def symbols_have_instants(self) -> Problem:
        """Segments need a length, and only a symbol of one instant can be left out by naming that."""
        if (self.representation == "paa") != (self.segment is not None):
            if self.segment is None:
                return "segments need a length", "say how many instants one has, such as {segment=4}"
            return "segment applies to segments only", 'add {representation="paa"}, or leave {segment} out'
        if self.representation == "sax" or not self.publish_pattern:
            return None
        problem = f"symbols of {self.representation} are of several instants, so these cannot be selected"
        return problem, "leave {publish_pattern} out"

    @rule("p", "publish_pattern")
    def published_patterns_are_shared(self) -> Problem:
        """With p = 1 everybody's own pattern would be published."""
        if self.p > 1 or not self.publish_pattern:
            return None
        return "p is 1, so nobody need share a pattern, and none is published", "raise {p} to at least 2"

    @rule("means", "k")
    def means_are_of_enough(self) -> Problem:
        """The bounds are values of two members: of three, the mean would show the last."""
        if not self.means or self.k >= FEWEST_OF_A_MEAN:
            return None
        return (
            f"means need k of at least {FEWEST_OF_A_MEAN}, got {self.k}: with both bounds, "
            "the mean of a smaller group shows a person's value",
            "raise {k}, or leave {means} out",
        )

    @rule("method", "p")
    def representatives_stand_for_three(self) -> Problem:
        """Of two who share a representative each would know the other's series."""
        if self.method != "representative" or self.p >= LEAST_REPRESENTED:
            return None
        return (
            f"the method `representative` needs p of at least {LEAST_REPRESENTED}, got {self.p}: "
            "of two people who share a pattern, each would know the other's",
            'raise {p}, or use {method="adaptive"}',
        )


@dataclass(frozen=True, slots=True)
class SeriesAdversary(AnyAdversary["SeriesBreach"]):
    """Knows values of a person's series, each to within `tolerance`, or its pattern, or both.

    `values` is how many instants of each person are known, drawn with `seed`; or a list of instants, the same
    for everyone; or `"all"`; or None. With `pattern`, the shape is known as far as it can be published: the
    symbol of every instant at any level, or of the instants `pattern_of`. Anyone who knows all values exactly
    is taken to know it. Without it values are compared with envelopes alone, although knowing many of them
    could rule patterns out: then the result is what envelopes hide, and only 1 in p is promised. `sample`
    attacks that many people; None attacks everyone, or as many as some seconds allow.

    >>> SeriesAdversary(values=2, tolerance=0.5, pattern=True).as_dict()
    {'values': 2, 'tolerance': 0.5, 'pattern': True, 'seed': 0, 'sample': None, 'pattern_of': None}
    """

    values: int | Sequence[str] | Literal["all"] | None = parameter(
        "Number of values the outsider knows, or their instants; knowing all exactly includes the shape.",
        default="all", example=3, metavar="N|all|none|C,C,...")
    tolerance: float = parameter("How far off known values may be.", default=0, at_least=0, example=0.5)
    pattern: bool = parameter("The outsider also knows the shape.", default=False)
    seed: int = parameter("Seed of random choices.", default=0, at_least=0, example=1)
    sample: int | None = parameter(
        "Number of people to attack; everyone if not set.", default=None, at_least=1, example=1_000)
    pattern_of: tuple[str, ...] | None = parameter(
        "With {pattern}: instants whose part of the shape is known; all if not set.",
        default=None, example=["h00..h05"], applies_with="pattern")

    def __post_init__(self) -> None:
        if isinstance(self.values, Sequence) and not isinstance(self.values, str):
            object.__setattr__(self, "values", tuple(self.values))
        elif self.values is not None and not (isinstance(self.values, str) and self.values == "all"):
            object.__setattr__(self, "values", _INSTANTS.check(self.values))
        Checked.__post_init__(self)

    @rule("values", "pattern")
    def something_is_known(self) -> Problem:
        """An adversary who knows nothing finds nobody."""
        if self.pattern or self.values:
            return None
        return "the adversary knows neither values nor a pattern", "use {values=1} or {pattern=True}"

    @classmethod
    def typed(cls, options: Mapping[str, Any], manifest: Mapping[str, Any]) -> Self:
        """With values by number, by name, or none."""
        knowledge = dict(options)
        hint = "give it in the units of the values, such as {tolerance=0.5}"
        error = ParameterError("the tolerance is not a number", hint=hint)
        with raising(error, on=ValueError):
            knowledge["tolerance"] = float(options.get("tolerance", 0))
        values = options.get("values", "all")
        if values in ("none", None):
            knowledge["values"] = None
            if "tolerance" in options:
                raise ParameterError(
                    "`--tolerance` is how far off known values may be; with `--values none` there are none",
                    hint="leave {tolerance} out",
                )
        instants = manifest["series"]["instants"]
        if "pattern_of" in options:
            knowledge["pattern_of"] = columns_named(options["pattern_of"], instants)
        if values not in ("all", "none", None):
            knowledge["values"] = int(values) if values.isdecimal() else columns_named([values], instants)
        return cls(**knowledge)

    @property
    def words(self) -> str:
        """What is known, in words.

        >>> SeriesAdversary(values=3, tolerance=0.5).words, SeriesAdversary(None, pattern=True).words
        ('the values of 3 instants to within 0.5', 'the pattern')
        """
        parts = []
        if self.values is not None and self.values != ():
            number = self.values if isinstance(self.values, int) else len(self.values)
            instants = "all instants" if self.values == "all" else counted(number, "instant")
            within = f" to within {self.tolerance:g}" if self.tolerance else ""
            parts.append(f"the values of {instants}{within}")
        if self.pattern:
            part = f" at {counted(len(self.pattern_of), 'instant')}" if self.pattern_of else ""
            parts.append(f"the pattern{part}")
        return " and ".join(parts)


PARAMETERS, ADVERSARY = SeriesParameters, SeriesAdversary
