"""Hints as the reader has to type them.

The library's hints show Python, `gaps="suppress"`, sometimes with the option behind it. On the command line
they show the option, `--gaps suppress`, and for a job file the key, `gaps = "suppress"`.
"""

from __future__ import annotations

import re

_NAMES = {
    name: f"--{name.replace('_', '-')}"
    for name in (
        "adoption",
        "against",
        "beside",
        "buckets",
        "cap",
        "center",
        "choose",
        "drop",
        "effort",
        "engine",
        "exact",
        "features",
        "fill",
        "filler",
        "fillers",
        "first_window",
        "force",
        "format",
        "gaps",
        "instants",
        "item",
        "jitter",
        "k",
        "knows",
        "l",
        "late",
        "max_len",
        "max_level",
        "memory_limit",
        "max_gap",
        "max_loss",
        "max_risk",
        "method",
        "min_support",
        "move_cost",
        "nulls",
        "p",
        "pattern",
        "protect_slot",
        "publish_pattern",
        "publish_values",
        "published",
        "respondent",
        "round_outward",
        "seed",
        "sensitive",
        "series",
        "shape_weight",
        "slot",
        "spread",
        "structural",
        "suppress",
        "symbols",
        "then",
        "time",
        "tolerance",
        "unit",
        "value",
        "values",
        "visits",
        "window",
        "workers",
        "withhold_cost",
        "zone",
    )
}
_NAME = "|".join(_NAMES)
_GIVEN = rf"\b(?P<name>{_NAME})=(?P<value>\"[^\"]*\"|'[^']*'|\[[^\]]*\]|[\w.]+)"
_PLAIN = re.sub(r"\?P<\w+>", "?:", _GIVEN)
_TWICE = re.compile(rf"(?P<python>{_PLAIN}(?: or {_PLAIN})*) \((?P<options>--[^()]*)\)")
_ROLE = re.compile(r"Roles\((?P<python>\w+=\.\.\.)\), or (?P<options>--\w+) on the command line")
_BEHIND = re.compile(r" \((--[\w-]+)\)")
_BARE = re.compile(
    rf"(?<=leave `)(?:{_NAME})(?=` out)|(?<=raise )min_support\b|(?<=set )max_len\b|\bmemory_limit\b"
)
_PAIR = re.compile(r"\((['\"])([^'\"]*)\1, (['\"])([^'\"]*)\3\)")
_CALL = re.compile(r"\b(?:anonymize_series|generalize_time|publish_stream|sanitize_patterns)\b")


def in_options(hint: str) -> str:
    """The hint with options instead of Python.

    >>> in_options("gaps='suppress' withholds such rows, 'next' moves them on")
    '--gaps suppress withholds such rows, next moves them on'
    >>> in_options('let them be withheld with nulls="withhold" (--nulls withhold)')
    'let them be withheld with --nulls withhold'
    >>> in_options('say what to do: fill="forward", "linear" or "drop" (--fill)')
    'say what to do: --fill forward, linear or drop'
    >>> in_options("give a release that anonymize_series made, or raise min_support")
    'give a release that anonymize-series made, or raise --min-support'
    >>> in_options("it has min_support, max_len, h2")
    'it has min_support, max_len, h2'
    >>> in_options("ask for pairs of instants, such as ('h00', 'h05')")
    'ask for pairs of instants, such as h00,h05'
    """
    text = _ROLE.sub(r"\g<options>", _TWICE.sub(r"\g<options>", hint))
    text = re.sub(_GIVEN, lambda found: _option(found["name"], found["value"]), text)
    text = _BARE.sub(lambda found: _NAMES[found[0]], text)
    text = _PAIR.sub(r"\2,\4", text)
    text = _CALL.sub(lambda found: found[0].replace("_", "-"), text)
    text = re.sub(r"(?<!\w)(['\"])([\w-]+)\1", r"\2", text)
    return _BEHIND.sub(lambda found: "" if text.count(found[1]) > 1 else found[0], text)


def _option(name: str, value: str) -> str:
    """A parameter with its value as it is typed; one that is on or off, as the option that changes it.

    >>> _option("k", "5"), _option("exact", "True"), _option("adoption", "False"), _option("drop", "[...]")
    ('--k 5', '--exact', '--no-adoption', '--drop ...')
    """
    match name, value:
        case (("exact" | "force"), "True"):
            return f"--{name}"
        case "structural", "False":
            return "--no-structural"
        case "adoption", "False":
            return "--no-adoption"
        case "pattern", "True":
            return "--pattern"
        case "round_outward", "None":
            return "--round-outward off"
    return f"{_NAMES[name]} {_unquoted(value)}"


def in_keys(hint: str) -> str:
    """The hint with lines of a job file instead of Python.

    >>> in_keys('say on which clocks: zone="Europe/Berlin" (--zone Europe/Berlin)')
    'say on which clocks: zone = "Europe/Berlin"'
    >>> in_keys("suppress=0.01 allows one row in a hundred to be withheld")
    'suppress = 0.01 allows one row in a hundred to be withheld'
    """
    text = _ROLE.sub(r"\g<python>", _TWICE.sub(r"\g<python>", hint))
    text = re.sub(_GIVEN, lambda found: f"{found['name']} = {found['value']}", text)
    text = _BEHIND.sub("", text).replace("round_outward = None", 'round_outward = "off"')
    return re.sub(r"'([\w-]+)'", r'"\1"', text)


def _unquoted(value: str) -> str:
    return value[1:-1] if value[0] in "\"'[" else value
