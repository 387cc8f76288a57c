"""One place decides how each kind of release is measured."""

from __future__ import annotations

from timeveil.domain.ledger import Ledger
from timeveil.domain.progress import Progress, silent
from timeveil.domain.release import Release
from timeveil.errors import ParameterError
from timeveil.evidence.given import refuse_another
from timeveil.models.events.judges.loss import Loss, measure_times
from timeveil.models.patterns.judges.loss import PatternLoss, measure_patterns
from timeveil.models.series.judges.loss import SeriesLoss, measure_series
from timeveil.models.stream.judges.loss import StreamLoss, measure_stream

WINDOWS = 1_000
QUERIES = 10_000


def measure(
    release: Release,
    ledger: Ledger,
    *,
    windows: int = WINDOWS,
    queries: int = QUERIES,
    seed: int = 0,
    against: Release | None = None,
    progress: Progress = silent,
) -> Loss | StreamLoss | SeriesLoss | PatternLoss:
    """Compare a release with the original rows that its ledger holds.

    `windows` random window counts are asked of the release, drawn with `seed`; of a stream, so many for
    each length of window. Of series, `queries` random questions of each kind are asked. Counts of patterns
    are compared with leaving people or patterns out and, if one is given as `against`, with what can be read
    off a release of the same series. The result is a `Loss` for timestamped rows, a `StreamLoss` for a
    stream, a `SeriesLoss` for series and a `PatternLoss` for patterns.
    """
    refuse_another(release, ledger)
    model = release.manifest.get("model")
    if against is not None and model != "patterns":
        raise ParameterError(
            "`against` is about a release of patterns, and this is none",
            hint="leave `against` out",
            code="bad-parameter",
        )
    match model:
        case "time":
            return measure_times(release, ledger, windows, seed)
        case "stream":
            return measure_stream(release, ledger, windows, seed)
        case "series":
            return measure_series(release, ledger, queries, seed, progress)
        case "patterns":
            return measure_patterns(release, ledger, against, seed, progress)
        case _:
            raise ParameterError(
                "a release of this model cannot be measured",
                hint="give a release of timestamped rows, of a stream, of series or of patterns",
                code="bad-parameter",
            )
