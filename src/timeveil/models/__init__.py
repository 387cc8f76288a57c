"""The four models, each in a folder of its own: parameters, evidence, method, judges, words."""

from collections.abc import Callable
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any, TypeAlias

from timeveil.domain.lines import AnyAdversary
from timeveil.domain.parameter import Parameters

if TYPE_CHECKING:
    from timeveil.models.events.judges.attack import Breach
    from timeveil.models.events.judges.measure import Loss
    from timeveil.models.patterns.judges.attack import PatternBreach
    from timeveil.models.patterns.judges.measure import PatternLoss
    from timeveil.models.series.judges.attack import SeriesBreach
    from timeveil.models.series.judges.measure import SeriesLoss
    from timeveil.models.stream.judges.attack import StreamBreach
    from timeveil.models.stream.judges.measure import StreamLoss

    AnyLoss: TypeAlias = Loss | StreamLoss | SeriesLoss | PatternLoss
    AnyBreach: TypeAlias = Breach | StreamBreach | SeriesBreach | PatternBreach

FOLDERS = {"time": "events", "stream": "stream", "series": "series", "patterns": "patterns"}
"""Name of a model in a release's manifest, and its folder."""


def part(model: str, name: str) -> ModuleType:
    """A module of a model, imported when first needed: `part("time", "judges.verify")`."""
    return import_module(f"timeveil.models.{FOLDERS[model]}.{name}")


def parameters_of(model: str) -> type[Parameters]:
    """The table of a model's parameters."""
    table: type[Parameters] = part(model, "parameters").PARAMETERS
    return table


def adversary_of(model: str) -> type[AnyAdversary[Any]]:
    """The kind of adversary that attacks a model's releases."""
    kind: type[AnyAdversary[Any]] = part(model, "parameters").ADVERSARY
    return kind


def tables() -> dict[str, type[Parameters]]:
    """The publishing commands, each with its table of parameters."""
    return {table.command: table for table in map(parameters_of, FOLDERS)}


def method_of(table: type[Parameters]) -> Callable[..., Any]:
    """The function that publishes with these parameters."""
    function: Callable[..., Any] = getattr(part(table.model, "method"), table.command.replace("-", "_"))
    return function


def words(model: str) -> str:
    """The folder of a model's templates, inside the package."""
    return f"models/{FOLDERS[model]}/words"
