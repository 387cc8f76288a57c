"""`timeveil demo`."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from timeveil.cli import process
from timeveil.cli.output import Output
from timeveil.domain.roles import Roles

if TYPE_CHECKING:
    from timeveil.domain.run import Run
    from timeveil.jobs.publish import Outcome
    from timeveil.models.events.judges.attack import Breach

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
    from timeveil.folder import open_release
    from timeveil.jobs.publish import publish
    from timeveil.judging import attack
    from timeveil.models.events.judges.attack import Adversary
    from timeveil.models.events.words.pictures import attack_picture

    output = Output()
    folder = _folder(out)
    try:
        run = _make_up(folder)
        output.print(_risk(run))
        outcome = publish(run)
        breach = attack(open_release(run.out), outcome.ledger, Adversary())
        (folder / "attack.svg").write_text(attack_picture(breach).svg(), encoding="utf-8")
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        process.begin()
        raise
    output.print(_published(outcome, output.width))
    output.print(_attacked(breach, folder))
    return 0 if outcome.verdict else 1


def _folder(out: str | None) -> Path:
    from timeveil.reading.files import refuse_taken, translate_os_errors

    if out is None:
        return Path(tempfile.mkdtemp(prefix="timeveil-demo-"))
    refuse_taken(Path(out))
    with translate_os_errors(Path(out).name):
        Path(out).mkdir()
    return Path(out)


def _make_up(folder: Path) -> Run:
    import pyarrow.csv

    from timeveil.datasets import clinic_visits
    from timeveil.domain.run import Run
    from timeveil.models.events.parameters import EventParameters

    pyarrow.csv.write_csv(clinic_visits(rows=5_000, seed=0), folder / "visits.csv")
    return Run(
        EventParameters,
        str(folder / "visits.csv"),
        ROLES,
        {"k": K, "suppress": 0.01},
        out=str(folder / "release"),
        ledger=str(folder / "visits.ledger"),
    )


def _risk(run: Run) -> str:
    from timeveil.models.events.judges.profile import profile
    from timeveil.models.events.words.results import profile_lines
    from timeveil.page.wording import people
    from timeveil.reading import read

    numbers = profile(read(run.source, ROLES), K)
    alone = numbers.as_it_stands.people_unique
    lines = [
        "A clinic wants to publish a year of exams:",
        f"{numbers.rows:,} rows of {people(numbers.people)}, all made up. Without names, someone who knows",
        f"a zip code and the time of a visit still finds {alone:,} of them. How coarse must time be?",
        "",
        *(f"  {line}" for line in profile_lines(numbers, SHOWN)),
    ]
    return "\n".join(lines) + "\n\n"


def _published(outcome: Outcome, width: int) -> str:
    from timeveil.page.wording import aligned

    table = outcome.release.table
    step = max(1, table.num_rows // 4)
    sample = table.take(list(range(step // 2, table.num_rows, step))[:4]).to_pylist()
    names = [name for name in table.column_names if not name.endswith(("_start", "_end"))]
    rows = [names, *([str(row[name]) for name in names] for row in sample)]
    lines = [
        f"Published so that every zip code and time is shared by {K} people, withholding at most 1 %:",
        *(outcome.explanation.numbered(width) if outcome.explanation else []),
        "",
        "What a recipient sees:",
        *(f"  {line}" for line in aligned(rows, left=len(names))),
    ]
    return "\n".join(lines) + "\n\n"


def _attacked(breach: Breach, folder: Path) -> str:
    from timeveil.models.events.words.results import candidate_ranges, exposed
    from timeveil.page.wording import aligned, share

    rows = [("candidates", "original", "", "release", "")]
    rows += [
        (
            numbers.label,
            _bar(numbers.before),
            share(numbers.before),
            _bar(numbers.after),
            share(numbers.after),
        )
        for numbers in candidate_ranges(breach)
    ]
    lines = [
        "Attacked by someone who knows a zip code and the time of one visit; how many people fit:",
        *(f"  {line}" for line in aligned(rows, left=5)),
        f"  {share(breach.pinned_before)} of the people were pinned down, now {share(breach.pinned_after)}; "
        f"a guess is right with a chance of up to {share(breach.worst)}, before {share(breach.before.worst)}",
        "",
        "What it does not protect:",
        *exposed(breach),
        "",
        f"Look around in {folder}:",
        "  visits.csv     the table it began with",
        "  release/       what may leave the building: data.parquet, release.json, README.txt",
        "  visits.ledger  who is in which group; private",
        "  attack.svg     the attack as a picture",
    ]
    return "\n".join(lines) + "\n"


def _bar(part: float) -> str:
    return "█" * max(round(part * BAR), 1 if part else 0)
