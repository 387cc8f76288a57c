"""Questions about published patterns: how many have one, how often with another, which are strongest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from timeveil.errors import ParameterError


@dataclass(frozen=True, slots=True)
class PatternSupport:
    """How many people have all of these items.

    An item is named as in the release: `h08=b` for the symbol b at the instant h08, or the item's own name.

    >>> PatternSupport(["h08=b", "h09=c"]).items
    ('h08=b', 'h09=c')
    """

    items: Sequence[str] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "items", listed("items", self.items))


@dataclass(frozen=True, slots=True)
class RuleConfidence:
    """Of the people who have all items of `given`, which share has those of `then`, too.

    >>> RuleConfidence(given=["bread"], then=["milk"]).then
    ('milk',)
    """

    given: Sequence[str]
    then: Sequence[str]

    def __post_init__(self) -> None:
        for name in ("given", "then"):
            object.__setattr__(self, name, listed(name, getattr(self, name)))
        if not self.then:
            raise _bad("a rule says nothing: `then` has no items", "name at least one item: then=[...]")


@dataclass(frozen=True, slots=True)
class TopPatterns:
    """The `number` patterns that most people have, of those with more items than `longer_than`.

    >>> TopPatterns(5, longer_than=1)
    TopPatterns(number=5, longer_than=1)
    """

    number: int = 10
    longer_than: int = 0

    def __post_init__(self) -> None:
        for name, least in (("number", 1), ("longer_than", 0)):
            given = getattr(self, name)
            if isinstance(given, bool) or not isinstance(given, int) or given < least:
                raise _bad(
                    f"`{name}` must be a whole number of at least {least}", f"give {name}={least} or more"
                )


PatternQuery: TypeAlias = PatternSupport | RuleConfidence


def listed(name: str, given: Any) -> tuple[str, ...]:
    """Items, each once, as they were named."""
    texts = () if given is None else given
    if isinstance(texts, str) or not all(isinstance(text, str) for text in texts):
        raise _bad(f"`{name}` takes a list of items by their names", f'write {name}=["...", "..."]')
    return tuple(dict.fromkeys(texts))


def _bad(message: str, hint: str) -> ParameterError:
    return ParameterError(message, hint=hint, code="bad-parameter")
