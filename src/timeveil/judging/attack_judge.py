"""One place decides how each kind of release is attacked."""

from __future__ import annotations

from typing import overload

from timeveil.domain.ledger import Ledger
from timeveil.domain.release import Release
from timeveil.errors import ParameterError
from timeveil.evidence.breach import Breach
from timeveil.evidence.given import refuse_another
from timeveil.models.events.judges.adversary import Adversary
from timeveil.models.events.judges.linkage import attack_times
from timeveil.models.patterns.judges.adversary import PatternAdversary
from timeveil.models.patterns.judges.breach import PatternBreach
from timeveil.models.patterns.judges.inference import attack_patterns
from timeveil.models.series.judges.adversary import SeriesAdversary
from timeveil.models.series.judges.breach import SeriesBreach
from timeveil.models.series.judges.linkage import attack_series
from timeveil.models.stream.judges.adversary import StreamAdversary
from timeveil.models.stream.judges.breach import StreamBreach
from timeveil.models.stream.judges.inference import attack_stream


@overload
def attack(release: Release, ledger: Ledger, adversary: Adversary) -> Breach: ...
@overload
def attack(release: Release, ledger: Ledger, adversary: StreamAdversary) -> StreamBreach: ...
@overload
def attack(release: Release, ledger: Ledger, adversary: SeriesAdversary) -> SeriesBreach: ...
@overload
def attack(release: Release, ledger: Ledger, adversary: PatternAdversary) -> PatternBreach: ...
@overload
def attack(
    release: Release, ledger: Ledger, adversary: None = None
) -> Breach | StreamBreach | SeriesBreach | PatternBreach: ...
def attack(
    release: Release,
    ledger: Ledger,
    adversary: Adversary | StreamAdversary | SeriesAdversary | PatternAdversary | None = None,
) -> Breach | StreamBreach | SeriesBreach | PatternBreach:
    """Try what an adversary can find out about everyone; the ledger tells who is who.

    On timestamped rows an `Adversary` looks for people, which gives a `Breach`. On a stream a
    `StreamAdversary` guesses their sensitive values, which gives a `StreamBreach`. On series a
    `SeriesAdversary` looks for people's rows, which gives a `SeriesBreach`; if none is given, it is one who
    knows all values and the pattern. On patterns a `PatternAdversary` computes small groups from the counts,
    which gives a `PatternBreach`.
    """
    refuse_another(release, ledger)
    match release.manifest.get("model"), adversary:
        case "time", Adversary() | None:
            return attack_times(release, ledger, adversary or Adversary())
        case "stream", StreamAdversary() | None:
            return attack_stream(release, ledger, adversary or StreamAdversary())
        case "series", SeriesAdversary() | None:
            return attack_series(release, ledger, adversary or SeriesAdversary(pattern=True))
        case "patterns", PatternAdversary() | None:
            return attack_patterns(release, ledger, adversary or PatternAdversary())
        case "time", _:
            raise _wrong("this adversary knows no visits", "give an Adversary for timestamped rows")
        case "stream", _:
            raise _wrong("this adversary knows no slots", "give a StreamAdversary for a stream")
        case "series", _:
            raise _wrong("this adversary knows no series", "give a SeriesAdversary for series")
        case "patterns", _:
            raise _wrong("this adversary has no counts", "give a PatternAdversary for patterns")
        case _:
            raise _wrong(
                "a release of this model cannot be attacked so",
                "give timestamped rows, a stream, series or patterns",
            )


def _wrong(message: str, hint: str) -> ParameterError:
    return ParameterError(message, hint=hint, code="bad-parameter")
