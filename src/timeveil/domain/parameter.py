"""A parameter is one line: its name, type, range, default and meaning.

Each method declares its parameters once, as a `Parameters` class in `models/<model>/parameters.py`. That
table checks what a caller gives, and the command's options, the keys of a job file, the text of a `Run`, the
report's parameter table and the reference page are all made from it.

The classes are frozen dataclasses. A field's annotation says which kind of value it takes: `int` a whole
number, `float` a number, `bool` on or off, `Literal[...]` one of several words, `str` text,
`tuple[str, ...]` names of columns or instants, `tuple[str, str]` two texts, `list[...]` several of anything,
`Mapping[str, ...]` a value per column; `Any` is checked by a rule or the method. `| None` adds None, typed
`off` where it is not the default.
"""

import json
import math
import typing
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields
from difflib import get_close_matches
from functools import cache
from numbers import Integral, Real
from types import NoneType, UnionType
from typing import Any, ClassVar, Literal, NamedTuple, Self, TypeVar, dataclass_transform

from timeveil.errors import ParameterError

Kind = Literal["whole", "number", "flag", "choice", "text", "names", "pair", "list", "mapping", "any"]
Problem = tuple[str, str] | None  # what a rule finds: what is wrong and the hint, or None
F = TypeVar("F", bound=Callable[..., Problem])
REQUIRED: Any = object()  # the default of a parameter that has none
OFF = "off"
LARGEST = 2**63 - 1  # where a range names no other end: files store 64 bits
WRITTEN = 10**50  # no sentence names an end beyond it
_KINDS: dict[Any, Kind] = {int: "whole", float: "number", bool: "flag", str: "text", Literal: "choice"}
_KINDS |= {tuple: "names", list: "list", Mapping: "mapping"}


class Range(NamedTuple):
    """The numbers a parameter takes."""

    at_least: float = -math.inf
    at_most: float = LARGEST
    above: float = -math.inf
    below: float = math.inf

    def includes(self, number: float) -> bool:
        return self.at_least <= number <= self.at_most and self.above < number < self.below

    def __str__(self) -> str:
        start = "" if self.at_least == -math.inf else f"{self.at_least:,}"
        end = "" if self.at_most == LARGEST or self.at_most > WRITTEN else f"{self.at_most:,}"
        end = end if self.below == math.inf else f"below {self.below:,}"
        if self.above > -math.inf:
            last = end if self.below < math.inf else f"up to {end}"
            return f"above {self.above:,}" + (f" and {last}" if end else "")
        if start and end:
            return f"from {start} to {end}"
        return f"of at least {start}" if start else end and f"up to {end}"


ANY_NUMBER = Range()


@dataclass(frozen=True, slots=True)
class Parameter:
    """What a table declares of one parameter."""

    name: str
    kind: Kind
    meaning: str
    default: Any = REQUIRED
    range: Range = ANY_NUMBER
    choices: tuple[str, ...] = ()
    optional: bool = False
    example: Any = None
    option: str | None = None
    metavar: str | None = None
    private: bool = False
    read: Callable[[str], Any] | None = None
    opened: str | None = None
    path: bool = False
    methods: tuple[str, ...] = ()
    off: str = ""
    models: tuple[str, ...] = ()
    positional: bool = False
    applies_with: str = ""

    @property
    def key(self) -> str:
        """What it is called in a job file: a path as its option is."""
        return self.option[2:] if self.opened and self.option else self.name

    @property
    def typed(self) -> str:
        """The option it is on the command line; one that is on by default has an option to switch it off."""
        prefix = "--no-" if self.kind == "flag" and self.default is True else "--"
        return self.option or prefix + self.name.replace("_", "-")

    @property
    def required(self) -> bool:
        return self.default is REQUIRED

    @property
    def can_be_off(self) -> bool:
        """Whether None has to be typed because it is not the default."""
        return self.optional and self.default is not None

    @property
    def takes(self) -> str:
        if self.kind in ("whole", "number"):
            noun = "a whole number" if self.kind == "whole" else "a number"
            return f"{noun} {self.range}".rstrip() + (f" or {OFF}" if self.can_be_off else "")
        if self.choices:
            return f"one of {', '.join(self.choices)}"
        names = "a list of at least one name"
        nouns = {"flag": "true or false", "names": names, "list": names, "mapping": "a table of columns"}
        nouns["pair"] = "a list of two texts"
        return nouns.get(self.kind, "text")

    def check(self, value: Any) -> Any:
        """The value as plain Python, or a `ParameterError` that says what it must be."""
        if (value is None and self.optional) or self.kind == "any":
            return value
        plain = _plain(self.kind, value)
        if self.kind == "choice" and plain not in self.choices:
            raise self.refused(value, get_close_matches(str(value), self.choices, 1))
        if plain is None or (self.kind in ("whole", "number") and not self.range.includes(plain)):
            raise self.refused(value)
        return self.default if plain == [] and self.default == () else plain

    def refused(self, value: Any, near: Sequence[str] = ()) -> ParameterError:
        in_kind = self.kind in ("whole", "number") and _plain(self.kind, value) is not None
        quoted = value if in_kind else type(value).__name__
        got = f", got one beyond {LARGEST:,}" if in_kind and abs(value) > LARGEST else f", got {quoted}"
        if self.private or (isinstance(value, str) and self.kind == "choice"):
            got = ""  # a secret, or text that may be anything
        if near:
            hint = f"did you mean {{{self.name}={literal(near[0])}}}?"
        else:
            example = self.choices[0] if self.choices else self.example
            start = "" if example is None else f"use {{{self.name}={literal(example)}}}, for example: "
            hint = start + self.meaning[:1].lower() + self.meaning[1:].rstrip(".")
        message = f"`{self.name}` must be {self.takes}{got}"
        return ParameterError(message, hint=hint, facts={"parameter": self.name})


def _plain(kind: Kind, value: Any) -> Any:
    """The value as plain Python, None if it is not of the kind; numpy's numbers count as numbers."""
    several = isinstance(value, Iterable) and not isinstance(value, str)
    is_number = isinstance(value, Real) and not isinstance(value, bool)
    plain: Any = None
    match kind:
        case "whole" | "number" if is_number and isinstance(value, Integral):
            plain = int(value)
        case "number" if is_number and math.isfinite(value):
            plain = float(value)
        case "flag" if type(value).__name__ in ("bool", "bool_"):
            plain = bool(value)
        case "names" | "pair" if several:
            names = tuple(value) if kind == "names" or len(value) == 2 else ()
            plain = names if names and all(isinstance(name, str) for name in names) else None
        case "list":
            plain = list(value) if several else [value]
        case "mapping" if isinstance(value, Mapping):
            plain = dict(value)
        case "choice" | "text" if isinstance(value, str):
            plain = str(value)
    return plain


def parameter(
    meaning: str, *, default: Any = REQUIRED, example: Any = None, private: bool = False, **more: Any
) -> Any:
    """One line of a table.

    `meaning` is a plain sentence. `example` is shown in help and hints. What is `private` is in no release
    and no repr. Of `more`, `at_least`, `at_most`, `above` and `below` are the range of a number. `option` is
    how it is typed where that is not `--its-name`, or it is `positional`; `metavar` is what help writes for
    its value, `read` how such text becomes a value where the kind does not say it. `path` marks a path,
    `opened` one that Python opens with that expression. `kind` is needed where the type does not tell it.
    `methods` or `models` are those that use it, if not all do; `applies_with` is the parameter without which
    it does nothing. `off` is what an option does that switches it off.
    """
    bounds = {name: more.pop(name) for name in Range._fields if name in more}
    example = example if example is not None or default is REQUIRED else default
    declared = {"meaning": meaning, "range": Range(**bounds), "example": example, "private": private, **more}
    return field(default=MISSING if default is REQUIRED else default, metadata=declared, repr=not private)


def optional(meaning: str, example: Any, metavar: str | None = None, **more: Any) -> Any:
    """A line of a table for what need not be given."""
    return parameter(meaning, default=None, example=example, metavar=metavar, **more)


def rule(*names: str) -> Callable[[F], F]:
    """Mark a method of a table that says what is wrong between several parameters, or nothing."""

    def marked(method: F) -> F:
        method.__dict__["rule_about"] = names
        return method

    return marked


@rule("k", "p", "l")
def numbers_nest(promise: Any) -> Problem:
    """p of the k share a pattern, and l values differ among the p; with p = 1 no pattern is published."""
    for small, large in (("p", "k"), ("l", "k" if promise.p == 1 else "p")):
        less, more = getattr(promise, small), getattr(promise, large)
        if less is not None and less > more:
            return (
                f"{small} is {less} and {large} is {more}; {small} cannot be above {large}",
                f"lower {{{small}}} to {more}, or raise {{{large}}} to {less}",
            )
    return None


class Checked:
    """A frozen dataclass of fields that `parameter` declares: it checks its values, then its rules."""

    __slots__ = ()

    def __post_init__(self) -> None:
        for name, declared in type(self).table().items():
            object.__setattr__(self, name, declared.check(getattr(self, name)))
        for name, needed in self.idle().items():
            if getattr(self, name) != type(self).table()[name].default:
                message = f"`{name}` applies with `{needed}` only"
                hint = f"add {{{needed}}}, or leave {{{name}}} out"
                raise ParameterError(message, hint=hint, facts={"parameters": [needed, name]})
        for method in type(self)._rules():
            if (problem := method(self)) is not None:
                message, hint = problem
                raise ParameterError(message, hint=hint, facts={"parameters": [*method.rule_about]})

    @classmethod
    @cache
    def _rules(cls) -> list[Any]:
        methods = (method for kind in reversed(cls.__mro__) for method in vars(kind).values())
        return [method for method in methods if hasattr(method, "rule_about")]

    @classmethod
    @cache
    def table(cls) -> dict[str, Parameter]:
        """The lines of the table by name, in the order they are declared."""
        hints = typing.get_type_hints(cls)
        return {f.name: _line(f.name, hints[f.name], f.default, f.metadata) for f in fields(cls)}  # type: ignore[arg-type]  # subclasses are dataclasses

    def as_arguments(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in type(self).table()}

    def idle(self) -> dict[str, str]:
        """Parameters that apply with another only, and by name that other one, which is not set."""
        needs = {name: line.applies_with for name, line in type(self).table().items() if line.applies_with}
        return {name: needed for name, needed in needs.items() if not getattr(self, needed)}

    @classmethod
    def differing(cls, values: Mapping[str, Any], stored: Mapping[str, Any]) -> list[str]:
        """Names whose value is not the stored one; what an earlier version did not store has its default."""
        defaults = {name: line.default for name, line in cls.table().items()}
        used, stored = {**defaults, **values}, {**defaults, **stored}
        return [name for name in {**used, **stored} if used.get(name) != stored.get(name)]


@dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(parameter,))
class Parameters(Checked):
    """A table of parameters; the docstring of a method's table is the help of its command."""

    model: ClassVar[str]
    """The model's name in a manifest."""
    command: ClassVar[str]
    """The command that takes these parameters; the function is called the same, with underscores."""
    needs: ClassVar[tuple[str, ...]] = ()
    """Roles that must be named."""
    roles: ClassVar[tuple[str, ...]] = ()
    """Further roles that may be named."""
    contents: ClassVar[str]
    """What a release of the model holds."""
    have: ClassVar[tuple[str, str]]
    """What a table of the model is called, and what somebody has who needs it."""
    promised: ClassVar[str]
    """What its releases promise, in one sentence."""
    scopes: ClassVar[Mapping[str, str]] = {}
    """How a release is verified, in words, by the scope of the verdict."""
    reads: ClassVar[str] = "Table to read, such as visits.csv or visits.xlsx, or a folder of such files."
    """What the command reads."""
    explored: ClassVar[tuple[str, ...]] = ()
    """Parameters that `explore` may try at several settings."""
    removed: ClassVar[Mapping[str, str]] = {}
    """Parameters of earlier versions, each with what to do instead."""
    stated: ClassVar[tuple[str, ...]] = ()
    """Parameters that every manifest states. What is added later is stated where it is set, so that releases
    and streams of before stay as they are."""
    unstated: ClassVar[tuple[str, ...]] = ("zone", "unit")
    """Parameters that no manifest states among them: another section does, or they change no release."""
    out_of_range: ClassVar[tuple[str, ...]] = ()
    """Codes of a run that is not feasible because of a parameter out of range."""
    secret: ClassVar[tuple[str, ...]] = ()
    """Parameters whose value is in no text that a run prints."""
    repeating: ClassVar[Mapping[str, str]] = {}
    """What differs when a run is repeated, by the parameter that is set; under "" where none of them is."""

    def __init_subclass__(cls) -> None:
        dataclass(frozen=True, kw_only=True)(cls)

    @classmethod
    def from_call(cls, arguments: Mapping[str, Any]) -> Self:
        """The parameters among the arguments of a call: `StreamParameters.from_call(locals())`."""
        return cls(**{name: arguments[name] for name in cls.table() if name in arguments})

    def as_stated(self) -> dict[str, Any]:
        """Values as a manifest states them: always those of `stated`, then what is not at its default."""
        values, idle = self.as_arguments(), self.idle()
        always = {name: values[name] for name in self.stated if name not in idle}
        optional = {n: v for n, v in type(self).table().items() if n not in (*self.stated, *self.unstated)}
        public = (name for name, line in optional.items() if not line.private)
        return always | {name: values[name] for name in public if values[name] != optional[name].default}

    @classmethod
    def refuse_unknown(cls, names: Iterable[str]) -> None:
        """Say that a parameter was removed, or as Python does that there never was one."""
        for name in names:
            if name in cls.removed:
                raise cls.removal(name)
            function = cls.command.replace("-", "_")
            raise TypeError(f"{function}() got an unexpected keyword argument '{name}'")

    @classmethod
    def removal(cls, name: str, typed: str = "") -> ParameterError:
        """What is said of a parameter that earlier versions had, or of the option that was `typed` for it."""
        hint = cls.removed[name].replace(f"{{{name}}}", typed or f"{{{name}}}")
        return ParameterError(f"`{typed or name}` was removed from `{cls.command}`", hint=hint)


def _line(name: str, annotation: Any, default: Any, declared: Mapping[str, Any]) -> Parameter:
    is_union = typing.get_origin(annotation) in (typing.Union, UnionType)
    alternatives = typing.get_args(annotation) if is_union else (annotation,)
    kinds = [kind for kind in alternatives if kind is not NoneType]
    kind_hint = kinds[0] if len(kinds) == 1 else Any
    origin = typing.get_origin(kind_hint) or kind_hint
    choices = typing.get_args(kind_hint) if origin is Literal else ()
    optional = NoneType in alternatives
    kind = "pair" if typing.get_args(kind_hint) == (str, str) else _KINDS.get(origin, "any")
    default = REQUIRED if default is MISSING else default
    facts = {"kind": kind, "default": default, "choices": choices, "optional": optional, **declared}
    return Parameter(name, **facts)


def literal(value: Any, *, toml: bool = False) -> str:
    """The value as Python source, or as TOML; a whole number has no point."""
    match value:
        case str():
            return json.dumps(value, ensure_ascii=False)
        case list() | tuple():
            return f"[{', '.join(literal(item, toml=toml) for item in value)}]"
        case Mapping():
            mark = " = " if toml else ": "
            return f"{{{', '.join(literal(k) + mark + literal(v, toml=toml) for k, v in value.items())}}}"
        case bool() if toml:
            return str(value).lower()
        case float() if value.is_integer():
            return str(int(value))
    return repr(value)
