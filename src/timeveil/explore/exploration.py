"""The result of a sweep: its settings, the knee, what stays within the limits; in words and as a picture."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from timeveil.domain.judgement import Shown
from timeveil.domain.judgement import as_dict as plain_data
from timeveil.models import part
from timeveil.page.charts import Bar, grouped_bars
from timeveil.page.report import Table
from timeveil.page.svg import LOSS, RISK, Picture
from timeveil.page.templates import sentences
from timeveil.page.wording import UNITS, WIDTH, amount, cell, counted, numbered, wrapped

SAME_RISK = 0.01  # risks that differ by no more than this count as the same
SAVED = 0.9  # share of the loss that can be saved, beyond which saving more is not worth it
FAR = 10  # a setting this many times as far from the least as the next one has no part in the scale
FEWEST = 3  # a curve through fewer points has no knee


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting: its loss, a share or in bits, and its risk as a share, or why it was `refused`.

    `loss` and `risk` are those that settings are compared by; `losses` and `risks` hold all by name, `facts`
    other results, such as the granularity chosen. `ways` has what a row of events would lose, and the people
    whom known visits would single out, by each way to recode that the run compared.
    """

    value: float
    loss: float = math.nan
    risk: float = math.nan
    losses: Mapping[str, float] = field(default_factory=dict)
    risks: Mapping[str, float] = field(default_factory=dict)
    facts: Mapping[str, Any] = field(default_factory=dict)
    refused: str | None = None
    ways: Mapping[str, Mapping[str, float]] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        """The result as data."""
        if self.refused is not None:
            return {"value": self.value, "refused": self.refused}
        return {name: part for name, part in plain_data(self).items() if name != "refused"}


@dataclass(frozen=True, slots=True)
class Exploration(Shown):
    """`settings` of one `parameter`, from small to large, compared by the named loss and risk.

    `adversary` is what the outsider is assumed to know. `max_loss` and `max_risk` are the limits, if any.

    >>> points = [(2, 0.1, 0.5), (5, 0.2, 0.2), (10, 0.6, 0.1)]
    >>> found = Exploration("time", "k", tuple(Setting(*point) for point in points), max_risk=0.25)
    >>> found.knee.value, found.best.value, [setting.value for setting in found.within]
    (5, 5, [5, 10])
    """

    model: str
    parameter: str
    settings: tuple[Setting, ...]
    loss: str = "window_error"
    risk: str = "worst"
    adversary: Mapping[str, Any] = field(default_factory=dict)
    max_loss: float | None = None
    max_risk: float | None = None

    @property
    def feasible(self) -> tuple[Setting, ...]:
        """The settings that gave a release."""
        return tuple(setting for setting in self.settings if setting.refused is None)

    @property
    def risk_differs(self) -> bool:
        """Whether the parameter changes the risk at all."""
        risks = [setting.risk for setting in self.feasible]
        return bool(risks) and max(risks) - min(risks) > SAME_RISK

    @property
    def knee(self) -> Setting | None:
        """Where the trade-off turns; None if fewer than three settings gave a release.

        Loss and risk are each put on a scale from 0, the least of all settings, to 1, the most, apart from
        settings far beyond the others; the knee is the setting closest to 0 in both, and of two as close, the
        one that promises more. If the risk is the same everywhere, the knee is the smallest setting that
        saves nine tenths of the loss that can be saved.
        """
        settings = self.feasible
        if len(settings) < FEWEST:
            return None
        losses = _scaled([setting.loss for setting in settings])
        if not self.risk_differs:
            saving = (loss <= 1 - SAVED + 1e-12 for loss in losses)
            return next(setting for setting, saves in zip(settings, saving, strict=True) if saves)
        risks = _scaled([setting.risk for setting in settings])
        distances = [round(math.hypot(*pair), 12) for pair in zip(losses, risks, strict=True)]
        closest = min(zip(distances, map(_promised, settings), range(len(settings)), strict=True))
        return settings[closest[-1]]

    @property
    def limited(self) -> bool:
        """Whether there is a limit."""
        return self.max_loss is not None or self.max_risk is not None

    @property
    def within(self) -> tuple[Setting, ...]:
        """The settings within the limits; all that gave a release if there is no limit."""
        limits = (self.max_loss, self.max_risk)
        loss, risk = (math.inf if limit is None else limit + 1e-12 for limit in limits)
        return tuple(each for each in self.feasible if each.loss <= loss and each.risk <= risk)

    @property
    def best(self) -> Setting | None:
        """The setting of least loss within the limits, or of least risk if only the loss is limited.

        Of two with the same loss and risk, it is the one that promises more. None if there is no limit, or no
        setting within it.
        """
        if not self.limited or not self.within:
            return None
        first, second = ("risk", "loss") if self.best_has_least == "risk" else ("loss", "risk")
        return min(self.within, key=lambda s: (getattr(s, first), getattr(s, second), _promised(s)))

    @property
    def best_has_least(self) -> str:
        """The measure that the best setting is chosen by."""
        return "risk" if self.max_risk is None and self.risk_differs else "loss"

    def as_dict(self) -> dict[str, Any]:
        """The result as data."""
        return {
            "model": self.model,
            "parameter": self.parameter,
            "loss": self.loss,
            "unit": UNITS.get(self.loss, "share"),
            "risk": self.risk,
            "adversary": dict(self.adversary),
            "settings": [setting.as_dict() for setting in self.settings],
            "knee": None if self.knee is None else self.knee.value,
            "limits": {"max_loss": self.max_loss, "max_risk": self.max_risk},
            "within_limits": [setting.value for setting in self.within] if self.limited else None,
            "best": None if self.best is None else self.best.value,
        }


def _promised(setting: Setting) -> float:
    """The chance that the promise leaves: of two equal settings, the lower one costs nothing."""
    return setting.risks.get("promised", 1.0)


def _scaled(numbers: list[float]) -> list[float]:
    """Numbers from 0 for the least to 1 for the most; all 0 where they are the same.

    A number far beyond the others is above 1: it does not make all others alike.
    """
    least, *_, second, most = sorted(numbers)
    if len(numbers) > FEWEST and most - least > FAR * (second - least) > 0:
        most = second
    return [(number - least) / (most - least) if most > least else 0.0 for number in numbers]


def exploration_picture(exploration: Exploration) -> Picture:
    """A bar per setting for its loss and another for its risk; the knee and the best are bold."""
    refused = len(exploration.settings) - len(exploration.feasible)
    note = f", {refused} of them not possible" if refused else ""
    loss = exploration.loss.replace("_", " ")
    losses, risks = list(_bars(exploration, "loss")), list(_bars(exploration, "risk"))
    groups = {f"loss ({loss})": losses, f"risk ({exploration.risk})": risks}
    title = f"What {_option(exploration)} costs, and what it gives"
    tried = f"{counted(len(exploration.settings), 'setting')} tried{note}."
    picture = grouped_bars(title, tried, groups)
    words = [picture.description, *exploration_sentences(exploration)[1:]]
    return replace(picture, description=" ".join(words))


def _bars(exploration: Exploration, measure: Literal["loss", "risk"]) -> Iterator[Bar]:
    colours, compared_by = (LOSS if measure == "loss" else RISK,), getattr(exploration, measure)
    for setting in exploration.settings:
        possible = setting.refused is None
        part = getattr(setting, measure) if possible else 0.0
        label = amount(compared_by, part) if possible else "not possible"
        marks = ", ".join(_marks(exploration, setting))
        strong = setting is exploration.knee or setting is exploration.best
        name, text = f"{_option(exploration)} {_value(setting)}", f"{label} {marks}".strip()
        yield Bar(name, (part,), (text,), strong, colours)
    if (limit := getattr(exploration, f"max_{measure}")) is not None:
        yield Bar("limit", (limit,), (amount(compared_by, limit),), colours=colours)


def _option(exploration: Exploration) -> str:
    """The parameter as it is typed."""
    return exploration.parameter.replace("_", "-")


def _value(setting: Setting) -> str:
    return f"{setting.value:g}" if abs(setting.value) < 1e6 else str(setting.value)


def exploration_sentences(exploration: Exploration) -> list[str]:
    """What loss and risk are, the knee with the rule that chose it, and what stays within the limits."""
    stated = (("loss", exploration.max_loss), ("risk", exploration.max_risk))
    limits = [(measure, limit) for measure, limit in stated if limit is not None]
    tradeoff = part(exploration.model, "judges.profile").Tradeoff()

    def words(measure: str, number: float) -> str:
        return amount(getattr(exploration, measure), number)

    return sentences(
        "explore/sentences.j2",
        e=exploration,
        option=_option(exploration),
        value=_value,
        within=[_value(setting) for setting in exploration.within],
        limits=limits,
        bounds=" and ".join(f"a {measure} of at most {words(measure, limit)}" for measure, limit in limits),
        amount=words,
        tradeoff=tradeoff,
        known=tradeoff.known(exploration.adversary),
    )


def exploration_lines(exploration: Exploration, source: str, width: int = WIDTH) -> list[str]:
    """The result as a page of text: a line per setting; below them, why others were refused, by reason."""
    title = f"{source} -> what {_option(exploration)} costs, and what it gives"
    sentences = numbered(exploration_sentences(exploration), width)
    reasons: dict[str, list[str]] = {}
    for setting in exploration.settings:
        if setting.refused is not None:
            reasons.setdefault(setting.refused, []).append(_value(setting))
    refusals: list[str] = []
    for reason, values in reasons.items():
        start = f"{_option(exploration)} {', '.join(values)} not possible: "
        refusals += wrapped(f"{reason}.", width, start, "  ")
    if (table := exploration_table(exploration)) is None:
        return [title, "", *refusals, "", *sentences]
    return [title, "", *table.lines(width), "", *([*refusals, ""] if refusals else []), *sentences]


def exploration_table(exploration: Exploration) -> Table | None:
    """A row per setting that gave a release; None if none did."""
    if not exploration.feasible:
        return None
    first, rows = exploration.feasible[0], list[list[str]]()
    names = [_option(exploration), *first.facts, *(loss.replace("_", " ") for loss in first.losses)]
    marks = [", ".join(_marks(exploration, setting)) for setting in exploration.feasible]
    longest = max(map(len, marks)) + 3
    for setting, mark in zip(exploration.feasible, marks, strict=True):
        facts = [f"{fact:,}" if isinstance(fact, int) else str(fact) for fact in setting.facts.values()]
        amounts = [cell(*named) for named in (*setting.losses.items(), *setting.risks.items())]
        rows.append([_value(setting), *facts, *amounts, (f"<- {mark}" if mark else "").ljust(longest)])
    title = f"What {_option(exploration)} costs, and what it gives"
    return Table(title, [*names, *first.risks, ""], rows, words=0)


def _marks(exploration: Exploration, setting: Setting) -> list[str]:
    marks = ["knee"] if setting is exploration.knee else []
    if setting is exploration.best:
        marks.append("best within limits")
    elif exploration.limited and setting in exploration.within:
        marks.append("within limits")
    return marks
