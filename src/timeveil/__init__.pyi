from timeveil.calendar.axis import hour_of_day, month_of_year, weekday
from timeveil.calendar.catalogue import granularity
from timeveil.calendar.granularity import Granularity
from timeveil.compare import Comparison, Line, compare
from timeveil.domain.guarantee import Guarantee, KAnonymity, KPAnonymity, LDiversity, NoInferenceChannel
from timeveil.domain.judgement import Estimate, Verdict, Violation
from timeveil.domain.protection import AtMost, Closeness, Distinct, Entropy
from timeveil.domain.relation import Relation
from timeveil.domain.release import Ledger, Release
from timeveil.domain.roles import Roles
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
from timeveil.evidence.conditions import Not
from timeveil.evidence.published import WindowCount
from timeveil.explore.exploration import Exploration, Setting
from timeveil.explore.profiling import profile
from timeveil.explore.sweep import explore
from timeveil.folder import open_ledger, open_release, verify, write
from timeveil.jobs.streams import publish_streams
from timeveil.judging import answer, attack, measure
from timeveil.models.events.judges.attack import Breach
from timeveil.models.events.judges.measure import Loss
from timeveil.models.events.judges.profile import Profile
from timeveil.models.events.method import Hierarchy, generalize_time
from timeveil.models.events.parameters import Adversary
from timeveil.models.patterns.judges.attack import PatternBreach
from timeveil.models.patterns.judges.measure import PatternLoss
from timeveil.models.patterns.judges.profile import PatternProfile
from timeveil.models.patterns.judges.query import PatternSupport, RuleConfidence, TopPatterns
from timeveil.models.patterns.method import sanitize_patterns
from timeveil.models.patterns.parameters import PatternAdversary
from timeveil.models.series.judges.attack import SeriesBreach
from timeveil.models.series.judges.beside import MeanValue
from timeveil.models.series.judges.estimate import estimate_patterns, estimate_ranges
from timeveil.models.series.judges.measure import SeriesLoss
from timeveil.models.series.judges.profile import SeriesProfile
from timeveil.models.series.judges.query import (
    Complex,
    ExpressionRange,
    PatternRange,
    PatternSimilarity,
    RangeCount,
)
from timeveil.models.series.method import anonymize_series
from timeveil.models.series.parameters import SeriesAdversary
from timeveil.models.stream.judges.attack import StreamBreach
from timeveil.models.stream.judges.measure import StreamLoss
from timeveil.models.stream.judges.profile import StreamProfile
from timeveil.models.stream.method import PublishedSlot, StreamPublisher, publish_stream
from timeveil.models.stream.parameters import StreamAdversary
from timeveil.reading import read
from timeveil.report import Report, report
from timeveil.shifting import Shifted, shift_dates
from timeveil.suggesting import ColumnProfile, Suggestion, suggest

__all__ = ["Adversary", "AtMost", "Breach", "BundleError", "Closeness", "ColumnProfile", "Comparison"]
__all__ += ["Complex", "Distinct", "EngineError", "Entropy", "Estimate", "Exploration"]
__all__ += ["ExpressionRange", "Granularity", "Guarantee", "Hierarchy", "InfeasibleError", "InputError"]
__all__ += ["InternalError", "KAnonymity", "KPAnonymity", "LDiversity", "Ledger", "Line", "Loss"]
__all__ += ["MeanValue", "NoInferenceChannel", "Not", "ParameterError", "PatternAdversary"]
__all__ += ["PatternBreach", "PatternLoss", "PatternProfile", "PatternRange", "PatternSimilarity"]
__all__ += ["PatternSupport", "PrivateArtifactError", "Profile", "PublishedSlot", "RangeCount"]
__all__ += ["Relation", "Release", "Report", "Roles", "RolesError", "RuleConfidence", "SeriesAdversary"]
__all__ += ["SeriesBreach", "SeriesLoss", "SeriesProfile", "Setting", "Shifted", "StreamAdversary"]
__all__ += ["StreamBreach", "StreamLoss", "StreamProfile", "StreamPublisher", "Suggestion"]
__all__ += ["TimeveilError", "TopPatterns", "Verdict", "Violation", "WindowCount", "__version__"]
__all__ += ["anonymize_series", "answer", "attack", "compare", "estimate_patterns", "estimate_ranges"]
__all__ += ["explore", "generalize_time", "granularity", "hour_of_day", "measure", "month_of_year"]
__all__ += ["open_ledger", "open_release", "profile", "publish_stream", "publish_streams", "read"]
__all__ += ["report", "sanitize_patterns", "shift_dates", "suggest", "verify", "weekday", "write"]
