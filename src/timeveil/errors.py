"""Every exception timeveil raises.

    TimeveilError
    ├── RolesError             a column and its role do not fit the table        exit 2
    ├── ParameterError         a parameter is out of its range                   exit 2
    ├── InputError             the data cannot be read or typed                  exit 2
    ├── BundleError            a release folder on disk is not as it should be   exit 2
    ├── PrivateArtifactError   a private file was about to be published          exit 2
    ├── EngineError            the engine ran out of disk, memory or rights      exit 2
    ├── InfeasibleError        no release of this table keeps the promise        exit 3
    └── InternalError          a bug in timeveil; please report it               exit 70

A guarantee that does not hold is not an exception: `verify` returns a falsy `Verdict`.

Messages say what happened with its numbers, and a hint names one action. They carry column names,
counts and row numbers, never a cell value. `code` is stable; each has a section in
`docs/reference/errors.md`.
"""

import ast
import errno
import re
import traceback
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar, Literal, TypeAlias, TypeVar, get_args

T = TypeVar("T")
Facts: TypeAlias = Mapping[str, Any]

ErrorCode = (
    Literal["attribute-varies", "bad-calendar", "bad-encoding", "bad-hierarchy", "bad-job", "bad-number"]
    | Literal["bad-parameter", "bad-record", "bad-time", "broker-failed", "column-clash", "column-missing"]
    | Literal["column-twice", "column-without-role", "database-failed", "disk-full", "empty-name", "gap"]
    | Literal["engine-failed", "file-missing", "file-unreadable", "folder-damaged", "folder-exists", "late"]
    | Literal["folder-missing", "internal", "item-clash", "item-twice", "ledger-in-release", "nulls"]
    | Literal["ledger-mismatch", "mixed-zones", "no-frequent-pattern", "no-granularity", "no-permission"]
    | Literal["not-published", "not-verified", "not-written", "other-data", "person-twice", "rare-instant"]
    | Literal["records-lost", "risky-column", "role-missing", "same-people", "series-gap", "slot-differs"]
    | Literal["state-damaged", "state-locked", "state-mismatch", "stream-closed", "too-few-people"]
    | Literal["too-large", "too-many-patterns", "too-much-withheld", "unit-missing", "unknown-granularity"]
    | Literal["unsupported-input", "value-clash", "zone-missing"]
)
ERROR_CODES: tuple[str, ...] = tuple(code for group in get_args(ErrorCode) for code in get_args(group))

Surface = Literal["python", "command", "job", "form"]
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
FORBIDDEN = (errno.EACCES, errno.EPERM, errno.EROFS)
_OF_FORMS = {"None": "off", "False": "no"}
_PARAMETER = re.compile(r"\{(\w+)(?:=([^{}]*))?\}")


def spell(hint: str, surface: Surface = "python", options: Mapping[str, str] | None = None) -> str:
    """The hint with its parameters as they are in Python, on the command line, in a job file or in a form.

    `options` are those that are not typed `--their-name`.

    >>> spell('withhold them with {nulls="withhold"}, or use {force=True}', "command")
    'withhold them with --nulls withhold, or use --force'
    """

    def spelt(match: re.Match[str]) -> str:
        name, value = match[1], match[2]
        if surface == "command":
            return _option(name, value, options or {})
        if surface == "form":
            setting = (value or "True").strip("\"'")
            return f"`{name}`" + ("" if setting == "True" else f" = {_OF_FORMS.get(setting, setting)}")
        equals = "=" if surface == "python" else " = "
        return name if value is None else f"{name}{equals}{value}"

    return _PARAMETER.sub(spelt, hint)


def _option(name: str, value: str | None, options: Mapping[str, str]) -> str:
    """An option and its value as words; Python's True, False, None and lists have words of their own."""
    option = options.get(name, f"--{name.replace('_', '-')}")
    if (name, value) == ("drop", '"rest"'):
        return "--drop-rest"
    match value:
        case None | "True":
            return option
        case "False":
            return option if name in options else f"--no-{option[2:]}"
        case "None":
            return f"{option} off"
    try:
        literal = ast.literal_eval(value)
    except (ValueError, SyntaxError):
        literal = value
    items = literal if isinstance(literal, list | tuple) else [literal]
    return f"{option} {','.join('...' if item is ... else str(item) for item in items)}"


class TimeveilError(Exception):
    """The root: one `except` catches all that timeveil raises on purpose.

    >>> raise ParameterError("k is 1", hint="give k of at least 2")
    Traceback (most recent call last):
    ...
    timeveil.errors.ParameterError: k is 1
    <BLANKLINE>
    hint: give k of at least 2
    """

    exit_code: ClassVar[int] = 2
    usual_code: ClassVar[ErrorCode] = "internal"
    """The code of an error that names none."""

    def __init_subclass__(cls, *, usual_code: ErrorCode | None = None, exit_code: int | None = None) -> None:
        cls.usual_code, cls.exit_code = usual_code or cls.usual_code, exit_code or cls.exit_code

    def __init__(
        self, message: str, *, hint: str, code: ErrorCode | None = None, facts: Facts | None = None
    ) -> None:
        self.message, self.template, self.hint = message, hint, spell(hint)
        super().__init__(f"{message}\n\nhint: {self.hint}")
        self.code: ErrorCode = code or self.usual_code
        self.facts: dict[str, Any] = dict(facts or {})


class RolesError(TimeveilError, usual_code="bad-parameter"):
    """A column and its role do not fit the table."""


class ParameterError(TimeveilError, usual_code="bad-parameter"):
    """A parameter is out of its range."""


class InputError(TimeveilError, usual_code="unsupported-input"):
    """The data cannot be read, or a column cannot be typed."""


class BundleError(TimeveilError, usual_code="folder-damaged"):
    """A release folder is missing, in the way, or not as it was written."""


class PrivateArtifactError(TimeveilError, usual_code="ledger-in-release"):
    """A private file was about to be written into what is published."""


class EngineError(TimeveilError, usual_code="engine-failed"):
    """The engine could not finish: disk, memory or rights."""


class InfeasibleError(TimeveilError, exit_code=3):
    """No release of this table keeps the promise; `facts` carries the best that was reached."""


class InternalError(TimeveilError, exit_code=70):
    """A bug in timeveil."""


class raising:  # noqa: N801 (a context manager reads like a statement)
    """A block in which certain exceptions become an error of ours.

    A foreign exception may quote data in its text. `raise ... from None` only hides it: it stays reachable as
    `__context__`. This error has no context.
    """

    def __init__(
        self,
        error: Exception | Callable[[Any], BaseException],
        *,
        on: type[BaseException] | tuple[type[BaseException], ...],
    ) -> None:
        self._error, self._causes = error, on

    def __enter__(self) -> None:
        """Nothing to prepare."""

    def __exit__(self, kind: object, cause: BaseException | None, trace: object) -> None:
        if not isinstance(cause, self._causes):
            return
        error = self._error if isinstance(self._error, Exception) else self._error(cause)
        del cause, trace  # a traceback keeps the variables of its frames
        try:
            raise error
        finally:
            error.__context__ = None  # set by `raise`, as the cause is still being handled


def raising_each(
    items: Iterator[T],
    error: Exception | Callable[[Exception], Exception],
    *,
    on: type[Exception] | tuple[type[Exception], ...],
) -> Iterator[T]:
    """The items of an iterator whose failures become an error of ours, as in `raising`."""
    end = object()
    while True:
        with raising(error, on=on):
            item: Any = next(items, end)
        if item is end:
            return
        yield item


def safe_to_show(cause: Exception) -> TimeveilError:
    """Any exception as one of ours; of a foreign one only the type and the line are shown."""
    if isinstance(cause, TimeveilError):
        return cause
    if isinstance(cause, MemoryError):
        hint = 'let DuckDB work from disk: {engine="duckdb"} {memory_limit="2GB"}'
        return EngineError("there is not enough memory for this table", hint=hint)
    number = cause.errno if isinstance(cause, OSError) else None
    if number in FULL:
        hint = "make room, or set TMPDIR to a folder on another disk"
        return EngineError("the disk is full", hint=hint, code="disk-full")
    if number in FORBIDDEN:
        message = "no permission to read or write a file that is needed"
        hint = "check that you may use the folders named, and the one for temporary files"
        return EngineError(message, hint=hint, code="no-permission")
    # The innermost line of timeveil that it came through.
    package = Path(__file__).parent
    frames = traceback.extract_tb(cause.__traceback__)
    innermost = ([f for f in frames if package in Path(f.filename).parents] or frames)[-1]
    path = Path(innermost.filename)
    name = path.relative_to(package.parent) if package in path.parents else Path(path.name)
    return InternalError(
        f"internal error: {type(cause).__name__} at {name.as_posix()}:{innermost.lineno}. This is a bug in "
        "timeveil, not in your data; please report it with what you did and this line",
        hint="TIMEVEIL_DEBUG=1 shows the full traceback, which may contain data: look before you share it",
    )
