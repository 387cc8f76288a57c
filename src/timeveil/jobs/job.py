"""The job file: the options of a command under the names they have in Python."""

from __future__ import annotations

import re
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from timeveil.cli.options import roles_from
from timeveil.errors import ParameterError
from timeveil.jobs.patterns import pattern_roles
from timeveil.jobs.series import series_roles
from timeveil.jobs.toml import load_toml
from timeveil.models.events.words.run import Run
from timeveil.models.patterns.words.run import PatternRun
from timeveil.models.series.words.run import SeriesRun
from timeveil.models.stream.words.run import Serving, StreamRun

Number = Annotated[float, Field(strict=False)]
_KIND = re.compile(r"(list|literal|dict)\[.*|str|int|float")
"""How pydantic calls the alternatives of a key, behind it."""
RULES = ("intervals:", "prefixes:", "suppression")


class Job(BaseModel):
    """The keys of a job file. Lists are TOML arrays; `granularity` holds definitions of your own."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    command: Literal["generalize-time"] = "generalize-time"
    source: str = Field(alias="in")
    out: str
    respondent: str
    time: str
    k: int
    quasi: list[str] = []
    sensitive: list[str] = []
    keep: list[str] = []
    cyclic: list[str] = []
    drop: list[str] | Literal["rest"] = []
    granularities: list[str] | None = None
    choose: str = "groups"
    suppress: Number = 0.0
    hierarchies: dict[str, str] = {}
    levels: dict[str, int] = {}
    gaps: str = "error"
    nulls: str = "error"
    zone: str | None = None
    unit: str | None = None
    calendar: str | None = None
    granularity: dict[str, dict[str, Any]] = {}
    engine: str = "memory"
    memory_limit: str | None = None
    format: str = "parquet"
    ledger: str | None = None

    def run(self, path: Path) -> Run:
        """The run that the file at `path` describes; paths in it are relative to its folder."""
        roles = roles_from(
            self.respondent,
            self.time,
            quasi=self.quasi,
            sensitive=self.sensitive,
            keep=self.keep,
            cyclic=self.cyclic,
            drop=() if self.drop == "rest" else self.drop,
            drop_rest=self.drop == "rest",
        )
        near = {name: _beside(path, getattr(self, name)) for name in ("source", "out", "ledger", "calendar")}
        if self.granularity:
            near["calendar"] = str(path)
        alike = (
            "k",
            "choose",
            "suppress",
            "gaps",
            "nulls",
            "zone",
            "unit",
            "engine",
            "memory_limit",
            "format",
            "levels",
        )
        return Run(
            roles=roles,
            granularities=None if self.granularities is None else tuple(self.granularities),
            hierarchies={
                column: how if how.startswith(RULES) else str(_beside(path, how))
                for column, how in self.hierarchies.items()
            },
            job=str(path),
            **near,  # type: ignore[arg-type]
            **{name: getattr(self, name) for name in alike},
        )


class StreamJob(BaseModel):
    """The keys of a job file with `command = "publish-stream"`. `in` may be a folder, with `state`."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    command: Literal["publish-stream"]
    source: str = Field(alias="in")
    out: str
    time: str
    sensitive: str
    l: int
    window: int
    respondent: str | None = None
    quasi: list[str] = []
    keep: list[str] = []
    drop: list[str] | Literal["rest"] = []
    slot: str = "day"
    move_cost: str | list[Number] = "linear"
    withhold_cost: Number | dict[str, Number] | None = None
    seed: int | None = None
    first_window: str = "grow"
    fill_empty: bool = True
    filler: str = "never"
    jitter: int = 0
    protect_slot: int | None = None
    spread: int = 1
    fillers: int = 0
    buckets: str = "anatomy"
    late: str = "refuse"
    nulls: str = "error"
    zone: str | None = None
    unit: str | None = None
    format: str = "parquet"
    ledger: str | None = None
    state: str | None = None
    stream_by: str | None = None
    follow: bool = False
    poll: Number | None = None
    close: bool = False
    max_gap: int | None = None

    def run(self, path: Path) -> StreamRun:
        """The run that the file at `path` describes; paths in it are relative to its folder."""
        roles = roles_from(
            self.respondent,
            self.time,
            quasi=self.quasi,
            sensitive=[self.sensitive],
            keep=self.keep,
            drop=() if self.drop == "rest" else self.drop,
            drop_rest=self.drop == "rest",
        )
        alike = (
            *("l", "window", "slot", "withhold_cost", "seed", "first_window", "fill_empty", "filler"),
            *("jitter", "buckets", "late", "nulls", "zone", "unit", "format"),
            *("protect_slot", "spread", "fillers"),
        )
        return StreamRun(
            source=str(_beside(path, self.source)),
            out=str(_beside(path, self.out)),
            ledger=_beside(path, self.ledger),
            roles=roles,
            move_cost=self.move_cost if isinstance(self.move_cost, str) else tuple(self.move_cost),
            serving=Serving(
                _beside(path, self.state), self.stream_by, self.follow, self.poll, self.close, self.max_gap
            ),
            job=str(path),
            **{name: getattr(self, name) for name in alike},
        )


class SeriesJob(BaseModel):
    """The keys of a job file with `command = "anonymize-series"`. Lists of instants may hold ranges."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    command: Literal["anonymize-series"]
    source: str = Field(alias="in")
    out: str
    k: int
    p: int
    series: list[str] = []
    respondent: str | None = None
    time: str | None = None
    value: str | None = None
    sensitive: list[str] = []
    keep: list[str] = []
    drop: list[str] | Literal["rest"] = []
    method: str = "adaptive"
    shape_weight: Number = 50
    effort: int = 1
    max_level: int = 20
    center: str = "mean"
    round_outward: int | Literal["off"] = 3
    l: int | None = None
    publish_values: list[str] | None = None
    publish_pattern: list[str] | None = None
    exact: bool = False
    adoption: bool = True
    fill: str | None = None
    zone: str | None = None
    unit: str | None = None
    format: str = "parquet"
    ledger: str | None = None

    def run(self, path: Path) -> SeriesRun:
        """The run that the file at `path` describes; paths in it are relative to its folder."""
        near = {name: _beside(path, getattr(self, name)) for name in ("source", "out", "ledger")}
        roles, instants = series_roles(
            str(near["source"]),
            self.series,
            respondent=self.respondent,
            time=self.time,
            value=self.value,
            sensitive=self.sensitive,
            keep=self.keep,
            drop=() if self.drop == "rest" else self.drop,
            drop_rest=self.drop == "rest",
        )
        alike = (
            *("k", "p", "method", "shape_weight", "effort", "max_level", "center", "l"),
            *("exact", "adoption", "fill", "zone", "unit", "format"),
        )
        return SeriesRun(
            roles=roles,
            round_outward=None if self.round_outward == "off" else self.round_outward,
            publish_values=instants(self.publish_values),
            publish_pattern=instants(self.publish_pattern),
            job=str(path),
            **near,  # type: ignore[arg-type]
            **{name: getattr(self, name) for name in alike},
        )


class PatternJob(BaseModel):
    """The keys of a job file with `command = "sanitize-patterns"`. `in` may be a series release folder."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    command: Literal["sanitize-patterns"]
    source: str = Field(alias="in")
    out: str
    k: int
    min_support: Number
    series: list[str] = []
    respondent: str | None = None
    item: str | None = None
    time: str | None = None
    value: str | None = None
    drop: list[str] | Literal["rest"] = []
    method: str = "additive"
    symbols: int = 6
    structural: bool = True
    center: str = "mean"
    instants: list[str] | None = None
    max_len: int | None = None
    published: str = "frequent"
    cap: int = 5_000_000
    fill: str | None = None
    zone: str | None = None
    unit: str | None = None
    beside: str | None = None
    force: bool = False
    format: str = "parquet"
    ledger: str | None = None

    def run(self, path: Path) -> PatternRun:
        """The run that the file at `path` describes; paths in it are relative to its folder."""
        near = {name: _beside(path, getattr(self, name)) for name in ("source", "out", "beside", "ledger")}
        roles, listed = pattern_roles(
            str(near["source"]),
            self.series,
            respondent=self.respondent,
            item=self.item,
            time=self.time,
            value=self.value,
            drop=() if self.drop == "rest" else self.drop,
            drop_rest=self.drop == "rest",
        )
        alike = (
            *("k", "min_support", "method", "symbols", "structural", "center", "max_len", "published", "cap"),
            *("fill", "zone", "unit", "force", "format"),
        )
        return PatternRun(
            roles=roles,
            instants=listed(self.instants),
            job=str(path),
            **near,  # type: ignore[arg-type]
            **{name: getattr(self, name) for name in alike},
        )


_Kind = type[Job] | type[StreamJob] | type[SeriesJob] | type[PatternJob]
_JOBS: dict[str, _Kind] = {
    "generalize-time": Job,
    "publish-stream": StreamJob,
    "anonymize-series": SeriesJob,
    "sanitize-patterns": PatternJob,
}


def read_job(path: Path) -> Run | StreamRun | SeriesRun | PatternRun:
    """Read and check a job file."""
    tables = {key.replace("-", "_"): value for key, value in load_toml(path).items()}
    command = tables.get("command", "generalize-time")
    kind = _JOBS.get(command) if isinstance(command, str) else None
    if kind is None:
        raise _bad(f"`command` in `{path.name}` is not one that can be saved", f"write {' or '.join(_JOBS)}")
    try:
        job = kind.model_validate(tables)
    except ValidationError as cause:
        problems = cause.errors(include_url=False, include_input=False, include_context=False)
    else:
        if isinstance(job, Job) and job.granularity and job.calendar is not None:
            raise _bad(
                f"`{path.name}` both names a calendar file and defines granularities",
                "keep all definitions in one place",
            )
        return job.run(path)
    raise _refused(path.name, kind, min(problems, key=lambda problem: problem["type"] != "extra_forbidden"))


def _refused(file: str, kind: _Kind, problem: Any) -> ParameterError:
    first, *rest = (str(part) for part in problem["loc"])
    key = ".".join([first, *(part for part in rest if not _KIND.fullmatch(part))])
    known = [field.alias or name for name, field in kind.model_fields.items()]
    match problem["type"]:
        case "extra_forbidden":
            near = get_close_matches(key, known, n=1)
            hint = f"did you mean `{near[0]}`?" if near else f"the keys are {', '.join(known)}"
            return _bad(f"`{file}` has an unknown key `{key}`", hint)
        case "missing":
            return _bad(f"`{file}` lacks the key `{key}`", f"add a line {key} = ...")
    if key == "granularity":
        return _bad(
            f"`granularity` in `{file}` is not a table of definitions",
            "name those that may be chosen with granularities = [...]; [granularity.<name>] defines one",
        )
    said = problem["msg"].removeprefix("Input should be ")
    return _bad(
        f"`{key}` in `{file}` should be {said}", "text stands in quotes, numbers do not, lists in [ ]"
    )


def _bad(message: str, hint: str) -> ParameterError:
    return ParameterError(message, hint=hint, code="bad-job")


def _beside(path: Path, name: str | None) -> str | None:
    """A path relative to the job file's folder; the trailing slash of a folder stays."""
    if name is None:
        return None
    return str(path.parent / name) + ("/" if name.endswith("/") else "")
