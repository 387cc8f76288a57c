"""How much a method may withhold before a release is refused, and what losses are counted in."""

from __future__ import annotations

from collections.abc import Mapping

from timeveil.domain.parameter import Parameters
from timeveil.errors import InfeasibleError

LARGEST_LOSS = 0.25
"""Above this share, withholding is refused unless it is allowed, and not offered as a way out."""
UNITS: Mapping[str, str] = {"bits": "bits"}  # the losses that are no shares, and what they are counted in


def refuse_loss(parameters: Parameters, withheld: int, of: int, noun: str, hint: str) -> None:
    """Refuse to withhold more than a quarter, or than the share that `suppress` allows if that is larger."""
    values = parameters.as_arguments()
    most = max(LARGEST_LOSS, values.get("suppress", 0))
    if withheld > most * of and not values["allow_loss"]:
        share = f"{withheld:,} of {of:,} {noun} ({100 * withheld / of:.0f} %)"
        message = f"{share} would be withheld; more than {100 * most:g} % is refused"
        hint, facts = f"{hint}, or accept the loss with {{allow_loss=True}}", {"withheld": withheld, "of": of}
        raise InfeasibleError(message, hint=hint, code="too-much-withheld", facts=facts)
