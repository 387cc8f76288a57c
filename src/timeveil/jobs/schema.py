"""The JSON schema of job files, for editors to complete and check them; made from the parameter tables."""

from __future__ import annotations

import math
from typing import Any

from timeveil.domain.lines import Particulars
from timeveil.domain.parameter import LARGEST, OFF, REQUIRED, Parameter, Parameters
from timeveil.domain.run import Columns
from timeveil.errors import spell
from timeveil.jobs.query import Question
from timeveil.jobs.request import QUERY, USUAL, job_keys, required_keys
from timeveil.models import tables

_TYPES = {"whole": "integer", "number": "number", "flag": "boolean", "text": "string", "mapping": "object"}
_BOUNDS = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum")
"""The ends of a `Range`, in their order."""


def job_schema() -> dict[str, Any]:
    """One object; which keys there are, and which must be there, depends on `command`."""
    commands = {name: _job(name, table) for name, table in tables().items()}
    questions = {name: _value(declared) for name, declared in Question.table().items()}
    commands[QUERY] = _object(QUERY, "Release folder.", questions, ["in"])
    every: dict[str, Any] = {}
    for job in commands.values():
        for key, value in job["properties"].items():
            # Editors complete and explain keys by these; where commands differ, the definitions have more.
            same = every.setdefault(key, value) == value
            every[key] = value if same else {"description": value.get("description", "")}
    every["command"] = {"enum": list(commands), "description": "Command whose options these are."}
    cases = []
    for name in commands:
        case = {"properties": {"command": {"const": name}}, "required": ["command"] * (name != USUAL)}
        cases.append({"if": case, "then": {"$ref": f"#/definitions/{name}"}})
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "timeveil job",
        "type": "object",
        "properties": every,
        "allOf": cases,
        "definitions": commands,
    }


def _job(command: str, table: type[Parameters]) -> dict[str, Any]:
    properties = {
        **{key: _value(declared) for key, declared in job_keys(table).items()},
        "report": {
            "type": "object",
            "description": "What `timeveil report --job` states at the head of a report.",
            "properties": {key: _value(declared) for key, declared in Particulars.table().items()},
            "additionalProperties": False,
        },
    }
    if "definitions" in table.table():
        properties["granularity"] = {"type": "object", "additionalProperties": {"type": "object"}}
    return _object(command, spell(table.reads), properties, required_keys(table))


def _object(command: str, reads: str, keys: dict[str, Any], required: list[str]) -> dict[str, Any]:
    ahead = {"command": {"const": command}, "in": {"type": "string", "description": reads}}
    return {"properties": {**ahead, **keys}, "required": required, "additionalProperties": False}


def _value(declared: Parameter) -> dict[str, Any]:
    strings: dict[str, Any] = {"type": "array", "items": {"type": "string"}, "minItems": 1}
    value: dict[str, Any] = {"type": _TYPES[declared.kind]} if declared.kind in _TYPES else {}
    if declared.choices:
        value = {"enum": list(declared.choices)}
    elif declared.opened:
        value = strings if declared.kind == "list" else {"type": "string"}
    elif declared.kind in ("names", "pair"):
        value = {"anyOf": [strings, {"type": "string"}]} if declared.name in Columns.table() else strings
    elif declared.kind in ("whole", "number"):
        bounds = zip(_BOUNDS, declared.range, strict=True)
        value |= {name: end for name, end in bounds if math.isfinite(end) and end != LARGEST}
    if declared.can_be_off:
        value = {"anyOf": [value, {"const": OFF}]}
    default = {} if declared.default in (REQUIRED, None, ()) else {"default": declared.default}
    return {**value, "description": spell(declared.meaning, "job"), **default}
