"""The schema of job files accepts every job on a page, and refuses what `run` refuses."""

from __future__ import annotations

import json
import math
import re
import tomllib
from collections.abc import Iterator
from typing import Any

import pytest
from tests.cli.conftest import Cli
from tests.docs.pages import blocks, name_of, pages

from timeveil.jobs.schema import job_schema
from timeveil.models import tables

KNOWN = {"$ref", "$schema", "additionalProperties", "allOf", "anyOf", "const", "default", "definitions"}
KNOWN |= {"description", "enum", "exclusiveMaximum", "exclusiveMinimum", "if", "items", "maximum", "minItems"}
KNOWN |= {"minimum", "properties", "required", "then", "title", "type"}
WRITTEN = re.compile(r'\.toml"\)\.write_text\(\s*"""\\?\n?(.*?)"""', re.DOTALL)
TYPES: dict[str, Any] = {
    "object": dict, "array": list, "string": str, "boolean": bool, "integer": int, "number": (int, float)
}  # fmt: skip


def faults(schema: dict[str, Any], value: Any, root: dict[str, Any], at: str = "") -> Iterator[str]:
    """What a validator of JSON schemas finds, for the words that the schema of jobs uses."""
    assert set(schema) <= KNOWN
    if "$ref" in schema:
        yield from faults(root["definitions"][schema["$ref"].rpartition("/")[2]], value, root, at)
    kind = schema.get("type")
    if kind and (not isinstance(value, TYPES[kind]) or (isinstance(value, bool) and kind != "boolean")):
        yield f"{at}: not {kind}"
        return
    if value not in schema.get("enum", [value]) or value != schema.get("const", value):
        yield f"{at}: another value"
    if isinstance(value, int | float) and not in_range(schema, value):
        yield f"{at}: out of range"
    for name, inner, item in inner_values(schema, value):
        yield from (
            faults(inner, item, root, f"{at}{name}") if inner is not False else [f"{at}: unknown {name}"]
        )
    if isinstance(value, dict):
        yield from (f"{at}: lacks {key}" for key in schema.get("required", ()) if key not in value)
    if isinstance(value, list) and len(value) < schema.get("minItems", 0):
        yield f"{at}: too short"
    for inner in schema.get("allOf", ()):
        yield from faults(inner, value, root, at)
    if "anyOf" in schema and all(any(faults(inner, value, root)) for inner in schema["anyOf"]):
        yield f"{at}: none of several"
    if "if" in schema and not any(faults(schema["if"], value, root)):
        yield from faults(schema["then"], value, root, at)


def inner_values(schema: dict[str, Any], value: Any) -> Iterator[tuple[str, Any, Any]]:
    """The values inside a value, each with its name and its schema."""
    if isinstance(value, dict):
        for key, item in value.items():
            inner = schema.get("properties", {}).get(key, schema.get("additionalProperties", {}))
            yield (f".{key}" if inner is not False else key), inner, item
    if isinstance(value, list):
        yield from (("[]", schema.get("items", {}), item) for item in value)


def in_range(schema: dict[str, Any], value: float) -> bool:
    low, high = schema.get("minimum", value), schema.get("maximum", value)
    above, below = schema.get("exclusiveMinimum", -math.inf), schema.get("exclusiveMaximum", math.inf)
    return bool(low <= value <= high and above < value < below)


def wrong(job: dict[str, Any]) -> set[str]:
    schema = job_schema()
    return set(faults(schema, job, schema))


def jobs() -> list[tuple[str, str]]:
    """Every job on a page, with the name of the page."""
    shown = []
    for page in pages():
        for block in blocks(page):
            texts = WRITTEN.findall(block.text) if block.language in ("python", "pycon") else []
            texts += [block.text] if block.language == "toml" else []
            shown += [(name_of(page), text) for text in texts if re.search(r"^in = ", text, re.MULTILINE)]
    return shown


@pytest.mark.parametrize(("page", "text"), jobs())
def test_every_job_on_a_page_is_valid(page: str, text: str) -> None:
    job = tomllib.loads(text)
    assert wrong(job) == set(), page
    assert wrong({**job, "quazi": 1}) != set()


def test_the_jobs_of_several_commands_are_shown() -> None:
    commands = {tomllib.loads(text).get("command", "generalize-time") for _, text in jobs()}
    assert commands >= {"generalize-time", "publish-stream", "anonymize-series", "query"}


EVENTS = {"in": "a.csv", "out": "out", "respondent": "who", "time": "day", "k": 5}
STREAM = {
    "command": "publish-stream",
    "in": "a",
    "out": "b",
    "time": "t",
    "sensitive": "s",
    "l": 2,
    "window": 3,
}


@pytest.mark.parametrize(
    ("job", "fault"),
    [
        ({**EVENTS, "quazi": ["zip"]}, "unknown quazi"),
        ({**EVENTS, "k": "5"}, ".k: not integer"),
        ({**EVENTS, "k": 1}, ".k: out of range"),
        ({**EVENTS, "suppress": 1}, ".suppress: out of range"),
        ({**EVENTS, "gaps": "leap"}, ".gaps: another value"),
        ({**EVENTS, "quasi": []}, ".quasi: none of several"),
        ({**EVENTS, "quasi": [3]}, ".quasi: none of several"),
        ({**EVENTS, "overwrite": "yes"}, ".overwrite: not boolean"),
        ({**EVENTS, "window": 3}, "unknown window"),
        ({**EVENTS, "command": "serve"}, ".command: another value"),
        ({**STREAM, "p": 5}, "unknown p"),
        ({key: value for key, value in STREAM.items() if key != "l"}, "lacks l"),
        ({key: value for key, value in EVENTS.items() if key != "in"}, "lacks in"),
        ({**EVENTS, "granularity": {"fortnight": 2}}, ".granularity.fortnight: not object"),
    ],
)
def test_a_mistake_is_refused(job: dict[str, Any], fault: str) -> None:
    assert wrong(EVENTS) == wrong(STREAM) == set()
    assert any(found.endswith(fault) for found in wrong(job)), wrong(job)


def test_one_column_off_and_rest_are_accepted() -> None:
    series = {"command": "anonymize-series", "in": "a", "out": "b", "series": "h00..h23", "k": 4, "p": 2}
    assert wrong({**EVENTS, "quasi": "zip", "drop": "rest"}) == set()
    assert wrong({**series, "round_outward": "off"}) == wrong({**series, "round_outward": 3}) == set()
    assert wrong({**series, "round_outward": "on"}) != set()


def test_the_command_prints_it(cli: Cli) -> None:
    plain, data = cli("schema"), cli("schema --json")
    assert (plain.code, plain.err) == (data.code, data.err) == (0, "")
    assert json.loads(plain.out) == json.loads(data.out) == job_schema()


def test_every_key_is_explained() -> None:
    schema = job_schema()
    assert set(schema["definitions"]) == {*tables(), "query"}
    for key, value in schema["properties"].items():
        assert key == "granularity" or value["description"], key
