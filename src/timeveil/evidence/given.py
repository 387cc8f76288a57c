"""What a judge is given: a release that was opened, and the ledger that was made together with it."""

from __future__ import annotations

from timeveil.domain.ledger import Ledger
from timeveil.domain.release import Release
from timeveil.errors import InputError, ParameterError

MODELS = ("time", "stream", "series", "patterns")


def refuse_no_release(release: object) -> None:
    """A folder has to be opened first.

    >>> refuse_no_release("published")
    Traceback (most recent call last):
    ...
    timeveil.errors.ParameterError: `release` is a `str`, not a release
    <BLANKLINE>
    hint: open a folder first: open_release(folder)
    """
    if not isinstance(release, Release):
        raise ParameterError(
            f"`release` is a `{type(release).__name__}`, not a release",
            hint="open a folder first: open_release(folder)",
            code="bad-parameter",
        )


def refuse_no_ledger(ledger: object) -> None:
    """A ledger file has to be opened first, too."""
    if not isinstance(ledger, Ledger):
        raise ParameterError(
            f"`ledger` is a `{type(ledger).__name__}`, not a ledger",
            hint="open a file first: open_ledger(path)",
            code="bad-parameter",
        )


def refuse_another(release: Release, ledger: Ledger) -> None:
    """A ledger of another model cannot be that of the release; each judge looks closer on its own."""
    refuse_no_release(release)
    refuse_no_ledger(ledger)
    model = release.manifest.get("model")
    if model in MODELS and ledger.model != model:
        raise mismatch("the ledger is that of another kind of release")


def mismatch(said: str) -> InputError:
    """What is said where a ledger is not that of the release."""
    return InputError(
        said, hint="give the ledger that was made together with this release", code="ledger-mismatch"
    )
