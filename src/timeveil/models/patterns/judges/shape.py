"""The closed shape of a pattern release's manifest: the one place that knows every key of it."""

from __future__ import annotations

from timeveil.evidence.manifest import COUNT, FLAG, TABLE, TEXT, TOOL_NAME, Each, Kind, Record, Shape, one_of

LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
"""How symbols are written."""
ADDING = ("additive", "tight", "clone")
"""The methods that add virtual people and lose no pattern."""
METHODS = (*ADDING, "suppressive", "itemset")
PATTERN, SUPPORT = "pattern", "support"

_CENTER = one_of("mean", "median", None)
_SYMBOLS = Kind(
    f"a number from 2 to {len(LETTERS)} or null",
    lambda value: value is None or (type(value) is int and 2 <= value <= len(LETTERS)),
)
_INSTANTS = Kind(
    "a list of names or null",
    lambda value: (
        value is None or (isinstance(value, list | tuple) and all(isinstance(name, str) for name in value))
    ),
)
_MAX_LEN = Kind(
    "a number of 1 or more or null",
    lambda value: value is None or (type(value) is int and 1 <= value <= 1_000_000),
)
_SHARED: dict[str, Shape] = {
    "structural": FLAG,
    "symbols": _SYMBOLS,
    "center": _CENTER,
    "published": one_of("frequent", "closed"),
}

PATTERN_MANIFEST = Record(
    {
        "format": one_of(1),
        "model": one_of("patterns"),
        "tool": TOOL_NAME,
        "guarantee": Record(
            {"name": one_of("no-inference-channel"), "k": COUNT}, optional={"counts_alone": FLAG}
        ),
        "patterns": Record({"kind": one_of("series", "baskets"), "instants": _INSTANTS, **_SHARED}),
        "columns": Each(Record({"name": TEXT, "role": one_of(PATTERN, SUPPORT), "type": TEXT})),
        "parameters": Record(
            {
                "k": COUNT,
                "min_support": COUNT,
                "method": one_of(*METHODS),
                "max_len": _MAX_LEN,
                "fill": one_of("forward", "linear", "drop", None),
                **_SHARED,
            }
        ),
        "counts": Record(dict.fromkeys(("patterns", "transactions", "virtual"), COUNT)),
    },
    optional={"tables": TABLE},  # what `write` adds; `open_release` has looked at it
)
