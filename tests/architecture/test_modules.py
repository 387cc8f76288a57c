"""Modules are short, and named after what is in them."""

from __future__ import annotations

import ast
import re
from collections import Counter

from tests.architecture.source import module_name, modules, tree

CEILING = 400
FOLDER_CEILING = 25
EXEMPTION = re.compile(r"# (?:noqa: [A-Z]+\d+(?:, ?[A-Z]+\d+)*|type: ignore\[[a-z, -]+\])(?P<reason>.*)")
SAYS_NOTHING = {"utils", "util", "common", "helpers", "helper", "base", "misc", "core"}


def test_no_module_is_longer_than_the_ceiling() -> None:
    lines = {module_name(path): len(path.read_text("utf-8").splitlines()) for path in modules()}
    assert {name: number for name, number in lines.items() if number > CEILING} == {}


def test_no_folder_has_more_modules_than_the_ceiling() -> None:
    folders = Counter(path.parent for path in modules())
    assert [folder for folder, count in folders.items() if count > FOLDER_CEILING] == []


def reasons(line: str) -> list[str]:
    """The reason that follows each exemption of a line, without punctuation."""
    if not re.search(r"# *(?:noqa|type: *ignore)", line):
        return []
    return [match["reason"].strip(" #-()") for match in EXEMPTION.finditer(line)] or [""]


def test_every_exemption_gives_its_reason() -> None:
    bare = [
        f"{module_name(path)}:{number}"
        for path in modules()
        for number, line in enumerate(path.read_text("utf-8").splitlines(), 1)
        if not all(reasons(line))
    ]
    assert not bare
    assert reasons("x = 1  # noqa: E501") == reasons("x = 1  # type: ignore") == [""]
    assert reasons("x = 1  # noqa: E501, A002 (a table)") == ["a table"]


def test_names_say_what_is_inside() -> None:
    parts = {part.strip("_") for path in modules() for part in module_name(path).split(".")}
    assert parts & SAYS_NOTHING == set()


def test_every_module_says_what_it_is() -> None:
    assert [module_name(path) for path in modules() if not ast.get_docstring(tree(path))] == []


def test_random_numbers_come_from_a_generator_that_is_passed() -> None:
    allowed = {"default_rng", "Generator"}
    nodes = [node for path in modules() for node in ast.walk(tree(path))]
    used = {
        node.attr
        for node in nodes
        if isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Attribute)
        and node.value.attr == "random"
        and isinstance(node.value.value, ast.Name)
        and node.value.value.id in ("np", "numpy")
    }
    assert used <= allowed
    imported = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    assert "random" not in imported


def test_all_random_calls_name_their_seed() -> None:
    unseeded = [
        f"{module_name(path)}:{node.lineno}"
        for path in modules()
        for node in ast.walk(tree(path))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "default_rng"
        and not (node.args or node.keywords)
    ]
    assert not unseeded
