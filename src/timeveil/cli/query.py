"""`timeveil query`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from timeveil.cli import options as given
from timeveil.errors import ParameterError, raising

if TYPE_CHECKING:
    from timeveil.cli.output import Output
    from timeveil.cli.pattern_query import Asked as AskedOfPatterns
    from timeveil.cli.series_query import Asked
    from timeveil.domain.judgement import Estimate
    from timeveil.domain.release import Release

OPEN = ".."


def query(
    folder: given.Folder,
    between: Annotated[
        tuple[str, str],
        typer.Option(
            metavar="A B",
            help="Window of time, A in and B out, .. for an open side: --between 2024-03-01 2024-04-01",
        ),
    ] = (OPEN, OPEN),
    where: Annotated[
        list[str] | None,
        typer.Option(
            metavar="C=V",
            help="Rows with a value, or in a range with both ends in; repeat it: "
            "--where zip=04103 --where age=30..39",
        ),
    ] = None,
    ranges: Annotated[
        list[str] | None,
        typer.Option(
            "--range",
            metavar="C=LOW:HIGH",
            help="On series: those with a value in a range, both ends in; repeat it: --range h08=0.2:0.5",
        ),
    ] = None,
    difference: Annotated[
        list[str] | None,
        typer.Option(
            metavar="A,B=LOW:HIGH",
            help="On series: those whose value at A less that at B, in deviations of the series, is in a "
            "range; repeat it: --difference h08,h20=:-1",
        ),
    ] = None,
    like: Annotated[
        str | None,
        typer.Option(
            metavar="N,N,...|FILE",
            help="On series: those of a shape like these numbers, one per instant: --like 1,2,4,3",
        ),
    ] = None,
    tolerance: Annotated[
        float | None,
        typer.Option(metavar="X", help="With --like: 1 less the correlation, at most: --tolerance 0.1"),
    ] = None,
    features: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="On series: what shapes are told by, one of differences, the default, adjacent, slope and "
            "peak-to-trough: --features adjacent",
        ),
    ] = None,
    item: Annotated[
        list[str] | None,
        typer.Option(
            metavar="ITEM",
            help="On patterns: how many people have all of these items; repeat it: --item h08=b --item h09=c",
        ),
    ] = None,
    given_items: Annotated[
        list[str] | None,
        typer.Option(
            "--given",
            metavar="ITEM",
            help="On patterns: of those who have these items, how many have those of --then; repeat it: "
            "--given h08=b --then h09=c",
        ),
    ] = None,
    then: Annotated[
        list[str] | None,
        typer.Option(metavar="ITEM", help="With or without --given: what they have, too: --then h09=c"),
    ] = None,
    top: Annotated[
        int | None, typer.Option(metavar="N", help="On patterns: the N that most people have: --top 10")
    ] = None,
    longer_than: Annotated[
        int | None, typer.Option(metavar="N", help="With --top: of more items than that: --longer-than 1")
    ] = None,
    as_json: given.Json = False,
    quiet: given.Quiet = False,
) -> int:
    """Estimate from the release alone how many rows lie in a window of time, or how many series fit.

    Questions about values and about the shape of series may be combined. Of patterns: how many people have
    one, how often a rule holds, or the strongest ones.

    Example: timeveil query published --between 2024-03-01 2024-04-01 --where zip=04103
    """
    from timeveil.cli.output import Output
    from timeveil.cli.pattern_query import Asked as AskedOfPatterns
    from timeveil.cli.series_query import Asked
    from timeveil.folder import open_release

    output = Output(as_json=as_json, quiet=quiet)
    release = open_release(folder)
    asked = Asked(ranges or (), difference or (), like, tolerance, features)
    sought = AskedOfPatterns(item or (), given_items or (), then or (), top, longer_than)
    model = {"series": "series", "patterns": "patterns"}.get(release.manifest["model"], "rows")
    _refuse([*(["--between"] * (between != (OPEN, OPEN))), *(["--where"] * bool(where))], "rows", model)
    _refuse(asked.options, "series", model)
    _refuse(sought.options, "patterns", model)
    if model == "series":
        return _of_series(release, asked, output)
    if model == "patterns":
        return _of_patterns(release, sought, output)
    return _of_rows(release, between, where or [], output)


def _refuse(options: list[str], about: str, model: str) -> None:
    if options and about != model:
        raise ParameterError(
            f"{options[0]} asks about {about}, and this is a release of {model}",
            hint="`timeveil query --help` says what can be asked of which release",
        )


def _of_patterns(release: Release, sought: AskedOfPatterns, output: Output) -> int:
    from timeveil.cli.pattern_query import answered

    lines, data = answered(release, sought)
    output.result("\n".join(lines), data)
    return 0


def _of_series(release: Release, asked: Asked, output: Output) -> int:
    from timeveil.cli.series_query import series_query
    from timeveil.judging import answer

    count = answer(release, series_query(asked, release.manifest["series"]["instants"]))
    suppressed = release.manifest["counts"]["suppressed"]
    exact = count.low == count.high
    text = f"{count.value:,.0f} series exactly" if exact else f"{count.value:,.4g} series"
    span = "" if exact else f", between {count.low:,.0f} and {count.high:,.0f}"
    if suppressed and not exact:
        span += f", as {suppressed:,} {'was' if suppressed == 1 else 'were'} suppressed"
    data = {"value": count.value, "low": count.low, "high": count.high, "of": "original"}
    output.result(text + span, data)
    return 0


def _of_rows(release: Release, between: tuple[str, str], where: list[str], output: Output) -> int:
    from timeveil.evidence.published import WindowCount
    from timeveil.judging import answer

    conditions = _conditions(where, release, output)
    low, high = (_bound(text, release) for text in between)
    count = answer(release, WindowCount(between=(low, high), where=conditions))
    of = "published" if release.manifest["model"] == "stream" else "original"
    data = {"value": count.value, "low": count.low, "high": count.high, "of": of}
    output.result(_rows_told(count, of, release.manifest["counts"].get("withheld", 0)), data)
    return 0


def _rows_told(count: Estimate, of: str, withheld: int) -> str:
    """The count in words; of a stream it is about what was published, not about what happened."""
    exact = count.low == count.high
    number = f"{count.value:,.0f}" if exact else f"{count.value:,.4g}"
    span = "" if exact else f", between {count.low:,.0f} and {count.high:,.0f}"
    if of == "published":
        return f"{number} published rows{span}; how many were moved or withheld is not published"
    if withheld and not exact:
        span += f", as {'a row was' if withheld == 1 else f'{withheld:,} rows were'} withheld"
    return f"{number} rows exactly" if exact else f"{number} rows{span}"


def _bound(text: str, release: Release) -> str | int | None:
    if text == OPEN:
        return None
    if release.manifest["time"]["kind"] != "relative":
        return text
    error = ParameterError(
        "a bound of the window is not a whole number, and the release has relative time",
        hint=f"give whole numbers of the unit {release.manifest['time']['unit'] or 'slot'}",
        code="bad-time",
    )
    with raising(error, on=ValueError):
        return int(text)


def _conditions(texts: list[str], release: Release, output: Any) -> dict[str, Any]:
    conditions: dict[str, Any] = {}
    stated = [*release.manifest["columns"], *release.manifest.get("sensitive_columns", ())]
    types = {column["name"]: column["type"] for column in stated}
    for text in texts:
        column, mark, value = text.partition("=")
        if not (column and mark):
            raise ParameterError(
                "a condition has no column or no `=`",
                hint="write --where COLUMN=VALUE or --where COLUMN=LOW..HIGH",
            )
        low, dots, high = value.partition(OPEN)
        generalised = column in release.manifest.get("levels", {})
        if dots and not generalised:
            conditions[column] = (low or None, high or None)
            if types.get(column) == "string":
                output.say(f"`{column}` holds text, so the range is compared letter by letter.")
        else:
            conditions[column] = value or None
    return conditions
