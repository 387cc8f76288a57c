"""A question about rows, series or patterns of a release, as it is typed, and its answer."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import timeveil as tv
from timeveil.domain.parameter import Parameters, optional, parameter
from timeveil.domain.roles import columns_named
from timeveil.errors import InputError, ParameterError, raising
from timeveil.jobs.typed import refuse_other_models
from timeveil.page.wording import aligned

OPEN = ".."
Range = tuple[float | None, float | None]
_about_rows = partial(optional, models=("time", "stream"))
_about_labels = partial(optional, models=("time", "stream", "series"))
_about_series = partial(optional, models=("series",))
_about_patterns = partial(optional, models=("patterns",))


Say = Callable[[str], None]
_OF_WHAT_WAS_PUBLISHED = ("stream",)  # models whose counts are about published rows, not about the original


class Question(Parameters):
    """What can be asked of a release; each line names the models it is about."""

    between: tuple[str, str] | None = _about_rows(
        "Window of time, from A to just before B; .. is open.", ("2024-03-01", "2024-04-01"), "A B"
    )
    where: list[str] | None = _about_labels(
        "Only rows with this value, or in a range with both ends; of several for a column, any may match. "
        "With != every other row.",
        ["zip=04103", "age=30..39"],
        "C=V|C!=V",
    )
    any: bool = parameter(
        "Rows that meet any of the conditions on different columns, not all of them.",
        default=False,
        models=("time", "stream"),
    )
    rows: int | None = _about_labels(
        "Also show the first N of the published rows that may fit.", 20, at_least=1
    )
    ranges: list[str] | None = _about_series(
        "On series: those with a value in a range that includes both ends.",
        ["h08=0.2:0.5"],
        "C=LOW:HIGH",
        option="--range",
    )
    mean: str | None = _about_series("On series: mean of all published series at an instant.", "h08", "C")
    expression: list[str] | None = _about_series(
        "On series: those with an expression of instants, numbers, + - * / and parentheses in a range; "
        "names that are not words are in backquotes.",
        ["h20 - h08=:50", "h20 / h08=1.5:"],
        "EXPR=LOW:HIGH",
    )
    difference: list[str] | None = _about_series(
        "On series: those whose value at A minus that at B, in standard deviations of the series, is in a "
        "range.",
        ["h08,h20=:-1"],
        "A,B=LOW:HIGH",
    )
    like: str | None = _about_series(
        "On series: those with a shape like these numbers, one per instant.", "1,2,4,3", "N,N,...|FILE"
    )
    tolerance: float | None = _about_series("With {like}: largest distance, 1 minus the correlation.", 0.1)
    distance: str | None = _about_series(
        "With {like}: cosine if not set; or euclidean or dtw, in standard deviations of a series.",
        "dtw",
        "NAME",
    )
    features: str | None = _about_series(
        "On series: how shapes are described: differences if not set, or adjacent, slope or peak-to-trough.",
        "adjacent",
        "NAME",
    )
    item: list[str] | None = _about_patterns(
        "On patterns: how many people have all of these items.", ["h08=b", "h09=c"], "ITEM"
    )
    given: list[str] | None = _about_patterns(
        "On patterns: items of the people to count among; needs {then}.", ["h08=b"], "ITEM"
    )
    then: list[str] | None = _about_patterns(
        "On patterns: of those with the {given} items, or of everyone, how many have these.",
        ["h09=c"],
        "ITEM",
    )
    top: int | None = _about_patterns("On patterns: the N patterns that most people have.", 10, at_least=1)
    longer_than: int | None = _about_patterns(
        "With {top}: only patterns of more than N items.", 1, at_least=0
    )

    def answer(self, release: tv.Release, say: Say) -> tuple[str, dict[str, Any]]:
        """The answer in words and as data; `say` is called with remarks."""
        model = str(release.manifest["model"])
        refuse_other_models(type(self).table(), vars(self), model)
        answer = {"patterns": _of_patterns, "series": _of_series}.get(model, _of_rows)
        return answer(release, self, say)


def _of_rows(release: tv.Release, options: Question, say: Say) -> tuple[str, dict[str, Any]]:
    """How many rows; of a stream, of what was published, not of what happened."""
    start, end = (_bound(text, release) for text in options.between or (OPEN, OPEN))
    if options.any and not options.where:
        raise ParameterError("`any` applies with `where` only", hint="add {where}, or leave {any} out")
    conditions = _conditions(options.where or [], release, say)
    where: Any = [{name: condition} for name, condition in conditions.items()] if options.any else conditions
    count = tv.answer(release, tv.WindowCount(between=(start, end), where=where), rows=bool(options.rows))
    for name in count.unknown:
        values = conditions[name].condition if isinstance(conditions[name], tv.Not) else conditions[name]
        if any(OPEN in value for value in values if isinstance(value, str)):
            message = "a range was asked for in a column whose labels contain no numbers or dates"
            raise ParameterError(message, hint="name each value with a {where} of its own")
    unknown = "".join(f"\nnothing published shows a value asked for in `{name}`" for name in count.unknown)
    if release.manifest["model"] in _OF_WHAT_WAS_PUBLISHED:
        text = _estimate(count, "published rows").removesuffix(" exactly")
        text += f"; how many were moved or withheld is not published{unknown}"
        return _with_rows(text, _data(count, "published"), count, options)
    text = _estimate(count, "rows", release.manifest["counts"].get("withheld", 0)) + unknown
    return _with_rows(text, _data(count), count, options)


def _with_rows(
    text: str, data: dict[str, Any], count: tv.Estimate, options: Question
) -> tuple[str, dict[str, Any]]:
    """An answer, with the first of the published rows that may fit where they are asked for."""
    if count.rows is None:
        return text, data
    first = count.rows.slice(0, options.rows).to_pylist()
    rows = [{name: "" if cell is None else str(cell) for name, cell in row.items()} for row in first]
    lines = [f"{len(rows):,} of {count.rows.num_rows:,} published rows that may fit:"]
    lines += aligned([[*rows[0]], *([*row.values()] for row in rows)], left=len(rows[0])) if rows else []
    return "\n".join([text, *lines]), {**data, "rows": rows}


def _bound(text: str, release: tv.Release) -> str | int | None:
    if release.manifest["time"]["kind"] == "relative":
        with suppress(ValueError):
            return int(text)
    return None if text == OPEN else text


def _conditions(texts: list[str], release: tv.Release, say: Say) -> dict[str, Any]:
    from timeveil.evidence.conditions import takes_ranges

    conditions: dict[str, list[Any]] = {}
    negated: dict[str, bool] = {}
    stated = [*release.manifest["columns"], *release.manifest.get("sensitive_columns", ())]
    types = {column["name"]: column["type"] for column in stated}
    ways = release.manifest.get("steps") or [release.manifest]
    for text in texts:
        column, mark, value = text.partition("=")
        if not (column.removesuffix("!") and mark):
            hint = 'write {where="COLUMN=VALUE"} or {where="COLUMN=LOW..HIGH"}'
            raise ParameterError("a condition has no column or no `=`", hint=hint)
        differs = column.endswith("!") and column not in types
        column = column.removesuffix("!") if differs else column
        if negated.setdefault(column, differs) != differs:
            message = f"`{column}` has conditions with = and with !="
            raise ParameterError(message, hint="ask for the values that are left, with = alone")
        low, dots, high = value.partition(OPEN)
        levels = {way.get("levels", {}).get(column, {}).get("name", "") for way in ways}
        options = conditions.setdefault(column, [])
        # Labels may have dots; those of ranges, and a star, do not.
        if not dots or levels == {"*"} or not all(map(takes_ranges, levels - {"", "*"})):
            options.append(value or None)
            continue
        options.append((low or None, high or None))
        if types.get(column) == "string" and not any(levels):
            say(f"`{column}` holds text, so the range is compared letter by letter.")
    return {name: tv.Not(options) if negated[name] else options for name, options in conditions.items()}


def _estimate(count: tv.Estimate, noun: str, withheld: int = 0) -> str:
    """A count in words; that some were withheld is why it is not exact."""
    if count.low == count.high:
        return f"{count.value:,.0f} {noun} exactly"
    reason = f", as {withheld:,} {'was' if withheld == 1 else 'were'} withheld" if withheld else ""
    return f"{count.value:,.4g} {noun}, between {count.low:,.0f} and {count.high:,.0f}{reason}"


def _data(count: tv.Estimate, of: str = "original") -> dict[str, Any]:
    unknown = {"unknown": list(count.unknown)} if count.unknown else {}
    return {"value": count.value, "low": _finite(count.low), "high": _finite(count.high), "of": of, **unknown}


def _finite(number: float) -> float | None:
    """JSON knows no infinity: null is no bound."""
    return None if math.isinf(number) else number


def _of_patterns(release: tv.Release, options: Question, _say: Say) -> tuple[str, dict[str, Any]]:
    """The support of a pattern, the confidence of a rule, or the strongest patterns."""
    from timeveil.models.patterns.evidence import Evidence
    from timeveil.models.patterns.words import confidence_lines, support_lines, top_lines

    items, premises, conclusions = options.item or [], options.given or [], options.then or []
    questions = [bool(items), bool(premises or conclusions), options.top is not None]
    if sum(questions) != 1:
        message = "more than one question is asked" if any(questions) else "nothing is asked of the patterns"
        hint = "ask with {item} for a pattern, with {given} and {then} for a rule, or with {top=10}"
        raise ParameterError(message, hint=hint)
    if options.longer_than is not None and options.top is None:
        raise ParameterError("`longer_than` is set without `top`", hint="say how many of them: {top=10}")
    evidence = Evidence(release)
    if options.top is not None:
        table = tv.answer(evidence, tv.TopPatterns(options.top, options.longer_than or 0))
        rows = [{**row, "high": _finite(row["high"])} for row in table.to_pylist()]
        return "\n".join(top_lines(table, evidence.patterns)), {"patterns": rows}
    if items:
        support = tv.answer(evidence, tv.PatternSupport(items))
        return "\n".join(support_lines(support, evidence.patterns, items)), _data(support)
    confidence = tv.answer(evidence, tv.RuleConfidence(premises, conclusions))
    lines = confidence_lines(confidence, evidence.patterns, [*premises, *conclusions])
    return "\n".join(lines), _data(confidence)


def _of_series(release: tv.Release, options: Question, say: Say) -> tuple[str, dict[str, Any]]:
    """How many series have these values, this shape, or both."""
    instants = release.manifest["series"]["instants"]
    ranges = _asked("ranges", options.ranges, "h08=0.2:0.5", lambda names: columns_named([names], instants))
    expressions = _asked("expression", options.expression, "h20 - h08=:50", lambda text: [text])
    shape = _shape(options, instants)
    if options.mean is not None:
        if ranges or expressions or options.where or options.rows or shape is not None:
            raise ParameterError("`mean` is a question of its own", hint="ask twice, once with {mean} alone")
        mean = tv.answer(release, tv.MeanValue(options.mean))
        text = f"{mean.value:,.4g} on average at {options.mean}, between {mean.low:,.4g} and {mean.high:,.4g}"
        return text, _data(mean, "published")
    if not (ranges or expressions or options.where) and shape is None:
        hint = "ask for values with {ranges}, for shapes with {difference} or {like}"
        raise ParameterError("nothing is asked of the series", hint=hint)
    where = _conditions(options.where or [], release, say)
    if where and expressions:
        raise ParameterError("`where` does not fit `expression`", hint="ask for values with {ranges}")
    values: Any = tv.RangeCount(ranges, where) if ranges or where else None
    if expressions:
        of_instants = {f"`{name}`": span for name, span in ranges.items()}
        if not expressions.keys().isdisjoint(of_instants):
            raise _twice("expression")
        values = tv.ExpressionRange({**expressions, **of_instants})
    question: Any = values if shape is None else shape
    if shape is not None and values is not None:
        question = tv.Complex(pattern=shape, range=values)
    count: tv.Estimate = tv.answer(release, question, rows=bool(options.rows))
    text = _estimate(count, "series", release.manifest["counts"]["suppressed"])
    return _with_rows(text, _data(count), count, options)


def _shape(options: Question, instants: Sequence[str]) -> tv.PatternRange | tv.PatternSimilarity | None:
    """The question about shapes, by differences or by numbers that they are like."""
    features = "differences" if options.features is None else options.features
    if options.like is not None:
        if options.difference:
            message = "both `difference` and `like` are set; a question is about one of them"
            raise ParameterError(message, hint="ask twice, once with each")
        if options.tolerance is None:
            message = "`like` needs `tolerance`: how far from it a shape may be, between 0 and 2"
            raise ParameterError(message, hint="start with {tolerance=0.1}; it is 1 minus the correlation")
        distance = options.distance or "cosine"
        return tv.PatternSimilarity(_numbers(options.like), options.tolerance, features, distance)
    for name in ("tolerance", "distance"):
        if getattr(options, name) is not None:
            hint = 'say what shapes are compared with: {like="1,2,4,3"}'
            raise ParameterError(f"`{name}` is set without `like`", hint=hint)

    def pair(names: str) -> list[Any]:
        """Two instants with a comma between, whatever marks are in their names; or the name of a feature."""
        commas = [comma.start() for comma in re.finditer(",", names)]
        pairs = [(names[:comma].strip(), names[comma + 1 :].strip()) for comma in commas]
        existing = [pair for pair in pairs if pair[0] in instants and pair[1] in instants]
        return [*existing, *pairs, names][:1]

    differences = _asked("difference", options.difference, "h08,h20=:-1", pair)
    if options.features is not None and options.ranges and not differences:
        hint = 'leave it out, or ask for shapes, too: {difference=["h08,h20=:-1"]}'
        raise ParameterError("`features` is set without `difference` or `like`", hint=hint)
    return tv.PatternRange(differences, features) if differences else None


def _asked(
    name: str, texts: Sequence[str] | None, example: str, parts: Callable[[str], Iterable[Any]]
) -> dict[Any, Range]:
    """What is asked for as `NAME=LOW:HIGH`, a side left empty being open."""
    spans = dict[Any, Range]()
    message = f"`{name}` is not of the form NAME=LOW:HIGH with finite numbers"
    error = ParameterError(message, hint=f'write {{{name}=["{example}"]}}; a side left empty is open')
    for text in texts or ():
        names, mark, span = text.rpartition("=")
        low, colon, high = span.partition(":")
        if not (names and mark and colon):
            raise error
        with raising(error, on=ValueError):
            ends = [float(end) if end.strip() else None for end in (low, high)]
        if any(end is not None and not math.isfinite(end) for end in ends):
            raise error
        listed = list(parts(names))
        if not spans.keys().isdisjoint(listed):
            raise _twice(name)
        spans.update(dict.fromkeys(listed, (ends[0], ends[1])))
    return spans


def _twice(name: str) -> ParameterError:
    return ParameterError(f"`{name}` asks for the same thing twice", hint="give one range with both ends")


def _numbers(text: str) -> list[float]:
    """Numbers with commas or blanks between, typed or in a file."""
    from timeveil.reading.files import small_text

    def parsed(text: str) -> list[float]:
        return [float(part) for part in re.split(r"[\s,;]+", text.strip())]

    with suppress(ValueError):
        return parsed(text)
    path, message = Path(text), "`like` is neither numbers nor a file of text"
    hint = 'give a number per instant, such as {like="1,2,4,3"}, or a file that has them'
    with raising(InputError(message, hint=hint, code="file-missing"), on=(OSError, ValueError)):
        content = small_text(path, "a file with a shape has")
    message = f"`{path.name}` does not hold numbers with commas, blanks or lines between"
    hint = "put one number per instant into it, and nothing else"
    with raising(InputError(message, hint=hint, code="file-unreadable"), on=ValueError):
        return parsed(content)
