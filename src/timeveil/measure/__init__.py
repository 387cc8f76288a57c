"""What a release costs in detail, and what a table risks before anything is done."""

from timeveil.measure.loss import Loss, measure
from timeveil.measure.profile import GranularityRisk, Profile, profile

__all__ = ["GranularityRisk", "Loss", "Profile", "measure", "profile"]
