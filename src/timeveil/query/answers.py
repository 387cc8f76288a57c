"""One place decides how a question is answered on a kind of release."""

from __future__ import annotations

from timeveil.errors import ParameterError
from timeveil.model.estimate import Estimate
from timeveil.model.release import Release
from timeveil.query.window import WindowCount, count_in_window


def answer(release: Release, query: WindowCount) -> Estimate:
    """Estimate the answer to `query` from what was published.

    `value` is the best guess, made of the published rows. The truth about the original lies between `low`
    and `high`: whatever was withheld may lie in the window, so `high` counts it in.
    """
    match release.manifest.get("model"), query:
        case "time", WindowCount():
            return count_in_window(release, query)
        case _:
            raise ParameterError(
                f"a {type(query).__name__} cannot be asked of this release",
                hint="ask a time release for a WindowCount",
                code="bad-parameter",
            )
