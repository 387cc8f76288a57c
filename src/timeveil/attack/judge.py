"""One place decides how each kind of release is attacked."""

from __future__ import annotations

from typing import overload

from timeveil.attack.adversary import Adversary
from timeveil.attack.breach import Breach
from timeveil.attack.inference import attack_stream
from timeveil.attack.linkage import attack_times
from timeveil.attack.stream_adversary import StreamAdversary
from timeveil.attack.stream_breach import StreamBreach
from timeveil.errors import ParameterError
from timeveil.model.ledger import Ledger
from timeveil.model.release import Release


@overload
def attack(release: Release, ledger: Ledger, adversary: Adversary) -> Breach: ...
@overload
def attack(release: Release, ledger: Ledger, adversary: StreamAdversary) -> StreamBreach: ...
@overload
def attack(release: Release, ledger: Ledger, adversary: None = None) -> Breach | StreamBreach: ...
def attack(
    release: Release, ledger: Ledger, adversary: Adversary | StreamAdversary | None = None
) -> Breach | StreamBreach:
    """Try what an adversary can find out about everyone; the ledger tells who is who.

    On timestamped rows an `Adversary` looks for people, which gives a `Breach`. On a stream a
    `StreamAdversary` guesses their sensitive values, which gives a `StreamBreach`.
    """
    match release.manifest.get("model"), adversary:
        case "time", Adversary() | None:
            return attack_times(release, ledger, adversary or Adversary())
        case "stream", StreamAdversary() | None:
            return attack_stream(release, ledger, adversary or StreamAdversary())
        case "time", _:
            raise _wrong("this adversary knows slots and values", "give an Adversary for timestamped rows")
        case "stream", _:
            raise _wrong("this adversary knows visits and times", "give a StreamAdversary for a stream")
        case _:
            raise _wrong("a release of this model cannot be attacked so", "give timestamped rows or a stream")


def _wrong(message: str, hint: str) -> ParameterError:
    return ParameterError(message, hint=hint, code="bad-parameter")
