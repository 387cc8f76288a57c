"""Publish temporal data about people without giving them away.

read -> Relation + Roles -> method -> (Release, Ledger) -> verify · measure · attack · answer ->
write · report

Names are imported when they are first used, so that `import timeveil` and `timeveil --help` are quick.
"""

import importlib as _importlib
import sys as _sys
import types as _types
import typing as _typing

import timeveil.starting  # noqa: F401 - takes care of an interrupt while the rest is loading
from timeveil.domain.version import __version__

if _typing.TYPE_CHECKING:
    from timeveil.calendar.axis import hour_of_day, month_of_year, weekday
    from timeveil.calendar.catalogue import granularity
    from timeveil.calendar.granularity import Granularity
    from timeveil.compare import Comparison, Line, compare
    from timeveil.domain.guarantee import Guarantee, KAnonymity, KPAnonymity, LDiversity, NoInferenceChannel
    from timeveil.domain.judgement import Estimate, Verdict, Violation
    from timeveil.domain.relation import Relation
    from timeveil.domain.release import Ledger, Release
    from timeveil.domain.roles import Roles
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
    from timeveil.evidence.published import WindowCount
    from timeveil.explore import Exploration, Setting, explore
    from timeveil.folder import open_ledger, open_release, verify, write
    from timeveil.judging import answer, attack, measure
    from timeveil.models.events.judges.attack import Adversary, Breach
    from timeveil.models.events.judges.measure import Loss
    from timeveil.models.events.judges.profile import Profile, profile
    from timeveil.models.events.method import Hierarchy, generalize_time
    from timeveil.models.patterns.judges.attack import PatternAdversary, PatternBreach
    from timeveil.models.patterns.judges.measure import PatternLoss
    from timeveil.models.patterns.judges.query import PatternSupport, RuleConfidence, TopPatterns
    from timeveil.models.patterns.method import sanitize_patterns
    from timeveil.models.series.judges.attack import SeriesAdversary, SeriesBreach
    from timeveil.models.series.judges.estimate import estimate_patterns, estimate_ranges
    from timeveil.models.series.judges.measure import SeriesLoss
    from timeveil.models.series.judges.query import Complex, PatternRange, PatternSimilarity, RangeCount
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

_MODULES = {
    "calendar.axis": "hour_of_day month_of_year weekday",
    "calendar.catalogue": "granularity",
    "calendar.granularity": "Granularity",
    "compare": "Comparison Line compare",
    "domain.guarantee": "Guarantee KAnonymity KPAnonymity LDiversity NoInferenceChannel",
    "domain.judgement": "Estimate Verdict Violation",
    "domain.relation": "Relation",
    "domain.release": "Ledger Release",
    "domain.roles": "Roles",
    "errors": "BundleError EngineError InfeasibleError InputError InternalError ParameterError "
    "PrivateArtifactError RolesError TimeveilError",
    "evidence.published": "WindowCount",
    "explore": "Exploration Setting explore",
    "folder": "open_ledger open_release verify write",
    "judging": "answer attack measure",
    "models.events.judges.attack": "Adversary Breach",
    "models.events.judges.measure": "Loss",
    "models.events.judges.profile": "Profile profile",
    "models.events.method": "Hierarchy generalize_time",
    "models.patterns.judges.attack": "PatternAdversary PatternBreach",
    "models.patterns.judges.measure": "PatternLoss",
    "models.patterns.judges.query": "PatternSupport RuleConfidence TopPatterns",
    "models.patterns.method": "sanitize_patterns",
    "models.series.judges.attack": "SeriesAdversary SeriesBreach",
    "models.series.judges.estimate": "estimate_patterns estimate_ranges",
    "models.series.judges.measure": "SeriesLoss",
    "models.series.judges.query": "Complex PatternRange PatternSimilarity RangeCount",
    "models.series.method": "anonymize_series",
    "models.stream.judges.attack": "StreamAdversary StreamBreach",
    "models.stream.judges.measure": "StreamLoss",
    "models.stream.method": "PublishedSlot StreamPublisher publish_stream",
    "reading": "read",
    "report": "Report report",
}
"""Where each name is; the imports above say the same to a type checker, and a test compares them."""
_HOMES = {name: f"timeveil.{module}" for module, names in _MODULES.items() for name in names.split()}


def __getattr__(name: str) -> _typing.Any:
    if name in _HOMES:
        value = getattr(_importlib.import_module(_HOMES[name]), name)
        globals()[name] = value
        return value
    try:
        return _importlib.import_module(f"timeveil.{name}")
    except ModuleNotFoundError as error:
        if error.name != f"timeveil.{name}":
            raise
    raise AttributeError(f"module 'timeveil' has no attribute '{name}'")


def __dir__() -> list[str]:
    return __all__


class _Package(_types.ModuleType):
    """Three functions are named like the package they are in; importing such a package must not hide them."""

    def __setattr__(self, name: str, value: _typing.Any) -> None:
        if not (isinstance(value, _types.ModuleType) and name in _HOMES):
            super().__setattr__(name, value)


_sys.modules[__name__].__class__ = _Package
