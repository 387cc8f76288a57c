"""Publish temporal data about people without giving them away.

read -> Relation + Roles -> method -> (Release, Ledger) -> verify · measure · attack · answer ->
write · report
"""

import timeveil.starting  # noqa: F401
from timeveil.attack import (
    Adversary,
    Breach,
    PatternAdversary,
    PatternBreach,
    SeriesAdversary,
    SeriesBreach,
    StreamAdversary,
    StreamBreach,
    attack,
)
from timeveil.bundle import open_ledger, open_release, write
from timeveil.calendar.catalogue import granularity
from timeveil.calendar.cyclic import hour_of_day, month_of_year, weekday
from timeveil.calendar.granularity import Granularity
from timeveil.compare import Comparison, Line, compare
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
from timeveil.explore import Exploration, Setting, explore
from timeveil.generalization import Hierarchy, generalize_time
from timeveil.intake import read
from timeveil.measure import Loss, PatternLoss, Profile, SeriesLoss, StreamLoss, measure, profile
from timeveil.model.estimate import Estimate
from timeveil.model.guarantee import Guarantee, KAnonymity, KPAnonymity, LDiversity, NoInferenceChannel
from timeveil.model.ledger import Ledger
from timeveil.model.relation import Relation
from timeveil.model.release import Release
from timeveil.model.roles import Roles
from timeveil.model.verdict import Verdict, Violation
from timeveil.model.version import __version__
from timeveil.patterns import sanitize_patterns
from timeveil.query import (
    Complex,
    PatternRange,
    PatternSimilarity,
    PatternSupport,
    RangeCount,
    RuleConfidence,
    TopPatterns,
    WindowCount,
    answer,
    estimate_patterns,
    estimate_ranges,
)
from timeveil.report import Report, report
from timeveil.series import anonymize_series
from timeveil.streaming import PublishedSlot, StreamPublisher, publish_stream
from timeveil.verify import verify

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
