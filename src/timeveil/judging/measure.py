"""What a release lost against the original rows in its ledger."""

from __future__ import annotations

from inspect import signature

from timeveil.domain.release import Ledger, Release
from timeveil.domain.wording import Progress, silent
from timeveil.errors import ParameterError
from timeveil.judging.gather import Evidence, gather_private, model_of
from timeveil.models import part
from timeveil.models.events.judges.measure import Loss
from timeveil.models.patterns.judges.measure import PatternLoss
from timeveil.models.series.judges.measure import SeriesLoss
from timeveil.models.stream.judges.measure import StreamLoss

WINDOWS = 1_000
QUERIES = 10_000


def measure(
    release: Release | Evidence,
    ledger: Ledger | None = None,
    *,
    windows: int = WINDOWS,
    queries: int = QUERIES,
    seed: int = 0,
    against: Release | None = None,
    progress: Progress = silent,
) -> Loss | StreamLoss | SeriesLoss | PatternLoss:
    """Compare a release with the original rows that its ledger holds.

    A release of timestamped rows answers `windows` random window counts, drawn with `seed`; a stream that
    many for each length of window. A release of series answers `queries` random questions of each kind. A
    release of patterns is compared with leaving out people or patterns and, if `against` is given, with what
    can be read off a release of the same series. The result is a `Loss` for timestamped rows, a `StreamLoss`
    for a stream, a `SeriesLoss` for series and a `PatternLoss` for patterns.
    """
    evidence = gather_private(release, ledger)
    judge = part(model_of(evidence), "judges.measure").measure
    declared = signature(judge).parameters
    if against is not None and "against" not in declared:
        raise ParameterError("`against` applies to releases of patterns only", hint="leave {against} out")
    options = {"windows": windows, "queries": queries, "seed": seed, "against": against, "progress": progress}
    loss: Loss | StreamLoss | SeriesLoss | PatternLoss = judge(
        evidence, **{name: option for name, option in options.items() if name in declared}
    )
    return loss
