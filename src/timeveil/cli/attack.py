"""`timeveil attack`."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import timeveil as tv
from timeveil.cli.options import LedgerOptions, command, optional, refuse_foreign
from timeveil.cli.output import Output, refuse_file, write_file
from timeveil.domain.parameter import parameter
from timeveil.errors import ParameterError, raising
from timeveil.models import part

_SECONDS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400}


class AttackOptions(LedgerOptions):
    """The options of `attack`; most are about what an outsider of one model knows."""

    visits: int | None = optional(
        "On timestamped rows: number of known visits of a person; default 1.", 2, models=("time",)
    )
    tolerance: str | None = optional(
        "How far off known times may be, in seconds or with s, m, h, d; on series, how far off known values "
        "may be; default 0.",
        "30m",
        "X",
        models=("time", "series"),
    )
    knows: str | None = optional(
        "On a stream: which slot of a record the outsider knows; default published-slot.",
        "true-slot",
        "published-slot|true-slot|several-slots",
        models=("stream",),
    )
    beside_plain: bool = parameter(
        "On a stream made with --protect-slot, with --knows true-slot: compare with the original as the "
        "paper's method would publish it.",
        default=False,
        models=("stream",),
    )
    values: str | None = optional(
        "On series: number of values that the outsider knows, or their instants; all, the default, if exact, "
        "give away the shape as well.",
        "3",
        "N|all|none|C,C,...",
        models=("series",),
    )
    pattern: bool = parameter(
        "On series: the outsider also knows the shape.", default=False, models=("series",)
    )
    explain: bool = parameter(
        "On patterns: also list small groups that the true counts reveal.",
        default=False,
        models=("patterns",),
    )
    picture: str | None = optional("Draw how many candidates are left, as SVG.", "attack.svg", "FILE")


@command(AttackOptions)
def attack(options: AttackOptions, output: Output) -> int:
    """Look for every person as an outsider would, in the original and in the release.

    The outsider knows the quasi-identifiers and some visits of a person; on a stream, the slot of a record;
    on series, some values, the shape, or both. On patterns the outsider adds and subtracts the counts.

    Example: timeveil attack published --ledger visits.ledger --tolerance 30m; on series, timeveil attack
    published --ledger loads.ledger --values 3 --pattern
    """
    refuse_file(options.picture, [options.folder])
    release = tv.open_release(options.folder)
    model = str(release.manifest["model"])
    refuse_foreign(options, model)
    if model == "patterns" and options.picture is not None:
        raise ParameterError(
            "there is no picture of an attack on patterns",
            hint="leave --picture out; `timeveil plot` draws the release itself",
        )
    ledger = output.ledger(options.ledger)
    breach: Any = tv.attack(release, ledger, _adversary(options, release))
    plain = _plain_breach(release, ledger, breach) if options.beside_plain else None
    numbers = breach.as_dict() | ({} if plain is None else {"plain": plain.as_dict()})
    if options.explain:
        numbers["examples"] = [group.as_dict() for group in breach.examples]
    if options.picture is not None:
        pictures = part(model, "words.pictures")
        unit = [release.manifest["time"]["unit"] or "second"] if model == "time" else []
        draw = pictures.attack_picture if plain is None else pictures.method_picture
        write_file(options.picture, draw(breach, *(unit if plain is None else [plain])).svg())
    summary = part(model, "words").attack_summary(breach, release, *([] if plain is None else [plain]))
    risk = {name: numbers["after"][name] for name in ("worst", "mean")}
    output.result(
        "\n".join(summary.lines(output.width, examples=options.explain)), {"model": model, **risk, **numbers}
    )
    return 0


def _adversary(options: AttackOptions, release: tv.Release) -> Any:
    """The outsider that the options describe."""
    match release.manifest["model"]:
        case "time":
            visits = 1 if options.visits is None else options.visits
            return tv.Adversary(visits=visits, tolerance=_time_tolerance(options.tolerance, release))
        case "stream":
            knows: Any = "published-slot" if options.knows is None else options.knows
            return tv.StreamAdversary(knows)
        case "series":
            return _series_adversary(options, release.manifest["series"]["instants"])
        case _:
            return tv.PatternAdversary()


def _time_tolerance(typed: str | None, release: tv.Release) -> int:
    """Seconds, or numbers of the release's own unit on relative time."""
    text = "0" if typed is None else typed
    relative = release.manifest["time"]["kind"] == "relative"
    has_unit = text[-1:] in _SECONDS and not relative
    number, seconds = (text[:-1], _SECONDS[text[-1]]) if has_unit else (text, 1)
    error = ParameterError(
        "the tolerance is not a length of time",
        hint=f"give a number of {release.manifest['time']['unit']}s, as the release has relative time"
        if relative
        else "give seconds, or a number with s, m, h or d, such as 30m",
    )
    with raising(error, on=(ValueError, OverflowError)):
        return int(float(number) * seconds)


def _series_adversary(options: AttackOptions, instants: list[str]) -> tv.SeriesAdversary:
    from timeveil.jobs.columns import listed

    error = ParameterError(
        "the tolerance is not a number", hint="give it in the units of the values, such as --tolerance 0.5"
    )
    with raising(error, on=ValueError):
        tolerance = float("0" if options.tolerance is None else options.tolerance)
    values: Any = "all" if options.values is None else options.values
    if values == "none":
        values = None
        if options.tolerance is not None:
            raise ParameterError(
                "`--tolerance` is how far off known values may be, and with `--values none` there are none",
                hint="leave `--tolerance` out",
            )
    elif values != "all":
        values = int(values) if values.isdecimal() else listed([values], instants)
    return tv.SeriesAdversary(values=values, tolerance=tolerance, pattern=options.pattern)


def _plain_breach(release: tv.Release, ledger: tv.Ledger, breach: tv.StreamBreach) -> tv.StreamBreach:
    """The same attack on the same records, published by the paper's method."""
    if breach.true_slot is None or breach.adversary.knows != "true-slot":
        raise ParameterError(
            "there is nothing to show beside the paper's method",
            hint="give --knows true-slot and a release that was made with --protect-slot",
        )
    original, stated = ledger.original, release.manifest["parameters"]
    published = tv.publish_stream(
        original.table,
        replace(original.roles, drop=()),
        slot=stated["slot"] or "day",
        nulls="withhold",
        zone=original.clock.zone,
        unit=original.clock.unit,
        **{name: stated[name] for name in ("l", "window", "move_cost", "fill_empty")},
    )
    return tv.attack(*published, breach.adversary)
