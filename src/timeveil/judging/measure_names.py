"""What a release costs in detail, and what a table risks before anything is done."""

from timeveil.judging.measure_judge import measure
from timeveil.models.events.judges.loss import Loss
from timeveil.models.events.judges.profile import GranularityRisk, Profile, profile
from timeveil.models.patterns.judges.loss import PatternError, PatternLoss
from timeveil.models.series.judges.loss import QueryError, SeriesLoss
from timeveil.models.stream.judges.loss import StreamLoss, WindowError
from timeveil.models.stream.judges.measure_packets import PacketLoss

__all__ = [
    "GranularityRisk",
    "Loss",
    "PacketLoss",
    "PatternError",
    "PatternLoss",
    "Profile",
    "QueryError",
    "SeriesLoss",
    "StreamLoss",
    "WindowError",
    "measure",
    "profile",
]
