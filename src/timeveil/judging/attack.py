"""What an adversary who knows something about a person can find out, before and after publication."""

from __future__ import annotations

from typing import TypeAlias, overload

from timeveil.domain.release import Ledger, Release
from timeveil.errors import ParameterError
from timeveil.judging.gather import Evidence, gather_private, model_of
from timeveil.models import part
from timeveil.models.events.judges.attack import Adversary, Breach
from timeveil.models.patterns.judges.attack import PatternAdversary, PatternBreach
from timeveil.models.series.judges.attack import SeriesAdversary, SeriesBreach
from timeveil.models.stream.judges.attack import StreamAdversary, StreamBreach

Case: TypeAlias = Release | Evidence
AnyAdversary: TypeAlias = Adversary | StreamAdversary | SeriesAdversary | PatternAdversary
AnyBreach: TypeAlias = Breach | StreamBreach | SeriesBreach | PatternBreach
ADVERSARIES: dict[str, type[AnyAdversary]] = {
    "time": Adversary,
    "stream": StreamAdversary,
    "series": SeriesAdversary,
    "patterns": PatternAdversary,
}


@overload
def attack(release: Case, ledger: Ledger | None, adversary: Adversary) -> Breach: ...
@overload
def attack(release: Case, ledger: Ledger | None, adversary: StreamAdversary) -> StreamBreach: ...
@overload
def attack(release: Case, ledger: Ledger | None, adversary: SeriesAdversary) -> SeriesBreach: ...
@overload
def attack(release: Case, ledger: Ledger | None, adversary: PatternAdversary) -> PatternBreach: ...
@overload
def attack(
    release: Case, ledger: Ledger | None = None, adversary: AnyAdversary | None = None
) -> AnyBreach: ...
def attack(release: Case, ledger: Ledger | None = None, adversary: AnyAdversary | None = None) -> AnyBreach:
    """Try what an adversary can find out about everyone; the ledger shows who is who.

    On timestamped rows an `Adversary` looks for people, which gives a `Breach`. On a stream a
    `StreamAdversary` guesses sensitive values, which gives a `StreamBreach`. On series a `SeriesAdversary`
    looks for people's rows, which gives a `SeriesBreach`; the default one knows all values and the pattern.
    On patterns a `PatternAdversary` computes small groups from the counts, which gives a `PatternBreach`.
    """
    evidence = gather_private(release, ledger)
    model = model_of(evidence)
    if adversary is not None and not isinstance(adversary, ADVERSARIES[model]):
        raise ParameterError(
            f"`{type(adversary).__name__}` cannot attack this release",
            hint=f"give a `{ADVERSARIES[model].__name__}`",
        )
    breach: AnyBreach = part(model, "judges.attack").attack(evidence, adversary)
    return breach
