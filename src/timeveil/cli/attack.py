"""`timeveil attack`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from timeveil.cli import options as given
from timeveil.errors import ParameterError, raising

if TYPE_CHECKING:
    from timeveil.domain.release import Ledger, Release
    from timeveil.models.series.judges.attack import SeriesAdversary

Attacked = tuple[list[str], dict[str, Any], Callable[[], str]]
"""What an attack found as lines, as data, and as a picture."""

_ABOUT = {
    "--visits": {"time": "timestamped rows"},
    "--tolerance": {"time": "timestamped rows", "series": "series"},
    "--knows": {"stream": "a stream"},
    "--beside-plain": {"stream": "a stream"},
    "--values": {"series": "series"},
    "--pattern": {"series": "series"},
    "--explain": {"patterns": "patterns"},
}
"""Which models an option is about, by name and in words."""
_UNITS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400}


def attack(
    folder: given.Folder,
    ledger: given.LedgerIn,
    visits: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="On timestamped rows: how many visits of a person are known; default 1: --visits 2",
        ),
    ] = None,
    tolerance: Annotated[
        str | None,
        typer.Option(
            metavar="X",
            help="On timestamped rows: how far off the known times may be, in seconds or with s, m, h, d; on "
            "series, the known values; default 0: --tolerance 30m",
        ),
    ] = None,
    knows: Annotated[
        str | None,
        typer.Option(
            metavar="published-slot|true-slot|several-slots",
            help="On a stream: which slot of a record the outsider knows; default published-slot: "
            "--knows true-slot",
        ),
    ] = None,
    beside_plain: Annotated[
        bool,
        typer.Option(
            "--beside-plain",
            help="On a stream in closed packets, with --knows true-slot: publish the original by the paper's "
            "method, too, and show both: --beside-plain",
        ),
    ] = False,
    values: Annotated[
        str | None,
        typer.Option(
            metavar="N|all|none|C,C,...",
            help="On series: of how many instants, or of which, the outsider knows the value; whoever knows "
            "all exactly knows the shape, too; default all: --values 3",
        ),
    ] = None,
    pattern: Annotated[
        bool, typer.Option("--pattern", help="On series: the outsider knows the shape, too: --pattern")
    ] = False,
    explain: Annotated[
        bool,
        typer.Option(
            "--explain",
            help="On patterns: also tell small groups that true counts give away, with items: --explain",
        ),
    ] = False,
    picture: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Draw how many candidates are left, as SVG: --picture attack.svg"),
    ] = None,
    as_json: given.Json = False,
    quiet: given.Quiet = False,
) -> int:
    """Look for every person with what an outsider may know, in the original and in the release.

    The outsider knows the quasi-identifiers and some visits of a person; on a stream, a slot of theirs; on
    series, some values, the shape, or both. On patterns the outsider adds and subtracts the counts.

    Example: timeveil attack published --ledger visits.ledger --tolerance 30m; on series, timeveil attack
    published --ledger loads.ledger --values 3 --pattern
    """
    from timeveil.cli.files import private_ledger, write_new
    from timeveil.cli.output import Output
    from timeveil.folder import open_release
    from timeveil.folder.new_files import refuse_taken

    if picture is not None:
        refuse_taken(Path(picture))
    release, output = open_release(folder), Output(as_json=as_json, quiet=quiet)
    model = str(release.manifest["model"])
    typed = {"--visits": visits, "--tolerance": tolerance, "--knows": knows, "--values": values}
    flags = {"--beside-plain": beside_plain, "--pattern": pattern, "--explain": explain}
    _refuse([name for name, value in typed.items() if value is not None], model)
    _refuse([name for name, on in flags.items() if on], model)
    private = private_ledger(ledger, output)
    if model == "stream":
        lines, numbers, drawn = _on_stream(release, private, knows, output.width, beside_plain=beside_plain)
    elif model == "series":
        adversary = _of_series(values, tolerance, release, pattern=pattern)
        lines, numbers, drawn = _on_series(release, private, adversary, output.width)
    elif model == "patterns":
        _refuse_picture(picture, "patterns")
        lines, numbers, drawn = _on_patterns(release, private, output.width, told=explain)
    else:
        lines, numbers, drawn = _on_times(release, private, visits, tolerance, output.width)
    if picture is not None:
        write_new(Path(picture), drawn())
    risk = {name: numbers["after"][name] for name in ("worst", "mean")}
    output.result("\n".join(lines), {"model": model, **risk, **numbers})
    return 0


def _refuse(options: list[str], model: str) -> None:
    """An option of another model would be ignored."""
    for name in options:
        if model not in _ABOUT[name]:
            raise ParameterError(
                f"`{name}` is about a release of {' or of '.join(_ABOUT[name].values())}, and this is none",
                hint=f"leave `{name}` out",
            )


def _refuse_picture(picture: str | None, model: str) -> None:
    if picture is not None:
        raise ParameterError(
            f"there is no picture of an attack on {model}",
            hint="leave --picture out; `timeveil plot` draws the release itself",
        )


def _on_times(
    release: Release, ledger: Ledger, visits: int | None, tolerance: str | None, width: int
) -> Attacked:
    from timeveil.judging import attack as search
    from timeveil.models.events.judges.attack import Adversary
    from timeveil.models.events.words.pictures import attack_picture
    from timeveil.models.events.words.results import attack_summary

    knowledge, within = 1 if visits is None else visits, "0" if tolerance is None else tolerance
    breach = search(release, ledger, Adversary(visits=knowledge, tolerance=_tolerance(within, release)))
    unit = release.manifest["time"]["unit"] or "second"
    lines = attack_summary(breach, release).lines(width)
    return lines, breach.as_dict(), lambda: attack_picture(breach, unit).svg()


def _on_stream(
    release: Release, ledger: Ledger, knows: str | None, width: int, *, beside_plain: bool
) -> Attacked:
    from timeveil.judging import attack as search
    from timeveil.models.stream.judges.attack import StreamAdversary
    from timeveil.models.stream.words.pictures import attack_picture, method_picture
    from timeveil.models.stream.words.results import attack_summary

    adversary = StreamAdversary() if knows is None else StreamAdversary(knows)  # type: ignore[arg-type]
    breach = search(release, ledger, adversary)
    if not beside_plain:
        return (
            attack_summary(breach, release).lines(width),
            breach.as_dict(),
            lambda: attack_picture(breach).svg(),
        )
    if breach.true_slot is None or knows != "true-slot":
        raise ParameterError(
            "there is nothing to show beside the paper's method",
            hint="give --knows true-slot and a release that was made with --protect-slot",
        )
    plain = search(*_by_the_paper(release, ledger), adversary)
    numbers = {**breach.as_dict(), "plain": plain.as_dict()}
    lines = attack_summary(breach, release, plain).lines(width)
    return lines, numbers, lambda: method_picture(breach, plain).svg()


def _by_the_paper(release: Release, ledger: Ledger) -> tuple[Release, Ledger]:
    """The same records, published by the paper's method."""
    from timeveil.models.stream.method import publish_stream

    original, stated = ledger.original, release.manifest["parameters"]
    same = {name: stated[name] for name in ("l", "window", "move_cost", "fill_empty")}
    return publish_stream(
        original.table,
        replace(original.roles, drop=()),
        slot=stated["slot"] or "day",
        nulls="withhold",
        zone=original.clock.zone,
        unit=original.clock.unit,
        **same,
    )


def _on_series(release: Release, ledger: Ledger, adversary: SeriesAdversary, width: int) -> Attacked:
    from timeveil.judging import attack as search
    from timeveil.models.series.words.pictures import attack_picture
    from timeveil.models.series.words.results import attack_summary

    breach = search(release, ledger, adversary)
    return attack_summary(breach).lines(width), breach.as_dict(), lambda: attack_picture(breach).svg()


def _on_patterns(release: Release, ledger: Ledger, width: int, *, told: bool) -> Attacked:
    from timeveil.judging import attack as search
    from timeveil.models.patterns.judges.attack import PatternAdversary
    from timeveil.models.patterns.words.results import attack_summary

    breach = search(release, ledger, PatternAdversary())
    examples = {"examples": [group.as_dict() for group in breach.examples]} if told else {}
    return attack_summary(breach, examples=told).lines(width), {**breach.as_dict(), **examples}, str


def _of_series(
    values: str | None, tolerance: str | None, release: Release, *, pattern: bool
) -> SeriesAdversary:
    from timeveil.jobs.columns import listed
    from timeveil.models.series.judges.attack import SeriesAdversary

    error = ParameterError(
        "the tolerance is not a number", hint="give it in the units of the values, such as --tolerance 0.5"
    )
    with raising(error, on=ValueError):
        within = float("0" if tolerance is None else tolerance)
    instants, which = release.manifest["series"]["instants"], "all" if values is None else values
    knowledge: Any = {"all": "all", "none": None}.get(which, int(which) if which.isdecimal() else ())
    if knowledge == ():
        knowledge = listed([which], instants)
    if knowledge is None and tolerance is not None:
        raise ParameterError(
            "`--tolerance` is how far off known values may be, and with `--values none` there are none",
            hint="leave `--tolerance` out",
        )
    return SeriesAdversary(values=knowledge, tolerance=within, pattern=pattern)


def _tolerance(text: str, release: Release) -> int:
    """Seconds, or numbers of the release's own unit on relative time."""
    relative = release.manifest["time"]["kind"] == "relative"
    number, unit = (text[:-1], text[-1]) if text[-1:] in _UNITS and not relative else (text, "s")
    try:
        return int(float(number) * (1 if relative else _UNITS[unit]))
    except (ValueError, OverflowError):
        raise ParameterError(
            "the tolerance is not a length of time",
            hint=f"give a number of {release.manifest['time']['unit']}s, as the release has relative time"
            if relative
            else "give seconds, or a number with s, m, h or d, such as 30m",
        ) from None
