"""Words are templates: text files next to the code that knows the numbers, filled in by Jinja with facts.

The sentences of a run and the limits of a release are items that begin with `* `; an item may be wrapped
freely and is joined to one line. An item that is empty, because its condition does not hold, is left out.
Numbers get their separators and names their visible form here, so that no template can forget it. In a
report, which is Markdown, whatever is filled in is escaped as well.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, ClassVar

from timeveil.calendar.axis import CYCLIC
from timeveil.domain.guarantee import Guarantee
from timeveil.domain.parameter import Parameters
from timeveil.domain.release import Ledger, Release
from timeveil.domain.roles import REST, Derived, Roles
from timeveil.domain.run import Run
from timeveil.page.report import Markdown, Table, markdown
from timeveil.page.wording import capital, counted, joined, name, people, quoted, share, visible

if TYPE_CHECKING:
    from jinja2 import Environment

_ITEM = re.compile(r"^\*\s", re.MULTILINE)
_ROLES = {
    "quasi": "quasi-identifier: what an outsider may know about a person",
    "keep": "published unchanged",
    "sensitive": "published unchanged; sensitive",
    "time": "name of the span of time in which it happened",
    "start": "first moment of that span; empty if it has none",
    "end": "first moment after that span; empty if it has none",
    "step": "number of the step that the row is published at",
    "slot": "the slot of publication",
    "bucket": "number of the bucket within its slot",
    "count": "records of the bucket with this value",
    "group": "number of the group that shares one envelope",
    "low": "lowest value of the group at this instant",
    "high": "highest value of the group at this instant",
    "pattern": "the shape: one symbol per instant, a for the lowest values of the series itself",
    "level": "number of letters that are possible",
    "support": "how many people have all of it",
}
_ROLES_IN = {
    "stream": {"sensitive": "sensitive value", "group": "number of the group within its slot"},
    "patterns": {"pattern": "what people have in common: a list of items; the empty list is everyone"},
}
"""What columns are, by their role, and where that differs between models."""
_WORDS: dict[str, Callable[..., str]] = {
    function.__name__: function for function in (counted, joined, name, people, quoted, share)
}


def sentences(template: str, **context: Any) -> list[str]:
    """The items of a template, each on one line."""
    # Line breaks after tags stay, so that an item begins on a line of its own whatever ends the one before.
    filled = _environment(_plain, trim=False).get_template(template).render(context)
    items = (" ".join(item.split()) for item in _ITEM.split(filled)[1:])
    return [item for item in items if item not in ("", "!")]


def marked(template: str, **context: Any) -> tuple[list[str], list[str]]:
    """The items of a template, apart from those that begin with `! `, and these."""
    items = sentences(template, **context)
    urgent = [item.removeprefix("! ") for item in items if item.startswith("! ")]
    return [item for item in items if not item.startswith("! ")], urgent


@dataclass(frozen=True, slots=True)
class Limit:
    """Something a release does not protect: a title, what it means, and how urgent it is.

    A run has to mention what has an urgency of 1; what has 2 may defeat the promise for some people.
    """

    title: str
    text: str
    urgency: int


def limits(words: str, **context: Any) -> list[Limit]:
    """The limits of a model and of all: items `Title: text`, `! Title: text` or `!! Title: text`."""
    items = []
    for sentence in sentences(f"{words}/limits.j2", **context) + sentences("page/limits.j2", **context):
        title, _, text = sentence.lstrip("! ").partition(": ")
        items.append(Limit(title, text, len(sentence) - len(sentence.lstrip("!"))))
    return items


def for_a_run(limits: Sequence[Limit]) -> tuple[str, ...]:
    """Limits as a run prints them: those that need attention in full, the others by title."""
    titles = [f"{limit.title[:1].lower()}{limit.title[1:]}" for limit in limits if not limit.urgency]
    urgent = [limit.text for limit in limits if limit.urgency]
    return (*urgent, *([f"Nor does it cover: {joined(titles)}. README.txt explains each."] if titles else []))


def document(template: str, **context: Any) -> str:
    """A template as Markdown; whatever is filled in is escaped."""
    return _environment(_escaped).get_template(template).render(context)


def letter(words: str, guarantee: Guarantee, manifest: Mapping[str, Any]) -> str:
    """README.txt: what the recipient should know, which follows from the manifest alone."""

    def lines(columns: Sequence[Mapping[str, Any]]) -> Markdown:
        heads = (f"  {visible(column['name'])}  ({visible(column['type'])})" for column in columns)
        meanings = (column_meaning(manifest, column) for column in columns)
        return Markdown("\n".join(map("  ".join, zip(heads, meanings, strict=True))))

    context = {"guarantee": guarantee, "manifest": manifest, "exposure": None, "measured": False}
    template = _environment(_plain).get_template(f"{words}/readme.j2")
    body = template.render(context, limits=limits(words, **context), columns=lines)
    paragraphs = ["A release made with timeveil, and how to read it"]
    for part in (part.strip("\n") for part in body.split("\n\n") if part.strip()):
        if "\n  " in part or part.startswith("  "):  # indented lines, such as those of a list
            paragraphs.append("\n".join(line.rstrip() for line in part.split("\n") if line.strip()))
        else:
            plain, indent = " ".join(part.split()), "  " if part.startswith("- ") else ""
            paragraphs.append(textwrap.fill(plain, 90, subsequent_indent=indent, break_on_hyphens=False))
    return "\n\n".join(paragraphs) + "\n"


def column_meaning(manifest: Mapping[str, Any], column: Mapping[str, Any]) -> str:
    """What a column is, by its role."""
    if column["name"] in manifest.get("series", {}).get("perturbed", ()):
        return "sensitive; some values were replaced by others nearby"
    meanings = {**_ROLES, **_ROLES_IN.get(manifest["model"], {})}
    level = manifest.get("levels", {}).get(column["name"], {}).get("name")
    meaning = meanings.get(column.get("role", ""), "")
    if level and "steps" in manifest:
        return f"{meaning}; generalised as the step says"
    return f"{meaning}; generalised to {visible(level)}" if level else meaning


@cache
def _environment(finish: Callable[[Any], Any], *, trim: bool = True) -> Environment:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined  # noqa: PLC0415 (not needed to import timeveil)

    environment = Environment(  # noqa: S701 (no HTML is made here; Markdown escapes on its own)
        loader=FileSystemLoader(str(files("timeveil"))),
        undefined=StrictUndefined,
        finalize=finish,
        trim_blocks=trim,
        lstrip_blocks=True,
    )

    def numbered_list(items: Sequence[str]) -> Markdown:
        return Markdown("\n".join(f"{place}. {markdown(item)}" for place, item in enumerate(items, start=1)))

    def paragraphs(sentences: Sequence[str] | None) -> Markdown:
        return Markdown("\n\n".join(map(markdown, sentences or ())))

    environment.globals.update(_WORDS)
    environment.filters.update(_WORDS, capital=capital, numbered_list=numbered_list, paragraphs=paragraphs)
    return environment


def _plain(value: Any) -> Any:
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    return visible(value) if isinstance(value, str) and not isinstance(value, Markdown) else value


def _escaped(value: Any) -> Any:
    return value if isinstance(value, Markdown) else markdown(_plain(value))


ROUNDING = 1e-9  # chances are quotients: a worst chance may exceed its bound by this much


class ReleaseFacts:
    """Facts about any release; each model adds its own. Without a ledger only public facts are there."""

    table: ClassVar[type[Parameters]]
    """The parameters of the model."""
    achieved: ClassVar[str]
    """What a run made of the source, as its title says; `{k}`, `{l}` and `{p}` are those of the promise."""

    def __init__(self, evidence: Any, hierarchies: Sequence[str] = ()) -> None:
        release: Release = evidence.release
        self.evidence, self.guarantee, self.hierarchies = evidence, release.guarantee, hierarchies
        self.ledger: Ledger | None = evidence.ledger
        self.manifest: Mapping[str, Any] = release.manifest
        self.counts: Mapping[str, Any] = self.manifest["counts"]
        self.parameters: Mapping[str, Any] = self.manifest["parameters"]
        self.run: Mapping[str, Any] = {} if self.ledger is None else self.ledger.facts
        self.original: Any = None if self.ledger is None else self.ledger.original
        promise: Mapping[str, Any] = self.guarantee.as_dict()
        self.k, self.l, self.p = (promise.get(name, 0) for name in "klp")
        source = (self.original and self.original.source) or "the table"
        self.title = f"{source} -> {self.achieved.format(k=self.k, l=self.l, p=self.p)}"

    @property
    def removed(self) -> list[str]:
        """Columns that were not published."""
        if self.original is None:
            return []
        person = self.original.roles.respondent
        return [*([] if person is None else [person]), *self.original.dropped]

    def as_dict(self, *entries: str) -> dict[str, Any]:
        """The source, the promise, columns that were dropped, and entries of the manifest."""
        original = self.original
        origin = (None, []) if original is None else (original.source, list(original.dropped))
        stated = {name: self.manifest[name] for name in ("guarantee", "counts", *entries)}
        return {"source": origin[0], "dropped": origin[1], **stated}

    def command(self) -> str:
        """The command that makes the release again, from a table IN."""
        return Run.of_release(self.table, self.typed_roles, self.stated).command()

    @property
    def stated(self) -> dict[str, Any]:
        """The parameters to state, with those that only the ledger has."""
        axis = self.original.axis
        return {**self.parameters, **({} if axis is None else {"zone": axis.zone, "unit": axis.unit})}

    @property
    def typed_roles(self) -> Roles | None:
        """The roles as a command names them: columns derived from the time go by their option."""
        roles: Roles = self.original.roles
        time, cyclic = roles.time, map(Derived, CYCLIC)
        derived: dict[Any, Derived] = {} if time is None else {each.column(time): each for each in cyclic}
        quasi = tuple(derived.get(name, name) for name in roles.quasi)
        return replace(roles, quasi=quasi, drop=REST if self.original.dropped else ())


@dataclass(frozen=True, slots=True)
class Attempt:
    """What an outsider knew, and the breach that an attack found.

    `bound` means that at most 1 in `bound` is promised; None, that nothing is.
    """

    knows: str
    breach: Any
    bound: int | None

    @property
    def broken(self) -> bool:
        """Whether the worst chance is above what is promised."""
        return self.bound is not None and self.breach.worst > 1 / self.bound + ROUNDING


def attack_table(attempts: Sequence[Attempt]) -> Table:
    """Attacks as a table."""
    rows = []
    for attempt in attempts:
        breach, bound = attempt.breach, attempt.bound
        promised = "nothing" if bound is None else f"at most 1 in {bound}"
        result = "within the bound"
        if bound is None or attempt.broken:
            above = share(breach.share_above(1 / (bound or 2) + 1e-12))
            result = f"{above} above {'1 in 2' if bound is None else 'the bound'}"
        rows.append((attempt.knows, promised, breach.people, breach.worst, breach.mean, result))
    head = ("the outsider knows", "promised", "people tried", "worst chance", "mean chance", "result")
    return Table("Attacks on the release", head, rows, words=2)


def risk_table(breach: Any, named: str, release: Release) -> Table:
    """What is found in the original and in the release; `named` is what a guess is about."""
    risks = (breach.before, breach.after)
    who = "rows" if getattr(release.guarantee, "rows", False) else "people"
    shares = {
        f"{who} with a single candidate": "pinned",
        f"highest chance of naming {named}": "worst",
        f"mean chance of naming {named}": "mean",
        f"{who} out of reach": "out_of_reach",
    }
    rows = [(label, *(getattr(risk, number) for risk in risks)) for label, number in shares.items()]
    for label, part in (("fewest", 0.0), ("median", 0.5), ("most", 1.0)):
        rows.append((f"candidates, {label}", *(risk.quantile(part) for risk in risks)))
    return Table("What this outsider finds", ("", "original", "release"), rows)
