"""`timeveil demo`."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from textwrap import indent
from typing import TYPE_CHECKING, Annotated, cast

import typer

import timeveil as tv
from timeveil.cli.output import Output, begin, refuse_file
from timeveil.domain.roles import Roles
from timeveil.domain.run import Run
from timeveil.errors import raising
from timeveil.models.events.parameters import EventParameters
from timeveil.page.wording import aligned, numbered, people, share

if TYPE_CHECKING:
    from timeveil.jobs.publish import Outcome

K = 5
ROLES = Roles(
    respondent="patient", time="taken_at", quasi=("zip",), sensitive=("result",), keep=("exam",), drop="rest"
)
SHOWN = frozenset({"minute", "hour", "day", "week", "month", "quarter", "year"})
BAR = 24


def demo(
    out: Annotated[
        str | None, typer.Option(metavar="DIR", help="New folder to leave the files in: --out demo")
    ] = None,
) -> int:
    """Make up a clinic, look at its risk, publish a year of visits, check and attack the release.

    Example: timeveil demo
    """
    import pyarrow.csv

    from timeveil.datasets import clinic_visits
    from timeveil.jobs.publish import publish
    from timeveil.models.events.words.pictures import attack_picture
    from timeveil.reading.files import temporary_file_error, translate_os_errors

    output = Output()
    if out is None:
        with raising(temporary_file_error, on=OSError):
            folder = Path(tempfile.mkdtemp(prefix="timeveil-demo-"))
    else:
        folder = Path(out)
        refuse_file(out, "the demo, with a ledger,", private=True)
        with translate_os_errors(folder.name):
            folder.mkdir()
    source, release, ledger = (str(folder / name) for name in ("visits.csv", "release", "visits.ledger"))
    run = Run(EventParameters, source, ROLES, {"k": K, "suppress": 0.01}, out=release, ledger=ledger)
    try:
        pyarrow.csv.write_csv(clinic_visits(rows=5_000, seed=0), source)
        output.print(_risk_page(cast("tv.Profile", tv.profile(tv.read(source, ROLES), K))))
        outcome = publish(run)
        breach = tv.attack(tv.open_release(release), outcome.ledger, tv.Adversary())
        (folder / "attack.svg").write_text(attack_picture(breach).svg(), encoding="utf-8")
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        begin()
        raise
    output.print(_release_page(outcome, output.width))
    output.print(_attack_page(breach, outcome.release, folder))
    return 0 if outcome.verdict else 1


def _risk_page(risk: tv.Profile) -> str:
    from timeveil.models.events.words import profile_lines

    alone = risk.as_it_stands.people_unique
    table = indent("\n".join(profile_lines(risk, SHOWN)), "  ")
    return f"""\
A clinic wants to publish a year of exams:
{risk.rows:,} rows of {people(risk.people)}, all made up. Without names, someone who knows
a zip code and the time of a visit still finds {alone:,} of them. How coarse must time be?

{table}

"""


def _release_page(outcome: Outcome, width: int) -> str:
    table = outcome.release.table
    step = max(1, table.num_rows // 4)
    sample = table.take(list(range(step // 2, table.num_rows, step))[:4]).to_pylist()
    names = [name for name in table.column_names if not name.endswith(("_start", "_end"))]
    rows = aligned([names, *([str(row[name]) for name in names] for row in sample)], left=len(names))
    steps = numbered(outcome.explanation.sentences, width) if outcome.explanation else []
    start = f"Published so that every zip code and time is shared by {K} people, withholding at most 1 %:"
    return "\n".join([start, *steps, "", "What a recipient sees:", *(f"  {row}" for row in rows), "", ""])


def _attack_page(breach: tv.Breach, release: tv.Release, folder: Path) -> str:
    from timeveil.models.events.words import attack_summary, candidate_ranges

    rows = [("candidates", "original", "", "release", "")]
    for label, before, after in candidate_ranges(breach):
        rows.append((label, _bar(before), share(before), _bar(after), share(after)))
    chart = indent("\n".join(aligned(rows, left=5)), "  ")
    exposure = "\n".join(attack_summary(breach, release).limits)
    return f"""\
Attacked by someone who knows a zip code and the time of one visit; how many people fit:
{chart}
  Over all visits, {share(breach.pinned_before)} of the people had a single candidate, now \
{share(breach.pinned_after)}; chance of a guess: {share(breach.before.worst)}, now {share(breach.worst)}

What it does not protect:
{exposure}

Look around in {folder}, or in the browser with `timeveil serve --root {folder}`:
  visits.csv     the table it began with
  release/       what may leave the building: data.parquet, release.json, README.txt
  visits.ledger  who is in which group; private
  attack.svg     the attack as a picture
"""


def _bar(part: float) -> str:
    return "█" * max(round(part * BAR), 1 if part else 0)
