"""Hints as the reader has to type them.

The library's hints show Python, `gaps="suppress"`, sometimes with the option behind it. On the command line
they show the option, `--gaps suppress`, and for a job file the key, `gaps = "suppress"`.
"""

from __future__ import annotations

import re

_NAMES = {
    name: f"--{name.replace('_', '-')}"
    for name in (
        "buckets",
        "choose",
        "drop",
        "engine",
        "filler",
        "first_window",
        "format",
        "gaps",
        "jitter",
        "k",
        "knows",
        "l",
        "late",
        "memory_limit",
        "max_gap",
        "move_cost",
        "nulls",
        "respondent",
        "seed",
        "sensitive",
        "slot",
        "suppress",
        "time",
        "tolerance",
        "unit",
        "visits",
        "window",
        "withhold_cost",
        "zone",
    )
}
_NAME = "|".join(_NAMES)
_GIVEN = rf"\b(?P<name>{_NAME})=(?P<value>\"[^\"]*\"|'[^']*'|\[[^\]]*\]|[\w.]+)"
_PLAIN = re.sub(r"\?P<\w+>", "?:", _GIVEN)
_TWICE = re.compile(rf"(?P<python>{_PLAIN}(?: or {_PLAIN})*) \((?P<options>--[^()]*)\)")
_ROLE = re.compile(r"Roles\((?P<python>\w+=\.\.\.)\), or (?P<options>--\w+) on the command line")
_BARE = re.compile(rf"(?<=leave `)(?:{_NAME})(?=` out)|\bmemory_limit\b")


def in_options(hint: str) -> str:
    """The hint with options instead of Python.

    >>> in_options("gaps='suppress' withholds such rows, 'next' moves them on")
    '--gaps suppress withholds such rows, next moves them on'
    >>> in_options('let them be withheld with nulls="withhold" (--nulls withhold)')
    'let them be withheld with --nulls withhold'
    """
    text = _ROLE.sub(r"\g<options>", _TWICE.sub(r"\g<options>", hint))
    text = re.sub(_GIVEN, lambda found: f"{_NAMES[found['name']]} {_unquoted(found['value'])}", text)
    text = _BARE.sub(lambda found: _NAMES[found[0]], text)
    return re.sub(r"(?<!\w)'([\w-]+)'", r"\1", text)


def in_keys(hint: str) -> str:
    """The hint with lines of a job file instead of Python.

    >>> in_keys('say on which clocks: zone="Europe/Berlin" (--zone Europe/Berlin)')
    'say on which clocks: zone = "Europe/Berlin"'
    >>> in_keys("suppress=0.01 allows one row in a hundred to be withheld")
    'suppress = 0.01 allows one row in a hundred to be withheld'
    """
    text = _ROLE.sub(r"\g<python>", _TWICE.sub(r"\g<python>", hint))
    text = re.sub(_GIVEN, lambda found: f"{found['name']} = {found['value']}", text)
    return re.sub(r"'([\w-]+)'", r'"\1"', text)


def _unquoted(value: str) -> str:
    return value[1:-1] if value[0] in "\"'" else value
