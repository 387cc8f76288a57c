"""What a release costs in detail, and what a table risks before anything is done."""

from timeveil.measure.judge import measure
from timeveil.measure.loss import Loss
from timeveil.measure.pattern_loss import PatternError, PatternLoss
from timeveil.measure.profile import GranularityRisk, Profile, profile
from timeveil.measure.series_loss import QueryError, SeriesLoss
from timeveil.measure.stream_loss import StreamLoss, WindowError
from timeveil.measure.stream_packets import PacketLoss

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
