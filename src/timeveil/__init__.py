"""Publish temporal data about people without giving them away.

read -> Relation + Roles -> method -> (Release, Ledger) -> verify · measure · attack · answer ->
write · report
"""

import timeveil.starting  # noqa: F401
from timeveil.calendar.axis import hour_of_day, month_of_year, weekday
from timeveil.calendar.catalogue import granularity
from timeveil.calendar.granularity import Granularity
from timeveil.compare import Comparison, Line, compare
from timeveil.domain.estimate import Estimate
from timeveil.domain.guarantee import Guarantee, KAnonymity, KPAnonymity, LDiversity, NoInferenceChannel
from timeveil.domain.ledger import Ledger
from timeveil.domain.relation import Relation
from timeveil.domain.release import Release
from timeveil.domain.roles import Roles
from timeveil.domain.verdict import Verdict, Violation
from timeveil.domain.version import __version__
from timeveil.errors import (
    BundleError,
    EngineError,
    InfeasibleError,
    InputError,
    InternalError,
    ParameterError,
    PrivateArtifactError,
    RolesError,
    TimeveilError,
)
from timeveil.evidence.window import WindowCount
from timeveil.explore import Exploration, Setting, explore
from timeveil.folder import open_ledger, open_release, write
from timeveil.judging.answer import answer
from timeveil.judging.attack import attack
from timeveil.judging.measure import measure
from timeveil.judging.verify import verify
from timeveil.models.events.judges.attack import Adversary, Breach
from timeveil.models.events.judges.measure import Loss
from timeveil.models.events.judges.profile import Profile, profile
from timeveil.models.events.method import Hierarchy, generalize_time
from timeveil.models.patterns.judges.attack import PatternAdversary, PatternBreach
from timeveil.models.patterns.judges.measure import PatternLoss
from timeveil.models.patterns.judges.query import PatternSupport, RuleConfidence, TopPatterns
from timeveil.models.patterns.method import sanitize_patterns
from timeveil.models.series.judges.attack import SeriesAdversary, SeriesBreach
from timeveil.models.series.judges.estimating import estimate_patterns, estimate_ranges
from timeveil.models.series.judges.measure import SeriesLoss
from timeveil.models.series.judges.queries import Complex, PatternRange, PatternSimilarity, RangeCount
from timeveil.models.series.method import anonymize_series
from timeveil.models.stream.judges.attack import StreamAdversary, StreamBreach
from timeveil.models.stream.judges.measure import StreamLoss
from timeveil.models.stream.method import PublishedSlot, StreamPublisher, publish_stream
from timeveil.reading import read
from timeveil.report import Report, report

__all__ = [
    "Adversary",
    "Breach",
    "BundleError",
    "Comparison",
    "Complex",
    "EngineError",
    "Estimate",
    "Exploration",
    "Granularity",
    "Guarantee",
    "Hierarchy",
    "InfeasibleError",
    "InputError",
    "InternalError",
    "KAnonymity",
    "KPAnonymity",
    "LDiversity",
    "Ledger",
    "Line",
    "Loss",
    "NoInferenceChannel",
    "ParameterError",
    "PatternAdversary",
    "PatternBreach",
    "PatternLoss",
    "PatternRange",
    "PatternSimilarity",
    "PatternSupport",
    "PrivateArtifactError",
    "Profile",
    "PublishedSlot",
    "RangeCount",
    "Relation",
    "Release",
    "Report",
    "Roles",
    "RolesError",
    "RuleConfidence",
    "SeriesAdversary",
    "SeriesBreach",
    "SeriesLoss",
    "Setting",
    "StreamAdversary",
    "StreamBreach",
    "StreamLoss",
    "StreamPublisher",
    "TimeveilError",
    "TopPatterns",
    "Verdict",
    "Violation",
    "WindowCount",
    "__version__",
    "anonymize_series",
    "answer",
    "attack",
    "compare",
    "estimate_patterns",
    "estimate_ranges",
    "explore",
    "generalize_time",
    "granularity",
    "hour_of_day",
    "measure",
    "month_of_year",
    "open_ledger",
    "open_release",
    "profile",
    "publish_stream",
    "read",
    "report",
    "sanitize_patterns",
    "verify",
    "weekday",
    "write",
]
